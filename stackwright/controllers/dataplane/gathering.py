"""Since when nodes are due for what they are due for: so the first of several waits a moment for the others.

That is remembered, and not in a status: who forgets it waits once more, for two seconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from stackwright.blueprint.dataplane.schedule import GATHER_SECONDS, Candidate
from stackwright.kube.resource import Key


@dataclass(frozen=True)
class Gathering:
    """Remembers, for each place that plans runs, since when each node is due for which inputs."""

    seconds: float = GATHER_SECONDS
    since: dict[Key, dict[tuple[str, str], datetime]] = field(default_factory=dict)

    def note(self, place: Key, candidates: Iterable[Candidate], now: datetime) -> tuple[Candidate, ...]:
        """Return the candidates with since when they wait; nodes that go on from one run to the next do not wait."""
        before, after = self.since.get(place, {}), dict[tuple[str, str], datetime]()
        found: list[Candidate] = []
        for candidate in candidates:
            following = candidate.next
            if following is None or not candidate.deploy or self._goes_on(candidate, now):
                found.append(candidate)
                continue
            due = (candidate.name, following[0].inputs)
            after[due] = before.get(due, now)
            found.append(replace(candidate, since=after[due]))
        self.since[place] = after
        return tuple(found)

    def forget(self, place: Key) -> None:
        """Forget a place that is gone."""
        self.since.pop(place, None)

    def _goes_on(self, candidate: Candidate, now: datetime) -> bool:
        """Return whether a run on the node has just ended: those that were in it come along."""
        # Records have no parts of seconds.
        recent = now - timedelta(seconds=self.seconds + 1)
        ends = (datetime.fromisoformat(record.finishedAt) for record in candidate.records if record.finishedAt)
        return any(end > recent for end in ends)
