"""Manifests in files, as a person writes them: read strictly, with sentences that name the file and the field."""

import copy
import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from stackwright import services
from stackwright.blueprint.secret_values import decode
from stackwright.kube import builtin, handwritten
from stackwright.kube.crd import generate
from stackwright.kube.resource import CustomResource, JsonObject, ObjectMeta, Resource

# What of Kubernetes' own a person may put beside a resource of ours.
_BUILTIN: tuple[type[Resource], ...] = (builtin.Secret, builtin.ConfigMap, builtin.Service)

_LIST = ("v1", "List")
# How much like one of ours a group has to be to be a slip of the pen, where the kind is called like one of ours, too.
_SLIP = 0.9

# The fields that a server knows: it passes over others, with a warning that is easily missed.
_EVERYWHERE = frozenset({"apiVersion", "kind", "metadata"})
_FIELDS: Mapping[type[Resource], frozenset[str]] = {
    builtin.Secret: frozenset({"data", "stringData", "type", "immutable"}),
    builtin.ConfigMap: frozenset({"data", "binaryData", "immutable"}),
    builtin.Service: frozenset({"spec", "status"}),
}
_METADATA = frozenset({*ObjectMeta.__struct_fields__, "deletionGracePeriodSeconds", "selfLink"})
# Where values stand in Base64, and where the same may stand as text.
_ENCODED: Mapping[type[Resource], tuple[str, str]] = {
    builtin.Secret: ("data", "stringData"),
    builtin.ConfigMap: ("binaryData", "data"),
}


class BadManifest(click.ClickException):
    """A file that is not what it should be; each of the `problems` names the field, and the message has all of them."""

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def read(paths: Iterable[Path]) -> list[Resource]:
    """Return the resources of files that we know; `-` is standard input. What we do not know is passed over."""
    texts = {str(path): text_of(path) for path in paths}
    found = [resource for label, text in texts.items() for resource in parse(text, label)]
    # An empty one is what is printed of a resource without Secrets, and is given back as it is.
    if not found and any(documents_of(text, label) for label, text in texts.items()):
        raise BadManifest(f"{', '.join(texts)}: there is nothing of a kind that is known here.")
    return found


def text_of(path: Path) -> str:
    """Return what is in a file; `-` is standard input."""
    try:
        # Also what is standard input is UTF-8, whatever the terminal's language is.
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return content.decode()
    except OSError as error:
        raise BadManifest(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadManifest(f"{path} is not text.") from None


def documents_of(text: str, label: str) -> list[Any]:
    """Return the documents of a text as they are, without the empty ones; `label` is what errors call it. Pure."""
    try:
        return handwritten.read(text)
    except handwritten.Unreadable as error:
        raise BadManifest(error.about(label)) from None


def objects_of(document: Any, label: str) -> list[Any]:
    """Return the objects in a document: those of a List, as `kubectl get -o yaml` prints it, one by one. Pure."""
    if not isinstance(document, dict) or (document.get("apiVersion"), document.get("kind")) != _LIST:
        return [document]
    items = document.get("items") or []
    if not isinstance(items, list):
        raise BadManifest(f"{label}: the items of a List are no list; correct it.")
    return items


def parse(text: str, label: str) -> list[Resource]:
    """Return the resources of a text; `label` is what errors call it. Pure."""
    found: list[Resource | None] = []
    problems: list[str] = []
    for document in documents_of(text, label):
        try:
            found += [resource_of(body, label) for body in objects_of(document, label)]
        except BadManifest as bad:
            problems += bad.problems
    if problems:
        raise BadManifest(*problems)
    return [resource for resource in found if resource is not None]


def resource_of(document: Any, label: str) -> Resource | None:
    """Return what a document describes; None where we do not know its kind. Pure."""
    if not isinstance(document, dict) or not document.get("kind"):
        raise BadManifest(f"{label} has a document without a kind; each is one Kubernetes object.")
    types = {(kind.kind.api_version, kind.kind.name): kind for kind in (*services.kinds(), *_BUILTIN)}
    if not document.get("apiVersion"):
        raise BadManifest(f"{label}: {document['kind']} has no apiVersion.")
    if wrong := [field for field in ("apiVersion", "kind") if not isinstance(document[field], str)]:
        raise BadManifest(f"{label}: the {wrong[0]} of a document is not a text; correct it.")
    kind = types.get((document["apiVersion"], document["kind"]))
    if kind is None:
        _refuse_misspelt(document, label)
        return None
    metadata = document.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise BadManifest(f"{label}: {document['kind']}: metadata is not a mapping; write `metadata: {{name: NAME}}`.")
    # kubectl prints `creationTimestamp: null` of what it would create, and a server takes that for nothing.
    document = {**document, "metadata": {key: value for key, value in metadata.items() if value is not None}}
    name = metadata.get("name", "")
    place = f"{label}: {document['kind']} {name}"
    if not name:
        raise BadManifest(f"{place}has no metadata.name.")
    problems = [f"there is no field {path}; check its spelling." for path in _unknown(document, kind)]
    problems += [f"{complaint}." for complaint in _complaints(document, kind)]
    problems += [
        f"{path} is not valid Base64; write it as text under {text}, or encode it."
        for path, text in _not_encoded(document, kind)
    ]
    if problems:
        raise BadManifest(*(f"{place}: {problem}" for problem in problems))
    return msgspec.convert(document, kind)


def elsewhere(resource: Resource, *namespaces: str) -> str:
    """Return why a resource of a file does not count in namespaces; "" where it does. Pure."""
    named = resource.metadata.namespace
    if not named or named in namespaces:
        return ""
    return (
        f"{resource.kind.name} {resource.metadata.name} is for namespace {named}, and this is for {namespaces[0]}; "
        "use --namespace, or remove metadata.namespace."
    )


def _refuse_misspelt(document: JsonObject, label: str) -> None:
    """Refuse a kind that none of our groups has: a server would refuse it, too."""
    version, name = str(document["apiVersion"]), str(document["kind"])
    group = version.partition("/")[0]
    known = {each.kind.name: each.kind.api_version for each in services.kinds() if each.kind.group == group}
    if not known:
        groups = [each.kind.group for each in services.kinds() if each.kind.name == name]
        if meant := difflib.get_close_matches(group, groups, n=1, cutoff=_SLIP):
            raise BadManifest(f"{label}: {name} has the apiVersion {version}; did you mean the group {meant[0]}?")
        return
    if name in known:
        raise BadManifest(f"{label}: {name} has the apiVersion {known[name]}, and not {version}.")
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known))}."
    raise BadManifest(f"{label}: there is no kind {name} in {version}{hint}")


def _unknown(document: JsonObject, kind: type[Resource]) -> Iterable[str]:
    """Yield the fields that a kind does not have; what a server wrote is not looked at."""
    yield from (f"metadata.{name}" for name in document.get("metadata") or {} if name not in _METADATA)
    if not issubclass(kind, CustomResource):
        fields = _FIELDS.get(kind)
        yield from (str(name) for name in document if fields is not None and name not in _EVERYWHERE | fields)
        return
    schema = generate.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    yield from (name for name in document if name not in schema["properties"])
    yield from unknown_fields(document.get("spec") or {}, schema["properties"]["spec"], "spec")


def _not_encoded(document: JsonObject, kind: type[Resource]) -> Iterable[tuple[str, str]]:
    """Yield the values that the server could not decode, each with the field in which texts stand."""
    if kind not in _ENCODED:
        return
    field, text = _ENCODED[kind]
    values = document.get(field)
    for key, value in values.items() if isinstance(values, dict) else ():
        if isinstance(value, str) and decode(value) is None:
            yield f"{field}.{key}", text


def _complaints(document: JsonObject, kind: type[Resource]) -> Iterable[str]:
    """Yield what is wrong with the values of a document, each with its field first.

    msgspec names one at a time, so each value that it names is left out to find the next. It ends at what cannot be
    left out: a field that is missing, or an entry of a map, whose key it does not say.
    """
    rest, left_out = copy.deepcopy(document), set[str]()
    while True:
        try:
            msgspec.convert(rest, kind)
        except msgspec.ValidationError as error:
            said, _, path = str(error).partition(" - at `$.")
            path = path.rstrip("`")
            _, is_missing, missing = said.partition("missing required field ")
            # What was left out is then missing, which is no second mistake.
            if ".".join(filter(None, (path, missing.strip("`")))) in left_out:
                return
            yield f"{path}: {said}" if path else said
            if is_missing or not _leave_out(rest, path):
                return
            left_out.add(path)
        else:
            return


def _leave_out(document: Any, path: str) -> bool:
    """Take the value at a path of msgspec's out of a document; return whether it was found."""
    *before, last = re.findall(r"[^.\[\]]+|\.\.\.", path) or [""]
    for step in before:
        document = document.get(step) if isinstance(document, dict) else None
    if not isinstance(document, dict) or last not in document:
        return False
    del document[last]
    return True


def unknown_fields(value: Any, schema: JsonObject, path: str) -> Iterable[str]:
    """Yield the paths of fields that a schema does not have. Pure."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, dict):
        properties, further = schema.get("properties"), schema.get("additionalProperties")
        for name, entry in value.items():
            if isinstance(further, dict):
                yield from unknown_fields(entry, further, f"{path}.{name}")
            elif properties is not None and name in properties:
                yield from unknown_fields(entry, properties[name], f"{path}.{name}")
            elif properties is not None:
                yield f"{path}.{name}"
    elif isinstance(value, list):
        for position, entry in enumerate(value):
            yield from unknown_fields(entry, schema.get("items", {}), f"{path}[{position}]")
