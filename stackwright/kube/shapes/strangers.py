"""What others added to a child: it is reported like a changed value, and left as it is.

An apply names the fields that others changed. It says nothing of what they added, and nothing of a workload that was
scaled to 0 (`versions`). Both are read from the `managedFields`.
"""

from collections.abc import Mapping
from typing import Any

from stackwright.kube import field_owners
from stackwright.kube.builtin import ConfigMap, Plain, Secret, Service
from stackwright.kube.client import Client
from stackwright.kube.field_managers import managed
from stackwright.kube.resource import CustomResource, FieldManager, JsonObject, Key, Resource

TYPE = ".spec.type"
# The type of a Service that is only another name of a host.
EXTERNAL_NAME = "ExternalName"
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
    return tuple(
        entry
        for entry in entries
        if field_owners.is_stranger(entry.manager, entry.subresource, ours, entry.operation or field_owners.APPLY)
    )


async def added(client: Client, resource: Resource, known: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what others added to an object, by path and manager; what is `known` was reported already."""
    if not strangers(resource, client.field_manager):
        return ()
    found = field_owners.added(await _entries(client, resource), client.field_manager)
    return tuple((path, manager) for path, manager in found if path not in known)[:LISTED]


async def owned(client: Client, resource: Resource) -> frozenset[str]:
    """Return the paths of the fields that an apply of ours must leave out, because others own them."""
    return field_owners.owned(await _entries(client, resource), client.field_manager)


async def renamed(client: Client, body: JsonObject, present: Resource | None) -> dict[str, str]:
    """Return the type, and by whom, where somebody made of a Service of ours another name of a host.

    Such a Service takes hardly anything of what we ask for: it is not applied while the type is somebody else's.
    """
    if present is None or not is_renamed(body, present):
        return {}
    ours = client.field_manager
    owners = (
        str(entry.get("manager", ""))
        for entry in await _entries(client, present)
        if field_owners.has((entry,), "f:spec", "f:type")
        and field_owners.is_stranger(
            entry.get("manager", ""), entry.get("subresource", ""), ours, entry.get("operation", "")
        )
    )
    owner = next(owners, "")
    return {TYPE: owner} if owner else {}


def is_renamed(body: JsonObject, present: Resource) -> bool:
    """Return whether a Service is another name of a host, and is not asked to be. Pure."""
    asked = (body.get("spec") or {}).get("type")
    return isinstance(present, Service) and present.spec.get("type") == EXTERNAL_NAME and asked != EXTERNAL_NAME


def is_emptied(body: JsonObject, present: Resource) -> bool:
    """Return whether a workload that should have pods has none because somebody says so. Pure."""
    return bool(asked_replicas(body)) and replicas_of(present) == 0


def led_away(body: JsonObject, present: Resource) -> str:
    """Return where a Service leads, if somebody made it lead elsewhere than to its pods; "" where nobody did. Pure."""
    asked = body.get("spec") or {}
    if not isinstance(present, Service) or not asked.get("selector"):
        return ""
    if is_renamed(body, present):
        return f"the host {present.spec.get('externalName', '')}"
    found = present.spec.get("selector") or {}
    if found == asked["selector"]:
        return ""
    return f"pods with the labels {', '.join(f'{name}={value}' for name, value in sorted(found.items())) or '(none)'}"


def asked_replicas(body: JsonObject) -> int:
    """Return how many pods a manifest asks for; 0 where it does not say. Pure."""
    asked = (body.get("spec") or {}).get("replicas")
    return asked if isinstance(asked, int) else 0


def replicas_of(present: Resource) -> Any:
    """Return how many pods a workload is set to; None where it is none. Pure."""
    return present.spec.get("replicas") if isinstance(present, Plain) else None


async def _entries(client: Client, resource: Resource) -> tuple[JsonObject, ...]:
    key: Key = resource.key
    found = await client.find(managed(resource.kind), key.name, key.namespace)
    return found.metadata.managedFields if found is not None else ()
