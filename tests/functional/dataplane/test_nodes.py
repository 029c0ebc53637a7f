"""Nodes, roles and runs on a real API server, without any control plane; the pods of runs are played."""

import base64
from typing import Any

import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.controllers.dataplane import beginnings
from stackwright.kube.builtin import ConfigMap, Job, Pod, Secret
from stackwright.kube.client import Client
from stackwright.simulator import Behaviour, Script, Selector, Unschedulable
from tests.functional import hands
from tests.functional.dataplane.machines import KEY, SERVICES, plane
from tests.functional.watching import eventually, is_ready, some, told

pytestmark = pytest.mark.usefixtures("kinds")


def failed(service: str) -> Any:
    """Return what holds of a node that says that a service failed."""

    def holds(node: OpenStackDataPlaneNode) -> bool:
        return any(record.name == service and record.failures for record in node.status.services)

    return holds


def working(pods: list[Pod], service: str) -> list[Pod]:
    """Return the pods of a service's runs that are at work."""
    mine = (pod for pod in pods if pod.metadata.name.startswith(service) and not pod.deleting)
    return [pod for pod in mine if pod.status.get("phase") == "Running"]


async def test_nodes_of_a_role_are_reached_and_deployed_together(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        await here.role()
        for name in ("one", "two"):
            await here.node(name, node={"ansibleVars": {"rack": name}})
        for name in ("one", "two"):
            node = await here.ready(OpenStackDataPlaneNode, name)
            assert (node.status.phase, node.status.deployed) == ("Deployed", True)
            assert [(record.name, record.state) for record in node.status.services] == [
                (service, "Applied") for service in ("reach", *SERVICES)
            ]
        role = await here.ready(OpenStackDataPlaneRole, "compute")
        assert (role.status.nodes, role.status.deployedNodes, role.status.deployed) == (2, 2, True)
        # They may have come one after the other; then they share what is still to do.
        assert here.machines.runs_of("harden") in ([("one", "two")], [("one",), ("two",)], [("two",), ("one",)])
        inventory = await client.get(ConfigMap, "dataplanenode-one", namespace)
        assert "rack: one" in inventory.data["inventory"]

        # What does not differ does not run; one node's variable runs that node's services, and no other's.
        before = len(here.machines.seen)
        await here.node("two", node={"ansibleVars": {"rack": "attic"}})
        changed = await here.ready(OpenStackDataPlaneNode, "two")
        await here.worked_through(changed)
        assert list(here.machines.seen.values())[before:] == [("two",), ("two",)]
        # Runs that no node speaks of any more are gone.
        spoken = {
            record.run
            for name in ("one", "two")
            for record in (await here.ready(OpenStackDataPlaneNode, name)).status.services
        }
        await some(client, OpenStackAnsibleEE, namespace, lambda runs: {run.metadata.name for run in runs} == spoken)


async def test_a_node_that_fails_holds_up_nobody_and_goes_on_where_it_failed(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        here.machines.faults["prepare", "full"] = ("failed", "No space left on device")
        here.machines.faults["reach", "dark"] = ("unreachable", "Connection timed out")
        await here.role()
        for name in ("full", "dark", "fine"):
            await here.node(name)
        await here.ready(OpenStackDataPlaneNode, "fine")
        full = await here.says(OpenStackDataPlaneNode, "DeploymentReady", "No space left on device", "full")
        assert "Service prepare failed in task Do prepare: No space left on device" in str(full.status.conditions)
        await here.says(OpenStackDataPlaneNode, "SetupReady", "Connection timed out", "dark")
        await here.says(OpenStackDataPlaneRole, "DeploymentReady", "Nodes with an error: ", "compute")
        await told(client, namespace, "full", "ServiceFailed")
        # It is tried again by itself, alone.
        await eventually(
            client,
            OpenStackDataPlaneNode,
            "full",
            namespace,
            lambda node: any(r.failures > 1 for r in node.status.services),
        )
        assert [hosts for hosts in here.machines.runs_of("prepare") if "full" in hosts][-1] == ("full",)
        reached = len([hosts for hosts in here.machines.runs_of("reach") if "full" in hosts])
        here.machines.faults.clear()
        for name in ("full", "dark"):
            await here.ready(OpenStackDataPlaneNode, name)
        assert len([hosts for hosts in here.machines.runs_of("reach") if "full" in hosts]) == reached
        await here.ready(OpenStackDataPlaneRole, "compute")


async def test_results_come_while_a_run_goes_on_and_show_no_secret(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        await here.put(Secret, "variables", stringData={"database_password": "hunter2hunter2"})
        here.hold("prepare")
        here.machines.faults["prepare", "bad"] = ("failed", "cannot log in with hunter2hunter2 to db")
        await here.role()
        await here.node("good")
        await here.node("bad", node={"ansibleVarsFrom": [{"secretRef": {"name": "variables"}}]})
        good = await eventually(
            client,
            OpenStackDataPlaneNode,
            "good",
            namespace,
            lambda node: node.status.running is not None and node.status.running.task == "Begin prepare",
        )
        assert good.status.running is not None
        assert good.status.running.name == "prepare"
        here.release()
        bad = await here.says(OpenStackDataPlaneNode, "DeploymentReady", "cannot log in with (hidden) to db", "bad")
        assert bad.status.inventoryConfigMapName == "dataplanenode-bad"
        await here.ready(OpenStackDataPlaneNode, "good")
        # The password is in Secrets alone.
        for kind in (ConfigMap, OpenStackAnsibleEE, OpenStackDataPlaneNode, OpenStackDataPlaneRole, Job, Pod):
            assert "hunter2" not in str(await client.list(kind, namespace)), kind
        hidden = await client.get(Secret, "dataplanenode-bad-secret", namespace)
        assert b"hunter2" in base64.b64decode(hidden.data["inventory"])


async def test_what_would_run_is_shown_and_nothing_runs(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        await here.role(deployStrategy={"deploy": False})
        await here.node("one")
        node = await here.says(OpenStackDataPlaneNode, "SetupReady", "would run: reach, prepare, harden", "one")
        await here.worked_through(node)
        assert await here.runs() == []
        await here.node("one", deployStrategy={"deploy": True})
        await here.ready(OpenStackDataPlaneNode, "one")


async def test_what_is_missing_is_named_and_waited_for(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        await here.node("one")
        await here.says(OpenStackDataPlaneNode, "InputReady", "OpenStackDataPlaneRole compute does not exist", "one")
        await here.role(services=["tea"], nodeTemplate={"ansibleSSHPrivateKeySecret": "other-key"})
        await here.says(OpenStackDataPlaneNode, "InputReady", "OpenStackDataPlaneService tea does not exist", "one")
        await here.says(OpenStackDataPlaneRole, "InputReady", "OpenStackDataPlaneService tea does not exist", "compute")
        await here.put(OpenStackDataPlaneService, "tea", spec={"role": "partner.tea.brew", "secrets": ["leaves"]})
        await here.says(OpenStackDataPlaneNode, "InputReady", "Secret leaves does not exist", "one")
        await here.put(Secret, "leaves", stringData={"kind": "oolong"})
        await here.says(OpenStackDataPlaneNode, "InputReady", "Secret other-key does not exist", "one")
        await here.put(Secret, "other-key", stringData={"ssh-privatekey": KEY})
        await here.ready(OpenStackDataPlaneNode, "one")
        (run,) = [run for run in await here.runs() if run.spec.service == "tea"]
        job = await client.get(Job, run.metadata.name, namespace)
        (container,) = job.spec["template"]["spec"]["containers"]
        assert container["args"][:5] == ["ansible-runner", "run", "/runner", "-r", "partner.tea.brew"]
        # What stands in its files is a part of its inputs.
        await here.put(Secret, "leaves", stringData={"kind": "assam"})
        await eventually(
            client,
            OpenStackDataPlaneNode,
            "one",
            namespace,
            lambda node: node.status.services[-1].run != run.metadata.name and node.status.deployed,
        )
        assert len(here.machines.runs_of("reach")) == 1


async def test_a_run_whose_pod_dies_is_picked_up_again(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        here.hold("prepare")
        await here.role()
        await here.node("one")
        going = await some(client, Pod, namespace, lambda pods: working(pods, "prepare"))
        (pod,) = working(going, "prepare")
        await client.delete(Pod, pod.metadata.name, namespace)
        later = await some(
            client,
            Pod,
            namespace,
            lambda pods: [p for p in working(pods, "prepare") if p.metadata.uid != pod.metadata.uid],
        )
        assert pod.metadata.uid not in {entry.metadata.uid for entry in working(later, "prepare")}
        here.release()
        await here.ready(OpenStackDataPlaneNode, "one")
        assert len(here.machines.runs_of("prepare")) == 1


async def test_a_run_that_is_deleted_at_work_is_not_forgotten(client: Client, namespace: str) -> None:
    """The user stops it, and sets the input back: the machine may have half of the change."""
    async with plane(client, namespace) as here, here.operator():
        await here.role()
        await here.node("one", node={"ansibleVars": {"rack": "cellar"}})
        await here.ready(OpenStackDataPlaneNode, "one")
        here.hold("prepare")
        await here.node("one", node={"ansibleVars": {"rack": "attic"}})
        at_work = await eventually(
            client,
            OpenStackDataPlaneNode,
            "one",
            namespace,
            lambda node: node.status.running is not None and node.status.running.name == "prepare",
        )
        assert at_work.status.running is not None
        await here.node("one", node={"ansibleVars": {"rack": "cellar"}})
        await client.delete(OpenStackAnsibleEE, at_work.status.running.run, namespace)
        stopped = await eventually(
            client,
            OpenStackDataPlaneNode,
            "one",
            namespace,
            lambda node: node.status.services[1].sequence > at_work.status.services[1].sequence,
        )
        assert (stopped.status.deployed, stopped.status.services[1].appliedHash) == (False, "")
        here.release()
        again = await here.ready(OpenStackDataPlaneNode, "one")
        assert again.status.services[1].run != at_work.status.running.run
        assert len(here.machines.runs_of("prepare")) >= 2


async def test_two_runs_never_touch_one_node_at_once(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        here.hold("mine")
        spec = {"playbookContents": "- hosts: all\n", "inventory": "all: {}\n", "nodes": [{"name": "one"}]}
        for name in ("mine-1", "mine-2"):
            await here.put(OpenStackAnsibleEE, name, spec=spec)
        # One waits for the other from the moment on at which that has the node, which is before it has a Job.
        await some(client, Job, namespace, bool)
        waiting = await some(
            client,
            OpenStackAnsibleEE,
            namespace,
            lambda runs: any(c.reason == "NodeBusy" for r in runs for c in r.status.conditions),
        )
        assert len(waiting) == 2
        assert len(await client.list(Job, namespace)) == 1
        here.release()
        for name in ("mine-1", "mine-2"):
            await here.ready(OpenStackAnsibleEE, name)


async def test_a_data_plane_is_its_roles_and_nodes(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        spec: dict[str, Any] = {
            "roles": {
                "compute": {"nodeTemplate": {"ansibleSSHPrivateKeySecret": "ssh-key"}, "services": list(SERVICES)}
            },
            "nodes": {
                "one": {"role": "compute", "ansibleHost": "192.0.2.1"},
                "two": {"role": "compute", "ansibleHost": "192.0.2.2"},
            },
        }
        await here.put(OpenStackDataPlane, "edpm", spec=spec)
        whole = await here.ready(OpenStackDataPlane, "edpm")
        assert whole.status.deployed
        await hands.try_everything(client, whole)
        two = await here.ready(OpenStackDataPlaneNode, "two")
        assert (two.spec.hostName, two.metadata.labels["openstackdataplane"]) == ("two", "edpm")
        del spec["nodes"]["two"]
        await here.put(OpenStackDataPlane, "edpm", spec=spec)
        await some(client, OpenStackDataPlaneNode, namespace, lambda nodes: len(nodes) == 1)


async def test_deployed_nodes_are_changed_a_few_at_a_time(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        await here.role(maxUnavailable=1)
        names = ("one", "two", "three")
        for name in names:
            await here.node(name)
        for name in names:
            await here.ready(OpenStackDataPlaneNode, name)
        before = len(here.machines.seen)
        template = {"ansibleSSHPrivateKeySecret": "ssh-key", "ansibleVars": {"colour": "red"}}
        changed = await here.role(maxUnavailable=1, nodeTemplate=template)
        await eventually(
            client,
            OpenStackDataPlaneRole,
            "compute",
            namespace,
            lambda role: is_ready(role) and len(here.machines.seen) >= before + 6,
        )
        assert changed.metadata.generation
        assert all(len(hosts) == 1 for hosts in list(here.machines.seen.values())[before:])


async def test_runs_that_never_begin_change_nothing(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with plane(client, namespace) as here, here.operator():
        await here.role(maxUnavailable=1)
        names = ("one", "two")
        for name in names:
            await here.node(name)
        before = {name: await here.ready(OpenStackDataPlaneNode, name) for name in names}
        begun = len(here.machines.seen)
        here.play.perform(Script((Behaviour(Selector(name="prepare-*"), fault=Unschedulable()),)))
        template = {"ansibleSSHPrivateKeySecret": "ssh-key", "ansibleVars": {"colour": "red"}}
        # Only now: runs that work may well take longer than a second.
        monkeypatch.setattr(beginnings, "LATE", 1.0)
        await here.role(maxUnavailable=1, nodeTemplate=template)
        for name in names:
            node = await here.says(OpenStackDataPlaneNode, "DeploymentReady", "did not run, and is as before", name)
            assert [record.appliedHash for record in node.status.services] == [
                record.appliedHash for record in before[name].status.services
            ]
        stuck = [run for run in await here.runs() if run.status.jobStatus == "NotBegun"]
        jobs = {job.metadata.name for job in await client.list(Job, namespace)}
        assert stuck
        assert not jobs & {run.metadata.name for run in stuck}
        monkeypatch.undo()
        here.release()
        for name in names:
            await eventually(client, OpenStackDataPlaneNode, name, namespace, lambda node: node.status.deployed)
        # They were never as new: one after the other is changed.
        assert all(len(hosts) == 1 for hosts in list(here.machines.seen.values())[begun:])


async def test_a_machine_has_one_node_also_where_no_webhook_says_so(client: Client, namespace: str) -> None:
    async with plane(client, namespace) as here, here.operator():
        await here.role()
        await here.node("first", ansibleHost="192.0.2.1")
        await here.ready(OpenStackDataPlaneNode, "first")
        await here.node("second", ansibleHost="192.0.2.1")
        refused = await here.says(OpenStackDataPlaneNode, "InputReady", "Node first has the same host name", "second")
        await here.worked_through(refused)
        assert not [hosts for hosts in here.machines.seen.values() if "second" in hosts]
        await client.delete(OpenStackDataPlaneNode, "first", namespace)
        await here.ready(OpenStackDataPlaneNode, "second")
