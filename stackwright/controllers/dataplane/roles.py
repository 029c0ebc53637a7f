"""OpenStackDataPlaneRole: the runs of Ansible that there are for its nodes, each with its inventory."""

from collections.abc import Iterable, Mapping
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
from stackwright.blueprint.dataplane.inheritance import find_twins
from stackwright.blueprint.dataplane.inputs import Work
from stackwright.blueprint.dataplane.records import is_recorded
from stackwright.blueprint.dataplane.schedule import Backoff, Candidate, limit_of, plan_runs
from stackwright.controllers.dataplane.preparation import Prepared, find_works, prepare
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.controllers.looking import Interests
from stackwright.kube import clock, conditions
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.conditions import READY, Finding
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.composite import Child, Composite

# How many nodes are named that are not ready.
NAMED = 3


@dataclass(frozen=True)
class Seen:
    """What there is for a role: what its services run, its nodes, and all runs of the namespace.

    `prepared` are the nodes of which everything is known; the others say themselves what they wait for. `secrets` are
    the names of the Secrets that the role owns.
    """

    works: tuple[Work, ...] | Wait
    nodes: Mapping[str, OpenStackDataPlaneNode] = field(default_factory=dict)
    prepared: Mapping[str, Prepared] = field(default_factory=dict)
    runs: tuple[OpenStackAnsibleEE, ...] = ()
    secrets: frozenset[str] = frozenset()
    now: datetime = field(default_factory=clock.now)


def observe(role: OpenStackDataPlaneRole, context: Context, *, interests: Interests, image: str) -> Seen:
    """Read a role's nodes and runs."""
    look = interests.begin(role, context)
    works = find_works(role, look, image)
    every = [node for node in look.all(OpenStackDataPlaneNode) if not node.deleting]
    nodes = {node.metadata.name: node for node in every if node.spec.role == role.metadata.name}
    roles = context.store(OpenStackDataPlaneRole).list(role.metadata.namespace)
    twins = find_twins(every, {each.metadata.name: each for each in roles})
    alone = [node for node in nodes.values() if node.metadata.name not in twins]
    found = {} if isinstance(works, Wait) else {node.metadata.name: prepare(node, role, works, look) for node in alone}
    return Seen(
        works=works,
        nodes=nodes,
        prepared={name: each for name, each in found.items() if isinstance(each, Prepared)},
        runs=tuple(look.all(OpenStackAnsibleEE)),
        secrets=frozenset(each.metadata.name for each in context.store(Secret).owned_by(role.metadata.uid)),
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
    yield from (item for run in own if is_needed(run, seen.nodes) for item in _kept(run, seen.secrets))
    candidates = (
        Candidate(name, each.services, seen.nodes[name].status.services, each.machine.deploy)
        for name, each in seen.prepared.items()
    )
    most = limit_of(role.spec.maxUnavailable, len(seen.nodes))
    schedule = plan_runs(candidates, seen.runs, seen.now, most=most, backoff=backoff)
    works = {work.service: work for work in seen.works}
    for new in schedule.runs:
        machines = {name: seen.prepared[name] for name in new.nodes}
        for kind, body in describe_run(role.metadata.name, new, works[new.service], machines):
            yield Child(kind, body, DEPLOYMENT_READY, _is_there, once=True)
    if schedule.again is not None:
        yield Result(after=schedule.again)
    yield from find_state(seen.nodes)


def is_needed(run: OpenStackAnsibleEE, nodes: Mapping[str, OpenStackDataPlaneNode]) -> bool:
    """Return whether a run goes on, is not recorded by a node yet, or is the last of a service on a node."""
    if not run.finished:
        return True
    mine = [nodes[entry.name].status.services for entry in run.spec.nodes if entry.name in nodes]
    return any(
        not is_recorded(run, records) or any(record.run == run.metadata.name for record in records) for records in mine
    )


def find_state(nodes: Mapping[str, OpenStackDataPlaneNode]) -> Iterable[Finding]:
    """Return which nodes are not ready, those with an error first."""
    unready = {name: node for name, node in sorted(nodes.items()) if not _is_ready(node)}
    if not unready:
        return
    failed = [name for name, node in unready.items() if _severity(node) == "Error"]
    names = failed or list(unready)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    listed = f"{', '.join(names[:NAMED])}{more}"
    if failed:
        first = conditions.find(nodes[failed[0]].status.conditions, READY)
        why = f"; {failed[0]}: {first.message}" if first is not None else ""
        yield Finding(DEPLOYMENT_READY, "False", "NodesFailed", f"Nodes with an error: {listed}{why}", "Error")
    else:
        yield Finding(DEPLOYMENT_READY, "False", "Deploying", f"Nodes that are not ready yet: {listed}", "Info")


def _severity(node: OpenStackDataPlaneNode) -> str:
    ready = conditions.find(node.status.conditions, READY)
    return ready.severity if ready is not None else ""


def _is_ready(node: OpenStackDataPlaneNode) -> bool:
    seen = node.status.observedGeneration >= node.metadata.generation
    return seen and conditions.is_true(node.status.conditions)


def _is_owned(run: OpenStackAnsibleEE, role: OpenStackDataPlaneRole) -> bool:
    owner = run.metadata.controller
    return owner is not None and owner.uid == role.metadata.uid and not run.deleting


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


def controller(image: str, backoff: Backoff) -> Controller:
    """Return the controller of roles."""
    interests = Interests()
    shape = Composite(
        of=OpenStackDataPlaneRole,
        owns=(OpenStackAnsibleEE, Secret),
        children=partial(children, backoff=backoff),
        read=partial(observe, interests=interests, image=image),
        tell=tell,
        pause=PAUSED,
    )
    looked_at = (OpenStackDataPlaneNode, OpenStackAnsibleEE, OpenStackDataPlaneService, ConfigMap, Secret)
    return shape.controller(watches=interests.watches(looked_at))
