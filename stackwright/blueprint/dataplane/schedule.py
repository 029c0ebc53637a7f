"""What runs next, and on which nodes together. Pure.

Each node goes through its services in order, at its own pace: it goes on with the first one that is not applied. Nodes
that are due for the same service with the same inputs share a run; the first of them waits a moment for the others. A
node that failed is tried again alone, later each time, and holds up nobody. A node in a run is in no other.

Where `maxUnavailable` bounds how many nodes are changed at once, a change that fails on the first ones and succeeds on
none is not their fault: it goes to no further node that serves. A node that failed and cannot be reached since counts
as one on which it failed: the change may have cut it off.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import ServiceRecord
from stackwright.blueprint.dataplane.records import has_failed, is_numbered, is_recorded
from stackwright.blueprint.use import Used

# The most nodes of one run: its inventory is one Secret, and its results are one status.
LARGEST_RUN = 200
# For how many seconds a node waits for others that are due for the same. A user's files, or the statuses of nodes that
# ended a run together, arrive within that; and a run takes longer than that to begin.
GATHER_SECONDS = 2.0
# On how many nodes a change is tried at least before it is to blame: one that fails may be broken itself.
TRIED_AT_LEAST = 2


@dataclass(frozen=True)
class Backoff:
    """How long a node waits after it failed: `first` seconds, then twice as long each time, `longest` at most."""

    first: float = 15.0
    longest: float = 600.0

    @property
    def steps(self) -> int:
        """After how many failures in a row the pause is the longest."""
        return next((number for number in range(1, 17) if self.first * 2.0 ** (number - 1) >= self.longest), 17)

    def after(self, failures: int) -> timedelta:
        """Return the pause after so many failures in a row."""
        return timedelta(seconds=min(self.first * 2.0 ** min(failures - 1, 16), self.longest))


@dataclass(frozen=True)
class Due:
    """A service as it is wanted on a node: its inputs there, and what it has in common with other nodes.

    `used` are the exports of other services among its inputs.
    """

    service: str
    inputs: str
    common: str
    used: tuple[Used, ...] = ()


def _counts(_: OpenStackAnsibleEE) -> bool:
    return True


@dataclass(frozen=True)
class Candidate:
    """A node with its services in order, what is known of them, and whether it was deployed before.

    `since` is since when it waits for others that are due for the same; None where it does not. `counts` says of a run
    that has ended whether it is recorded: others may have runs on the node, too.
    """

    name: str
    services: tuple[Due, ...]
    records: tuple[ServiceRecord, ...] = ()
    deploy: bool = True
    was_deployed: bool = False
    since: datetime | None = None
    counts: Callable[[OpenStackAnsibleEE], bool] = field(default=_counts, compare=False)

    @property
    def next(self) -> tuple[Due, ServiceRecord] | None:
        """The first service that is not applied as it is wanted, with its record; None if there is none."""
        known = {record.name: record for record in self.records}
        for due in self.services:
            record = known.get(due.service, ServiceRecord(name=due.service))
            if record.appliedHash != due.inputs:
                return due, record
        return None

    @property
    def serves(self) -> bool:
        """Whether all its services were applied before, in whatever form: then others may depend on it.

        Services that are new to a node that was deployed before take nothing away from it.
        """
        known = {record.name: record for record in self.records}
        records = [known.get(due.service, ServiceRecord(name=due.service)) for due in self.services]
        untouched = (record for record in records if not record.run or record.state == "NotBegun")
        names = {record.name for record in untouched} if self.was_deployed else set()
        return all(record.appliedHash or record.name in names for record in records)


@dataclass(frozen=True)
class NewRun:
    """A run that begins now."""

    service: str
    nodes: tuple[str, ...]
    sequence: int
    common: str


@dataclass(frozen=True)
class Schedule:
    """The runs that begin now, and in how many seconds to ask again.

    `held` are the services that go to no further node that serves, each with the nodes on which it failed.
    """

    runs: tuple[NewRun, ...] = ()
    again: float | None = None
    busy: frozenset[str] = field(default_factory=frozenset)
    held: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def plan_runs(
    candidates: Iterable[Candidate],
    runs: Sequence[OpenStackAnsibleEE],
    now: datetime,
    *,
    most: int | None = None,
    backoff: Backoff | None = None,
    gather: float = 0.0,
) -> Schedule:
    """Return what runs next. `most` is how many nodes that serve already may be changed at once.

    `gather` is for how many seconds the first of a group waits for others.
    """
    every = sorted(candidates, key=lambda candidate: candidate.name)
    busy = find_busy(every, runs)
    groups, pauses = _group(every, busy, now, backoff or Backoff())
    changing = sum(1 for each in every if each.name in busy and each.serves)
    room = None if most is None else most - changing
    numbers = _next_numbers(every, runs)
    found: list[NewRun] = []
    held: dict[str, tuple[str, ...]] = {}
    for (service, common, alone), members in groups.items():
        left = 0.0 if alone else _gathering_left(members, now, gather)
        if left > 0:
            pauses.append(left)
            continue
        # One that failed by itself does not serve any more, and is tried again all the same.
        failed = _find_failed(every, service, common) if most is not None and not alone else None
        trials = None if most is None or failed is None else max(most, TRIED_AT_LEAST) - len(failed)
        if failed and trials is not None and trials <= 0 and any(member.serves for member in members):
            held[service] = (*held.get(service, ()), *failed)
        chosen, room = _choose(members, room, None if trials is None else trials - changing)
        for start in range(0, len(chosen), LARGEST_RUN):
            part = tuple(chosen[start : start + LARGEST_RUN])
            found.append(NewRun(service, part, max(numbers[name] for name in part), common))
    return Schedule(tuple(found), min(pauses, default=None), busy, held)


def _group(
    candidates: Iterable[Candidate], busy: frozenset[str], now: datetime, backoff: Backoff
) -> tuple[dict[tuple[str, str, str], list[Candidate]], list[float]]:
    """Return the nodes that are due, by what they can share, and how long the others pause after a failure."""
    groups: dict[tuple[str, str, str], list[Candidate]] = {}
    pauses: list[float] = []
    for candidate in candidates:
        following = candidate.next
        if candidate.name in busy or not candidate.deploy or following is None:
            continue
        due, record = following
        pause = pause_left(due, record, now, backoff)
        if pause > 0:
            pauses.append(pause)
        else:
            groups.setdefault((due.service, due.common, _alone(candidate, due, record)), []).append(candidate)
    return groups, pauses


def _gathering_left(members: Iterable[Candidate], now: datetime, gather: float) -> float:
    """Return for how many seconds a group still waits for others, from its first node on."""
    since = [member.since for member in members]
    known = [at for at in since if at is not None]
    if len(known) < len(since):
        return 0.0
    return gather - (now - min(known)).total_seconds()


def _find_failed(candidates: Iterable[Candidate], service: str, common: str) -> list[str] | None:
    """Return the nodes on which a service failed as it is wanted; None if it was applied to one."""
    failed: list[str] = []
    for candidate in candidates:
        due = next((due for due in candidate.services if (due.service, due.common) == (service, common)), None)
        record = next((record for record in candidate.records if record.name == service), None)
        if due is None or record is None:
            continue
        if record.appliedHash == due.inputs:
            return None
        if has_failed(record) and record.inputHash == due.inputs:
            failed.append(candidate.name)
    return failed


def _choose(members: Iterable[Candidate], room: int | None, trials: int | None) -> tuple[list[str], int | None]:
    """Return the nodes for which there is room, and how much is left; new ones take none."""
    chosen: list[str] = []
    changed = 0
    for member in members:
        if member.serves and room is not None:
            if changed >= room or (trials is not None and changed >= trials):
                continue
            changed += 1
        chosen.append(member.name)
    return chosen, None if room is None else room - changed


def find_busy(candidates: Iterable[Candidate], runs: Sequence[OpenStackAnsibleEE]) -> frozenset[str]:
    """Return the nodes that are in a run, or whose records do not have yet what their last run came to."""
    known = {each.name: each for each in candidates}
    return frozenset(
        entry.name
        for run in runs
        for entry in run.spec.nodes
        if entry.name in known and (not run.ended_at(entry.name) or _is_unrecorded(run, known[entry.name]))
    )


def _is_unrecorded(run: OpenStackAnsibleEE, candidate: Candidate) -> bool:
    """Return whether a node will still record what a run came to."""
    wanted = any(due.service == run.spec.service for due in candidate.services)
    return wanted and not is_recorded(run, candidate.records) and candidate.counts(run)


def pause_left(due: Due, record: ServiceRecord, now: datetime, backoff: Backoff) -> float:
    """Return for how many seconds a service still waits after its last failure; other inputs are tried at once."""
    if not record.failures or record.inputHash != due.inputs or not record.finishedAt:
        return 0.0
    ready = datetime.fromisoformat(record.finishedAt) + backoff.after(record.failures)
    return max(0.0, (ready - now).total_seconds())


def _alone(candidate: Candidate, due: Due, record: ServiceRecord) -> str:
    """Return what tells a node apart that failed by itself; if only its run was lost, it may share the next one."""
    failed = record.state in ("Failed", "Unreachable") and record.inputHash == due.inputs
    return candidate.name if failed else ""


def _next_numbers(candidates: Iterable[Candidate], runs: Iterable[OpenStackAnsibleEE]) -> dict[str, int]:
    """Return the number of each node's next run: higher than those of all its runs, also of those that are gone."""
    numbers = {each.name: max((record.sequence for record in each.records), default=0) for each in candidates}
    for run in filter(is_numbered, runs):
        for entry in run.spec.nodes:
            if entry.name in numbers:
                numbers[entry.name] = max(numbers[entry.name], run.spec.sequence)
    return {name: number + 1 for name, number in numbers.items()}


def limit_of(stated: int | str | None, nodes: int) -> int | None:
    """Return how many of so many nodes `maxUnavailable` allows: at least one, None for all."""
    if stated is None:
        return None
    text = str(stated)
    number = nodes * int(text.removesuffix("%")) // 100 if text.endswith("%") else int(text)
    return max(1, number)
