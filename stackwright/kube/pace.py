"""When a status is written: at once if somebody waits for it, otherwise after a short pause.

On the way to Ready a status changes many times within a second, and each write wakes the parents, which write too. A
pass that has nothing urgent to report therefore puts its write off, and its key is reconciled again when the pause is
over. A resource that a user wrote, and watches, has a pause of a few seconds, which grows if the way to Ready is long.
A resource that a parent made reports only if it takes long. Nothing is lost by waiting: the next pass, even that of
another process, compares the status with the world, and not with what an earlier pass meant to write. All that is
remembered here is since when a write has been put off.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from stackwright.kube import conditions
from stackwright.kube.conditions import READY, REQUESTED
from stackwright.kube.resource import Condition, CustomResource, Status

# A status is written when it has not changed for so many seconds, or for as long as it took until it last changed:
# somebody who waits for minutes need not see every second.
PAUSE = 3.0
# What looks wrong may pass; it is reported when it has lasted this many seconds.
TROUBLE = 5.0
# The status of a user's own resource is put off for this many seconds at most, however often it changes.
OWN = 10.0
# The same for a resource that a parent made; it is also its pause.
QUIET = 15.0
# That something below has said nothing is told on a user's own resource when it should have spoken.
OWN_SILENCE = QUIET + PAUSE
# A resource that a parent made waits longer for what is below it, whose pause begins at the end of its first pass only:
# that renders a chart, which takes seconds on a machine that has much else to do. Nothing is put off for longer.
SILENCE = QUIET + QUIET

# Conditions are what a pause is for; whose generation they speak of is looked at apart.
_CONDITIONS = frozenset({"conditions", "observedGeneration"})


@dataclass(frozen=True)
class PutOff:
    """What was put off: of which resource, since when, when it last changed, and what would have been written.

    `way` is for how many seconds the resource was not Ready when it last changed. Measured anew in each run, the pause
    would grow while it lasts: each run would find a rest again, shorter each time, and the key would run many times.
    """

    uid: str
    since: float
    moved: float
    said: Status
    way: float = 0.0


def is_urgent(resource: CustomResource, new: Status, *, passing: bool = False) -> bool:
    """Return whether somebody waits for a status that differs from the one that a resource has. Pure.

    Users wait for Ready, for what they have to do and that it helped, and for a sign that their change was seen; other
    controllers wait for the fields beside the conditions. An Error that is `passing` is news once it has lasted: on the
    way to Ready, a server that has just started may refuse a connection.
    """
    before, after = (conditions.find(status.conditions, READY) for status in (resource.status, new))
    if after is None or after.status == "True" or resource.deleting:
        return True
    if after.severity == "Error" and not passing:
        return True
    if before is not None and (before.status == "True" or (before.severity == "Error" and after.severity != "Error")):
        return True
    if resource.status.observedGeneration < resource.metadata.generation and conditions.is_of_user(resource):
        return True
    if resource.status.misleads(new):
        return True
    facts = set(new.__struct_fields__) - _CONDITIONS - type(new).unhurried
    return any(getattr(resource.status, name) != getattr(new, name) for name in facts)


def pause_of(resource: CustomResource, new: Status, *, unready_for: float, passing: bool = False) -> float:
    """Return for how many seconds a status that is not urgent has to stay the same before it is written. Pure.

    `unready_for` is the way up to when the status last moved. That something below has not spoken yet is no news before
    it is late: when it speaks, this status says what it said, and not a moment before that nothing is known.
    """
    ready, own = conditions.find(new.conditions, READY), conditions.is_of_user(resource)
    pause = max(PAUSE, unready_for)
    if passing or (ready is not None and ready.severity == "Warning"):
        return min(pause, TROUBLE)
    if ready is not None and ready.reason == REQUESTED:
        return OWN_SILENCE if own else SILENCE
    return min(pause, OWN) if own else QUIET


def rest(pause: float, *, same_for: float, put_off_for: float) -> float:
    """Return for how many seconds a write that is not urgent is still put off; 0 where it is due. Pure."""
    return max(0.0, min(pause - same_for, max(pause, OWN) - put_off_for))


def unready_for(status: Status, wall: datetime) -> float:
    """Return since how many seconds a resource is not Ready, by its own word."""
    ready = conditions.find(status.conditions, READY)
    since = ready.lastTransitionTime if ready is not None else ""
    return (wall - datetime.fromisoformat(since)).total_seconds() if since else 0.0


class Pace:
    """Decides for one run of one key; `put_off` is what it puts off, if anything."""

    def __init__(self, before: PutOff | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._before = before
        self._clock = clock
        self.put_off: PutOff | None = None
        self.rest = 0.0

    def puts_off(self, resource: CustomResource, new: Status, wall: datetime, *, passing: bool = False) -> bool:
        """Return whether the status is to be written later, unless another run has something else to say by then."""
        now, before = self._clock(), self._put_off_before(resource)
        if before is None or _undated(before.said) != _undated(new):
            moved, way = now, unready_for(new, wall)
        else:
            moved, way = before.moved, before.way
        since = now if before is None else before.since
        self.rest = 0.0
        if not is_urgent(resource, new, passing=passing):
            pause = pause_of(resource, new, unready_for=way, passing=passing)
            self.rest = rest(pause, same_for=now - moved, put_off_for=now - since)
        self.put_off = PutOff(resource.metadata.uid, since, moved, new, way) if self.rest > 0 else None
        return self.put_off is not None

    def dated(self, resource: CustomResource, computed: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return conditions with the times since when they hold, also where that was not written yet."""
        before = self._put_off_before(resource)
        if before is None:
            return computed
        known = {(said.type, said.status): said.lastTransitionTime for said in before.said.conditions}
        return tuple(
            msgspec.structs.replace(condition, lastTransitionTime=min(since, condition.lastTransitionTime))
            if (since := known.get((condition.type, condition.status)))
            else condition
            for condition in computed
        )

    def _put_off_before(self, resource: CustomResource) -> PutOff | None:
        """Return what was put off of this resource, and not of one of the same name before it."""
        before = self._before
        return before if before is not None and before.uid == resource.metadata.uid else None


def _undated(status: Status) -> Status:
    undated = (msgspec.structs.replace(condition, lastTransitionTime="") for condition in status.conditions)
    return msgspec.structs.replace(status, conditions=tuple(undated))
