"""An explanation as people and programs read it: a tree of sentences, a table of steps, JSON. Pure."""

import textwrap
from collections.abc import Iterable
from datetime import datetime

import msgspec

from stackwright.foresight.critical_path import CREATED, Path, Step
from stackwright.foresight.durations import spell, spell_since
from stackwright.foresight.reasons import Reason
from stackwright.foresight.tree import State

# So wide that nobody folds it: for what is no terminal.
ENDLESS = 10_000


class Report(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What `-o json` prints. Fields may be added; none changes its meaning."""

    namespace: str
    state: State
    resource: Reason
    critical_path: Path | None = None


def report(namespace: str, state: State, reason: Reason, path: Path | None) -> str:
    """Return an explanation as JSON."""
    return msgspec.json.format(msgspec.json.encode(Report(namespace, state, reason, path))).decode()


def lines(reason: Reason, now: datetime, width: int = ENDLESS) -> list[str]:
    """Return an explanation as text for a terminal of that width."""
    return [line.rstrip() for line in _lines(reason, now, width, "", "")]


def _lines(reason: Reason, now: datetime, width: int, first: str, further: str) -> Iterable[str]:
    guide = further + ("│  " if reason.waits_for else "   ")
    yield from _fold(_sentence(reason, now), width, first, guide)
    if reason.log is not None and reason.log.lines:
        before = " before its last restart" if reason.log.previous else ""
        yield from _fold(f"The log of {reason.log.pod}, container {reason.log.container}{before}:", width, guide, guide)
        yield from (f"{guide}> {line}" for line in reason.log.lines)
    if reason.to_do:
        yield from _fold(f"To do: {reason.to_do}", width, guide, f"{guide}       ")
    for position, entry in enumerate(reason.waits_for):
        last = position == len(reason.waits_for) - 1
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _lines(entry, now, width, further + branch, further + below)


def _sentence(reason: Reason, now: datetime) -> str:
    named = f"{reason.kind} {reason.name}"
    if reason.above:
        return f"{named}: see above"
    age = spell_since(reason.since, now)
    state = f"{reason.state}{f' for {age}' if age else ''}"
    told = reason.message if reason.state is not State.READY else ""
    condition = f"{reason.condition}: " if reason.condition and told else ""
    more = f" ({reason.likewise} more likewise)" if reason.likewise else ""
    return f"{named}  {state}{f'  {condition}{told}' if told else ''}{more}"


def _fold(text: str, width: int, first: str, further: str) -> list[str]:
    """Return a sentence in lines, none of its words cut: a reference or a command is copied whole."""
    return textwrap.wrap(
        text,
        max(40, width - 1),
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def path_lines(path: Path, kind: str, name: str) -> list[str]:
    """Return what took the time, from the creation on; steps that took none are left away."""
    shown = [step for step in path.steps if step.seconds > 0 or (step.what == CREATED and step.name == name)]
    longest = max(path.steps, key=lambda step: step.seconds, default=None)
    rows = [("AT", "TOOK", "STEP")]
    passed = 0.0
    for step in path.steps:
        passed += step.seconds
        if step in shown:
            rows.append((spell(passed), spell(step.seconds), _step(step, longest)))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    head = f"{kind} {name} was ready {spell(path.seconds)} after it was created. What took the time:"
    return [head, "", *(f"{row[0]:>{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]}" for row in rows)]


def _step(step: Step, longest: Step | None) -> str:
    mark = "  (the longest)" if step is longest and step.seconds else ""
    return f"{step.kind} {step.name}: {step.what}{mark}"
