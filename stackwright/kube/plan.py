"""What a pure decision returns: steps to take now, waits for what is not there yet.

A step is data with a reason and a message; what it does stands in the controller's `act`. A wait says what
it waits for. Neither carries counters or times of tries, so that an unchanged state writes nothing.
"""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do. Subclasses add what `act` needs to know.

    `condition` names the condition of the kind that is not True before this step is done.
    """

    reason: str
    message: str = ""
    condition: str = ""


class Ends(Enum):
    """Who ends a wait. What a user is told follows from this, and not from the words of the wait.

    `BY_ITSELF`: others are at it, and nobody has to act. `BY_AUTHOR`: whoever wrote the resource names something that
    is not there; that is the user, or a parent which is about to make it. `BY_USER`: only the user can end it, such as
    a broken line in a Secret. `PERHAPS_BY_USER`: it may pass, but nobody knows that it will, such as an image that a
    registry does not give: somebody should look.
    """

    BY_ITSELF = "by itself"
    BY_AUTHOR = "by its author"
    BY_USER = "by the user"
    PERHAPS_BY_USER = "by the user, unless it passes"


@dataclass(frozen=True)
class Wait:
    """Something that must happen elsewhere first. A watch wakes the resource, or `after` seconds pass."""

    reason: str
    message: str
    condition: str = ""
    after: float | None = None
    ends: Ends = Ends.BY_ITSELF


@dataclass(frozen=True)
class Caution:
    """Something that a user should look at although the condition holds: it says so, and an event warns once."""

    reason: str
    message: str
    condition: str


@dataclass(frozen=True)
class Plan:
    """What brings a resource closer to its spec; an empty plan means that it is there.

    Steps of one plan do not depend on each other and run at once. `done` names conditions that hold although
    one that is declared before them does not, or that have nothing to say any more.
    """

    steps: tuple[Step, ...] = ()
    waits: tuple[Wait, ...] = ()
    done: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()
