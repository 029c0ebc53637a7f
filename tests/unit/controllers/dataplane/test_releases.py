"""When a run is through with a node although it goes on with others, and what is made sure of before it is free."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.blueprint.dataplane.records import find_running, fold
from stackwright.blueprint.dataplane.schedule import Candidate, Due, find_busy
from stackwright.controllers.dataplane import releases, run_job, runs
from stackwright.controllers.dataplane.occupancy import find_holder
from stackwright.controllers.dataplane.releases import Patience, Releases
from stackwright.controllers.dataplane.run_log import Progress, read_lines
from stackwright.kube import clock
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import Key
from tests.unit.controllers.dataplane.run_parts import MIDNIGHT, Server, job, owned, pod, run, world

THROUGH = ['{"host": "one", "status": "ok", "task": "Do it"}', '{"host": "one", "status": "done", "task": ""}']
SUMMARY = '{"summary": {"one": "ok", "two": "ok"}}'
AT_ONCE = Patience(straggling=0.0, settling=0.0)


def progress(*lines: str) -> Progress:
    return read_lines(Progress(), lines)


def with_status(of: OpenStackAnsibleEE, **status: Any) -> OpenStackAnsibleEE:
    return msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, **status))


def released(of: OpenStackAnsibleEE, *nodes: str) -> OpenStackAnsibleEE:
    return with_status(of, released=dict.fromkeys(nodes, MIDNIGHT))


def is_sealed(of: Job) -> Job:
    return msgspec.structs.replace(of, spec={**of.spec, "backoffLimit": 0})


@pytest.mark.parametrize(
    ("lines", "through"),
    [
        pytest.param(THROUGH, ("one",), id="it-is-said-of-one"),
        pytest.param(THROUGH[:1], (), id="its-last-task-so-far-may-not-be-the-last"),
        pytest.param(['{"host": "one", "status": "failed", "task": "a"}'], (), id="it-failed-and-may-be-rescued"),
        pytest.param(
            ['{"host": "one", "status": "failed", "task": "a"}', THROUGH[1]], ("one",), id="it-failed-and-that-is-all"
        ),
        pytest.param([*THROUGH, THROUGH[1].replace('"one"', '"two"')], (), id="of-all-the-run-ends-in-a-moment"),
    ],
)
def test_only_a_run_that_says_so_is_through_with_a_node(lines: list[str], through: tuple[str, ...]) -> None:
    assert releases.find_through(run("a"), progress(*lines)) == through


@pytest.mark.parametrize(
    ("there", "pods", "only"),
    [
        pytest.param(job("a"), [pod("a", "Running", "")], True, id="one-pod-works"),
        pytest.param(job("a", failed=1), [pod("a", "Running", "")], False, id="it-is-the-second-one"),
        pytest.param(job("a"), [pod("a", "Failed", "")], False, id="it-was-killed"),
        pytest.param(job("a"), [pod("a", "Failed", ""), pod("a", "Running", "")], False, id="it-was-replaced"),
        pytest.param(job("a"), [], False, id="it-is-gone"),
        pytest.param(job("a", ended="Failed"), [pod("a", "Running", "")], False, id="the-job-has-ended"),
        pytest.param(job("a", deleting=True), [pod("a", "Running", "")], False, id="the-job-goes"),
    ],
)
def test_nothing_is_free_if_there_was_another_pod(there: Job, pods: list[Pod], only: bool) -> None:
    assert releases.is_only(there, pods) == only


class Sealing(Server):
    """A server whose Jobs can be sealed."""

    async def patch(self, kind: type[Job], name: str, namespace: str, body: dict[str, Any]) -> None:
        there = await self.find(kind, name, namespace)
        assert body["metadata"]["uid"] == there.metadata.uid
        self.objects = [is_sealed(each) if each is there else each for each in self.objects]


async def test_a_job_is_sealed_before_a_node_is_free() -> None:
    going, of, works = owned(run("a")), job("a"), pod("a", "Running", "one,two")
    server, here = Sealing(of, works), Releases(AT_ONCE)
    client: Any = server

    async def look(*pods: Pod, lines: list[str] = THROUGH) -> releases.Release:
        return await here.look(going, of, list(pods), progress(*lines), client)

    assert await look(works, lines=THROUGH[:1]) == releases.NOTHING
    assert (await look(works)).seal
    plan = runs.decide(going, runs.Seen(clock.now(), 2.0, "image", job=of, release=releases.Release(seal=True)))
    assert isinstance(plan.steps[0], runs.Seal)
    await here.seal(of, client)
    assert (await server.find(Job, "a", "openstack")).spec["backoffLimit"] == 0
    assert tuple((await look(works)).nodes) == ("one",)
    # The cache does not know yet that it was killed, and the server does.
    server.objects = [is_sealed(of), pod("a", "Failed", "one,two")]
    assert await look(works) == releases.NOTHING
    server.objects = [is_sealed(of)]
    assert await look(works) == releases.NOTHING
    # Somebody took the seal off.
    server.objects = [of, works]
    assert await look(works) == releases.NOTHING
    # It ends in a moment.
    assert await look(works, lines=[*THROUGH, SUMMARY]) == releases.NOTHING


async def test_a_node_waits_a_while_for_others_and_for_the_seal_to_be_seen() -> None:
    going, of, works = owned(run("a")), job("a"), pod("a", "Running", "one,two")
    client: Any = Sealing(is_sealed(of), works)
    here = Releases(Patience(straggling=30.0, settling=10.0))

    async def look() -> releases.Release:
        return await here.look(going, of, [works], progress(*THROUGH), client)

    assert await look() == releases.NOTHING
    here.since["a"]["one"] -= timedelta(seconds=31)
    assert (await look()).seal
    await here.seal(of, client)
    assert await look() == releases.NOTHING
    here.sealed[of.metadata.uid] -= timedelta(seconds=11)
    assert tuple((await look()).nodes) == ("one",)
    here.forget([with_status(going, finishedAt=MIDNIGHT)], [])
    assert (here.since, here.sealed) == ({}, {})


def test_what_was_released_stays_so() -> None:
    seen = runs.Seen(clock.now(), 2.0, "image", job=job("a"), release=releases.Release(nodes={"one": MIDNIGHT}))
    status = runs.conclude(run("a"), seen)
    assert status.released == {"one": MIDNIGHT}
    later = runs.Seen(clock.now(), 2.0, "image", job=job("a"))
    assert runs.conclude(released(run("a"), "one"), later).released == {"one": MIDNIGHT}
    # Its Job failed, because its pod was killed.
    ended = runs.Seen(clock.now(), 2.0, "image", job=job("a", ended="Failed"), ended=False)
    assert runs.conclude(released(run("a"), "one"), ended).released == {"one": MIDNIGHT}


@pytest.mark.parametrize(
    ("node", "pods", "free"),
    [
        pytest.param("one", [pod("b", "Running", "one,two")], True, id="it-is-through-with-this-one"),
        pytest.param("one", [], True, id="its-pod-has-ended"),
        pytest.param("two", [pod("b", "Running", "one,two")], False, id="it-works-on-this-one"),
        pytest.param(
            "one", [pod("b", "Failed", "one,two"), pod("b", "Running", "one,two")], False, id="a-second-pod-begins-anew"
        ),
        pytest.param("one", [pod("b", "Running", "one,two", of="earlier")], False, id="a-pod-of-an-earlier-run"),
    ],
)
@pytest.mark.parametrize("finished", [False, True])
def test_a_node_that_was_released_is_free(node: str, pods: list[Pod], free: bool, finished: bool) -> None:
    other = released(run("b", "one", "two", finished=finished), "one")
    jobs = {Key("openstack", "b"): is_sealed(job("b", nodes=("one", "two")))}
    assert (find_holder(run("a", node), [other], jobs, pods, ["b"]) is None) == free


def test_a_job_whose_run_is_gone_has_all_its_nodes() -> None:
    jobs = {Key("openstack", "b"): is_sealed(job("b", nodes=("one", "two")))}
    assert find_holder(run("a", "one"), [], jobs, (), ()) == ("one", "b")


def test_what_a_run_came_to_on_a_node_that_it_released_is_recorded_and_the_next_service_may_begin() -> None:
    seen = progress(*THROUGH)
    going = with_status(owned(run("a", service="prepare", sequence=3)), hosts=tuple(seen.hosts.values()))
    free = released(going, "one")
    for of, states in ((going, ["Pending", "Pending"]), (free, ["Applied", "Pending"])):
        records = {node: fold((), {"prepare": ""}, node, [of]) for node in ("one", "two")}
        assert [record.state for (record,) in records.values()] == states
        candidates = [Candidate(node, (Due("prepare", "x", "x"),), records[node]) for node in records]
        busy = {"one", "two"} if of is going else {"two"}
        assert find_busy(candidates, [of]) == busy
        assert {node for node in records if find_running(node, [of]) is not None} == busy
    # The record has when it was released, and the end of the run is no news to it.
    (record,) = fold((), {"prepare": ""}, "one", [free])
    assert (record.finishedAt, record.sequence) == (MIDNIGHT, 3)
    ended = with_status(free, finishedAt="2026-11-16T01:00:00Z", hosts=())
    assert fold((record,), {"prepare": ""}, "one", [ended]) == (record,)


def test_no_pod_is_replaced_unless_the_job_counts_it() -> None:
    """A rule that ignores some deaths would have a sealed Job make another pod all the same."""
    rules = run_job.describe_job(run("a"), "image")["spec"]["podFailurePolicy"]["rules"]
    assert {rule["action"] for rule in rules} == {"FailJob"}


@pytest.mark.parametrize("left", [(), (job("a", of="earlier"),)], ids=["nothing", "somebody-elses"])
async def test_a_run_that_released_nodes_and_lost_its_job_does_not_begin_anew(left: tuple[Job, ...]) -> None:
    """It would do so on all of its nodes, also on those that have other runs by now, and with what it was made for."""
    through = progress(*THROUGH, '{"host": "two", "status": "ok", "task": "Do it"}')
    made = clock.seconds(clock.now())
    here = with_status(owned(run("a"), made), hosts=tuple(through.hosts.values()), jobStatus="Running")
    seen = await runs.observe(here, world(Server(here, *left)))
    assert not seen.over
    free = released(here, "one")
    seen = await runs.observe(free, world(Server(free, *left)))
    status = runs.conclude(free, seen)
    assert (status.jobStatus, bool(status.finishedAt), status.released) == ("Failed", True, {"one": MIDNIGHT})
    assert [(host.host, host.state, host.message) for host in status.hosts] == [
        ("one", "Ok", ""),
        ("two", "Unknown", releases.LOST),
    ]
    with pytest.raises(Blocked, match="Not applied: two unknown in task Do it: Its Job is gone"):
        runs.decide(free, seen)


async def test_a_run_that_nobody_repeats_keeps_its_further_pods() -> None:
    """That of a user: what is left of it gets no other run if its pod is killed."""
    going, of, works = run("a"), job("a"), pod("a", "Running", "one,two")
    client: Any = Sealing(of, works)
    assert await Releases(AT_ONCE).look(going, of, [works], progress(*THROUGH), client) == releases.NOTHING
    assert (await Releases(AT_ONCE).look(owned(going), of, [works], progress(*THROUGH), client)).seal


def test_what_is_read_again_in_part_takes_no_end_back() -> None:
    """A log is read with some seconds that were read before, and may be cut short."""
    failed = '{"host": "one", "status": "failed", "task": "Fail", "message": "why"}'
    for lines, state in ((THROUGH, "Ok"), ([THROUGH[0], failed, THROUGH[1]], "Failed")):
        before = progress(*lines)
        assert before.hosts["one"].state == state
        assert read_lines(before, lines[:1]) == before


def test_what_a_released_node_came_to_outlives_its_log() -> None:
    """The operator may be killed before the node has recorded it, and the log be gone when the next one reads it."""
    going = run("a", service="prepare", sequence=3)
    free = released(with_status(going, hosts=tuple(progress(*THROUGH).hosts.values())), "one")
    for ended in (None, False):
        of = job("a", ended="Failed" if ended is False else "")
        status = runs.conclude(free, runs.Seen(clock.now(), 2.0, "image", job=of, ended=ended))
        (record,) = fold((), {"prepare": ""}, "one", [msgspec.structs.replace(free, status=status)])
        assert record.state == "Applied"
