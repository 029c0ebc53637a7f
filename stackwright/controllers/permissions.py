"""What an operator may do in a cluster: derived from what its controllers say of themselves. Pure.

The chart of the operators takes its rules from a file that is written from here (`make crds`), so the two cannot
drift apart: those of an operator that runs everything, and of each service's own. Nothing is granted by a wildcard, and
kinds that are only read cannot be written.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from stackwright import services
from stackwright.blueprint.needs.need import KEEP, MAKE
from stackwright.blueprint.service import Service
from stackwright.controllers import roster
from stackwright.controllers.controlplane import ServiceOperator, ServiceOperators
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment
from stackwright.controllers.teams import CORE, team_of_kind
from stackwright.kube.builtin import Event, Namespace, Pod
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Controller
from stackwright.kube.documents import WithoutAliases
from stackwright.kube.resource import CustomResource, JsonObject, Kind, Resource

HEADER = "# Generated from the controllers by `make crds`; do not edit.\n"

READ = frozenset({"get", "list", "watch"})

# By group and resource, subresources included.
Rights = Mapping[tuple[str, str], frozenset[str]]

# Rights that Roles in the charts grant to pods of services, and that the operators do not need themselves: Kubernetes
# lets nobody grant rights that they do not have. By the service's name.
HANDED_ON: Mapping[str, Rights] = {"mariadb": {("", Pod.kind.plural): frozenset({"patch"})}}


def rights(controllers: Iterable[Controller], blueprints: Iterable[Service[Any, Any]]) -> tuple[Rights, Rights]:
    """Return what is needed in namespaces, and what of objects that are in none."""
    controllers, blueprints = tuple(controllers), tuple(blueprints)
    found: dict[Kind, set[str]] = defaultdict(set)
    below: dict[tuple[str, str], frozenset[str]] = {}
    for controller in controllers:
        for kind in controller.kinds:
            # Of the operators' own namespace, where the chart says what they may.
            if kind is not ServiceOperator:
                found[kind.kind] |= READ
        for kind in controller.owns:
            found[kind.kind] |= KEEP
        for kind in controller.makes:
            found[kind.kind] |= MAKE
        if issubclass(controller.kind, CustomResource):
            below |= _finalizers(controller.kind)
        if issubclass(controller.kind, CustomResource) and controller.reports:
            below |= _status(controller.kind)
            # Finalizers, and the word that pauses what a parent owns.
            found[controller.kind.kind] |= {"patch"}
    for kind, verbs in _list_kept(blueprints):
        found[kind.kind] |= verbs
    # Who makes a Job and reads the logs of its pods has to know why there is none.
    logs = any(controller.logs for controller in controllers)
    # Why pods are refused, only events tell of StatefulSets, DaemonSets and Jobs.
    found[Event.kind] |= MAKE | ({"list"} if blueprints or logs else set())
    inside = {(kind.group, kind.plural): frozenset(verbs) for kind, verbs in found.items() if kind.namespaced}
    outside = {(kind.group, kind.plural): frozenset(verbs) for kind, verbs in found.items() if not kind.namespaced}
    handed = (granted for service in blueprints for granted in HANDED_ON.get(service.name, {}).items())
    inside |= {place: inside.get(place, frozenset()) | verbs for place, verbs in handed}
    return {**inside, **below, **_pods(blueprints, logs=logs)}, outside


def _list_kept(blueprints: Iterable[Service[Any, Any]]) -> Iterator[tuple[type[Resource], frozenset[str]]]:
    for service in blueprints:
        for need in service.need_types:
            yield from need.keeps.items()


def _status(kind: type[Resource]) -> Rights:
    """Return what it takes to report a kind's state."""
    return {(kind.kind.group, f"{kind.kind.plural}/status"): frozenset({"patch"})}


def _finalizers(kind: type[Resource]) -> Rights:
    """Return what it takes to own objects in a kind's name, so that they block its deletion."""
    return {(kind.kind.group, f"{kind.kind.plural}/finalizers"): frozenset({"update"})}


def _pods(blueprints: Iterable[Service[Any, Any]], *, logs: bool) -> Rights:
    """Return what is asked of pods: their logs, and where a service keeps keys, whether they hold them."""
    blueprints = tuple(blueprints)
    granted = {("", f"{Pod.kind.plural}/log"): frozenset({"get"})} if blueprints or logs else {}
    if any(service.key_rings for service in blueprints):
        # The connection is opened by a GET; newer servers ask for `create` as well.
        granted["", f"{Pod.kind.plural}/exec"] = frozenset({"get", "create"})
    return granted


def rules(granted: Rights) -> list[JsonObject]:
    """Return rights as rules of a Role: what has the same verbs in one group stands together."""
    together: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), verbs in granted.items():
        together[group, tuple(sorted(verbs))].append(resource)
    return [
        {"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
        for (group, verbs), resources in sorted(together.items())
    ]


def covers(granted: Rights, rule: Mapping[str, Any]) -> bool:
    """Return whether somebody with these rights may grant a rule: nobody can grant rights that they do not have."""
    return all(
        verb in granted.get((group, resource), ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )


def everything() -> tuple[Rights, Rights]:
    """Return the rights of an operator that runs all controllers."""
    return rights(_controllers(None), services.blueprints())


def teams() -> tuple[str, ...]:
    """Return the teams of all operators that there can be, the core first."""
    return (CORE, *sorted({team_of_kind(kind) for kind in services.kinds()} - {CORE}))


def single(team: str) -> tuple[Rights, Rights]:
    """Return the rights of an operator for one service; the core's also sees which of the others have work."""
    known = ServiceOperators("", "", {team: {"metadata": {"name": team}} for team in teams() if team != CORE})
    chosen = roster.choose(_controllers(known), (team,))
    return rights(chosen, (service for service in services.blueprints() if team_of_kind(service.kind) == team))


def _controllers(operators: ServiceOperators | None) -> tuple[Controller, ...]:
    # Nothing is dialled and nothing is rendered: only what the controllers say of themselves is looked at.
    dialler = Dialler(Client(Connection("https://nowhere.invalid")), inside=True)
    return roster.assemble(dialler, Environment(images={}, charts=Path()), operators)


def text() -> str:
    """Return the file that the operators' chart takes its rules from."""
    granted = {**_rules_of(everything()), "services": {team: _rules_of(single(team)) for team in teams()}}
    return HEADER + yaml.dump(granted, Dumper=WithoutAliases, sort_keys=False, default_flow_style=None, width=110)


def _rules_of(granted: tuple[Rights, Rights]) -> dict[str, list[JsonObject]]:
    inside, outside = granted
    spaces, whole = split(outside)
    return {"namespaced": rules(inside), "cluster": rules(whole), "spaces": rules(spaces)}


def split(outside: Rights) -> tuple[Rights, Rights]:
    """Return what is needed of namespaces themselves, and the rest: who works in some reads those alone."""
    own = ("", Namespace.kind.plural)
    return (
        {place: verbs for place, verbs in outside.items() if place == own},
        {place: verbs for place, verbs in outside.items() if place != own},
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
