"""Writes that are meant for one version of an object, because nothing else protects what somebody did to it.

A Scale with 0 replicas has no field, so that nobody owns the replicas of a workload that was scaled to 0. No conflict
protects it, our cache may not have it yet, and it may come right before our apply. So an apply that names the replicas
of a workload is meant for the version that was seen. The server refuses it for any other, and then it is looked at.

The same holds for a deletion: somebody may have taken an object away from its parent a moment ago, to keep it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from stackwright.kube import field_owners, fields
from stackwright.kube.builtin import Plain
from stackwright.kube.client import Client, Conflicts
from stackwright.kube.errors import Conflict, NotFound, Retry
from stackwright.kube.field_managers import managed
from stackwright.kube.resource import JsonObject, Kind, R, Resource, key_of
from stackwright.kube.shapes.strangers import asked_replicas, replicas_of

REPLICAS = ".spec.replicas"
# Named as the manager if a workload was scaled to 0: the server does not remember who did it.
SCALE = "scale"
# How often a write is tried in one pass.
TURNS = 5


@dataclass(frozen=True)
class Sight:
    """How an object was seen: the fields that an apply leaves out, by path and manager, and for which version it is.

    Without a `version` the apply is for the object as it is, whatever happened to it.
    """

    left_out: Mapping[str, str]
    version: str = ""


async def apply(
    client: Client, of: type[R], body: JsonObject, present: Resource | None, *, missed: bool = False
) -> tuple[R, dict[str, str]]:
    """Apply an object less what others own of it; return it, and by path and manager what was left out.

    `present` is the object in our cache. `missed` says that it was made before, and is not there.
    """
    sight = see(of, body, present, missed=missed) or await _look(client, of.kind, body)
    left_out = dict(sight.left_out)
    # The first answer names every conflict; each thing that others do in between costs one more turn.
    for _ in range(TURNS):
        try:
            result = await client.try_apply(of, _meant_for(fields.without(body, left_out), sight.version))
        except (Conflict, NotFound):
            if not sight.version:
                raise
            sight = await _look(client, of.kind, body)
            left_out |= sight.left_out
            continue
        if not isinstance(result, Conflicts):
            return result, left_out
        left_out |= {conflict.field: conflict.manager for conflict in result.fields}
    raise _is_busy(of.kind, body["metadata"]["name"], left_out)


async def delete(client: Client, resource: Resource, is_ours: Callable[[Resource], bool]) -> None:
    """Delete an object as long as it is ours; what was changed since we saw it is looked at again."""
    seen: Resource | None = resource
    of, key = type(resource), resource.key
    for _ in range(TURNS):
        if seen is None or not is_ours(seen):
            return
        metadata = seen.metadata
        try:
            await client.delete(
                of, key.name, key.namespace, uid=metadata.uid, resource_version=metadata.resourceVersion
            )
        except Conflict:
            seen = await client.find(of, key.name, key.namespace)
        else:
            return
    raise _is_busy(of.kind, key.name)


def see(of: type[Resource], body: JsonObject, present: Resource | None, *, missed: bool) -> Sight | None:
    """Return how an object is, as the cache has it; None where only the server knows. Pure.

    What is `missed` is gone, or the cache does not have it yet.
    """
    if not issubclass(of, Plain) or not asked_replicas(body) or (present is None and not missed):
        return Sight({})
    return None if present is None or replicas_of(present) == 0 else Sight({}, present.metadata.resourceVersion)


async def _look(client: Client, kind: Kind, body: JsonObject) -> Sight:
    """Return how a workload is on the server now; its replicas are left out where somebody scaled it to 0."""
    key = key_of(body)
    found = await client.find(managed(kind), key.name, key.namespace)
    if found is None:
        return Sight({})
    entries = found.metadata.managedFields
    ours = field_owners.manages(entries, client.field_manager)
    if ours and found.spec.get("replicas") == 0 and not field_owners.has(entries, "f:spec", "f:replicas"):
        return Sight({REPLICAS: SCALE})
    return Sight({}, found.metadata.resourceVersion)


def _meant_for(body: JsonObject, version: str) -> JsonObject:
    """Return a manifest that the server takes only while the object has this version; for any where there is none."""
    if not version or not asked_replicas(body):
        return body
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}}


def _is_busy(kind: Kind, name: str, left_out: Iterable[str] = ()) -> Retry:
    theirs = f": {', '.join(sorted(left_out))}" if left_out else ""
    return Retry(f"{kind.name} {name} is being changed by others right now{theirs}", reason="Conflict")
