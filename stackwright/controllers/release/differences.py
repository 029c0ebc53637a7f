"""What two manifests of a release say differently, field by field: shown before anything is reverted. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from stackwright.kube import fields
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import JsonObject, Overridden

# The name under which helm applies.
HELM = "helm"
# The path of a whole object, and the word for one that would be created.
WHOLE = "."
MADE = "{…}"
# By which of their fields items of a list are known, where all of them have it and no two the same.
_KEYS = ("name", "mountPath", "containerPort", "port", "key", "ip", "uid")
# What helm itself adds to each object that it applies; in the manifest it is not.
_HELMS = (
    ("labels", "app.kubernetes.io/managed-by"),
    ("annotations", "meta.helm.sh/release-name"),
    ("annotations", "meta.helm.sh/release-namespace"),
)


def differences(theirs: Iterable[JsonObject], ours: Iterable[JsonObject]) -> tuple[Overridden, ...]:
    """Return what helm's manifest has otherwise than ours, with what ours asks for.

    An object that only they have is listed as a whole, with nothing wanted; one that only we have, as one to be made.
    """
    present, asked = _by_label(theirs), _by_label(ours)
    found = [_entry(label, path, wanted) for label, path, wanted in _differing(present, asked)]
    return tuple(sorted(found, key=lambda entry: (entry.resource, entry.field)))


def _entry(label: str, path: str, wanted: str) -> Overridden:
    # The content of a Secret is not shown.
    secret = label.startswith(f"{Secret.kind.name}/") and path != WHOLE
    return Overridden(resource=label, field=path, manager=HELM, wanted="" if secret else wanted)


def _by_label(objects: Iterable[JsonObject]) -> dict[str, JsonObject]:
    return {f"{body.get('kind')}/{(body.get('metadata') or {}).get('name')}": _plain(body) for body in objects}


def _plain(body: JsonObject) -> JsonObject:
    """Return an object without what helm adds to it, and without a namespace, which may be said or not."""
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name != "namespace"}
    for part, key in _HELMS:
        left = {name: value for name, value in (metadata.get(part) or {}).items() if name != key}
        metadata = {**metadata, part: left} if left else {name: metadata[name] for name in metadata if name != part}
    return {**body, "metadata": metadata}


def _differing(present: Mapping[str, JsonObject], asked: Mapping[str, JsonObject]) -> Iterator[tuple[str, str, str]]:
    for label in present.keys() | asked.keys():
        if label not in asked:
            yield label, WHOLE, ""
        elif label not in present:
            yield label, WHOLE, MADE
        else:
            for path, wanted in _paths(present[label], asked[label], ""):
                yield label, path, wanted


def _paths(theirs: Any, ours: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the paths at which two values differ, with what ours has there."""
    if theirs == ours:
        return
    if isinstance(theirs, dict) and isinstance(ours, dict):
        parts = {f".{key}": (theirs.get(key), ours.get(key)) for key in theirs.keys() | ours.keys()}
    elif isinstance(theirs, list) and isinstance(ours, list) and (key := _key([*theirs, *ours], theirs, ours)):
        there, here = _keyed(theirs, key), _keyed(ours, key)
        parts = {place: (there.get(place), here.get(place)) for place in there.keys() | here.keys()}
    else:
        yield path or WHOLE, "" if ours is None else fields.shown(ours)
        return
    for part, (one, other) in parts.items():
        yield from _paths(one, other, f"{path}{part}")


def _key(items: list[Any], *lists: list[Any]) -> str:
    """Return the field that identifies the items of some lists; "" if there is none."""
    for key in _KEYS:
        if all(isinstance(item, dict) and key in item for item in items) and all(
            len({str(item[key]) for item in some}) == len(some) for some in lists
        ):
            return key
    return ""


def _keyed(items: list[Any], key: str) -> dict[str, Any]:
    return {f"[{key}={msgspec.json.encode(item[key]).decode()}]": item for item in items}
