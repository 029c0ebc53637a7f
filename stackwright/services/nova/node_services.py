"""What of Nova runs on machines outside of the cluster: nova-compute, with libvirt. Pure."""

from collections.abc import Iterator, Mapping

from stackwright.api.base import JsonObject
from stackwright.api.node_service import SERVICE_READY
from stackwright.blueprint import ini
from stackwright.blueprint.dataplane.node_service import (
    SERVERS,
    Binding,
    Call,
    Counterpart,
    Files,
    Image,
    Included,
    NodeService,
    Question,
    Removal,
    Sign,
    Trace,
    of_secret,
)
from stackwright.blueprint.dataplane.ways import Way
from stackwright.blueprint.ini import Problem
from stackwright.blueprint.places import broker_places, url_place
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import texts_of
from stackwright.kube import conditions
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.services.nova import metadata, migration, outside_compute
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.external_compute import CELL_READY, NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaMetadata

COMPUTE = "nova-compute"
PATH = "/v2.1/os-services"
# The states of migrations in which Nova lets a compute go that had to do with them.
ENDED_MIGRATIONS = frozenset({"confirmed", "reverted", "error", "failed", "completed", "cancelled", "done"})
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
    """Yield the configuration that the cell writes for its computes, and the keys by which servers move."""
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
    keys = migration.secret_name(cell.metadata.name)
    if sight(Secret, keys) is None:
        message = f"NovaCell {cell.metadata.name} has not written Secret {keys} yet"
        yield Wait("MigrationKeyMissing", message, CELL_READY)
        return
    yield Files(of_secret(keys))


def ways(files: Mapping[str, str], sight: Sight) -> Iterator[Way]:
    """Yield what a compute has to reach: Keystone and the broker of its cell, and the APIs that it asks."""
    said = ini.parse(files.get(outside_compute.FILE, ""))
    if isinstance(said, Problem):
        return
    for url in said.get("placement", {}).get("auth_url", ()):
        yield Way("Keystone", *url_place(url))
    for url in said.get("DEFAULT", {}).get("transport_url", ()):
        yield from (Way("the broker of its cell", *place) for place in broker_places(url))
    for interface in said.get("placement", {}).get("valid_interfaces", ()):
        for api in ("placement", "image", "network"):
            server = sight.choose(api, "", lambda offer: bool(offer.urls))
            if server.offer is not None and interface in server.offer.urls:
                yield Way(str(server), *url_place(server.offer.urls[interface]))


def hand_on_metadata(cell: str, snippet: str, sight: Sight) -> Iterator[Files | Wait]:
    """Yield how agents reach the metadata service of a cell: its own, or the one of all cells.

    An agent that is not told where it is would ask its own machine. The user's `snippet` may tell it, too.
    """
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
    written = sight(Secret, secret)
    if written is None:
        yield _explain_metadata(cell, service, secret, sight)
    elif not any(map(_says_where, (texts_of(written).get(metadata.SNIPPET, ""), snippet))):
        yield _explain_unreached(service, secret, sight)
    else:
        yield Files(of_secret(secret))


def _says_where(text: str) -> bool:
    """Return whether a snippet says where the metadata service is."""
    said = ini.parse(text)
    return not isinstance(said, Problem) and any(said.get("DEFAULT", {}).get("nova_metadata_host", ()))


def _explain_unreached(service: str, secret: str, sight: Sight) -> Wait:
    """Return why the Secret of a metadata service does not say where it is."""
    there = sight(NovaMetadata, service)
    stated = conditions.find(there.status.conditions, metadata.CONDITION) if there is not None else None
    if stated is not None and stated.reason == metadata.NOT_REACHABLE:
        message = f"NovaMetadata {service}: {stated.message}"
        return Wait("MetadataConfigMissing", message, "InputReady", ends=Ends.BY_USER)
    message = f"Secret {secret} does not say where the metadata service is yet; NovaMetadata {service} writes it"
    return Wait("MetadataConfigMissing", message, "InputReady")


def _explain_metadata(cell: str, service: str, secret: str, sight: Sight) -> Wait:
    """Return why the Secret of a metadata service is not there: the service is not wanted, or has not written it."""
    nova = sight(Nova, service.removesuffix("-metadata")) if service != f"{cell}-metadata" else None
    if nova is not None and nova.spec.metadataServiceTemplate.enabled is False:
        message = (
            f"Neither Nova {nova.metadata.name} nor its cell {cell} runs a metadata service; set "
            "metadataServiceTemplate.enabled to true in one of them"
        )
        return Wait("MetadataConfigMissing", message, "InputReady", ends=Ends.BY_USER)
    message = f"Secret {secret} is not there yet; NovaMetadata {service} writes it"
    return Wait("MetadataConfigMissing", message, "InputReady")


def _find_cell(name: str, sight: Sight, condition: str = CELL_READY) -> NovaCell | Wait:
    cell = sight(NovaCell, name)
    if cell is not None:
        return cell
    return Wait("NovaCellMissing", f"NovaCell {name} does not exist yet", condition, ends=Ends.BY_AUTHOR)


def judge(answer: JsonObject, host: str) -> str:
    """Return why the compute of a host is not up, by what Nova lists; "" if it is."""
    rows = _rows(answer, host)
    if not rows:
        return f"Nova does not know a compute on host {host} yet{_name_alike(answer, host)}"
    if any(row.get("state") == "up" for row in rows):
        return ""
    return f"Nova says that the compute on host {host} is {rows[0].get('state', 'unknown')}"


def identify(answer: JsonObject, host: str) -> str:
    """Return the id that Nova has given to the compute of a host; "" if it knows none."""
    return next((str(row.get("id", "")) for row in _rows(answer, host)), "")


def joins(resource: NovaExternalCompute, service: str, sight: Sight) -> Iterator[Wait]:
    """Yield why no server is scheduled to a compute that is up: its host is not mapped to its cell yet."""
    cell = _find_cell(resource.spec.cellName, sight)
    owner = cell.metadata.controller if isinstance(cell, NovaCell) else None
    if owner is None or owner.kind != Nova.kind.name:
        # A cell that somebody made alone; that one maps its hosts as well.
        return
    nova = sight(Nova, owner.name)
    known = nova.status.discoveredHosts.get(resource.spec.cellName, {}) if nova is not None else {}
    if service not in known.values():
        message = f"The compute is up; Nova {owner.name} maps its host to the cell, and then it gets servers"
        yield Wait("HostNotMapped", message, SERVICE_READY)


def doubt(answer: JsonObject, host: str) -> str:
    """Return why Nova does not know how a host is.

    Of a cell whose database does not answer, it lists the computes without their states, and leaves out the servers.
    """
    unknown = any(row.get("status") == "UNKNOWN" for row in _rows(answer, host))
    return "Nova does not reach the database of its cell" if unknown else ""


def name_migration(entry: JsonObject) -> str:
    """Return what a migration from or to a host is called; "" if it has ended.

    A server whose resize is not confirmed yet may still go back to where it was.
    """
    if entry.get("status") in ENDED_MIGRATIONS:
        return ""
    return f"a migration of server {entry.get('instance_uuid', 'unknown')}"


def close(answer: JsonObject, host: str) -> Iterator[Call]:
    """Yield what keeps new servers away from a host."""
    for row in _rows(answer, host):
        if row.get("status") != "disabled" and "id" in row:
            body = {"status": "disabled", "disabled_reason": "Its NovaExternalCompute is being deleted"}
            yield Call("PUT", f"{PATH}/{row['id']}", body)


def forget(answer: JsonObject, host: str) -> Iterator[Call]:
    """Yield what deletes a compute. Nova refuses while it has servers, and deletes its provider in Placement, too."""
    return (Call("DELETE", f"{PATH}/{row['id']}") for row in _rows(answer, host) if "id" in row)


def _name_alike(answer: JsonObject, host: str) -> str:
    """Return what Nova calls a compute that looks like a host: its name there has to be that of the chassis in OVN."""
    named = {str(row.get("host", "")) for row in answer.get("services") or () if row.get("binary") == COMPUTE}
    alike = sorted(other for other in named - {host} if other.partition(".")[0] == host.partition(".")[0])
    if not alike:
        return ""
    return f", but one on {alike[0]}: Nova's host has to be {host}, as the chassis of OVN is called"


def find_provider(answer: JsonObject, host: str) -> str:
    """Return the id of a host's compute node, which is also that of its resource provider in Placement."""
    mine = (each for each in answer.get("hypervisors") or () if (each.get("service") or {}).get("host") == host)
    return next((str(each.get("id", "")) for each in mine), "")


def _rows(answer: JsonObject, host: str) -> list[JsonObject]:
    return [row for row in answer.get("services") or () if row.get("binary") == COMPUTE and row.get("host") == host]


NODE_SERVICES = (
    NodeService(
        name="nova-external-compute",
        kind=NovaExternalCompute,
        annotation="nova.openstack.org/cell",
        binding=Binding("cellName", NovaCell, "Nova cannot move a compute to another cell"),
        playbook="stackwright.edpm.nova",
        roles=("stackwright.edpm.edpm_nova", "stackwright.edpm.edpm_libvirt"),
        folder="nova",
        override="02-nova-override.conf",
        images={
            "novaComputeContainerImage": Image("edpm_nova_compute_image", HYPERVISOR, OPTIONS),
            "novaLibvirtContainerImage": Image("edpm_nova_libvirt_image", HYPERVISOR),
        },
        files=files,
        waits=waits,
        # The first version that does not leave out the computes of a cell whose database does not answer.
        sign=Sign("compute", PATH, "services", judge, "compute 2.69", identify, doubt),
        joins=joins,
        removal=Removal(
            variables={"edpm_nova_state": "absent", "edpm_libvirt_state": "absent"},
            close=close,
            occupants=(
                Question("/v2.1/servers", {"all_tenants": "1", "host": "{host}", "limit": "3"}, "servers"),
                Question("/v2.1/os-migrations", {"host": "{host}"}, "migrations", name_migration),
            ),
            forget=forget,
            # Nova deletes it with the compute, unless Placement does not answer it just then. With [api] max_limit = 0
            # all lists of Nova are empty; Placement knows all the same who has a part of the machine.
            trace=Trace(
                path="/v2.1/os-hypervisors/detail",
                identify=find_provider,
                type="placement",
                listed=("/resource_providers", {"uuid": "{id}"}),
                delete="/resource_providers/{id}",
                # Libvirt calls its provider as the machine calls itself, which mostly is the name of the node.
                named={"name": "{host}"},
                id_key="uuid",
                used="/resource_providers/{id}/allocations",
                user="server or migration {user}, which has an allocation in Placement (even if it was evacuated)",
            ),
        ),
        brings=SERVERS,
        hands_on=hand_on_metadata,
        looks=(NovaCell, Nova, NovaMetadata),
        ways=ways,
        host_variables=("edpm_nova_host",),
        host_options=(("DEFAULT", "host"),),
        counterpart=Counterpart(
            "nova",
            extra="nova-extra-config",
            files="*nova*.conf",
            included=(Included("libvirt", variable="edpm_nova_libvirt_image"),),
            known_by="{value}-compute-config",
            value="nova-cell1",
            # Each cell writes keys of its own for migrations.
            written=("nova-migration-ssh-key",),
        ),
    ),
)
