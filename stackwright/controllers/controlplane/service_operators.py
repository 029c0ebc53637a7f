"""The operators of single services: which are wanted, and whether each is as it should be. Pure but for one read.

The chart of the operators has prepared one Deployment for each service, with an account that exists; the umbrella
starts and stops them and grants nothing. They belong to the Deployment of the operator that starts them, so that they
go with the chart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from stackwright.kube import fields
from stackwright.kube.builtin import Deployment
from stackwright.kube.conditions import Finding
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.shapes.states import state_of

# What an operator's Deployment says it was last made from.
DIGEST = "openstack.org/operator-digest"
PER_SERVICE, SHARED = "perService", "shared"


class ServiceOperator(Deployment, frozen=True, kw_only=True):
    """A Deployment in the operators' own namespace, whatever namespace the clouds are in."""


@dataclass(frozen=True)
class ServiceOperators:
    """The Deployments that can be started, by their team, and the Deployment that owns them all."""

    namespace: str
    owner: str
    manifests: Mapping[str, JsonObject]

    def key(self, team: str) -> Key:
        """Return the Deployment of a service's operator."""
        return Key(self.namespace, self.manifests[team]["metadata"]["name"])

    @property
    def keys(self) -> tuple[Key, ...]:
        """All Deployments that there may be."""
        return tuple(self.key(team) for team in self.manifests)

    def team(self, key: Key) -> str:
        """Return the team whose operator a Deployment is; "" if it is not one of these operators."""
        return next((team for team in self.manifests if self.key(team) == key), "")


def read_prepared(folder: Path, namespace: str) -> ServiceOperators:
    """Return what the chart has prepared: a folder with one file for each service."""
    manifests = {path.stem: _manifest(path) for path in sorted(folder.glob("*.yaml"))}
    if not manifests:
        raise ConfigError(
            f"There are no operators to start in {folder}; install the chart with operatorMode=perService"
        )
    owners = {body["metadata"]["ownerReferences"][0]["name"] for body in manifests.values()}
    if len(owners) != 1:
        raise ConfigError(f"The operators in {folder} belong to {', '.join(sorted(owners))}; all must have one owner")
    return ServiceOperators(namespace, owners.pop(), manifests)


def _manifest(path: Path) -> JsonObject:
    try:
        body: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        shape = {"kind": str, "metadata": {"name": str, "ownerReferences": list}, "spec": dict}
        if not _has(body, shape) or body["kind"] != Deployment.kind.name:
            raise ConfigError(
                f"{path} is not a Deployment with a name and an owner; install the operators' chart again"
            )
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML; install the operators' chart again") from error
    return {name: value for name, value in body.items() if name != "status"}


def _has(body: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(body, dict) and all(_has(body.get(name), part) for name, part in shape.items())
    return isinstance(body, shape) and bool(body)


@dataclass(frozen=True)
class Situation:
    """What is known of one service: whether a control plane asks for its operator, and where its resources are.

    `beside` says that there are some in the namespace of a control plane that has its own operators, `anywhere` that
    there are some at all.
    """

    asked: bool = False
    beside: bool = False
    anywhere: bool = False


def is_wanted(situation: Situation, *, present: bool) -> bool:
    """Return whether a service's operator has work: it is removed once none of its resources is left."""
    return situation.asked or situation.beside or (present and situation.anywhere)


@dataclass(frozen=True)
class Start:
    """Bring the Deployment of an operator to what the chart prepared."""

    body: JsonObject


@dataclass(frozen=True)
class Stop:
    """Take the Deployment of an operator away."""

    present: ServiceOperator


def decide(
    operators: ServiceOperators, key: Key, owner: Deployment, present: ServiceOperator | None, situation: Situation
) -> Start | Stop | None:
    """Return what to do about one Deployment in the operators' namespace."""
    team = operators.team(key)
    if not team:
        # It is of a service that no longer exists; we know by its owner that it is ours.
        left = present is not None and DIGEST in present.metadata.annotations and _goes_with(present, owner)
        return Stop(present) if left and present is not None and not present.deleting else None
    if is_wanted(situation, present=present is not None):
        body = _add_owner(operators.manifests[team], operators.namespace, owner)
        return None if present is not None and _is_applied(present, body) else Start(body)
    return Stop(present) if present is not None and not present.deleting else None


def _goes_with(present: ServiceOperator, owner: Deployment) -> bool:
    return any(reference.uid == owner.metadata.uid for reference in present.metadata.ownerReferences)


def _add_owner(manifest: JsonObject, namespace: str, owner: Deployment) -> JsonObject:
    """Return a manifest as it is applied: in its namespace, with its owner's identity, and with its own digest."""
    reference = {**manifest["metadata"]["ownerReferences"][0], "uid": owner.metadata.uid}
    metadata = {**manifest["metadata"], "namespace": namespace, "ownerReferences": [reference]}
    body = {**manifest, "metadata": metadata}
    annotations = {**metadata.get("annotations", {}), DIGEST: fields.digest(body)}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def _is_applied(present: ServiceOperator, body: JsonObject) -> bool:
    same = present.metadata.annotations.get(DIGEST) == body["metadata"]["annotations"][DIGEST]
    # A number of replicas that somebody set by hand is set back; values that the server normalizes are not compared.
    return same and present.spec.get("replicas") == body["spec"].get("replicas", 1) and not present.deleting


def states(operators: ServiceOperators, present: Iterable[ServiceOperator]) -> dict[str, Finding]:
    """Return how far each operator is that was started, by its team."""
    found = {operators.team(one.key): one for one in present}
    return {
        team: state_of(msgspec.convert(msgspec.to_builtins(one), Deployment))
        for team, one in sorted(found.items())
        if team
    }
