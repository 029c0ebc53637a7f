"""Which fields of ours a server drops, because the definitions that it has are of an older version.

The schema that a server publishes is asked: to read it takes no rights beyond those that every account has.
"""

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


async def unknown_fields(client: Client, kinds: Iterable[type[CustomResource]]) -> dict[str, tuple[str, ...]]:
    """Return the paths of the fields that a server does not know, by the names of the definitions that lack them."""
    found: dict[str, tuple[str, ...]] = {}
    published: dict[tuple[str, str], JsonObject] = {}
    for kind in kinds:
        group = kind.kind.group, kind.kind.version
        if group not in published:
            published[group] = await _published(client, *group)
        theirs = _schema_of(published[group], kind.kind)
        paths = tuple(unknown(_schema(kind), theirs)) if theirs is not None else ()
        if paths:
            found[kind.kind.crd_name] = paths
    return found


def unknown(ours: JsonObject, theirs: JsonObject) -> Iterator[str]:
    """Yield the paths of fields that one schema of a kind has and the other one has not. Pure."""
    for part in COMPARED:
        if part in ours.get("properties", {}):
            yield from _unknown(ours["properties"][part], theirs.get("properties", {}).get(part), part)


def _unknown(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    if theirs is None:
        yield path
    elif not theirs.get(KEEPS_ALL):
        for name, schema in ours.get("properties", {}).items():
            yield from _unknown(schema, theirs.get("properties", {}).get(name), f"{path}.{name}")
        for below, mark in (("items", "[]"), ("additionalProperties", ".*")):
            if isinstance(ours.get(below), dict) and isinstance(theirs.get(below), dict):
                yield from _unknown(ours[below], theirs[below], f"{path}{mark}")


def _schema(kind: type[CustomResource]) -> JsonObject:
    schema: JsonObject = generate.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _schema_of(published: JsonObject, kind: Kind) -> JsonObject | None:
    name = {"group": kind.group, "version": kind.version, "kind": kind.name}
    schemas: dict[str, JsonObject] = published.get("components", {}).get("schemas", {})
    return next((schema for schema in schemas.values() if name in schema.get(NAMED_BY, ())), None)


async def _published(client: Client, group: str, version: str) -> JsonObject:
    """Return what a server publishes of a group; nothing where it publishes none, or none that can be read."""
    call = Call("GET", f"/openapi/v3/apis/{group}/{version}", {}, accept="application/json")
    reply = await client.transport.request(call)
    try:
        return msgspec.json.decode(reply.body, type=dict[str, Any]) if reply.code < 300 else {}
    except msgspec.DecodeError:
        return {}
