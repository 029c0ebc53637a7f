"""What of Nova runs on machines outside of the cluster: nova-compute, with libvirt. Pure."""

from collections.abc import Iterator

from stackwright.api.base import JsonObject
from stackwright.blueprint.dataplane.node_service import (
    SERVERS,
    Binding,
    Call,
    Files,
    Image,
    NodeService,
    Removal,
    Sign,
    of_secret,
)
from stackwright.blueprint.providers import Sight
from stackwright.kube import conditions
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.services.nova import metadata, outside_compute
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.external_compute import CELL_READY, NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova

COMPUTE = "nova-compute"
PATH = "/v2.1/os-services"
# The component of the manifest that has what a machine needs to run servers, such as libvirt and QEMU.
HYPERVISOR = "compute"


def waits(resource: NovaExternalCompute, sight: Sight) -> Iterator[Wait]:
    """Yield why the cell cannot take a compute yet."""
    cell = _find_cell(resource.spec.cellName, sight)
    if isinstance(cell, Wait):
        yield cell
    elif not conditions.is_true(cell.status.conditions):
        ready = conditions.find(cell.status.conditions, conditions.READY)
        why = f": {ready.message}" if ready is not None and ready.message else ""
        yield Wait("NovaCellNotReady", f"NovaCell {cell.metadata.name} is not ready yet{why}", CELL_READY)


def files(resource: NovaExternalCompute, sight: Sight) -> Iterator[Files | Wait]:
    """Yield the configuration that the cell writes for its computes."""
    cell = _find_cell(resource.spec.cellName, sight)
    if isinstance(cell, Wait):
        yield cell
        return
    name = outside_compute.secret_name(cell.metadata.name)
    if sight(Secret, name) is None:
        stated = conditions.find(cell.status.conditions, outside_compute.CONDITION)
        unreached = stated is not None and stated.reason == outside_compute.NOT_REACHABLE
        why = stated.message if stated is not None and unreached else f"Secret {name} is not written yet"
        ends = Ends.BY_USER if unreached else Ends.BY_ITSELF
        yield Wait("ComputeConfigMissing", f"NovaCell {cell.metadata.name}: {why}", CELL_READY, ends=ends)
        return
    yield Files(of_secret(name))


def hand_on_metadata(cell: str, sight: Sight) -> Iterator[Files | Wait]:
    """Yield how agents reach the metadata service of a cell: its own, or the one of all cells."""
    there = _find_cell(cell, sight, "InputReady")
    if isinstance(there, Wait):
        yield there
        return
    owner = there.metadata.controller
    if there.spec.metadataServiceTemplate.enabled:
        service = f"{cell}-metadata"
    elif owner is not None and owner.kind == Nova.kind.name:
        service = f"{owner.name}-metadata"
    else:
        # A cell that somebody made alone; there is no Nova to ask.
        return
    secret = metadata.secret_names(service)[-1]
    if sight(Secret, secret) is None:
        message = f"Secret {secret} is not there yet; NovaMetadata {service} writes it"
        yield Wait("MetadataConfigMissing", message, "InputReady")
        return
    yield Files(of_secret(secret))


def _find_cell(name: str, sight: Sight, condition: str = CELL_READY) -> NovaCell | Wait:
    cell = sight(NovaCell, name)
    if cell is not None:
        return cell
    return Wait("NovaCellMissing", f"NovaCell {name} does not exist yet", condition, ends=Ends.BY_AUTHOR)


def judge(answer: JsonObject, host: str) -> str:
    """Return why the compute of a host is not up, by what Nova lists; "" if it is."""
    rows = _rows(answer, host)
    if not rows:
        return f"Nova does not know a compute on host {host} yet"
    if any(row.get("state") == "up" for row in rows):
        return ""
    return f"Nova says that the compute on host {host} is {rows[0].get('state', 'unknown')}"


def close(answer: JsonObject, host: str) -> Iterator[Call]:
    """Yield what keeps new servers away from a host."""
    for row in _rows(answer, host):
        if row.get("status") != "disabled":
            body = {"status": "disabled", "disabled_reason": "Its NovaExternalCompute is being deleted"}
            yield Call("PUT", f"{PATH}/{row['id']}", body)


def forget(answer: JsonObject, host: str) -> Iterator[Call]:
    """Yield what deletes a compute. Nova refuses while it has servers, and deletes its provider in Placement, too."""
    return (Call("DELETE", f"{PATH}/{row['id']}") for row in _rows(answer, host))


def _rows(answer: JsonObject, host: str) -> list[JsonObject]:
    return [row for row in answer.get("services") or () if row.get("binary") == COMPUTE and row.get("host") == host]


NODE_SERVICES = (
    NodeService(
        name="nova-external-compute",
        kind=NovaExternalCompute,
        annotation="nova.openstack.org/cell",
        binding=Binding("cellName", NovaCell, "Nova cannot move a compute to another cell"),
        playbook="stackwright.edpm.nova",
        roles=("stackwright.edpm.edpm_nova",),
        folder="nova",
        override="02-nova-override.conf",
        images={
            "novaComputeContainerImage": Image("edpm_nova_compute_image", HYPERVISOR),
            "novaLibvirtContainerImage": Image("edpm_nova_libvirt_image", HYPERVISOR),
        },
        files=files,
        waits=waits,
        # The first version in which rows of all cells have an id of their own.
        sign=Sign("compute", PATH, judge, "compute 2.53"),
        removal=Removal(
            variables={"edpm_nova_state": "absent", "edpm_libvirt_state": "absent"},
            close=close,
            occupants=("/v2.1/servers", {"all_tenants": "1", "host": "{host}", "limit": "3"}),
            forget=forget,
        ),
        brings=SERVERS,
        hands_on=hand_on_metadata,
        looks=(NovaCell, Nova),
    ),
)
