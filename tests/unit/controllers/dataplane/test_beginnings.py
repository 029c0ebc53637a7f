"""When a run has begun, when it is given up, and what it takes for its own."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import NOT_BEGUN, OpenStackAnsibleEE
from stackwright.api.base import ObjectMeta
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.dataplane import runs
from stackwright.controllers.dataplane.beginnings import LATE, find_late, find_missing, has_worked
from stackwright.controllers.dataplane.stuck_runs import find_stuck
from stackwright.kube.builtin import Job, Pod, Secret
from stackwright.kube.errors import Blocked, Denied
from stackwright.kube.plan import Wait
from stackwright.kube.resource import OwnerReference
from tests.unit.controllers.dataplane.run_parts import (
    Server,
    job,
    look_at_nothing,
    owned,
    owner,
    run,
    waiting,
    worked,
    world,
)

NOW = datetime(2026, 11, 16, tzinfo=UTC)
# A pod that ended: a Job that replaces it has not failed.
KILLED = waiting("Failed", "terminated")


@pytest.mark.parametrize(
    ("of", "there", "pods", "begun"),
    [
        pytest.param(run("a"), job("a"), [], False, id="no-pod-yet"),
        pytest.param(run("a"), job("a"), [waiting()], False, id="a-pod-that-waits-for-its-image"),
        pytest.param(run("a"), job("a"), [waiting("Running", "running")], True, id="a-pod-that-works"),
        pytest.param(run("a"), job("a"), [KILLED], True, id="a-pod-that-ended"),
        pytest.param(run("a"), job("a"), [Pod(status={"phase": "Failed"})], True, id="nobody-knows-of-an-evicted-pod"),
        pytest.param(run("a"), job("a", failed=1), [], True, id="the-job-counted-a-pod-that-is-gone"),
        pytest.param(worked(run("a")), None, [], True, id="the-status-remembers-it"),
    ],
)
def test_whether_a_pod_may_have_touched_a_machine(
    of: OpenStackAnsibleEE, there: Job | None, pods: list[Pod], begun: bool
) -> None:
    assert has_worked(of, there, pods) is begun


@pytest.mark.parametrize(
    ("of", "pods", "minutes", "late"),
    [
        pytest.param(owned(run("a")), [waiting()], 16, "within 15 minutes", id="its-pod-does-not-begin"),
        pytest.param(
            owned(run("a")),
            [waiting(reason="CreateContainerError", message="no such image")],
            16,
            "15 minutes: Pod p: no such image",
            id="why-it-does-not",
        ),
        pytest.param(owned(run("a")), [waiting()], 14, "", id="its-image-may-be-large"),
        pytest.param(owned(run("a")), [], 16, "the events of Job a say why it makes none", id="no-pod-can-be-made"),
        pytest.param(worked(owned(run("a"))), [], 300, "", id="its-pod-was-evicted-a-moment-ago"),
        pytest.param(owned(run("a")), [waiting("Running", "running")], 300, "", id="it-works"),
        pytest.param(owned(run("a")), [KILLED], 300, "", id="it-was-killed-and-is-replaced"),
        pytest.param(
            owned(run("a")), [KILLED, waiting(made="2026-11-16T05:00:00Z")], 301, "", id="it-has-just-been-replaced"
        ),
        pytest.param(run("a"), [waiting()], 16, "", id="a-users-own-is-the-users"),
    ],
)
def test_a_run_whose_pod_does_not_begin_is_given_up(
    of: OpenStackAnsibleEE, pods: list[Pod], minutes: int, late: str
) -> None:
    trouble = find_stuck(of, job("a"), pods, look_at_nothing, 2.0)
    why = find_late(of, job("a"), pods, NOW + timedelta(minutes=minutes), trouble=trouble)
    assert bool(why) is bool(late)
    assert late in why


async def give_up(of: OpenStackAnsibleEE, here: runs.World) -> runs.Seen:
    """Take a pass that gives a run up, and return what is seen after its step."""
    (step,) = runs.decide(of, await runs.observe(of, here)).steps
    assert isinstance(step, runs.GiveUp)
    await runs.runs.act(step, here)
    return await runs.observe(of, here)


async def test_a_run_that_never_began_ends_when_nothing_is_left_that_could_begin() -> None:
    mine = owned(run("a"))
    server = Server(job("a"), waiting(), mine)
    here = world(server)
    seen = await give_up(mine, here)
    # Its pods go before it.
    assert server.deleted == [("Job", "a", "Foreground")]
    assert runs.conclude(mine, seen).finishedAt == ""
    (wait,) = runs.decide(mine, seen).waits
    assert (wait.reason, wait.after) == ("NotBegun", runs.BUSY)
    server.keep_runs()
    seen = await runs.observe(mine, here)
    status = runs.conclude(mine, seen)
    assert (status.jobStatus, bool(status.finishedAt)) == (NOT_BEGUN, True)
    assert {(host.state, host.message) for host in status.hosts} == {("Unknown", seen.given_up)}
    assert [each.reason for each in runs.decide(mine, seen).waits] == ["NotBegun"]
    # It says the same afterwards.
    done = msgspec.structs.replace(mine, status=status)
    with pytest.raises(Blocked, match=r"^No pod began to work within 15 minutes") as raised:
        runs.decide(done, await runs.observe(done, here))
    assert raised.value.reason == "NotBegun"


async def test_a_pod_that_begins_while_it_is_deleted_has_begun() -> None:
    mine = owned(run("a"))
    server = Server(job("a"), waiting(), mine)
    here = world(server)
    await give_up(mine, here)
    server.objects[1] = waiting("Running", "running")
    going = runs.conclude(mine, await runs.observe(mine, here))
    assert (going.jobStatus, going.finishedAt) == ("Running", "")
    server.keep_runs()
    later = msgspec.structs.replace(mine, status=going)
    assert runs.conclude(later, await runs.observe(later, here)).jobStatus == "Failed"


async def test_a_pod_that_is_refused_after_another_one_failed_is_not_waited_for_without_end() -> None:
    mine = owned(run("a"))
    server = Server(job("a"), KILLED, mine)
    here = world(server)
    seen = await runs.observe(mine, here)
    # A Job makes another pod after a pause.
    assert (seen.given_up, runs.conclude(mine, seen).jobStatus) == ("", "Running")
    here.occupancy.podless["a"] -= timedelta(seconds=LATE + 1)
    after = await give_up(mine, here)
    assert "the events of Job a say why it makes none" in after.given_up
    server.keep_runs()
    status = runs.conclude(mine, await runs.observe(mine, here))
    # Nobody knows what the first pod did.
    assert (status.jobStatus, bool(status.finishedAt)) == ("Failed", True)


async def test_a_run_that_has_a_pod_again_starts_to_wait_anew() -> None:
    mine = owned(run("a"))
    server = Server(job("a"), KILLED, mine)
    here = world(server)
    await runs.observe(mine, here)
    server.objects.append(waiting("Running", "running"))
    await runs.observe(mine, here)
    assert not here.occupancy.podless


async def test_what_is_remembered_of_a_run_goes_with_it() -> None:
    mine = owned(run("a"))
    here = world(Server(job("a"), waiting(), mine))
    await give_up(mine, here)
    assert here.occupancy.given_up
    here.occupancy.forget([run("a", finished=True)])
    assert not here.occupancy.given_up


def test_a_run_whose_secret_is_gone_gives_its_nodes_back_and_one_that_waits_for_others_does_not() -> None:
    missing, busy = Wait("SecretMissing", "Secret key does not exist", "c"), Wait("NodeBusy", "two is busy", "c")
    later = NOW + timedelta(hours=1)
    assert find_missing(owned(run()), (missing,), later) == "Secret key does not exist"
    assert find_missing(owned(run()), (missing,), NOW) == ""
    assert find_missing(owned(run()), (busy,), later) == ""
    given_up = runs.Seen(later, 2.0, "image", (missing,), given_up="Secret key does not exist")
    assert runs.conclude(owned(run()), given_up).jobStatus == NOT_BEGUN
    # Its Job was deleted by hand after a pod had worked.
    assert runs.conclude(owned(run()), replace(given_up, worked=True)).jobStatus == "Failed"


async def test_a_run_whose_job_the_server_does_not_take_gives_its_nodes_back() -> None:
    server = Server()
    # It belongs to several resources, the first of which is gone.
    other = OwnerReference(apiVersion="v1", kind="NovaExternalCompute", name="two", uid="two")
    metadata = msgspec.structs.replace(run("a").metadata, ownerReferences=(other,))
    mine = msgspec.structs.replace(run("a"), metadata=metadata)
    server.objects, server.refuses = [mine], "exceeded quota: jobs"
    here = world(server)

    async def begin() -> None:
        (step,) = runs.decide(mine, await runs.observe(mine, here)).steps
        await runs.runs.act(step, here)

    for _ in range(2):
        with pytest.raises(Denied):
            await begin()
    refused = here.occupancy.refused["a"]
    here.occupancy.refused["a"] = replace(refused, since=refused.since - timedelta(seconds=LATE + 1))
    seen = await runs.observe(mine, here)
    status = runs.conclude(mine, seen)
    assert (status.jobStatus, bool(status.finishedAt)) == (NOT_BEGUN, True)
    assert {host.message for host in status.hosts} == {"Its Job cannot be created: exceeded quota: jobs"}
    assert not runs.decide(mine, seen).steps
    # While it waits for another run, nobody refuses it: afterwards it has all the time again.
    server.objects = [mine, job("b", nodes=("one",)), run("b", "one")]
    assert [wait.reason for wait in (await runs.observe(mine, here)).waits] == ["NodeBusy"]
    server.objects, server.refuses = [mine], ""
    await begin()
    assert any(isinstance(each, Job) for each in server.objects)
    here.occupancy.note_refusal(mine, NOW, "quota")
    here.occupancy.forget([])
    assert not here.occupancy.refused


async def test_a_run_that_another_one_forestalls_waits_and_is_in_no_error() -> None:
    server = Server()
    mine, other = run("a", "one"), run("b", "one")
    server.objects = [mine, other]
    here = world(server)
    (step,) = runs.decide(mine, await runs.observe(mine, here)).steps
    here.occupancy.claim(other)
    await runs.runs.act(step, here)
    assert not any(isinstance(each, Job) for each in server.objects)
    assert [wait.reason for wait in runs.decide(mine, await runs.observe(mine, here)).waits] == ["NodeBusy"]


TWICE = {"name": "x", "emptyDir": {}}


@pytest.mark.parametrize(
    ("spec", "image", "reason"),
    [
        pytest.param({}, "", "ImageMissing", id="no-image"),
        pytest.param({"sshKeySecretName": "key"}, "image", "SecretMissing", id="no-secret"),
        pytest.param(
            {"extraMounts": [{"volumes": [TWICE, TWICE], "mounts": []}]}, "image", "InvalidInput", id="a-wrong-volume"
        ),
    ],
)
async def test_whatever_a_run_lacks_it_is_looked_at_again(spec: dict[str, Any], image: str, reason: str) -> None:
    whole = {"playbook": "a.b.c", "nodes": [{"name": "one"}], **spec}
    of = msgspec.convert({"metadata": {"name": "a", "namespace": "n"}, "spec": whole}, OpenStackAnsibleEE)
    (wait,) = runs.decide(of, await runs.observe(of, world(Server(), image))).waits
    assert (wait.reason, wait.after) == (reason, LATE)


async def test_a_job_of_an_earlier_run_of_the_same_name_is_not_its_own() -> None:
    mine = owned(run("a"), made=datetime.now(UTC).isoformat())
    # It has ended, and would be taken for the end of this one.
    server = Server(job("a", of="earlier", ended="Complete"), waiting("Succeeded", "terminated", of="earlier"), mine)
    here = world(server)
    here.occupancy.claim(mine)
    seen = await runs.observe(mine, here)
    (wait,) = runs.decide(mine, seen).waits
    assert (wait.reason, "Job a is not of this run" in wait.message) == ("NameTaken", True)
    assert runs.conclude(mine, seen) == mine.status
    # Until it begins, it holds no nodes.
    assert not here.occupancy.begun
    server.keep_runs()
    (step,) = runs.decide(mine, await runs.observe(mine, here)).steps
    assert isinstance(step, runs.Begin)


async def test_a_pod_of_an_earlier_job_says_nothing_of_a_run() -> None:
    mine = owned(run("a"), made=datetime.now(UTC).isoformat())
    seen = await runs.observe(mine, world(Server(job("a"), waiting("Running", "running", of="earlier"))))
    assert not seen.worked


@pytest.mark.parametrize(
    ("by", "reasons"),
    [
        pytest.param("r", [], id="its-own"),
        pytest.param("earlier", ["SecretMissing"], id="that-of-an-earlier-role"),
        pytest.param("", [], id="one-that-a-user-wrote"),
    ],
)
async def test_an_inventory_of_an_earlier_run_of_the_same_name_is_not_its_own(by: str, reasons: list[str]) -> None:
    mine = owned(run("a", inventorySecretName="a"), made=datetime.now(UTC).isoformat())
    references = (owner("OpenStackDataPlaneRole", by),) if by else ()
    metadata = ObjectMeta(name="a", namespace="openstack", uid="s", ownerReferences=references)
    there = Secret(metadata=metadata, data=encode({"hosts.yaml": "all: {}"}))
    assert [each.reason for each in (await runs.observe(mine, world(Server(there)))).waits] == reasons
