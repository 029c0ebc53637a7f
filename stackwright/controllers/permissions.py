"""What an operator may do in a cluster: derived from what its controllers say of themselves. Pure.

The chart of the operators takes its rules from a file that is written from here (`make crds`), so the two cannot
drift apart. Nothing is granted by a wildcard, and what is read alone is not written.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from stackwright import services
from stackwright.api.mariadb import MariaDBAccount
from stackwright.blueprint.service import Service
from stackwright.controllers import operator
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment, needs
from stackwright.kube.builtin import Event, Pod
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Controller
from stackwright.kube.resource import CustomResource, JsonObject, Kind, Resource

HEADER = "# Generated from the controllers by `make crds`; do not edit.\n"

READ = frozenset({"get", "list", "watch"})
MAKE = frozenset({"create", "patch"})
KEEP = MAKE | {"delete"}

# By group and resource, subresources included.
Rights = Mapping[tuple[str, str], frozenset[str]]

# What Roles in the charts allow to pods of services, and the operators would not need themselves: nobody may hand on
# what he does not have.
HANDED_ON: Rights = {("", Pod.kind.plural): frozenset({"patch"})}


def rights(controllers: Iterable[Controller], blueprints: Iterable[Service[Any, Any]]) -> tuple[Rights, Rights]:
    """Return what is needed in namespaces, and what of objects that are in none."""
    found: dict[Kind, set[str]] = defaultdict(set)
    below: dict[tuple[str, str], frozenset[str]] = {}
    for controller in controllers:
        for kind in controller.kinds:
            found[kind.kind] |= READ
        for kind in controller.owns:
            found[kind.kind] |= KEEP
        if issubclass(controller.kind, CustomResource):
            below |= _own(controller.kind)
            # Finalizers, and the word that pauses what a parent owns.
            found[controller.kind.kind] |= {"patch"}
    for kind in needs.KEPT:
        found[kind.kind] |= MAKE
    # An account that was rotated away goes; a schema never does.
    found[MariaDBAccount.kind] |= KEEP
    found[Event.kind] |= MAKE
    below |= _pods(blueprints)
    inside = {(kind.group, kind.plural): frozenset(verbs) for kind, verbs in found.items() if kind.namespaced}
    outside = {(kind.group, kind.plural): frozenset(verbs) for kind, verbs in found.items() if not kind.namespaced}
    handed = {place: inside.get(place, frozenset()) | verbs for place, verbs in HANDED_ON.items()}
    return {**inside, **below, **handed}, outside


def _own(kind: type[Resource]) -> Rights:
    """Return what it takes to report a kind's state, and to own objects in its name so that they block its deletion."""
    group, plural = kind.kind.group, kind.kind.plural
    return {(group, f"{plural}/status"): frozenset({"patch"}), (group, f"{plural}/finalizers"): frozenset({"update"})}


def _pods(blueprints: Iterable[Service[Any, Any]]) -> Rights:
    """Return what is asked of pods: their logs, and where a service keeps keys, whether they hold them."""
    granted = {("", f"{Pod.kind.plural}/log"): frozenset({"get"})}
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
    """Return whether one who has these rights may hand on a rule: nobody can grant what he does not have."""
    return all(
        verb in granted.get((group, resource), ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )


def everything() -> tuple[Rights, Rights]:
    """Return the rights of an operator that runs all controllers."""
    # Nothing is dialled and nothing is rendered: only what the controllers say of themselves is looked at.
    dialler = Dialler(Client(Connection("https://nowhere.invalid")), inside=True)
    environment = Environment(images={}, charts=Path())
    return rights(operator.assemble(dialler, environment), services.blueprints())


def text() -> str:
    """Return the file that the operators' chart takes its rules from."""
    inside, outside = everything()
    return HEADER + yaml.safe_dump(
        {"namespaced": rules(inside), "cluster": rules(outside)}, sort_keys=False, default_flow_style=None, width=110
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
