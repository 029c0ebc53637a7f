"""Cron expressions as a CronJob takes them: five fields with bounds, lists, ranges, steps and names. Pure."""

import re
from dataclasses import dataclass

from stackwright.blueprint.whole_numbers import read_number

# Words in place of the fields.
WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
# Some time between two runs, in Go's words.
_EVERY = re.compile(r"@every ([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+")
# The longest month of each number; February has a 29th at times.
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True)
class _Field:
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()

    def value(self, text: str) -> int | None:
        """Return the number that a text is, or that a name stands for."""
        if text.lower() in self.names:
            return self.first + self.names.index(text.lower())
        number = read_number(text) if text == text.strip() else None
        return number if number is not None and self.first <= number <= self.last else None


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Field("day of the week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


def problem(text: str) -> str:
    """Return why a text is not a cron expression, or one that never comes; an empty text when all is well."""
    if text in WORDS or _EVERY.fullmatch(text):
        return ""
    parts = text.split()
    if len(parts) != len(_FIELDS):
        return f"is not a cron expression; write five fields such as 1 0 * * *, or one of {', '.join(WORDS)}"
    found: list[set[int]] = []
    for field, part in zip(_FIELDS, parts, strict=True):
        values: set[int] = set()
        for entry in part.split(","):
            known = _values(field, entry)
            if isinstance(known, str):
                return known
            values |= known
        found.append(values)
    _, _, days, months, _ = found
    # A day of the week that is asked for comes in every month; then either of the two is enough.
    if parts[4] in ("*", "?") and all(day > _DAYS[month - 1] for day in days for month in months):
        return "never comes: none of its months has such a day"
    return ""


def _values(field: _Field, entry: str) -> set[int] | str:
    """Return the numbers that one entry of a field means, or why it means none."""
    said, slash, step = entry.partition("/")
    if slash and not ((read_number(step) or 0) > 0):
        return f"has an invalid step in its {field.name}: {entry}; write a number of 1 or more after the slash"
    first, dash, last = said.partition("-")
    if said in ("*", "?"):
        low, high = field.first, field.last
    else:
        begin, end = field.value(first), field.value(last if dash else first)
        if begin is None or end is None:
            return f"has an invalid {field.name}: {entry}; it goes from {field.first} to {field.last}"
        if begin > end:
            return f"has a {field.name} that runs backwards: {entry}; write the smaller one first"
        # A step after a single number goes on to the end.
        low, high = begin, end if dash or not slash else field.last
    return set(range(low, high + 1, int(step) if slash else 1))
