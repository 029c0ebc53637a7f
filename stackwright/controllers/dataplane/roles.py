"""OpenStackDataPlaneRole: the runs of Ansible that there are for its nodes, each with its inventory."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import (
    DEPLOYMENT_READY,
    OpenStackDataPlaneNode,
    OpenStackDataPlaneRole,
    OpenStackDataPlaneRoleStatus,
)
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.network import IPSet, NetConfig
from stackwright.blueprint.dataplane.inputs import REACH, Work
from stackwright.blueprint.dataplane.records import find_lost, is_for_node, is_recorded, names_of
from stackwright.blueprint.dataplane.schedule import Backoff, Candidate, limit_of, plan_runs
from stackwright.blueprint.dataplane.twins import find_twins
from stackwright.controllers.dataplane.gathering import Gathering
from stackwright.controllers.dataplane.memory import Memory
from stackwright.controllers.dataplane.name_servers import watch_name_servers
from stackwright.controllers.dataplane.preparation import Prepared, find_works
from stackwright.controllers.dataplane.run_inputs import cut_run, describe_run
from stackwright.controllers.looks import Interests, forgetting
from stackwright.kube import clock, conditions
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.conditions import READY, Finding
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.plan import Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import Resource, is_controlled
from stackwright.kube.shapes import pausing
from stackwright.kube.shapes.composite import Child, Composite

# How many nodes are named that are not ready.
NAMED = 3
# For how many seconds changes of nodes and runs are gathered before a role looks at them.
GATHERING = 0.3


@dataclass(frozen=True)
class Seen:
    """What there is for a role: what its services run, its nodes, and all runs of the namespace.

    `prepared` are the nodes of which everything is known; the others say themselves what they wait for. `candidates`
    are the same nodes, as they are planned; the first that is due waits for others for `gather` seconds. `secrets` are
    the names of the Secrets that the role owns.
    """

    works: tuple[Work, ...] | Wait
    nodes: Mapping[str, OpenStackDataPlaneNode] = field(default_factory=dict)
    prepared: Mapping[str, Prepared] = field(default_factory=dict)
    runs: tuple[OpenStackAnsibleEE, ...] = ()
    secrets: frozenset[str] = frozenset()
    candidates: tuple[Candidate, ...] = ()
    gather: float = 0.0
    now: datetime = field(default_factory=clock.now)


def observe(
    role: OpenStackDataPlaneRole,
    context: Context,
    *,
    interests: Interests,
    memory: Memory,
    image: str,
    gathering: Gathering,
) -> Seen:
    """Read a role's nodes and runs."""
    look = interests.begin(role, context)
    works = find_works(role, look, image)
    every = look.all(OpenStackDataPlaneNode)
    nodes = {node.metadata.name: node for node in every if node.spec.role == role.metadata.name and not node.deleting}
    roles = context.store(OpenStackDataPlaneRole).list(role.metadata.namespace)
    ip_sets = {each.metadata.name: each for each in context.store(IPSet).list(role.metadata.namespace)}
    twins = find_twins(every, {each.metadata.name: each for each in roles}, ip_sets)
    alone = [node for node in nodes.values() if node.metadata.name not in twins]
    found = {} if isinstance(works, Wait) else memory.prepare(role, alone, works, look)
    prepared = {name: each for name, each in found.items() if isinstance(each, Prepared)}
    runs = tuple(look.all(OpenStackAnsibleEE))
    names = names_of(runs)
    candidates = (_candidate(nodes[name], each, names) for name, each in prepared.items())
    now = clock.now()
    return Seen(
        works=works,
        nodes=nodes,
        prepared=prepared,
        candidates=gathering.note(role.key, candidates, now),
        gather=gathering.seconds,
        now=now,
        runs=runs,
        secrets=frozenset(each.metadata.name for each in context.store(Secret).owned_by(role.metadata.uid)),
    )


def _candidate(node: OpenStackDataPlaneNode, prepared: Prepared, runs: Container[str]) -> Candidate:
    # A run that was deleted leaves nobody knows what, which the node has to record first.
    settled = find_lost(node.status.running, runs) is None
    return Candidate(
        name=node.metadata.name,
        services=prepared.services,
        records=node.status.services,
        deploy=prepared.machine.deploy and settled and not pausing.is_paused(PAUSED, node),
        was_deployed=bool(node.status.firstDeployedAt),
        counts=partial(is_for_node, node=node),
    )


def tell(role: OpenStackDataPlaneRole, seen: Seen) -> OpenStackDataPlaneRoleStatus:
    """Return how many of a role's nodes are deployed."""
    deployed = sum(1 for node in seen.nodes.values() if _is_ready(node))
    return msgspec.structs.replace(
        role.status, deployed=deployed == len(seen.nodes), nodes=len(seen.nodes), deployedNodes=deployed
    )


def children(role: OpenStackDataPlaneRole, seen: Seen, backoff: Backoff) -> Iterable[Child | Wait | Finding | Result]:
    """Return the runs that begin now, those that somebody still needs, and what is to say of the nodes."""
    if isinstance(seen.works, Wait):
        yield seen.works
        return
    own = [run for run in seen.runs if _is_owned(run, role)]
    wanted = {REACH, *role.spec.services}
    yield from (item for run in own if is_needed(run, seen.nodes, wanted) for item in _kept(run, seen.secrets))
    most = limit_of(role.spec.maxUnavailable, len(seen.nodes))
    schedule = plan_runs(seen.candidates, seen.runs, seen.now, most=most, backoff=backoff, gather=seen.gather)
    works = {work.service: work for work in seen.works}
    for new in (part for each in schedule.runs for part in cut_run(each, seen.prepared)):
        machines = {name: seen.prepared[name] for name in new.nodes}
        for kind, body in describe_run(role.metadata.name, new, works[new.service], machines):
            yield Child(kind, body, DEPLOYMENT_READY, _is_there, once=True)
    if schedule.again is not None:
        yield Result(after=schedule.again)
    yield from find_state(seen.nodes, schedule.held)


def is_needed(run: OpenStackAnsibleEE, nodes: Mapping[str, OpenStackDataPlaneNode], wanted: Container[str]) -> bool:
    """Return whether a run goes on, is not recorded by a node yet, or is the last of a service on a node.

    Of services that are not `wanted` any more nobody keeps records.
    """
    if not run.finished:
        return True
    mine = [nodes[entry.name] for entry in run.spec.nodes if entry.name in nodes]
    records = [node.status.services for node in mine if is_for_node(run, node)]
    return run.spec.service in wanted and any(
        not is_recorded(run, each) or any(record.run == run.metadata.name for record in each) for each in records
    )


def find_state(
    nodes: Mapping[str, OpenStackDataPlaneNode], held: Mapping[str, Sequence[str]] | None = None
) -> Iterable[Finding]:
    """Return which nodes are not ready, those with an error first, and which services go to no further node."""
    unready = {name: node for name, node in sorted(nodes.items()) if not _is_ready(node)}
    if not unready:
        return
    failed = [name for name, node in unready.items() if _severity(node) == "Error"]
    names = failed or list(unready)
    listed = _list(names)
    stops = "".join(
        f"; {service} goes to no other deployed node, because it failed on {_list(tried)} and succeeded on none"
        for service, tried in (held or {}).items()
    )
    if failed:
        first = conditions.find(nodes[failed[0]].status.conditions, READY)
        why = f"; {failed[0]}: {first.message}" if first is not None else ""
        yield Finding(DEPLOYMENT_READY, "False", "NodesFailed", f"Nodes with an error: {listed}{why}{stops}", "Error")
    else:
        yield Finding(DEPLOYMENT_READY, "False", "Deploying", f"Nodes that are not ready yet: {listed}{stops}", "Info")


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _severity(node: OpenStackDataPlaneNode) -> str:
    ready = conditions.find(node.status.conditions, READY)
    return ready.severity if ready is not None else ""


def _is_ready(node: OpenStackDataPlaneNode) -> bool:
    seen = node.status.observedGeneration >= node.metadata.generation
    return seen and conditions.is_true(node.status.conditions)


def _is_owned(run: OpenStackAnsibleEE, role: OpenStackDataPlaneRole) -> bool:
    return is_controlled(run, role) and not run.deleting


def _kept(run: OpenStackAnsibleEE, secrets: frozenset[str]) -> Iterable[Child]:
    """Return a run that stays as it is, with its Secret."""
    name = run.metadata.name
    yield Child(OpenStackAnsibleEE, {"metadata": {"name": name}}, DEPLOYMENT_READY, _is_there, once=True)
    if run.spec.inventorySecretName in secrets:
        body = {"metadata": {"name": run.spec.inventorySecretName}}
        yield Child(Secret, body, DEPLOYMENT_READY, _is_there, once=True)


def _is_there(_: Resource) -> Finding:
    """Say nothing of a run: the nodes say what it came to."""
    return Finding("", "True", READY, "")


def controller(image: str, backoff: Backoff, gather: float) -> Controller:
    """Return the controller of roles."""
    interests, memory, gathering = Interests(), Memory(), Gathering(gather)
    shape = Composite(
        of=OpenStackDataPlaneRole,
        owns=(OpenStackAnsibleEE, Secret),
        children=partial(children, backoff=backoff),
        read=partial(observe, interests=interests, memory=memory, image=image, gathering=gathering),
        tell=tell,
        pause=PAUSED,
        spares_users=True,
    )
    looked_at = interests.watches((OpenStackDataPlaneService, ConfigMap, Secret))
    # Of these there are many, and a role looks at all of them each time.
    many = (interests.watch(kind, after=GATHERING) for kind in (OpenStackDataPlaneNode, OpenStackAnsibleEE, IPSet))
    networks = interests.watch(NetConfig, asked_differently)
    found = shape.controller(watches=(*many, *looked_at, networks, watch_name_servers(interests)))
    return forgetting(found, interests.forget, memory.forget, gathering.forget)
