"""Whether nodes reach what their services need of the cloud: which ways there are, and what trying them says. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from stackwright import services
from stackwright.api.ansibleee import HostResult
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import SETUP_READY, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.node_service import INPUT_READY, NodeServiceResource
from stackwright.blueprint.dataplane import ways
from stackwright.blueprint.dataplane.addresses import find_addresses, reach_by
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.dataplane.node_service import Files, NodeService
from stackwright.blueprint.dataplane.variables import Variables, gather
from stackwright.blueprint.dataplane.ways import Way
from stackwright.blueprint.dataplane.wishes import find_followed, wish_of
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import texts_of
from stackwright.controllers import needs
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.objects import Objects
from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Wait

TOPIC = "nodes"


@dataclass(frozen=True)
class Trial:
    """A node whose services do not run yet, and what it has to reach for them."""

    node: str
    machine: Machine
    variables: Variables
    ways: tuple[Way, ...]


def plan(state: ClusterState) -> tuple[tuple[Trial, ...], tuple[CheckResult, ...]]:
    """Return what is to be tried from which nodes, and why others cannot be. What is up needs no trial."""
    asked = [item for item in state.resources if isinstance(item, OpenStackDataPlaneNode) and not item.deleting]
    if not asked:
        return (), ()
    if state.secrets is None or state.configs is None:
        message = "You have no right to read Secrets and ConfigMaps, so the ways from nodes to the cloud are not known."
        return (), (CheckResult(Level.UNKNOWN, TOPIC, message),)
    sight = needs.sight(Objects((*state.resources, *state.secrets, *state.configs)))
    trials: list[Trial] = []
    untried: list[CheckResult] = []
    for node in sorted(asked, key=lambda item: item.metadata.name):
        found = _plan(node, sight)
        if isinstance(found, Trial):
            trials.append(found)
        elif found:
            message = f"The ways from node {node.metadata.name} to the cloud cannot be tried yet: {found}."
            untried.append(CheckResult(Level.UNKNOWN, TOPIC, message))
    return tuple(trials), tuple(untried)


def _plan(node: OpenStackDataPlaneNode, sight: Sight) -> Trial | str:
    """Return what to try from a node, or why that cannot be done; "" if there is nothing to try."""
    role = sight(OpenStackDataPlaneRole, node.spec.role)
    if role is None:
        return f"its role {node.spec.role} does not exist"
    pending = list(_pending(node, role, sight))
    if not pending:
        return ""
    reached = conditions.find(node.status.conditions, SETUP_READY)
    if reached is None or reached.status != "True":
        return f"it was not reached yet{f' ({reached.message})' if reached is not None and reached.message else ''}"
    found: dict[Way, None] = {}
    for service, wish in pending:
        texts = _read_files(service, wish, node, role, sight)
        if isinstance(texts, Wait):
            return texts.message
        found.update(dict.fromkeys(service.ways(texts, sight)))
    return _describe(node, role, tuple(found), sight) if found else ""


def _describe(
    node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, found: tuple[Way, ...], sight: Sight
) -> Trial | str:
    """Return the trial of a node, or why its machine is not known."""
    machine = inherit(node, role)
    addresses = find_addresses(machine, sight.look)
    variables = gather(machine, sight.look, INPUT_READY)
    if isinstance(addresses, Wait):
        return addresses.message
    if isinstance(variables, Wait):
        return variables.message
    told = replace(variables, plain={**variables.plain, **ways.describe(found)})
    return Trial(node.metadata.name, reach_by(machine, node, addresses), told, found)


def _pending(
    node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, sight: Sight
) -> Iterator[tuple[NodeService, str]]:
    """Yield the services that a node is asked to have and that are not up, with what is asked of each."""
    every = services.node_services()
    for service in every:
        wish = wish_of(service, node, role, every)
        there = sight(service.kind, node.metadata.name)
        if wish and (there is None or not conditions.is_true(there.status.conditions)):
            yield service, wish


def _read_files(
    service: NodeService, wish: str, node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, sight: Sight
) -> dict[str, str] | Wait:
    """Return the files of a service on a node by their names, or a wait for the first that is missing."""
    every = services.node_services()
    followed = find_followed(service, every)
    handed: Iterable[Files | Wait] = ()
    if followed is not None and (value := wish_of(followed, node, role, every)):
        there = sight(service.kind, node.metadata.name)
        handed = followed.hands_on(value, there.spec.customServiceConfig if there is not None else "", sight)
    texts: dict[str, str] = {}
    for each in (*service.files(_imagine(service, wish, node), sight), *handed):
        if isinstance(each, Wait):
            return each
        texts.update(_texts(each, sight))
    return texts


def _imagine(service: NodeService, wish: str, node: OpenStackDataPlaneNode) -> CustomResource:
    """Return the resource of a service on a node, as the operator makes it."""
    spec = {service.binding.field: wish} if service.binding is not None else {}
    metadata = {"name": node.metadata.name, "namespace": node.metadata.namespace}
    made: NodeServiceResource = msgspec.convert({"metadata": metadata, "spec": spec}, service.kind)
    return made


def _texts(files: Files, sight: Sight) -> Mapping[str, str]:
    if files.source.secretRef is not None:
        secret = sight(Secret, files.source.secretRef.name)
        return texts_of(secret) if secret is not None else {}
    reference = files.source.configMapRef
    config = sight(ConfigMap, reference.name) if reference is not None else None
    return config.data if config is not None else {}


def judge(trials: Iterable[Trial], answers: Mapping[str, HostResult | str]) -> Iterator[CheckResult]:
    """Yield what trying the ways said: a result of a run for each node, or why there is none."""
    well = []
    for trial in trials:
        answer = answers.get(trial.node, "nothing is known of the run")
        if isinstance(answer, str):
            message = f"The ways from node {trial.node} to the cloud were not tried: {answer}."
            yield CheckResult(Level.UNKNOWN, TOPIC, message)
        elif answer.state == "Ok":
            well.append(trial)
        else:
            yield from _judge_failed(trial, answer)
    for names, places in _alike(well).items():
        yield CheckResult(Level.OK, TOPIC, f"{names}: the ways to {places} are open.")


def _judge_failed(trial: Trial, answer: HostResult) -> Iterator[CheckResult]:
    closed = ways.read_answer(answer.message, trial.ways)
    if closed is None:
        how = "could not be reached" if answer.state == "Unreachable" else "could not try the ways to the cloud"
        yield CheckResult(Level.PROBLEM, TOPIC, f"Node {trial.node} {how}: {answer.message or answer.state}.")
        return
    for way, why in closed.items():
        yield CheckResult(Level.PROBLEM, TOPIC, f"Node {trial.node} does not reach {way}: {why}.")


def _alike(trials: Iterable[Trial]) -> dict[str, str]:
    """Return the nodes that have the same ways, and these."""
    found: dict[str, list[str]] = {}
    for trial in trials:
        found.setdefault(", ".join(map(str, trial.ways)), []).append(trial.node)
    return {", ".join(names): places for places, names in found.items()}
