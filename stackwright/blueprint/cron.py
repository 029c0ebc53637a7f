"""Cron expressions as a CronJob takes them: five fields with bounds, lists, ranges, steps and names. Pure.

The words are those of the library with which Kubernetes and upstream's operators read them: robfig/cron.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.blueprint.whole_numbers import read_number

# Words in place of the fields.
WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
# Some time between two runs, in Go's words.
_EVERY = re.compile(r"@every ([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+")
# The longest month of each number; February has a 29th at times.
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# A range has a beginning and an end.
_ENDS = 2


@dataclass(frozen=True)
class _Field:
    first: int
    last: int
    names: Mapping[str, int] = field(default_factory=dict)


class _UnreadableError(Exception):
    """An expression that is none; the text says why."""


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field(0, 59),
    _Field(0, 23),
    _Field(1, 31),
    _Field(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field(0, 6, {name: number for number, name in enumerate(_WEEKDAYS)}),
)


def problem(text: str) -> str:
    """Return why a text is not a cron expression, or one that never comes; an empty text when all is well."""
    if text in WORDS or _EVERY.fullmatch(text):
        return ""
    try:
        found = _read(text)
    except _UnreadableError as error:
        return str(error)
    _, _, days, months, _ = found
    # A day of the week that is asked for comes in every month; then either of the two is enough.
    if text.split()[4] in ("*", "?") and all(day > _DAYS[month - 1] for day in days for month in months):
        return "never comes: none of its months has such a day"
    return ""


def _read(text: str) -> list[set[int]]:
    """Return the numbers that each field means."""
    if not text:
        raise _UnreadableError("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        raise _UnreadableError("cannot use TZ or CRON_TZ in schedule")
    if text.startswith("@every "):
        raise _UnreadableError(f"failed to parse duration {text}: write numbers with units, such as 1h30m")
    if text.startswith("@"):
        raise _UnreadableError(f"unrecognized descriptor: {text}")
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise _UnreadableError(f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]")
    pairs = zip(_FIELDS, parts, strict=True)
    return [set().union(*(_values(bounds, entry) for entry in part.split(","))) for bounds, part in pairs]


def _values(bounds: _Field, entry: str) -> set[int]:
    """Return the numbers that one entry of a field means."""
    said, *steps = entry.split("/")
    ends = said.split("-")
    if ends[0] in ("*", "?"):
        low, high = bounds.first, bounds.last
    else:
        numbers = [_number(end, bounds.names) for end in ends[:_ENDS]]
        if len(ends) > _ENDS:
            raise _UnreadableError(f"too many hyphens: {entry}")
        low, high = numbers[0], numbers[-1]
    if len(steps) > 1:
        raise _UnreadableError(f"too many slashes: {entry}")
    step = _number(steps[0], {}) if steps else 1
    if steps and len(ends) == 1:
        # A step after a single number goes on to the end.
        high = bounds.last
    if low < bounds.first:
        raise _UnreadableError(f"beginning of range ({low}) below minimum ({bounds.first}): {entry}")
    if high > bounds.last:
        raise _UnreadableError(f"end of range ({high}) above maximum ({bounds.last}): {entry}")
    if low > high:
        raise _UnreadableError(f"beginning of range ({low}) beyond end of range ({high}): {entry}")
    if step == 0:
        raise _UnreadableError(f"step of range should be a positive number: {entry}")
    return set(range(low, high + 1, step))


def _number(text: str, names: Mapping[str, int]) -> int:
    """Return the number that a text is, or that a name stands for."""
    if text.lower() in names:
        return names[text.lower()]
    number = read_number(text)
    if number is not None:
        return number
    if text.startswith("-") and read_number(text[1:]) is not None:
        raise _UnreadableError(f"negative number ({text}) not allowed: {text}")
    fault = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
    raise _UnreadableError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {fault}')
