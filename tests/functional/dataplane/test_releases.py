"""One of three nodes hangs in a run: the others get their next service, and no second pod begins anew on them."""

import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.controllers.dataplane import roles
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.client import Client
from tests.functional.dataplane.computes import watched
from tests.functional.dataplane.machines import Plane, plane
from tests.functional.watching import eventually, some

pytestmark = pytest.mark.usefixtures("kinds")

QUICK, SLOW = ("one", "two"), "three"


@pytest.fixture(autouse=True)
def _gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that go on at once share their next run, however slow the machine is."""
    monkeypatch.setattr(roles, "GATHERING", 1.5)


async def run_of(here: Plane, service: str) -> OpenStackAnsibleEE:
    """Return the only run of a service that all nodes share."""
    (found,) = [run for run in await here.runs() if run.spec.service == service and len(run.spec.nodes) > 1]
    return found


async def test_a_node_that_hangs_in_a_run_holds_up_no_other_node_of_it(client: Client, namespace: str) -> None:
    async with plane(client, namespace, gather=1.5) as here, watched(client, namespace) as man, here.operator():
        here.hold("prepare")
        here.machines.hanging = {SLOW}
        # All are there before the role is, so they share their runs.
        for name in (*QUICK, SLOW):
            await here.node(name)
        await here.role()
        for name in QUICK:
            node = await here.ready(OpenStackDataPlaneNode, name)
            assert [record.state for record in node.status.services] == ["Applied"] * 3
        going = await run_of(here, "prepare")
        assert (going.finished, set(going.status.released)) == (False, set(QUICK))
        assert here.machines.runs_of("harden") == [QUICK]
        await eventually(client, OpenStackDataPlaneNode, SLOW, namespace, lambda node: is_in(node, going))

        # They may even be changed meanwhile, in the service in which the other one hangs.
        await here.node("one", node={"ansibleVars": {"colour": "red"}})
        await some(client, OpenStackAnsibleEE, namespace, lambda runs: [run for run in runs if is_alone(run, "one")])

        # Another pod would begin anew on all three, so there is none: what is left goes on in another run.
        (pod,) = await client.list(Pod, namespace, labels=f"ansibleee.openstack.org/run={going.metadata.name}")
        await client.delete(Pod, pod.metadata.name, namespace)
        await eventually(client, OpenStackAnsibleEE, going.metadata.name, namespace, lambda run: run.finished)
        await some(client, OpenStackAnsibleEE, namespace, lambda runs: [run for run in runs if is_alone(run, SLOW)])
        here.machines.hanging = set()
        here.release()
        for name in (*QUICK, SLOW):
            await eventually(client, OpenStackDataPlaneNode, name, namespace, lambda node: node.status.deployed)
        assert len(man.pods[going.metadata.name]) == 1


async def test_a_run_whose_job_is_deleted_does_not_begin_anew_on_nodes_that_it_released(
    client: Client, namespace: str
) -> None:
    async with plane(client, namespace, gather=1.5) as here, watched(client, namespace) as man, here.operator():
        here.hold("prepare")
        here.machines.hanging = {SLOW}
        for name in (*QUICK, SLOW):
            await here.node(name)
        await here.role()
        for name in QUICK:
            await here.ready(OpenStackDataPlaneNode, name)
        going = await run_of(here, "prepare")
        # One of them has got another run meanwhile, which has not ended.
        await here.node("one", node={"ansibleVars": {"colour": "red"}})
        await some(client, OpenStackAnsibleEE, namespace, lambda runs: [run for run in runs if is_alone(run, "one")])
        await client.delete(Job, going.metadata.name, namespace)
        ended = await eventually(client, OpenStackAnsibleEE, going.metadata.name, namespace, lambda run: run.finished)
        assert {host.host: host.state for host in ended.status.hosts} == {"one": "Ok", "two": "Ok", SLOW: "Unknown"}
        here.machines.hanging = set()
        here.release()
        for name in (*QUICK, SLOW):
            await eventually(client, OpenStackDataPlaneNode, name, namespace, lambda node: node.status.deployed)
        assert len(man.pods[going.metadata.name]) == 1


def prepares(job: Job) -> bool:
    return job.metadata.name.startswith("prepare")


def is_in(node: OpenStackDataPlaneNode, run: OpenStackAnsibleEE) -> bool:
    """Return whether a node says that a run is under way on it."""
    return node.status.running is not None and node.status.running.run == run.metadata.name


def is_alone(run: OpenStackAnsibleEE, node: str) -> bool:
    """Return whether a run prepares one node alone, and has begun."""
    names = [entry.name for entry in run.spec.nodes]
    return run.spec.service == "prepare" and names == [node] and bool(run.status.hosts)


async def test_nodes_of_a_run_that_does_not_say_when_it_is_through_wait_for_each_other(
    client: Client, namespace: str
) -> None:
    async with plane(client, namespace, gather=1.5) as here, here.operator():
        here.hold("prepare")
        for name in (*QUICK, SLOW):
            await here.node(name)
        await here.role()
        jobs = await some(client, Job, namespace, lambda jobs: any(map(prepares, jobs)))
        (job,) = filter(prepares, jobs)
        assert job.spec["backoffLimit"] > 0
        here.release()
        for name in (*QUICK, SLOW):
            await here.ready(OpenStackDataPlaneNode, name)
        assert (await run_of(here, "prepare")).status.released == {}
        assert here.machines.runs_of("harden") == [("one", "three", "two")]
