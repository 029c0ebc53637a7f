"""Notices that an object is written to and fro without end, and stops it.

Whoever repairs a field that another program sets again at once would go on forever, and so would the other. To write
what was written before, because somebody changed or deleted it meanwhile, is one turn of such an exchange; many turns
in a short time are one that does not end. Then it is left alone for a while, and an event says so.
"""

from collections import deque
from collections.abc import Container
from dataclasses import dataclass, field

from stackwright.kube.resource import Key, Kind

# Which object of which parent.
Name = tuple[Key, Kind, Key]

# So many turns in so many seconds are an exchange; then nothing is written for a while.
TURNS = 10
# What somebody deletes is healed: only a program deletes it so often. But what runs once and is over, such as a Job
# that takes itself away, is nothing that a service is without.
REMAKES = 40
WITHIN_SECONDS = 60.0
REST_SECONDS = 60.0
# A parent that changes its own mind, to and fro, is in an exchange with itself.
REMEMBERED = 4

REASON = "EndlessExchange"


@dataclass
class _Course:
    """What was written of one object lately, when it was written again, whether it was just made, when to go on."""

    written: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    turns: deque[float] = field(default_factory=lambda: deque(maxlen=TURNS))
    remakes: deque[float] = field(default_factory=lambda: deque(maxlen=REMAKES))
    made: bool = False
    rests_until: float = 0.0
    # Until when it is not made again, either.
    gone_until: float = 0.0


@dataclass
class Exchanges:
    """Remembers what was written of the children of many parents."""

    courses: dict[Name, _Course] = field(default_factory=dict)

    def note(self, name: Name, digest: str, now: float, *, absent: bool = False, once: bool = False) -> bool:
        """Note that a write of a content changed an object; return whether that was one turn too many.

        Where the object was `absent`, somebody deleted it: that is healed many times, and what is written right after
        it completes it. One that runs `once` is made again less often.
        """
        course = self.courses.setdefault(name, _Course())
        healing, course.made = absent or course.made, absent
        if digest not in course.written:
            course.written.append(digest)
            return False
        if healing and not absent:
            return False
        turns, most = (course.remakes, TURNS if once else REMAKES) if absent else (course.turns, TURNS)
        turns.append(now)
        if len(turns) < most or now - turns[-most] > WITHIN_SECONDS:
            return False
        course.rests_until = now + REST_SECONDS
        course.gone_until = course.rests_until if absent else 0.0
        turns.clear()
        return True

    def has_written(self, name: Name) -> bool:
        """Return whether an object was written lately."""
        return name in self.courses

    def rest(self, name: Name, now: float, *, absent: bool = False) -> float:
        """Return for how many seconds an object is still to be left alone; 0 where it may be written, or made."""
        course = self.courses.get(name)
        if course is None:
            return 0.0
        return max(0.0, (course.gone_until if absent else course.rests_until) - now)

    def keep(self, parent: Key, children: Container[tuple[Kind, Key]]) -> None:
        """Forget the children of a parent that are none any more."""
        for name in [name for name in self.courses if name[0] == parent and (name[1], name[2]) not in children]:
            del self.courses[name]

    def forget(self, parent: Key) -> None:
        """Forget all children of a parent."""
        self.keep(parent, ())


def describe_exchange(what: str, *, absent: bool = False) -> str:
    """Return the sentence that tells people of an exchange."""
    if absent:
        return (
            f"{what} is gone each time that it was made, so it is left alone for a while; see who deletes it (a Job "
            "may take itself away by ttlSecondsAfterFinished), and stop that"
        )
    return (
        f"{what} is changed back each time it is written, so it is left alone for a while; see who else writes it "
        "(kubectl get --show-managed-fields -o yaml) and stop one of the two"
    )
