"""Services on nodes, on a real API server: made from annotations, applied by runs, up when their API says so."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.network import IPSet, NetConfig
from stackwright.cli import exit_codes
from stackwright.controllers.dataplane import roles
from stackwright.controllers.node_services import creation
from stackwright.controllers.node_services.creation import finalizer_of
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from stackwright.services.neutron.kinds import OVNMetadataAgent
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from tests.functional.commands import command
from tests.functional.crds.kubectl import Kubectl
from tests.functional.dataplane.machines import SERVICES
from tests.functional.dataplane.serving import serving
from tests.functional.net_configs import CTLPLANE
from tests.functional.running import standing_still
from tests.functional.watching import PATIENCE, eventually, gone, is_ready
from tests.unit.controllers.node_services.place import AROUND

pytestmark = pytest.mark.usefixtures("kinds")


def runs_again(before: NovaExternalCompute) -> Any:
    """Return what holds of a compute that is ready after another run."""
    assert before.status.deployment is not None
    run = before.status.deployment.run

    def holds(now: NovaExternalCompute) -> bool:
        return is_ready(now) and now.status.deployment is not None and now.status.deployment.run != run

    return holds


def is_unmarked(node: OpenStackDataPlaneNode) -> bool:
    """Return whether a node does not remember that a compute was made."""
    return "nova.openstack.org/cell-made" not in node.metadata.annotations


async def test_a_node_with_a_cell_becomes_a_compute(
    client: Client, namespace: str, apiserver: Shared, kubernetes: dict[str, Path], tmp_path: Path
) -> None:
    async with serving(client, namespace) as here, here.operator():
        here.hold("harden")
        await here.role()
        await here.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell1")
        await here.node("one")
        made = await here.says(NovaExternalCompute, "NovaCellReady", "NovaCell nova-cell1 does not exist", "one")
        assert (made.spec.cellName, made.spec.sshKeySecretName) == ("nova-cell1", "ssh-key")
        assert made.spec.inventoryConfigMapName == "dataplanenode-one"
        await here.cell(ready=False)
        await here.says(NovaExternalCompute, "NovaCellReady", "NovaCell nova-cell1 is not ready yet: played", "one")
        await here.cell()
        await here.says(NovaExternalCompute, "DataPlaneNodeReady", "Waits until node one is prepared", "one")
        assert here.machines.runs_of("nova") == []
        here.release()
        await here.says(NovaExternalCompute, "ServiceReady", "Nova does not know a compute on host one yet", "one")
        await here.says(OVNMetadataAgent, "ServiceReady", "Neutron does not know a metadata agent on host one", "one")
        status = await command(apiserver.kubeconfig, namespace, "status")
        (line,) = [line for line in status.stdout.splitlines() if "NovaExternalCompute one" in line]
        assert "Starting: Nova does not know a compute" in line
        await here.maps()
        here.up("one")
        await here.says(NovaExternalCompute, "ServiceReady", "Nova nova maps its host to the cell", "one")
        await here.ready(OVNMetadataAgent, "one")
        await here.maps("one")
        compute = await here.ready(NovaExternalCompute, "one")
        assert (here.machines.runs_of("nova"), here.machines.runs_of("ovn")) == ([("one",)], [("one",)])
        kubectl = Kubectl(kubernetes["kubectl"], apiserver.kubeconfig, tmp_path)
        shown = await asyncio.to_thread(kubectl, "get", "novaexternal", "--namespace", namespace)
        assert shown.splitlines()[1].split()[:4] == ["one", "True", "nova-cell1", "Up"]
        explained = await command(apiserver.kubeconfig, namespace, "explain", "novaexternalcompute/one")
        assert explained.exit_code == exit_codes.DONE

        # What one compute is told runs there, once, and nowhere else.
        said = {"metadata": {"name": "one", "namespace": namespace}, "spec": {"customServiceConfig": "[DEFAULT]\n"}}
        await client.apply(NovaExternalCompute, said, field_manager="user")
        again = await eventually(client, NovaExternalCompute, "one", namespace, runs_again(compute))
        assert (len(here.machines.runs_of("nova")), len(here.machines.runs_of("ovn"))) == (2, 1)
        assert again.status.deployment is not None
        assert await here.decoded(f"{again.status.deployment.run}-own") == {"02-nova-override.conf": "[DEFAULT]\n"}
        assert len(here.machines.runs_of("prepare")) == 1


async def test_a_cell_does_not_change_also_where_no_webhook_says_so(client: Client, namespace: str) -> None:
    async with serving(client, namespace) as here, here.operator():
        here.up("one")
        await here.cell()
        await here.cell("nova-cell2")
        await here.compute_nodes("one")
        await here.ready(NovaExternalCompute, "one")
        await here.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell2")
        moved = await here.says(NovaExternalCompute, "InputReady", "this is bound to nova-cell1", "one")
        await here.says(OVNMetadataAgent, "InputReady", "which this serves, is bound to nova-cell1", "one")
        await here.worked_through(moved)
        assert moved.spec.cellName == "nova-cell1"
        await here.annotate(OpenStackDataPlaneRole, "compute")
        await here.says(NovaExternalCompute, "InputReady", "do not have the annotation nova.openstack.org/cell", "one")
        await here.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell1")
        await here.ready(NovaExternalCompute, "one")
        assert len(here.machines.runs_of("nova")) == 1

        # One that was deleted is made again when the annotation was removed and set anew, and not before.
        await client.delete(NovaExternalCompute, "one", namespace)
        await gone(client, NovaExternalCompute, "one", namespace)
        await here.worked_through(await here.node("one", hostName="one"))
        assert await client.find(NovaExternalCompute, "one", namespace) is None
        await here.annotate(OpenStackDataPlaneRole, "compute")
        await eventually(client, OpenStackDataPlaneNode, "one", namespace, is_unmarked)
        here.up("one")
        await here.annotate(OpenStackDataPlaneNode, "one", cell="nova-cell2")
        again = await here.ready(NovaExternalCompute, "one")
        assert again.spec.cellName == "nova-cell2"


async def test_one_that_was_there_before_its_node_is_adopted_and_kept_in_step(client: Client, namespace: str) -> None:
    async with serving(client, namespace) as here, here.operator():
        here.up("one")
        await here.cell()
        body = {"metadata": {"name": "one", "namespace": namespace}, "spec": {"customServiceConfig": "[DEFAULT]\n"}}
        await client.create(NovaExternalCompute, body)
        await here.says(NovaExternalCompute, "InputReady", "OpenStackDataPlaneNode one does not exist", "one")
        await here.compute_nodes("one")
        adopted = await here.ready(NovaExternalCompute, "one")
        assert (adopted.spec.cellName, adopted.spec.customServiceConfig) == ("nova-cell1", "[DEFAULT]\n")
        assert adopted.metadata.controller is not None
        assert adopted.metadata.controller.name == "one"
        await here.node("one", deployStrategy={"deploy": False}, networkAttachments=["ctlplane"])
        await here.says(NovaExternalCompute, "DeploymentReady", "deploy is false", "one")
        after = await client.get(NovaExternalCompute, "one", namespace)
        assert (after.spec.deploy, after.spec.networkAttachments) == (False, ("ctlplane",))
        assert after.spec.customServiceConfig == "[DEFAULT]\n"


async def test_a_node_does_not_go_while_servers_are_on_it(client: Client, namespace: str) -> None:
    async with serving(client, namespace) as here, here.operator():
        here.up("one")
        here.answers["/v2.1/servers"] = {}
        await here.cell()
        await here.compute_nodes("one")
        for kind in (NovaExternalCompute, OVNMetadataAgent):
            await here.ready(kind, "one")
        await client.delete(OpenStackDataPlaneNode, "one", namespace)
        await here.says(NovaExternalCompute, "ServiceReady", "nobody can be asked whether it is used", "one")
        here.answers["/v2.1/servers"] = {"servers": [{"name": "web"}]}
        await here.says(NovaExternalCompute, "ServiceReady", "still on the machine: web; migrate or delete", "one")
        await here.says(OVNMetadataAgent, "ServiceReady", "NovaExternalCompute one is still there", "one")
        (row,) = here.answers["/v2.1/os-services"]["services"]
        assert row["status"] == "disabled"
        assert len(here.machines.runs_of("nova")) == 1
        # Nova may be told to list nothing; Placement knows all the same.
        allocations = here.answers["/resource_providers/provider-one/allocations"]["allocations"]
        allocations["u1"] = {"resources": {"VCPU": 1}}
        here.answers["/v2.1/servers"] = {"servers": []}
        await here.says(NovaExternalCompute, "ServiceReady", "u1, which has an allocation in Placement", "one")
        assert len(here.machines.runs_of("nova")) == 1
        allocations.clear()
        # The switch goes after the last port of a server, whoever deployed its compute.
        port = {"id": "p", "device_owner": "compute:nova", "device_id": "u1"}
        here.answers["/v2.0/ports"] = {"ports": [port]}
        await gone(client, NovaExternalCompute, "one", namespace)
        await here.says(OVNMetadataAgent, "ServiceReady", "still on the machine: port p of server u1", "one")
        assert len(here.machines.runs_of("ovn")) == 1
        here.answers["/v2.0/ports"] = {"ports": []}
        for each in (OVNMetadataAgent, OpenStackDataPlaneNode):
            await gone(client, each, "one", namespace)
        assert (len(here.machines.runs_of("nova")), len(here.machines.runs_of("ovn"))) == (2, 2)
        assert here.answers["/v2.1/os-services"] == {"services": []}
        assert here.answers["/v2.0/agents"] == {"agents": []}
        # Nova left it behind.
        assert here.answers["/resource_providers"] == {"resource_providers": []}


async def test_a_node_keeps_what_its_removal_needs_however_it_is_deleted(client: Client, namespace: str) -> None:
    async with serving(client, namespace) as here, here.operator():
        here.up("one")
        here.answers["/v2.1/servers"] = {"servers": [{"name": "web"}]}
        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE]})
        await here.cell()
        template = {
            "ansibleSSHPrivateKeySecret": "ssh-key",
            "networks": [{"name": "ctlplane", "subnetName": "subnet1"}],
        }
        await here.role(nodeTemplate=template, preProvisioned=True)
        await here.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell1")
        await here.node("one", ansibleHost="")
        for kind in (NovaExternalCompute, OVNMetadataAgent):
            await here.ready(kind, "one")
        (address,) = (await here.ready(IPSet, "one")).status.reservations
        # As some tools do: the garbage collector deletes what the node owns before the node itself is gone.
        await client.delete(OpenStackDataPlaneNode, "one", namespace, propagation="Foreground")
        await here.says(NovaExternalCompute, "ServiceReady", "still on the machine: web; migrate or delete", "one")
        await eventually(client, IPSet, "one", namespace, lambda each: each.deleting)
        # Its machine has the address, even if nobody else has one.
        only = {"subnetName": "subnet1", "name": "ctlplane", "fixedIP": address.address}
        await here.put(IPSet, "other", spec={"networks": [only]})
        await here.says(IPSet, "ReservationReady", f"{address.address} is already reserved by IPSet one", "other")
        here.answers["/v2.1/servers"] = {"servers": []}
        for each in (NovaExternalCompute, OVNMetadataAgent, OpenStackDataPlaneNode, IPSet):
            await gone(client, each, "one", namespace)
        await gone(client, ConfigMap, "dataplanenode-one", namespace)
        assert here.machines.runs_of("nova") == [("one",)] * 2
        await here.ready(IPSet, "other")


async def test_nodes_share_a_run_and_a_change_reaches_as_many_as_the_role_allows(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = ("one", "two", "three")
    # Their agents and computes are made one after the other, and share their runs all the same.
    monkeypatch.setattr(roles, "GATHERING", 1.5)
    async with serving(client, namespace, gather=1.5) as here, here.operator():
        here.up(*nodes)
        await here.cell()
        await here.role(maxUnavailable=1)
        await here.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell1")
        await asyncio.gather(*(here.node(name) for name in nodes))
        for name in nodes:
            await here.ready(NovaExternalCompute, name)
            await here.ready(OVNMetadataAgent, name)
        # New ones are not counted.
        assert [sorted(run) for run in here.machines.runs_of("reach")] == [sorted(nodes)]
        assert [sorted(run) for run in here.machines.runs_of("nova")] == [sorted(nodes)]
        here.machines.seen.clear()
        await here.secret("nova-cell1-compute-config", **{"01-nova.conf": "[DEFAULT]\ndebug = true\n"})
        while len(here.machines.runs_of("nova")) < len(nodes):
            await asyncio.sleep(0.1)
        assert sorted(here.machines.runs_of("nova")) == sorted((name,) for name in nodes)
        for name in nodes:
            await here.ready(NovaExternalCompute, name)
        # What the runs before left behind goes.
        async with asyncio.timeout(PATIENCE):
            while len([run for run in await here.runs() if run.spec.service == "nova-external-compute"]) > len(nodes):
                await asyncio.sleep(0.1)


async def test_what_an_operator_deploys_no_role_deploys_again_also_where_no_webhook_says_so(
    client: Client, namespace: str
) -> None:
    async with serving(client, namespace) as here, here.operator():
        here.up("one", "two")
        await here.cell()
        await here.compute_nodes("one")
        await here.ready(NovaExternalCompute, "one")
        await here.put(OpenStackDataPlaneService, "mine", spec={"playbook": "stackwright.edpm.nova"})
        await here.role(services=[*SERVICES, "mine"])
        await here.says(OpenStackDataPlaneNode, "InputReady", "NovaExternalCompute deploys on this node already", "one")
        # A node that is new gets it by its role, and not twice.
        await here.node("two")
        await here.says(NovaExternalCompute, "InputReady", "runs the same by OpenStackDataPlaneService mine", "two")
        await here.ready(OpenStackDataPlaneNode, "two")
        assert here.machines.runs_of("mine") == [("two",)]
        assert here.machines.runs_of("nova") == [("one",)]
        await here.role()
        await here.ready(OpenStackDataPlaneNode, "one")
        await here.ready(NovaExternalCompute, "two")


async def test_a_node_is_not_let_go_because_a_cache_lacks_its_compute(client: Client, namespace: str) -> None:
    """Its address would be free while servers run on it."""
    (service,) = (each for each in AROUND.services if each.kind is NovaExternalCompute)
    held, name = finalizer_of(service), "one"
    spec = {"role": "compute", "ansibleHost": "one.example"}
    node = await client.create(
        OpenStackDataPlaneNode,
        {"metadata": {"name": name, "namespace": namespace, "finalizers": [held]}, "spec": spec},
    )
    await client.delete(OpenStackDataPlaneNode, name, namespace)
    controller = creation.controller(service, AROUND, 1)
    behind = await standing_still(client, namespace, controller.kinds)
    body = {"cellName": "nova-cell1", "dataplaneNodeName": name, "sshKeySecretName": "ssh-key"}
    metadata = {"name": name, "namespace": namespace, "finalizers": ["example.com/servers"]}
    await client.create(NovaExternalCompute, {"metadata": metadata, "spec": body})
    await controller.reconcile(node.key, behind)
    assert (await client.get(OpenStackDataPlaneNode, name, namespace)).metadata.finalizers == (held,)
    assert (await client.get(NovaExternalCompute, name, namespace)).deleting
    await client.patch(NovaExternalCompute, name, namespace, {"metadata": {"finalizers": None}})
    await gone(client, NovaExternalCompute, name, namespace)
    await controller.reconcile(node.key, behind)
    await gone(client, OpenStackDataPlaneNode, name, namespace)
