"""What runs next: a world of nodes is played to its end, whatever fails on the way."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

import msgspec
import pytest

from stackwright.api.ansibleee import (
    NOT_BEGUN,
    HostResult,
    OpenStackAnsibleEE,
    OpenStackAnsibleEESpec,
    OpenStackAnsibleEEStatus,
    RunNode,
)
from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneNodeSpec, RunningService, ServiceRecord
from stackwright.blueprint.dataplane.records import (
    HIGHEST_OF_USER,
    find_lost,
    find_running,
    fold,
    is_for_node,
    names_of,
    with_lost,
)
from stackwright.blueprint.dataplane.schedule import (
    LARGEST_RUN,
    Backoff,
    Candidate,
    Due,
    NewRun,
    limit_of,
    plan_runs,
)
from stackwright.kube import clock
from stackwright.kube.pace import is_urgent
from stackwright.kube.resource import CustomResource
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute

START = datetime(2026, 11, 16, tzinfo=UTC)
SERVICES = ("reach", "prepare", "harden")


def dues(version: str = "1") -> tuple[Due, ...]:
    return tuple(Due(name, f"{name}-{version}", name) for name in SERVICES)


def ended(
    new: NewRun, inputs: dict[str, str], now: datetime, states: dict[str, str], job: str = ""
) -> OpenStackAnsibleEE:
    """Return a run that has ended, with what it came to on each node."""
    return OpenStackAnsibleEE(
        metadata=ObjectMeta(name=f"{new.service}-{new.sequence}-{'-'.join(new.nodes)}"),
        spec=OpenStackAnsibleEESpec(
            playbook="p",
            service=new.service,
            sequence=new.sequence,
            nodes=tuple(RunNode(name=name, inputHash=inputs[name]) for name in new.nodes),
        ),
        status=OpenStackAnsibleEEStatus(
            jobStatus=job,
            finishedAt=clock.seconds(now),
            hosts=tuple(HostResult(host=name, state=states[name]) for name in new.nodes),  # type: ignore[arg-type]  # one of its states
        ),
    )


@dataclass
class World:
    """Nodes, what is wanted of them, and the runs under way."""

    random: Random
    nodes: tuple[str, ...]
    failing: float = 0.3
    most: int | None = None
    now: datetime = START
    version: dict[str, str] = field(default_factory=dict)
    records: dict[str, tuple[ServiceRecord, ...]] = field(default_factory=dict)
    under_way: list[tuple[NewRun, OpenStackAnsibleEE]] = field(default_factory=list)
    done: list[OpenStackAnsibleEE] = field(default_factory=list)
    applied: dict[str, list[str]] = field(default_factory=dict)
    results: dict[str, OpenStackAnsibleEE] = field(default_factory=dict)

    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(Candidate(name, dues(self.version[name]), self.records.get(name, ())) for name in self.nodes)

    def runs(self) -> list[OpenStackAnsibleEE]:
        return [*(run for _, run in self.under_way), *self.done]

    def step(self) -> bool:
        """Begin what is due, and end one run; return whether there was anything to do."""
        schedule = plan_runs(self.candidates(), self.runs(), self.now, most=self.most, backoff=Backoff(10, 40))
        for new in schedule.runs:
            self._begin(new)
        if self.under_way:
            self._end(self.under_way.pop(self.random.randrange(len(self.under_way))))
            return True
        if schedule.again is not None:
            self.now += timedelta(seconds=schedule.again)
            return True
        return False

    def _begin(self, new: NewRun) -> None:
        busy = {name for other, _ in self.under_way for name in other.nodes}
        assert not busy & set(new.nodes), "two runs on one node"
        if self.most is not None:
            serving = {each.name for each in self.candidates() if each.serves}
            assert len((busy | set(new.nodes)) & serving) <= self.most
        inputs = {name: f"{new.service}-{self.version[name]}" for name in new.nodes}
        states = {name: self._outcome() for name in new.nodes}
        run = ended(new, inputs, self.now, states)
        going = OpenStackAnsibleEE(metadata=run.metadata, spec=run.spec)
        self.under_way.append((new, going))
        for name, state in states.items():
            if state == "Ok":
                self.applied.setdefault(name, []).append(inputs[name])
        self.results[run.metadata.name] = run

    def _outcome(self) -> str:
        if self.random.random() >= self.failing:
            return "Ok"
        return self.random.choice(("Failed", "Unreachable", "Unknown"))

    def _end(self, entry: tuple[NewRun, OpenStackAnsibleEE]) -> None:
        self.now += timedelta(seconds=1)
        self.done.append(self.results[entry[1].metadata.name])
        # Nodes look at their runs at times of their own.
        for name in self.nodes:
            if self.random.random() < 0.7 or not self.under_way:
                self.look(name)

    def look(self, name: str) -> None:
        wanted = {due.service: due.inputs for due in dues(self.version[name])}
        self.records[name] = fold(self.records.get(name, ()), wanted, name, self.runs())


@pytest.mark.parametrize("seed", range(40))
def test_every_node_comes_to_its_end_in_order_and_never_twice_at_once(seed: int) -> None:
    random = Random(seed)  # noqa: S311  plays a world, guards nothing
    nodes = tuple(f"n{number}" for number in range(random.randint(1, 6)))
    world = World(random, nodes, most=random.choice((None, 1, 2)), version=dict.fromkeys(nodes, "1"))
    changes = random.randint(0, 3)
    for _ in range(3000):
        if changes and random.random() < 0.05:
            changes -= 1
            name = random.choice(nodes)
            world.version[name] = str(int(world.version[name]) + 1)
            world.look(name)
        if not world.step():
            for name in nodes:
                world.look(name)
            if not world.step():
                break
    else:
        raise AssertionError("does not come to an end")
    for name in nodes:
        wanted = [f"{service}-{world.version[name]}" for service in SERVICES]
        assert [record.appliedHash for record in world.records[name]] == wanted
        # In order, and with one version nothing that was applied is applied again.
        assert world.applied[name][-1] == wanted[-1]
        if world.version[name] == "1":
            assert world.applied[name] == wanted


def candidate(name: str, *records: ServiceRecord, deploy: bool = True) -> Candidate:
    return Candidate(name, dues(), records, deploy)


def applied(service: str, version: str = "1") -> ServiceRecord:
    return ServiceRecord(name=service, inputHash=f"{service}-{version}", appliedHash=f"{service}-{version}", sequence=1)


def failed(service: str, failures: int, *, state: str = "Failed") -> ServiceRecord:
    return ServiceRecord(
        name=service,
        inputHash=f"{service}-1",
        state=state,  # type: ignore[arg-type]  # one of its states
        failures=failures,
        sequence=failures,
        finishedAt=clock.seconds(START),
    )


def groups(candidates: Iterable[Candidate], *, later: float = 0.0, most: int | None = None) -> list[tuple[str, ...]]:
    found = plan_runs(candidates, (), START + timedelta(seconds=later), most=most)
    return [(run.service, *run.nodes) for run in found.runs]


def test_nodes_at_the_same_service_share_a_run_and_others_go_on() -> None:
    found = groups((candidate("a"), candidate("b"), candidate("c", applied("reach")), candidate("d", deploy=False)))
    assert found == [("reach", "a", "b"), ("prepare", "c")]


def test_a_node_that_failed_waits_longer_each_time_and_runs_alone() -> None:
    nodes = (candidate("a", failed("reach", 1)), candidate("b", failed("reach", 3)), candidate("c"))
    assert groups(nodes) == [("reach", "c")]
    assert plan_runs(nodes, (), START).again == 15.0
    assert groups(nodes, later=15) == [("reach", "a"), ("reach", "c")]
    assert groups(nodes, later=60) == [("reach", "a"), ("reach", "b"), ("reach", "c")]
    assert Backoff().after(99) == timedelta(seconds=600)


def test_nodes_whose_run_was_lost_share_the_next_one() -> None:
    nodes = [candidate(name, failed("reach", 1, state="Interrupted")) for name in "ab"]
    assert groups(nodes, later=15) == [("reach", "a", "b")]


def test_other_inputs_are_tried_at_once() -> None:
    nodes = (Candidate("a", dues("2"), (failed("reach", 5),)),)
    assert groups(nodes) == [("reach", "a")]


def test_only_nodes_that_serve_are_counted() -> None:
    serving = [Candidate(name, dues("2"), tuple(map(applied, SERVICES))) for name in "abc"]
    assert groups((*serving, candidate("new")), most=2) == [("reach", "a", "b", "new")]


def changed(name: str, *records: ServiceRecord) -> Candidate:
    """A node that serves, or served before the change of `prepare` that it has records of."""
    before = {each: applied(each) for each in SERVICES} | {record.name: record for record in records}
    return Candidate(name, (dues()[0], Due("prepare", "prepare-2", "prepare"), dues()[2]), tuple(before.values()))


def broken(state: str = "Failed", inputs: str = "prepare-2", *, before: bool = False) -> ServiceRecord:
    """A record of the change; `before` is whether it failed before its last run."""
    return msgspec.structs.replace(failed("prepare", 1, state=state), inputHash=inputs, failed=before)


CUT_OFF = broken("Unreachable", before=True)


@pytest.mark.parametrize(
    ("nodes", "most", "expected"),
    [
        pytest.param((broken(), None, None), 1, ["b"], id="one-that-fails-may-be-broken-itself"),
        pytest.param((broken(), broken(), None, None), 1, [], id="two-and-no-success-are-the-changes-fault"),
        pytest.param((broken(), broken(), applied("prepare", "2"), None), 1, ["d"], id="one-success-and-it-goes-on"),
        pytest.param((broken(), broken(), None, None, None), 3, ["c"], id="only-as-many-as-may-be-lost"),
        pytest.param((broken(), broken(), broken(), None), 3, [], id="a-whole-batch"),
        pytest.param((broken("Unreachable"), broken("Unreachable"), None), 1, ["c"], id="dead-machines-say-nothing"),
        pytest.param((CUT_OFF, CUT_OFF, None), 1, [], id="those-that-failed-and-do-not-answer-since-say-it-still"),
        pytest.param((CUT_OFF, broken(), None), 1, [], id="one-of-them-retried-before-the-other"),
        pytest.param((broken("Interrupted"), broken("NotBegun"), None), 1, ["c"], id="lost-runs-say-nothing"),
        pytest.param((broken(inputs="prepare-1"), broken(inputs="prepare-1"), None), 1, ["a", "b", "c"], id="mended"),
        pytest.param((broken(), broken(), None, None), None, ["c", "d"], id="without-a-bound-all-at-once"),
    ],
)
def test_a_change_that_fails_on_the_first_nodes_goes_no_further(
    nodes: tuple[ServiceRecord | None, ...], most: int | None, expected: list[str]
) -> None:
    every = [changed(name, *([record] if record else [])) for name, record in zip("abcde", nodes, strict=False)]
    schedule = plan_runs(every, (), START, most=most)
    assert [name for run in schedule.runs for name in run.nodes] == expected
    tried = tuple(name for name, record in zip("abcde", nodes, strict=False) if record)
    assert dict(schedule.held) == ({} if expected else {"prepare": tried})
    # What failed is tried again all the same, and tells whether it was mended.
    assert schedule.again is not None or "a" in expected


@pytest.mark.parametrize(
    ("most", "lost", "later"),
    [
        pytest.param(3, 3, "Failed", id="it-fails"),
        pytest.param(1, 2, "Unreachable", id="it-cuts-machines-off"),
        pytest.param(3, 3, "Interrupted", id="its-runs-are-lost-then"),
    ],
)
def test_a_broken_change_takes_as_many_nodes_as_it_may_and_no_more(most: int, lost: int, later: str) -> None:
    wanted = {"reach": "reach-1", "prepare": "prepare-2", "harden": "harden-1"}
    records = {name: tuple(map(applied, SERVICES)) for name in "abcdefgh"}
    runs: list[OpenStackAnsibleEE] = []
    again = {"Interrupted": "Unknown"}.get(later, later)
    now = START
    for _ in range(20):
        nodes = [changed(name, *records[name]) for name in records]
        tried = {name for run in runs for name in (entry.name for entry in run.spec.nodes)}
        runs += [
            ended(
                new,
                dict.fromkeys(new.nodes, "prepare-2"),
                now,
                {name: again if name in tried else "Failed" for name in new.nodes},
            )
            for new in plan_runs(nodes, runs, now, most=most).runs
        ]
        records = {name: fold(records[name], wanted, name, runs) for name in records}
        now += timedelta(minutes=15)
    assert sum(1 for each in records.values() if any(record.failures for record in each)) == lost
    assert {record.state for each in records.values() for record in each if record.failures} == {later}


def test_what_failed_is_forgotten_with_other_inputs_and_when_it_is_applied() -> None:
    def prepare(wanted: str, *runs: OpenStackAnsibleEE) -> ServiceRecord:
        (record,) = fold((CUT_OFF,), {"prepare": wanted}, "a", runs)
        return record

    def run(state: str) -> OpenStackAnsibleEE:
        return ended(NewRun("prepare", ("a",), 2, ""), {"a": "prepare-2"}, START, {"a": state})

    assert prepare("prepare-2", run("Unreachable")).failed
    assert not prepare("prepare-2", run("Ok")).failed
    assert not prepare("prepare-3").failed


def test_a_new_node_is_tried_also_where_a_change_is_held() -> None:
    new = Candidate("new", changed("new").services, (applied("reach"),))
    assert groups((changed("a", broken()), changed("b", broken()), changed("c"), new), most=1) == [("prepare", "new")]


def test_a_service_that_is_new_to_deployed_nodes_reaches_as_many_at_once_as_any_other() -> None:
    before = tuple(map(applied, SERVICES[:2]))
    pending = ServiceRecord(name="harden", inputHash="harden-1")
    unbegun = ServiceRecord(name="harden", inputHash="harden-1", run="r", state="NotBegun")
    deployed = [Candidate(name, dues(), before, was_deployed=True) for name in "abc"]
    for records in (before, (*before, pending), (*before, unbegun)):
        nodes = [replace(each, records=records) for each in deployed]
        assert groups(nodes, most=2) == [("harden", "a", "b")]
    # One on which it failed does not serve, and holds up nobody; neither does one that is deployed for the first time.
    broken = ServiceRecord(name="harden", inputHash="harden-0", run="r", state="Pending")
    for nodes in (
        [replace(each, records=(*before, broken)) for each in deployed],
        [candidate(n, *before) for n in "abc"],
    ):
        assert groups(nodes, most=2) == [("harden", "a", "b", "c")]


def test_a_run_that_did_not_get_to_its_end_leaves_nothing_that_can_be_relied_on() -> None:
    before = (applied("reach"), applied("prepare"))
    run = ended(NewRun("prepare", ("a",), 2, ""), {"a": "prepare-2"}, START, {"a": "Failed"})
    # The user changed it back: the first inputs were applied once, and have to be applied again.
    records = fold(before, {"reach": "reach-1", "prepare": "prepare-1"}, "a", [run])
    assert [(record.name, record.appliedHash) for record in records] == [("reach", "reach-1"), ("prepare", "")]


def test_a_run_that_is_deleted_in_its_middle_leaves_nothing_that_can_be_relied_on() -> None:
    going = OpenStackAnsibleEE(metadata=ObjectMeta(name="r"), spec=OpenStackAnsibleEESpec(playbook="p"))
    running = RunningService(name="prepare", run="r", task="Write it")
    assert find_lost(running, names_of([going])) is None
    assert find_lost(None, ()) is None
    before = (applied("reach"), msgspec.structs.replace(applied("prepare"), exports={"config": "digest"}))
    lost = with_lost(before, find_lost(running, ()))
    # The user changed it back, and it is applied once more, and at once.
    reach, prepare = fold(lost, {"reach": "reach-1", "prepare": "prepare-1"}, "a", ())
    assert reach.appliedHash == "reach-1"
    assert (prepare.appliedHash, prepare.state, prepare.failures) == ("", "Interrupted", 0)
    assert prepare.exports == {"config": "rolling"}
    (new,) = plan_runs((Candidate("a", dues(), (reach, prepare)),), (), START).runs
    assert (new.service, new.sequence) == ("prepare", 3)
    # What was recorded before it was deleted is known, and what was lost is recorded once.
    assert with_lost(lost, running) == lost
    (first,) = with_lost((), running)
    assert (first.name, first.run, first.appliedHash) == ("prepare", "r", "")


def test_a_run_that_is_deleted_while_it_waits_leaves_the_machine_as_it_was() -> None:
    entry = RunNode(name="a", host="a", inputHash="prepare-2")
    waiting = OpenStackAnsibleEE(
        metadata=ObjectMeta(name="r"), spec=OpenStackAnsibleEESpec(playbook="p", service="prepare", nodes=(entry,))
    )
    pending, working = (
        msgspec.structs.replace(waiting, status=OpenStackAnsibleEEStatus(jobStatus=status))
        for status in ("Pending", "Running")
    )
    assert [
        of is not None and of.waits for run in (waiting, pending, working) for of in (find_running("a", [run]),)
    ] == [
        True,
        False,
        False,
    ]
    before = (applied("reach"), msgspec.structs.replace(applied("prepare"), exports={"config": "digest"}))
    (_, prepare) = fold(
        with_lost(before, find_running("a", [waiting])), {"reach": "reach-1", "prepare": "prepare-2"}, "a", ()
    )
    # It serves, so that maxUnavailable counts it when its next run begins.
    assert (prepare.appliedHash, prepare.exports) == ("prepare-1", {"config": "digest"})
    assert Candidate("a", (Due("prepare", "prepare-2", ""),), (prepare,)).serves
    (_, prepare) = fold(
        with_lost(before, find_running("a", [waiting])), {"reach": "reach-1", "prepare": "prepare-1"}, "a", ()
    )
    assert (prepare.appliedHash, prepare.state) == ("prepare-1", "Applied")


@pytest.mark.parametrize("of", [OpenStackDataPlaneNode, NovaExternalCompute])
def test_that_a_run_waits_no_more_is_written_at_once(of: type[CustomResource]) -> None:
    """Else a run that is deleted at its work would count as one that never began."""

    def urgent(before: RunningService | None, now: RunningService | None) -> bool:
        ready = {"type": "Ready", "status": "False", "severity": "Info"}
        old, new = (
            msgspec.convert(
                {
                    "metadata": {"name": "a"},
                    "spec": {"role": "r", "ansibleHost": "a"},
                    "status": {"conditions": [ready], "running": each and msgspec.to_builtins(each)},
                },
                of,
            )
            for each in (before, now)
        )
        return is_urgent(old, new.status)

    waits, works = RunningService(run="r", waits=True), RunningService(run="r")
    assert urgent(waits, works)
    assert urgent(waits, None)
    assert not any((urgent(None, waits), urgent(works, works), urgent(waits, waits), urgent(None, works)))


def test_the_run_after_one_that_was_lost_has_another_number() -> None:
    """With the same number it would have the name of the one that was lost, too."""
    before = (msgspec.structs.replace(applied("reach"), sequence=5), applied("prepare"), applied("harden"))
    wanted = {"reach": "reach-1", "prepare": "prepare-2", "harden": "harden-1"}
    candidates = [
        Candidate(
            "a", tuple(Due(name, inputs, name) for name, inputs in wanted.items()), fold(records, wanted, "a", ())
        )
        for records in (before, with_lost(before, RunningService(name="prepare", run="r")))
    ]
    lost, again = (plan_runs((each,), (), START).runs[0] for each in candidates)
    assert (lost.service, again.service) == ("prepare", "prepare")
    assert again.sequence > lost.sequence


def not_begun(new: NewRun, now: datetime) -> OpenStackAnsibleEE:
    """Return a run that was given up before it began, on nodes that want their second version."""
    inputs, states = dict.fromkeys(new.nodes, f"{new.service}-2"), dict.fromkeys(new.nodes, "Unknown")
    return ended(new, inputs, now, states, NOT_BEGUN)


def test_a_run_that_never_began_leaves_everything_as_it_was() -> None:
    before = tuple(map(applied, SERVICES))
    run = not_begun(NewRun("prepare", ("a",), 2, ""), START)
    wanted = {due.service: due.inputs for due in dues("2")} | {"reach": "reach-1"}
    (_, record, _) = fold(before, wanted, "a", [run])
    assert (record.appliedHash, record.inputHash, record.state) == ("prepare-1", "prepare-2", "NotBegun")
    # It is tried again, later each time.
    assert (record.failures, record.sequence) == (1, 2)
    # The user changed it back, and the machine was never touched.
    (_, record, _) = fold(before, {name: f"{name}-1" for name in SERVICES}, "a", [run])
    assert (record.appliedHash, record.state, record.failures) == ("prepare-1", "Applied", 0)


def test_a_node_that_was_never_deployed_is_not_deployed_by_a_run_that_never_began() -> None:
    run = not_begun(NewRun("reach", ("a",), 1, ""), START)
    records = fold((), {due.service: due.inputs for due in dues("2")}, "a", [run])
    assert [record.appliedHash for record in records] == ["", "", ""]
    # Those whose run did not begin share the next one: none of them is to blame.
    nodes = [Candidate(name, dues("2"), records) for name in "ab"]
    assert groups(nodes, later=15) == [("reach", "a", "b")]


def test_runs_that_never_begin_leave_no_room_for_more_nodes() -> None:
    wanted = {due.service: due.inputs for due in dues("2")}
    records = {name: tuple(map(applied, SERVICES)) for name in "abcd"}
    now = START
    for _ in range(6):
        nodes = [Candidate(name, dues("2"), records[name]) for name in records]
        schedule = plan_runs(nodes, (), now, most=1)
        assert [len(new.nodes) for new in schedule.runs] == [1]
        runs = [not_begun(new, now) for new in schedule.runs]
        records = {name: fold(records[name], wanted, name, runs) for name in records}
        now += timedelta(minutes=15)


def test_a_users_run_with_the_highest_number_is_not_the_last_one() -> None:
    def of_user(number: int) -> OpenStackAnsibleEE:
        return ended(NewRun("reach", ("a",), number, ""), {"a": "x"}, START, {"a": "Ok"})

    def number_after(run: OpenStackAnsibleEE) -> int:
        node = OpenStackDataPlaneNode(metadata=ObjectMeta(name="a"), spec=OpenStackDataPlaneNodeSpec(role="r"))
        there = Candidate("a", dues(), (applied("reach", "0"),), counts=partial(is_for_node, node=node))
        (new,) = plan_runs((there,), (run,), START).runs
        return new.sequence

    assert number_after(of_user(2**31 - 1)) == 2
    # A number that leaves room counts: the run waits to be recorded, and the next one has a higher number.
    counted = of_user(HIGHEST_OF_USER)
    (record,) = fold((), {"reach": "y"}, "a", [counted])
    (new,) = plan_runs((Candidate("a", dues(), (record,)),), (counted,), START).runs
    assert new.sequence == HIGHEST_OF_USER + 1


def test_a_large_role_runs_in_parts() -> None:
    found = groups([candidate(f"n{number:04}") for number in range(LARGEST_RUN + 1)])
    assert [len(group) - 1 for group in found] == [LARGEST_RUN, 1]


@pytest.mark.parametrize(
    ("stated", "nodes", "most"),
    [(None, 5, None), (2, 5, 2), ("2", 5, 2), ("50%", 5, 2), ("1%", 5, 1), ("100%", 5, 5)],
)
def test_how_many_may_be_changed_at_once(stated: int | str | None, nodes: int, most: int | None) -> None:
    assert limit_of(stated, nodes) == most
