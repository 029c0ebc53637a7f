"""What others set on the objects of a resource, as people read it. Pure."""

from collections.abc import Iterable

from stackwright.controllers import release
from stackwright.foresight.overrides import Change


def lines(found: Iterable[Change]) -> list[str]:
    """Return changes as people read them. Pure."""
    result: list[str] = []
    for change in found:
        what = "as a whole" if change.entry.field == release.WHOLE else change.entry.field
        result += [
            f"  {change.entry.resource} {what}, by {change.entry.manager}",
            f"    now:   {change.now}",
            f"    after: {change.after}",
        ]
    return result
