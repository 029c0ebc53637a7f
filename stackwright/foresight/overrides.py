"""What others set on the objects of a resource, each field with its present value."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from stackwright import services, tasks
from stackwright.controllers import release
from stackwright.kube import fields, paths
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import CustomResource, JsonObject, Kind, Overridden
from stackwright.kube.transport import Call

UNKNOWN = "not told"
NOTHING = "nothing"


@dataclass(frozen=True)
class Override:
    """A field of ours that somebody else set: its present value, and the one that the operator would set, as texts."""

    entry: Overridden
    now: str
    after: str


def entries_of(resource: CustomResource) -> tuple[Overridden, ...]:
    """Return what a resource lists as set by others. Pure."""
    found: tuple[Overridden, ...] = getattr(resource.status, "overridden", ())
    return found


async def read(client: Client, resource: CustomResource) -> list[Override]:
    """Return what others set on the objects of a resource, with the present values."""
    entries = entries_of(resource)
    labels = sorted({entry.resource for entry in entries})
    found = await tasks.together(*(_body(client, label, resource.metadata.namespace) for label in labels))
    bodies = dict(zip(labels, found, strict=True))
    return [override_of(entry, bodies[entry.resource]) for entry in entries]


def override_of(entry: Overridden, body: JsonObject | None) -> Override:
    """Return an entry with the present value of its field. Values in a Secret are not shown. Pure."""
    if entry.resource.startswith(f"{Secret.kind.name}/") and entry.field != release.WHOLE:
        return Override(entry, UNKNOWN, UNKNOWN)
    if entry.field == release.WHOLE:
        return Override(entry, NOTHING if body is None else release.MADE, entry.wanted or NOTHING)
    try:
        now = fields.shown(fields.value_at(body or {}, entry.field))
    except KeyError:
        now = NOTHING
    return Override(entry, now, entry.wanted or NOTHING)


async def _body(client: Client, label: str, namespace: str) -> JsonObject | None:
    """Return an object whole, as the server has it; None where it is not there."""
    kind, name = kind_and_name(label)
    call = Call("GET", paths.item(kind, namespace if kind.namespaced else "", name), {}, kind=kind)
    reply = await client.transport.request(call)
    if reply.code == 404:
        return None
    if reply.code >= 300:
        raise client.transport.error(reply, kind)
    body: JsonObject = msgspec.json.decode(reply.body)
    return body


def kind_and_name(label: str) -> tuple[Kind, str]:
    """Return which object a label such as `Deployment/keystone` means. Pure."""
    kind, _, name = label.partition("/")
    return _kinds()[kind], name


def _kinds() -> Mapping[str, Kind]:
    return {kind.kind.name: kind.kind for kind in (*release.KINDS, *services.kinds())}
