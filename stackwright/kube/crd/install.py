"""Putting definitions into a cluster: all of them or none, upgraded in place, never over another operator's.

A definition is ours when it carries our label. One of the same name without it belongs to somebody whose
resources are stored under that definition's rules; to overwrite it could make them unreadable for their owner.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from stackwright import tasks
from stackwright.kube.builtin import CustomResourceDefinition, Plain
from stackwright.kube.client import Client
from stackwright.kube.crd.generate import OWNER, OWNER_LABEL
from stackwright.kube.errors import Blocked, Gone, Retry
from stackwright.kube.resource import JsonObject, Kind

# How many changed fields a change lists by name; a new version can differ in hundreds.
LISTED = 12
# What the server adds to each definition that does not say it.
_ADDED = {"conversion": {"strategy": "None"}}


class Installed(Plain, frozen=True, kw_only=True):
    """A definition as it is in the cluster."""

    kind: ClassVar[Kind] = CustomResourceDefinition.kind


@dataclass(frozen=True)
class DefinitionChange:
    """What became of one definition."""

    name: str
    action: Literal["created", "updated", "unchanged"]
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.fields:
            return f"{self.name} {self.action}"
        listed = ", ".join(self.fields[:LISTED])
        more = len(self.fields) - LISTED
        return f"{self.name} {self.action}: {listed}{f' and {more} more' if more > 0 else ''}"


async def install(
    client: Client, manifests: Iterable[JsonObject], *, owner: str = OWNER, timeout: float = 60.0
) -> tuple[DefinitionChange, ...]:
    """Apply definitions and wait until the server serves them; return what changed.

    Raises Blocked, with nothing applied, when one of them exists already and is not `owner`'s.
    """
    wanted = {body["metadata"]["name"]: body for body in manifests}
    found = await tasks.together(*(client.find(Installed, name) for name in wanted))
    before = {definition.metadata.name: definition for definition in found if definition is not None}
    foreign = [definition for definition in before.values() if definition.metadata.labels.get(OWNER_LABEL) != owner]
    if foreign:
        raise Blocked(_refusal(foreign, owner), reason="ForeignDefinition")
    # A server takes long over a schema, also over one that it has.
    kept = {name for name, definition in before.items() if matches(definition, wanted[name])}
    applied = await tasks.together(*(client.apply(Installed, wanted[name]) for name in wanted if name not in kept))
    after = {definition.metadata.name: definition for definition in applied}
    await _established(client, set(wanted), owner, timeout)
    return tuple(_change(before.get(name), after.get(name) or before[name]) for name in wanted)


def matches(found: Installed, wanted: JsonObject) -> bool:
    """Return whether a definition in the cluster is the wanted one already."""
    labels = wanted["metadata"].get("labels", {})
    spec = {name: value for name, value in found.spec.items() if name in wanted["spec"] or value != _ADDED.get(name)}
    return bool(labels.items() <= found.metadata.labels.items() and spec == wanted["spec"])


def _change(before: Installed | None, after: Installed) -> DefinitionChange:
    name = after.metadata.name
    if before is None:
        return DefinitionChange(name, "created")
    fields = tuple(differences(before.spec, after.spec))
    return DefinitionChange(name, "updated" if fields else "unchanged", fields)


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which two manifests differ; items of a list that have names are compared by name."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from differences(before.get(key), after.get(key), f"{path}.{key}".lstrip("."))
    elif _named(before) and _named(after):
        old = {item["name"]: item for item in before}
        new = {item["name"]: item for item in after}
        for name in sorted({*old, *new}):
            yield from differences(old.get(name), new.get(name), f"{path}[{name}]")
    elif before != after:
        yield path


def _named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) and "name" in item for item in value)


def _refusal(foreign: list[Installed], owner: str) -> str:
    """Return one sentence about definitions of others: which ones, who owns them, and what to do."""
    listed = "; ".join(f"{definition.metadata.name} ({_owner(definition)})" for definition in foreign)
    return (
        f"these CustomResourceDefinitions are in the cluster already and are not {owner}'s: {listed}. Nothing was "
        f"changed. Remove the operator that installed them, or use another cluster; to hand them over with the "
        f"resources that they have, label each with {OWNER_LABEL}={owner} once that operator is stopped"
    )


def _owner(definition: Installed) -> str:
    """Return the likely owner of a definition: by its labels, by Helm's annotation, or by its writers."""
    metadata = definition.metadata
    if label := metadata.labels.get(OWNER_LABEL):
        return f"managed by {label}"
    if release := metadata.annotations.get("meta.helm.sh/release-name"):
        return f"of the Helm release {release}"
    for label in sorted(metadata.labels):
        if label.startswith("operators.coreos.com/"):
            return f"of the operator {label.removeprefix('operators.coreos.com/')}"
    writers = sorted({entry.manager for entry in metadata.managedFields if entry.manager != "kube-apiserver"})
    return f"written by {', '.join(writers)}" if writers else "of unknown origin"


async def _established(client: Client, names: set[str], owner: str, timeout: float) -> None:
    """Wait until the server serves all of them. A definition whose names clash with another's never gets there."""
    missing = set(names)
    try:
        async with asyncio.timeout(timeout):
            while missing:
                # A watch that outlived the server's history starts again with the present objects.
                with contextlib.suppress(Gone):
                    await _follow(client, missing, owner)
    except TimeoutError as error:
        listed = ", ".join(sorted(missing))
        message = f"the server did not begin to serve {listed} within {timeout:g} s; look at the conditions there"
        raise Retry(message, reason="NotEstablished") from error


async def _follow(client: Client, missing: set[str], owner: str) -> None:
    """Follow one watch and take from `missing` what is served, until nothing is missing or the stream ends.

    A watch without a version begins with what is there, so nothing is missed between two of them.
    """
    watch = client.watch(CustomResourceDefinition, labels=f"{OWNER_LABEL}={owner}")
    async with contextlib.aclosing(watch) as events:
        async for event in events:
            if event.type != "BOOKMARK" and event.object.metadata.name in missing and _serves(event.object):
                missing.discard(event.object.metadata.name)
            if not missing:
                return


def _serves(definition: CustomResourceDefinition) -> bool:
    """Return whether the server serves a definition; raise Blocked when it never will."""
    conditions = {entry["type"]: entry for entry in definition.status.get("conditions") or ()}
    accepted = conditions.get("NamesAccepted", {})
    if accepted.get("status") == "False":
        message = f"the names of {definition.metadata.name} clash with another's: {accepted.get('message')}"
        raise Blocked(message, reason="NamesNotAccepted")
    return bool(conditions.get("Established", {}).get("status") == "True")
