"""What others added to a child: it is reported like a changed value, and left as it is.

An apply names the fields that others changed. It says nothing of what they added, and nothing of a workload that was
scaled to 0: a Scale with 0 replicas has no field, so that nobody has it. Both are read from the `managedFields`.
"""

from collections.abc import Mapping
from typing import Any

from stackwright.kube import field_owners
from stackwright.kube.builtin import ConfigMap, Plain, Secret
from stackwright.kube.client import Client
from stackwright.kube.managed import managed
from stackwright.kube.resource import CustomResource, FieldManager, JsonObject, Key, Resource

REPLICAS = ".spec.replicas"
# Named as the manager if a workload was scaled to 0: the server does not remember who did it.
SCALE = "scale"
# How many additions of one child a status lists; the next ones come when these are taken back.
LISTED = 50


def strangers(resource: Resource, ours: str) -> tuple[FieldManager, ...]:
    """Return the other managers that wrote to an object and may have added something. Pure.

    A custom resource is the user's as well: what it says beside its parent is no addition. Nor is what stands in a
    ConfigMap or a Secret beside our keys: pods keep their state there, as the nodes of a Galera do.
    """
    if isinstance(resource, CustomResource | ConfigMap | Secret):
        return ()
    entries = resource.metadata.managedFields
    return tuple(entry for entry in entries if field_owners.is_stranger(entry.manager, entry.subresource, ours))


async def added(client: Client, resource: Resource, known: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what others added to an object, by path and manager; what is `known` was reported already."""
    if not strangers(resource, client.field_manager):
        return ()
    found = field_owners.added(await _entries(client, resource), client.field_manager)
    return tuple((path, manager) for path, manager in found if path not in known)[:LISTED]


async def scaled_to_zero(client: Client, body: JsonObject, present: Resource | None) -> dict[str, str]:
    """Return the replicas, and by whom, where somebody scaled an object of ours to 0."""
    if present is None or not asked_replicas(body) or _replicas(present) != 0:
        return {}
    entries = await _entries(client, present)
    ours = field_owners.manages(entries, client.field_manager)
    return {REPLICAS: SCALE} if ours and not field_owners.has(entries, "f:spec", "f:replicas") else {}


def is_emptied(body: JsonObject, present: Resource) -> bool:
    """Return whether a workload that should have pods has none because somebody says so. Pure."""
    return bool(asked_replicas(body)) and _replicas(present) == 0


def asked_replicas(body: JsonObject) -> int:
    """Return how many pods a manifest asks for; 0 where it does not say. Pure."""
    asked = (body.get("spec") or {}).get("replicas")
    return asked if isinstance(asked, int) else 0


def _replicas(present: Resource) -> Any:
    return present.spec.get("replicas") if isinstance(present, Plain) else None


async def _entries(client: Client, resource: Resource) -> tuple[JsonObject, ...]:
    key: Key = resource.key
    found = await client.find(managed(resource.kind), key.name, key.namespace)
    return found.metadata.managedFields if found is not None else ()
