"""Manifests in files, as a person writes them: read strictly, with sentences that name the file and the field."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from stackwright import services
from stackwright.kube import builtin
from stackwright.kube.crd import generate
from stackwright.kube.resource import CustomResource, JsonObject, Resource

# What of Kubernetes' own a person may put beside a resource of ours.
_BUILTIN: tuple[type[Resource], ...] = (builtin.Secret, builtin.ConfigMap, builtin.Service)


class BadManifest(click.ClickException):
    """A file that is not what it should be; the message names the field."""

    exit_code = 2


def read(paths: Iterable[Path]) -> list[Resource]:
    """Return the resources of files that we know; `-` is standard input. What we do not know is passed over."""
    return [resource for path in paths for resource in parse(text_of(path), str(path))]


def text_of(path: Path) -> str:
    """Return what is in a file; `-` is standard input."""
    if str(path) == "-":
        return sys.stdin.read()
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadManifest(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadManifest(f"{path} is not text.") from None


def parse(text: str, label: str) -> list[Resource]:
    """Return the resources of a text; `label` is what errors call it. Pure."""
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise BadManifest(f"{label} is not YAML{f' (line {mark.line + 1})' if mark else ''}.") from None
    found = (_resource(document, label) for document in documents)
    return [resource for resource in found if resource is not None]


def _resource(document: Any, label: str) -> Resource | None:
    if not isinstance(document, dict) or not document.get("kind"):
        raise BadManifest(f"{label} has a document without a kind; each is one Kubernetes object.")
    types = {(kind.kind.api_version, kind.kind.name): kind for kind in (*services.kinds(), *_BUILTIN)}
    if not document.get("apiVersion"):
        raise BadManifest(f"{label}: {document['kind']} has no apiVersion.")
    kind = types.get((document["apiVersion"], document["kind"]))
    if kind is None:
        return None
    name = (document.get("metadata") or {}).get("name", "")
    place = f"{label}: {document['kind']} {name}"
    if not name:
        raise BadManifest(f"{place}has no metadata.name.")
    if issubclass(kind, CustomResource):
        schema = generate.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        if unknown := next(iter(unknown_fields(document.get("spec") or {}, schema["properties"]["spec"], "spec")), ""):
            raise BadManifest(f"{place}: there is no field {unknown}; check its spelling.")
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise BadManifest(f"{place}: {_sentence(str(error))}.") from None


def _sentence(complaint: str) -> str:
    """Return msgspec's complaint with the field first: `spec.replicas: Expected int, got str`."""
    said, _, path = complaint.partition(" - at `$.")
    return f"{path.rstrip('`')}: {said}" if path else said


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
