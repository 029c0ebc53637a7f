"""The marker of a free-form field that becomes a part of an object of Kubernetes, and the base of such parts."""

from dataclasses import dataclass
from typing import ClassVar

from stackwright.api.base import Value


class EmbeddedPart(Value, frozen=True, kw_only=True):
    """A part of an object of Kubernetes. Of the fields in `one_of`, one is set; none, too, if it `may_be_none`."""

    one_of: ClassVar[tuple[str, ...]] = ()
    may_be_none: ClassVar[bool] = False


@dataclass(frozen=True)
class Embedded:
    """Says that a free-form value becomes such a part; it is not part of the schema."""

    part: type[Value]


def embedded(part: type[Value]) -> Embedded:
    """Mark a free-form field, or the entries of a free-form list, with what it becomes."""
    return Embedded(part)
