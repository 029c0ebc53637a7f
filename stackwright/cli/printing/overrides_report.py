"""What others set on the objects of a resource, as people read it. Pure."""

from collections.abc import Iterable

from stackwright.controllers import release
from stackwright.foresight.overrides import Override


def lines(found: Iterable[Override]) -> list[str]:
    """Return overrides as people read them. Pure."""
    result: list[str] = []
    for override in found:
        what = "as a whole" if override.entry.field == release.WHOLE else override.entry.field
        result += [
            f"  {override.entry.resource} {what}, by {override.entry.manager}",
            f"    now:   {override.now}",
            f"    after: {override.after}",
        ]
    return result
