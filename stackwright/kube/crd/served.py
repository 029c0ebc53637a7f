"""Which fields of ours a server drops, because the definitions that it has are of an older version.

The schema that a server publishes is asked: to read it takes no rights beyond those that every account has. Of schemas,
only the names of fields are kept, and of the server's only one group at a time: with their descriptions they would be
a tenth of an operator's memory.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stackwright.kube.client import Client
from stackwright.kube.crd import generate
from stackwright.kube.resource import CustomResource, JsonObject, Kind
from stackwright.kube.transport import Call

# What all kinds have, and what the server itself defines, is not compared.
COMPARED = ("spec", "status")
KEEPS_ALL = "x-kubernetes-preserve-unknown-fields"
NAMED_BY = "x-kubernetes-group-version-kind"


class KindName(msgspec.Struct, frozen=True):
    """What a server calls the kind of a schema."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Schema(msgspec.Struct, frozen=True, gc=False):
    """The fields that a schema knows, recursively."""

    properties: "dict[str, Schema]" = {}
    items: "Schema | None" = None
    additionalProperties: "Schema | bool | None" = None
    keeps_all: bool = msgspec.field(name=KEEPS_ALL, default=False)
    named_by: tuple[KindName, ...] = msgspec.field(name=NAMED_BY, default=())


class _Components(msgspec.Struct, frozen=True):
    schemas: dict[str, Schema] = {}


class _Document(msgspec.Struct, frozen=True):
    components: _Components = _Components()


async def unknown_fields(client: Client, kinds: Iterable[type[CustomResource]]) -> dict[str, tuple[str, ...]]:
    """Return the paths of the fields that a server does not know, by the names of the definitions that lack them."""
    found: dict[str, tuple[str, ...]] = {}
    ordered = sorted(kinds, key=lambda kind: (kind.kind.group, kind.kind.version, kind.kind.name))
    for (group, version), some in itertools.groupby(ordered, lambda kind: (kind.kind.group, kind.kind.version)):
        published = await _published(client, group, version)
        for kind in some:
            theirs = _schema_of(published, kind.kind)
            paths = tuple(unknown(_schema(kind), theirs)) if theirs is not None else ()
            if paths:
                found[kind.kind.crd_name] = paths
    return found


def read(schema: JsonObject) -> Schema:
    """Return what a schema of ours knows."""
    return msgspec.convert(schema, Schema)


def unknown(ours: Schema, theirs: Schema) -> Iterator[str]:
    """Yield the paths of fields that one schema of a kind has and the other one has not. Pure."""
    for part in COMPARED:
        if part in ours.properties:
            yield from _unknown(ours.properties[part], theirs.properties.get(part), part)


def _unknown(ours: Schema, theirs: Schema | None, path: str) -> Iterator[str]:
    if theirs is None:
        yield path
    elif not theirs.keeps_all:
        for name, schema in ours.properties.items():
            yield from _unknown(schema, theirs.properties.get(name), f"{path}.{name}")
        pairs: tuple[tuple[Any, Any, str], ...] = (
            (ours.items, theirs.items, "[]"),
            (ours.additionalProperties, theirs.additionalProperties, ".*"),
        )
        for mine, other, mark in pairs:
            if isinstance(mine, Schema) and isinstance(other, Schema):
                yield from _unknown(mine, other, f"{path}{mark}")


def _schema(kind: type[CustomResource]) -> Schema:
    return read(generate.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


def _schema_of(published: dict[str, Schema], kind: Kind) -> Schema | None:
    name = KindName(group=kind.group, version=kind.version, kind=kind.name)
    return next((schema for schema in published.values() if name in schema.named_by), None)


async def _published(client: Client, group: str, version: str) -> dict[str, Schema]:
    """Return what a server publishes of a group; nothing where it publishes none, or none that can be read."""
    call = Call("GET", f"/openapi/v3/apis/{group}/{version}", {}, accept="application/json")
    reply = await client.transport.request(call)
    try:
        return msgspec.json.decode(reply.body, type=_Document).components.schemas if reply.code < 300 else {}
    except msgspec.DecodeError:
        return {}
