"""A service on a node: it waits, runs Ansible where its inputs differ from those applied, and asks whether it is up."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, RunningService, ServiceRecord
from stackwright.api.node_service import (
    DEPLOYMENT_READY,
    NODE_READY,
    SERVICE_READY,
    NodeServiceResource,
    NodeServiceStatus,
)
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.records import find_running, fold, is_recorded
from stackwright.blueprint.dataplane.schedule import Backoff, Candidate, plan_runs
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.dataplane.nodes import failure_of, is_applied
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.controllers.needs import sight
from stackwright.controllers.node_services.preparation import Whole, name_override, prepare
from stackwright.controllers.node_services.signs import Address, find_address
from stackwright.controllers.node_services.steps import Begin, Drop, World, find_runs, is_owned
from stackwright.kube import clock, conditions
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Plan, Wait
from stackwright.kube.resource import JsonObject, Resource


@dataclass(frozen=True)
class Seen:
    """What was seen of a service on a node.

    `waits` is what has to be there before its first run. `sign` is "" if the service is up, else why it is not; None if
    nobody was asked, and `unasked` says why.
    """

    whole: Whole | Wait
    now: datetime
    waits: tuple[Wait, ...] = ()
    runs: tuple[OpenStackAnsibleEE, ...] = ()
    own: tuple[OpenStackAnsibleEE, ...] = ()
    sign: str | None = None
    unasked: str = ""
    backoff: Backoff = field(default_factory=Backoff)
    ask_again: float = 5.0


async def observe(service: NodeService, resource: NodeServiceResource, world: World) -> Seen:
    """Look for what a service needs and for its runs; if it is applied, ask whether it is up."""
    around = sight(world.interests.begin(resource, world.context))
    whole = prepare(service, resource, around, world.around)
    waits = tuple(service.waits(resource, around)) if service.bound_to(resource) or not service.binding else ()
    address = find_address(service.sign, around)
    runs = await find_runs(resource, world)
    own = tuple(run for run in runs if is_owned(run, resource))
    seen = Seen(whole, clock.now(), waits, runs, own, backoff=world.backoff, ask_again=world.ask_again)
    if isinstance(whole, Wait) or not is_applied(record_of(service, resource, seen)):
        return seen
    answer = await world.signs.ask(address, service.sign) if isinstance(address, Address) else address
    if isinstance(answer, str):
        return replace(seen, unasked=answer)
    return replace(seen, sign=service.sign.judge(answer, whole.prepared.machine.host_name))


def record_of(service: NodeService, resource: NodeServiceResource, seen: Seen) -> ServiceRecord:
    """Return what is known of the service on its node, with the inputs that are wanted now. Pure."""
    before = resource.status.deployment
    inputs = "" if isinstance(seen.whole, Wait) else seen.whole.due.inputs
    (record,) = fold((before,) if before is not None else (), {service.name: inputs}, resource.node_name, seen.runs)
    return record


def running_of(service: NodeService, resource: NodeServiceResource, seen: Seen) -> RunningService | None:
    """Return the run of the service that is under way. Pure."""
    return find_running(resource.node_name, (run for run in seen.runs if run.spec.service == service.name))


def decide(service: NodeService, resource: NodeServiceResource, seen: Seen) -> Plan:
    """Return what brings a service on a node closer to what is wanted."""
    if isinstance(seen.whole, Wait):
        return Plan(waits=(seen.whole,))
    record, running = record_of(service, resource, seen), running_of(service, resource, seen)
    if running is not None:
        return Plan(waits=(_tell_deploying(record, "Ansible runs"),))
    if is_applied(record):
        return Plan(steps=tuple(_find_old(record, seen)), waits=tuple(_find_down(resource, seen)))
    if waits := tuple(_find_waits(record, seen.whole, seen)):
        return Plan(waits=waits)
    return _plan_run(service, resource, record, seen.whole, seen)


def _find_waits(record: ServiceRecord, whole: Whole, seen: Seen) -> Iterable[Wait]:
    """Yield what keeps a service from being applied."""
    if not whole.prepared.machine.deploy:
        yield Wait("DeployIsOff", "deploy is false; with true, Ansible would run", DEPLOYMENT_READY)
        return
    if not record.appliedHash and not record.failures:
        yield from seen.waits
    if not is_prepared(whole.node):
        message = f"Waits until node {whole.node.metadata.name} is prepared{_say_why(whole.node)}"
        yield Wait("NodeNotReady", message, NODE_READY)


def _plan_run(
    service: NodeService, resource: NodeServiceResource, record: ServiceRecord, whole: Whole, seen: Seen
) -> Plan:
    candidate = Candidate(resource.node_name, (whole.due,), (record,))
    schedule = plan_runs((candidate,), seen.runs, seen.now, backoff=seen.backoff)
    if not schedule.runs:
        busy = _tell_deploying(record, f"Waits until the other run on node {resource.node_name} has ended")
        return Plan(waits=(replace(busy, after=schedule.again),))
    (new,) = schedule.runs
    machines = {resource.node_name: whole.prepared}
    text = encode({service.override: whole.override})
    override: JsonObject = {"metadata": {"name": name_override(service, resource)}, "data": text}
    run = describe_run(resource.metadata.name, new, whole.work, machines)
    objects: tuple[tuple[type[Resource], JsonObject], ...] = ((Secret, override), *run)
    return Plan(steps=(Begin(resource, objects, reason="Deploying", condition=DEPLOYMENT_READY),))


def _tell_deploying(record: ServiceRecord, otherwise: str) -> Wait:
    """Return a wait for a run. One that failed is tried again by itself; why it failed is said all the same."""
    if not record.failures:
        return Wait("Deploying", otherwise, DEPLOYMENT_READY)
    failure = failure_of(record, DEPLOYMENT_READY)
    return Wait(failure.reason, failure.message, DEPLOYMENT_READY, ends=Ends.BY_USER)


def _find_down(resource: NodeServiceResource, seen: Seen) -> Iterable[Wait]:
    """Yield why the service is not up. If nobody can be asked, one that was up counts as up."""
    if seen.sign:
        yield Wait("NotUp", seen.sign, SERVICE_READY, after=seen.ask_again)
    elif seen.sign is None and not conditions.is_true(resource.status.conditions, SERVICE_READY):
        message = f"Nobody can be asked whether it is up: {seen.unasked}"
        yield Wait("NotAsked", message, SERVICE_READY, after=seen.ask_again)


def _find_old(record: ServiceRecord, seen: Seen) -> Iterable[Drop]:
    for run in seen.own:
        if run.finished and run.metadata.name != record.run and is_recorded(run, (record,)):
            yield Drop(run, reason="CleaningUp", condition=DEPLOYMENT_READY)


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
    status = resource.status
    host = status.hostName if isinstance(seen.whole, Wait) else seen.whole.prepared.machine.host_name
    return msgspec.structs.replace(
        status,
        phase=_phase(record, running, seen, was_up=status.phase == "Up"),
        hostName=host,
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
    up = seen.sign == "" or (seen.sign is None and was_up)
    return "Up" if up else "Starting"
