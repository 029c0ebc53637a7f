"""What runs next, and on which nodes together. Pure.

Each node goes through its services in order, at its own pace: it goes on with the first one that is not applied. Nodes
that are due for the same service with the same inputs share a run. A node that failed is tried again alone, later each
time, and holds up nobody. A node in a run is in no other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import ServiceRecord
from stackwright.blueprint.dataplane.records import is_recorded

# The most nodes of one run: its inventory is one Secret, and its results are one status.
LARGEST_RUN = 200


@dataclass(frozen=True)
class Backoff:
    """How long a node waits after it failed: `first` seconds, then twice as long each time, `longest` at most."""

    first: float = 15.0
    longest: float = 600.0

    def after(self, failures: int) -> timedelta:
        """Return the pause after so many failures in a row."""
        return timedelta(seconds=min(self.first * 2.0 ** min(failures - 1, 16), self.longest))


@dataclass(frozen=True)
class Due:
    """A service as it is wanted on a node: its inputs there, and what it has in common with other nodes."""

    service: str
    inputs: str
    common: str


@dataclass(frozen=True)
class Candidate:
    """A node with its services in order, what is known of them, and whether it was deployed before."""

    name: str
    services: tuple[Due, ...]
    records: tuple[ServiceRecord, ...] = ()
    deploy: bool = True

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
        """Whether all its services were applied before, in whatever form: then others may depend on it."""
        known = {record.name: record for record in self.records}
        return all(due.service in known and known[due.service].appliedHash for due in self.services)


@dataclass(frozen=True)
class NewRun:
    """A run that begins now."""

    service: str
    nodes: tuple[str, ...]
    sequence: int
    common: str


@dataclass(frozen=True)
class Schedule:
    """The runs that begin now, and in how many seconds to ask again."""

    runs: tuple[NewRun, ...] = ()
    again: float | None = None
    busy: frozenset[str] = field(default_factory=frozenset)


def plan_runs(
    candidates: Iterable[Candidate],
    runs: Sequence[OpenStackAnsibleEE],
    now: datetime,
    *,
    most: int | None = None,
    backoff: Backoff | None = None,
) -> Schedule:
    """Return what runs next. `most` is how many nodes that serve already may be changed at once."""
    backoff = backoff or Backoff()
    every = sorted(candidates, key=lambda candidate: candidate.name)
    busy = find_busy(every, runs)
    room = None if most is None else most - sum(1 for each in every if each.name in busy and each.serves)
    groups: dict[tuple[str, str, str], list[str]] = {}
    pauses: list[float] = []
    for candidate in every:
        following = candidate.next
        if candidate.name in busy or not candidate.deploy or following is None:
            continue
        due, record = following
        pause = pause_left(due, record, now, backoff)
        if pause > 0:
            pauses.append(pause)
            continue
        if candidate.serves and room is not None:
            if room <= 0:
                continue
            room -= 1
        groups.setdefault((due.service, due.common, _alone(candidate, due, record)), []).append(candidate.name)
    numbers = _next_numbers(every, runs)
    found = (
        NewRun(service, tuple(part), max(numbers[name] for name in part), common)
        for (service, common, _), names in groups.items()
        for part in (names[start : start + LARGEST_RUN] for start in range(0, len(names), LARGEST_RUN))
    )
    return Schedule(tuple(found), min(pauses, default=None), busy)


def find_busy(candidates: Iterable[Candidate], runs: Sequence[OpenStackAnsibleEE]) -> frozenset[str]:
    """Return the nodes that are in a run, or whose records do not have yet what their last run came to."""
    records: Mapping[str, tuple[ServiceRecord, ...]] = {each.name: each.records for each in candidates}
    wanted = {each.name: {due.service for due in each.services} for each in candidates}
    return frozenset(
        entry.name
        for run in runs
        for entry in run.spec.nodes
        if entry.name in records
        and (not run.finished or (run.spec.service in wanted[entry.name] and not is_recorded(run, records[entry.name])))
    )


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
    for run in runs:
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
