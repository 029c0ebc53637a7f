"""A service on a node: it says what it waits for, what its runs came to, and asks whether it is up.

Its runs begin together with those of other nodes (`fleet.py`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, RunningService, ServiceRecord
from stackwright.api.node_service import (
    DEPLOYMENT_READY,
    NODE_READY,
    SERVICE_READY,
    NodeServiceResource,
    NodeServiceStatus,
)
from stackwright.blueprint import use
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.records import (
    find_lost,
    find_running,
    fold,
    is_for_resource,
    names_of,
    with_begun,
    with_lost,
)
from stackwright.blueprint.providers import Sight
from stackwright.controllers.dataplane import unseen_runs
from stackwright.controllers.dataplane.nodes import failure_of, find_delay, find_holding, find_stuck, is_applied
from stackwright.controllers.needs import sight
from stackwright.controllers.node_services.preparation import Whole, prepare
from stackwright.controllers.node_services.signs import find_address
from stackwright.controllers.node_services.steps import World, find_runs
from stackwright.kube import clock, conditions
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Ends, Plan, Wait
from stackwright.kube.shapes import pausing

_SOON = (
    "Waits for its run; the role's maxUnavailable says how many nodes are changed at once, and a change that fails "
    "on the first of them goes to no other"
)

# Seconds in which a service that was started reports to its API, with time to spare: Nova counts one as down after a
# minute without a report.
LATE = 180.0


@dataclass(frozen=True)
class Seen:
    """What was seen of a service on a node.

    `waits` is what keeps it from being applied. `sign` is "" if the service is up, else why it is not; None if
    nobody was asked, and `unasked` says why. `identity` is what its API calls it, `joins` why the cloud does not use it
    yet although it is up. `trace` is what another API calls what it keeps of it, where that was not known before.
    """

    whole: Whole | Wait
    waits: tuple[Wait, ...] = ()
    runs: tuple[OpenStackAnsibleEE, ...] = ()
    sign: str | None = None
    unasked: str = ""
    identity: str = ""
    joins: tuple[Wait, ...] = ()
    trace: str = ""
    ask_again: float = 5.0
    now: datetime = field(default_factory=clock.now)


async def observe(service: NodeService, resource: NodeServiceResource, world: World) -> Seen:
    """Look for what a service needs and for its runs; if it is applied, ask whether it is up."""
    around = sight(world.interests.begin(resource, world.context))
    runs = await unseen_runs.complete(
        await find_runs(resource, world), resource.status.running, resource.metadata.namespace, world.context.client
    )
    whole = prepare(service, with_begun(resource, runs), around, world.around)
    address = find_address(service.sign.type, around)
    seen = Seen(whole, runs=runs, ask_again=world.ask_again)
    record = record_of(service, resource, seen)
    if isinstance(whole, Wait):
        return seen
    if not is_applied(record):
        return replace(seen, waits=tuple(find_waits(service, resource, record, whole, around)))
    if isinstance(address, str):
        return replace(seen, unasked=address)
    answer = await world.signs.ask(address, service.sign)
    host = whole.prepared.machine.host_name
    unasked = answer if isinstance(answer, str) else service.sign.doubt(answer, host)
    if isinstance(answer, str) or unasked:
        return replace(seen, unasked=unasked)
    sign, identity = service.sign.judge(answer, host), service.sign.identify(answer, host)
    joins = tuple(service.joins(resource, identity, around)) if not sign else ()
    seen = replace(seen, sign=sign, identity=identity, joins=joins)
    trace = service.removal.trace
    known = resource.status.traceID and identity == resource.status.serviceID
    if trace is None or sign or joins or known:
        return seen
    listed = await world.signs.ask(address, service.sign, trace.path)
    return seen if isinstance(listed, str) else replace(seen, trace=trace.identify(listed, host))


def record_of(service: NodeService, resource: NodeServiceResource, seen: Seen) -> ServiceRecord:
    """Return what is known of the service on its node, with the inputs that are wanted now. Pure."""
    known = (resource.status.deployment,) if resource.status.deployment is not None else ()
    before = with_lost(known, find_lost(resource.status.running, names_of(seen.runs)))
    inputs = "" if isinstance(seen.whole, Wait) else seen.whole.due.inputs
    own = (run for run in seen.runs if is_for_resource(run, resource))
    (record,) = fold(before, {service.name: inputs}, resource.node_name, own)
    return record


def running_of(service: NodeService, resource: NodeServiceResource, seen: Seen) -> RunningService | None:
    """Return the run of the service that is under way. Pure."""
    own = (run for run in seen.runs if run.spec.service == service.name and is_for_resource(run, resource))
    return find_running(resource.node_name, own)


def decide(service: NodeService, resource: NodeServiceResource, seen: Seen) -> Plan:
    """Return what brings a service on a node closer to what is wanted."""
    if isinstance(seen.whole, Wait):
        return Plan(waits=(seen.whole,))
    record, running = record_of(service, resource, seen), running_of(service, resource, seen)
    if running is not None:
        going = find_delay(seen.runs, running.run) or "Ansible runs"
        return Plan(waits=(_tell_deploying(record, going, find_stuck(seen.runs, running.run)),))
    if is_applied(record):
        return Plan(waits=tuple(_find_down(resource, record, seen)))
    other = find_holding(resource.node_name, seen.runs, running)
    soon = f"Waits until OpenStackAnsibleEE {other}, which has the node, has ended" if other else _SOON
    return Plan(waits=seen.waits or (_tell_deploying(record, soon, find_stuck(seen.runs, other)),))


def find_waits(
    service: NodeService, resource: NodeServiceResource, record: ServiceRecord, whole: Whole, around: Sight
) -> Iterable[Wait]:
    """Yield what keeps a service from being applied. Pure."""
    if not whole.prepared.machine.deploy:
        yield Wait("DeployIsOff", "deploy is false; with true, Ansible would run", DEPLOYMENT_READY)
        return
    if pausing.is_paused(PAUSED, whole.node):
        message = f"Node {whole.node.metadata.name} is paused; remove its annotation {PAUSED} to go on"
        yield Wait("NodePaused", message, NODE_READY)
        return
    if not record.appliedHash and not record.failures:
        yield from service.waits(resource, around)
    if not is_prepared(whole.node):
        message = f"Waits until node {whole.node.metadata.name} is prepared{_say_why(whole.node)}"
        yield Wait("NodeNotReady", message, NODE_READY)


def _tell_deploying(record: ServiceRecord, otherwise: str, stuck: Finding | None) -> Wait:
    """Return a wait for a run. One that failed is tried again by itself; why it failed is said all the same.

    `stuck` is what somebody has to do so that the run goes on.
    """
    said = failure_of(record, DEPLOYMENT_READY) if record.failures else stuck
    if said is None:
        return Wait("Deploying", otherwise, DEPLOYMENT_READY)
    ends = Ends.BY_USER if said.severity == "Error" else Ends.PERHAPS_BY_USER
    return Wait(said.reason, said.message, DEPLOYMENT_READY, ends=ends)


def _find_down(resource: NodeServiceResource, record: ServiceRecord, seen: Seen) -> Iterable[Wait]:
    """Yield why the service is not up. If nobody can be asked, one that was up counts as up."""
    if seen.sign and _is_late(resource, record, seen.now):
        message = f"{seen.sign}, for longer than a start takes; the journal of {resource.node_name} says why"
        yield Wait("NotUp", message, SERVICE_READY, after=seen.ask_again, ends=Ends.PERHAPS_BY_USER)
    elif seen.sign:
        yield Wait("NotUp", seen.sign, SERVICE_READY, after=seen.ask_again)
    elif seen.joins:
        yield from seen.joins
    elif seen.sign is None and not conditions.is_true(resource.status.conditions, SERVICE_READY):
        message = f"Nobody can be asked whether it is up: {seen.unasked}"
        yield Wait("NotAsked", message, SERVICE_READY, after=seen.ask_again)


def _is_late(resource: NodeServiceResource, record: ServiceRecord, now: datetime) -> bool:
    """Return whether a service is not up for longer than a start takes: since its run, or since it went down."""
    said = conditions.find(resource.status.conditions, SERVICE_READY)
    down = said.lastTransitionTime if said is not None and said.status == "False" else ""
    up = said is not None and said.status == "True"
    since = max(record.finishedAt, down)
    return bool(since) and not up and (now - datetime.fromisoformat(since)).total_seconds() > LATE


def is_prepared(node: OpenStackDataPlaneNode) -> bool:
    """Return whether a node was reached, and its own services were applied as they are wanted now."""
    seen = node.status.observedGeneration >= node.metadata.generation
    return seen and conditions.is_true(node.status.conditions)


def _say_why(node: OpenStackDataPlaneNode) -> str:
    ready = conditions.find(node.status.conditions, conditions.READY)
    return f": {ready.message}" if ready is not None and ready.status != "True" and ready.message else ""


def tell(service: NodeService, resource: NodeServiceResource, seen: Seen) -> NodeServiceStatus:
    """Return how far a service on a node is."""
    record, running = record_of(service, resource, seen), running_of(service, resource, seen)
    used = None if isinstance(seen.whole, Wait) else seen.whole.due.used
    record, status = use.with_use(record, used, running=running is not None), resource.status
    known_as = with_begun(resource, seen.runs).status.hostName
    host = known_as if isinstance(seen.whole, Wait) else seen.whole.prepared.machine.host_name
    return msgspec.structs.replace(
        status,
        phase=_phase(record, running, seen, was_up=status.phase == "Up"),
        hostName=host,
        # Where nobody was asked, it is what it was.
        serviceID=status.serviceID if seen.sign is None else seen.identity,
        traceID=seen.trace or status.traceID,
        deployment=record if record != ServiceRecord(name=service.name) else None,
        running=running,
    )


def _phase(record: ServiceRecord, running: RunningService | None, seen: Seen, *, was_up: bool) -> str:
    if isinstance(seen.whole, Wait):
        return "Waiting"
    if running is not None or record.failures:
        return "Deploying"
    if not is_applied(record):
        return "Waiting"
    up = (seen.sign == "" and not seen.joins) or (seen.sign is None and was_up)
    return "Up" if up else "Starting"
