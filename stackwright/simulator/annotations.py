"""Faults and times asked for with kubectl: annotations on a pod, a claim, or on what pods come from.

    kubectl annotate deployment keystone simulator.stackwright.org/fault=Crash
    kubectl annotate deployment keystone simulator.stackwright.org/fault-

An annotation wins over the script, and one on the object itself over one on its owners. VolumeUnbound is asked for
on the claim itself: the claims of a StatefulSet do not belong to it.

| annotation                                                           | value                                |
|----------------------------------------------------------------------|--------------------------------------|
| fault                                                                | the name of a fault, or None         |
| container                                                            | which container has it; a pattern    |
| exit-code, times, after, backoff, message, probe                     | details of the fault                 |
| start-after, init-for, ready-after, runs-for, stop-after, bind-after | seconds, as in Behaviour             |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from stackwright.simulator.behaviour import (
    Behaviour,
    Crash,
    Fault,
    ImageMissing,
    ProbeFailing,
    Unschedulable,
    VolumeUnbound,
)

PREFIX = "simulator.stackwright.org/"

FAULTS: dict[str, type[Fault]] = {
    fault.__name__: fault for fault in (ImageMissing, Crash, Unschedulable, ProbeFailing, VolumeUnbound)
}


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(text)
    return seconds


def _probe(text: str) -> str:
    if text not in {"readiness", "liveness"}:
        raise ValueError(text)
    return text


_TIMES = ("start_after", "init_for", "ready_after", "runs_for", "stop_after", "bind_after")
_DETAILS: dict[str, Callable[[str], Any]] = {
    "exit_code": int,
    "times": int,
    "after": _seconds,
    "backoff": _seconds,
    "message": str,
    "probe": _probe,
}


@dataclass(frozen=True)
class Request:
    """What the annotations of an object ask for, over whatever the script says.

    `problems` are sentences about annotations that cannot be followed; they count as absent.
    """

    fault: Fault | None = None
    asks_for_fault: bool = False
    container: str = ""
    times: tuple[tuple[str, float], ...] = ()
    problems: tuple[str, ...] = ()

    def over(self, behaviour: Behaviour, container: str = "") -> Behaviour:
        """Return the behaviour with what is asked for, for one container or for the object as a whole."""
        changes: dict[str, Any] = dict(self.times)
        elsewhere = container and self.container and not fnmatchcase(container, self.container)
        if self.asks_for_fault and not elsewhere:
            changes["fault"] = self.fault
        return replace(behaviour, **changes) if changes else behaviour


def asked(*annotations: Mapping[str, str]) -> Request:
    """Read what annotations ask for: those of the object first, then those of its owners, nearest first."""
    merged: dict[str, str] = {}
    for one in reversed(annotations):
        merged.update((name, value) for name, value in one.items() if name.startswith(PREFIX))
    if not merged:
        return Request()
    values = {name.removeprefix(PREFIX).replace("-", "_"): value for name, value in merged.items()}
    problems: list[str] = []
    details = _parsed({name: values.pop(name) for name in _DETAILS if name in values}, _DETAILS, problems)
    times = _parsed(
        {name: values.pop(name) for name in _TIMES if name in values}, dict.fromkeys(_TIMES, _seconds), problems
    )
    container = values.pop("container", "")
    wanted = values.pop("fault", None)
    problems += [f"{_annotation(name)} is not known to the simulator; remove it" for name in sorted(values)]
    fault = None if wanted is None else _fault(wanted, details, problems)
    return Request(
        fault=fault,
        asks_for_fault=wanted == "None" or fault is not None,
        container=container,
        times=tuple(sorted(times.items())),
        problems=tuple(problems),
    )


def _annotation(name: str) -> str:
    return f"annotation {PREFIX}{name.replace('_', '-')}"


def _parsed(
    texts: Mapping[str, str], parsers: Mapping[str, Callable[[str], Any]], problems: list[str]
) -> dict[str, Any]:
    parsed = {}
    for name, text in texts.items():
        try:
            parsed[name] = parsers[name](text)
        except ValueError:
            problems.append(f"{_annotation(name)} has the value {text!r}, which it cannot have")
    return parsed


def _fault(name: str, details: Mapping[str, Any], problems: list[str]) -> Fault | None:
    if name == "None":
        return None
    if name not in FAULTS:
        problems.append(f"{_annotation('fault')} is {name!r}; use one of {', '.join(FAULTS)}, None")
        return None
    known = {field.name for field in fields(FAULTS[name])}
    try:
        return FAULTS[name](**{detail: value for detail, value in details.items() if detail in known})
    except ValueError as error:
        problems.append(f"{_annotation('fault')}={name} cannot be followed: {error}")
        return None
