"""The tree of a cloud as people and programs read it: a table, lines of what changed, JSON. Pure."""

import textwrap
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec
from rich.text import Text

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.controlplane import OperatorState
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.blueprint.actions import SUCCEEDED
from stackwright.controllers.release import WHOLE
from stackwright.foresight import tree
from stackwright.foresight.durations import spell_since
from stackwright.foresight.tree import Branch, Needed, State
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import Overridden, ResourceName
from stackwright.kube.shapes.states import NO_NODES

HEADER = ("RESOURCE", "STATE", "PODS", "SINCE", "WHY")
COLOURS = {State.READY: "green", State.WAITING: "yellow", State.WARNING: "magenta", State.ERROR: "bold red"}
_STATES = frozenset(map(str, State))
RUN, MACHINE = OpenStackAnsibleEE.kind.name, OpenStackDataPlaneNode.kind.name
# How far a machine is, by the phases of nodes; at last its services of OpenStack are up, too.
WAITING, UP = "Waiting", "Up"
STAGES = (WAITING, "Reaching", "Deploying", "Deployed", UP)


class Row(NamedTuple):
    """A line of the table; what is said beside a resource has a line of its own, without a state."""

    resource: str
    state: str = ""
    pods: str = ""
    spell_since: str = ""
    why: str = ""
    guide: str = ""
    """The branches of the tree that go on below this line."""


class Report(msgspec.Struct, frozen=True):
    """What `-o json` prints. Fields may be added; none changes its meaning."""

    namespace: str
    state: State
    resources: tuple[Branch, ...]


def rows(nodes: Iterable[Branch], now: datetime) -> list[Row]:
    """Return the table of some trees."""
    return [row for node in nodes for row in _rows(node, now, "", "")]


def _rows(node: Branch, now: datetime, first: str, further: str) -> Iterable[Row]:
    pods = f"{node.pods.ready} of {node.pods.wanted}" if node.pods is not None else ""
    # What all is well with has room for it beside; else what is wrong comes first.
    beside = _needs(node) if node.state is State.READY else ()
    why = "; ".join((*_why(node), *beside))
    guide = further + ("│  " if any(not _is_past(child) for child in node.children) else "   ")
    yield Row(f"{first}{node.kind} {node.name}", str(node.state), pods, spell_since(node.since, now), why, guide)
    for note in _notes(node):
        yield Row(guide, why=note, guide=guide)
    shown = [child for child in node.children if not _is_past(child)]
    for position, child in enumerate(shown):
        last = position == len(shown) - 1
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _rows(child, now, further + branch, further + below)


def _why(node: Branch) -> Iterable[str]:
    if node.paused:
        yield "paused"
    if node.release_owner == "helm":
        yield "given to helm"
    if node.chart:
        yield f"chart of {node.chart}"
    if (node.state is not State.READY or node.reason == NO_NODES) and node.message:
        yield f"{node.phase}: {node.message}" if node.phase else node.message
    elif node.phase:
        yield node.phase
    yield from _summarize(node)
    if node.needed_by:
        verb = "needs" if len(node.needed_by) == 1 else "need"
        yield f"here because {', '.join(node.needed_by)} {verb} it"


def _is_past(node: Branch) -> bool:
    """Return whether a node is a run of Ansible that is over: a cloud keeps many, and few ask for one of them."""
    return node.kind == RUN and node.state is State.READY


def _summarize(node: Branch) -> Iterable[str]:
    """Yield how far the machines of a role are, and how many runs are not listed."""
    machines = [_stage(child) for child in node.children if child.kind == MACHINE]
    if machines:
        known = {stage: machines.count(stage) for stage in (*STAGES, *machines)}
        yield f"nodes: {', '.join(f'{count} {stage}' for stage, count in known.items() if count)}"
    if runs := sum(1 for child in node.children if _is_past(child)):
        yield f"{runs} finished run{'s' if runs > 1 else ''}"


def _stage(machine: Branch) -> str:
    """Return how far a machine is with all that belongs to it."""
    of_openstack = [child for child in machine.children if child.kind != RUN]
    up = machine.state is State.READY and all(child.state is State.READY for child in of_openstack)
    return UP if of_openstack and up else machine.phase or WAITING


def _needs(node: Branch) -> Iterable[str]:
    """Yield which services a service needs; of those that are not ready it is told how they are."""
    found = [need for need in node.needs if need.service]
    if found:
        yield f"needs {', '.join(f'{need.kind} {need.name}{_unready(need)}' for need in found)}"


def _unready(need: Needed) -> str:
    if need.state is None:
        return " (is not there)"
    return "" if need.state is State.READY else f" ({need.state})"


def _notes(node: Branch) -> Iterable[str]:
    if node.state is not State.READY:
        yield from _needs(node)
    if node.operators:
        yield f"operators: {', '.join(_operator(operator) for operator in node.operators)}"
    for entry in node.overridden:
        field = "as a whole" if entry.field == WHOLE else entry.field
        yield f"overridden: {entry.resource} {field}, by {entry.manager}{_describe_wanted(entry)}"
    for action in node.actions:
        if action.state != SUCCEEDED:
            result = f": {action.result}" if action.result else ""
            yield f"action {action.name} {action.id}: {action.state}{result}"


def _describe_wanted(entry: Overridden) -> str:
    """Return what is asked for instead; what is in a Secret is not told."""
    if entry.wanted:
        return f"; asked for: {entry.wanted}"
    silent = entry.field == WHOLE or entry.resource.startswith(f"{Secret.kind.name}/")
    return "" if silent else "; not asked for"


def _operator(operator: OperatorState) -> str:
    return operator.service if operator.ready else f"{operator.service} ({operator.message or 'not ready'})"


def lines(nodes: Iterable[Branch], now: datetime) -> list[str]:
    """Return the table as text, in whole lines."""
    table = [Row(*HEADER), *rows(nodes, now)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADER) - 1)]
    return [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row.why)).rstrip()
        for row in table
    ]


def colour(nodes: Iterable[Branch], now: datetime, width: int, footer: str = "") -> Text:
    """Return the table for a terminal of that width: states in colour, long sentences folded beside or below."""
    table = [Row(*HEADER), *rows(nodes, now)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADER) - 1)]
    beside = width - sum(widths) - 2 * len(widths)
    found: list[Text] = []
    for row in table:
        style = COLOURS[State(row.state)] if row.state in _STATES else "bold" if row.state else ""
        cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=False)]
        line = Text.assemble(cells[0], "  ", (cells[1], style), "  ", cells[2], "  ", cells[3], "  ")
        found += [line, *_fold(line, row, beside, width)]
    return Text("\n", no_wrap=True).join([*found, *([Text(footer, "bold red")] if footer else [])])


def _fold(line: Text, row: Row, beside: int, width: int) -> list[Text]:
    """Put a sentence at the end of its line where it fits; return the lines below that it needs else."""
    if len(row.why) <= beside:
        line.append(row.why)
        return []
    indent = f"{row.guide}   "
    return [Text(f"{indent}{part}") for part in textwrap.wrap(row.why, max(20, width - len(indent) - 1))]


def report(namespace: str, nodes: tuple[Branch, ...], *, one_line: bool = False) -> str:
    """Return the trees as JSON."""
    encoded = msgspec.json.encode(Report(namespace, tree.worst(nodes), nodes))
    return (encoded if one_line else msgspec.json.format(encoded)).decode()


Sentences = Mapping[ResourceName, str]


def describe(nodes: Iterable[Branch]) -> dict[ResourceName, str]:
    """Return what there is to say of each resource, without times."""
    return {(node.kind, node.name): _sentence(node) for node in tree.flatten(nodes)}


def _sentence(node: Branch) -> str:
    pods = f" ({node.pods.ready} of {node.pods.wanted})" if node.pods is not None else ""
    why = "; ".join(_why(node))
    return f"{node.state}{pods}{f': {why}' if why else ''}"


def compare(before: Sentences, after: Sentences) -> list[str]:
    """Return a line for each resource of which there is something new to say."""
    gone = [(kind, name) for kind, name in before if (kind, name) not in after]
    return [
        *(f"{kind} {name}: {said}" for (kind, name), said in after.items() if before.get((kind, name)) != said),
        *(f"{kind} {name}: gone" for kind, name in gone),
    ]
