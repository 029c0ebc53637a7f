"""A service on a node that is being deleted: nothing is taken away while somebody uses it.

No new work is let in, then its API is asked whether something is still there. A question that cannot be asked is a no.
Then Ansible stops the service on the machine, and its API forgets it. What is left of the node (its inventory, its key)
is enough for that: the role may be gone already.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from stackwright.api.annotations import MACHINE_LOST
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole, ServiceRecord
from stackwright.api.node_sections import EnvVar, VolumeMounts
from stackwright.api.node_service import DEPLOYMENT_READY, INPUT_READY, SERVICE_READY, NodeServiceResource
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.dataplane.inputs import Work, common_key, digest_secret, input_hash
from stackwright.blueprint.dataplane.inventory import INVENTORY_KEY, NAME, SECRET_NAME, read_hosts, without_way
from stackwright.blueprint.dataplane.node_service import Call, NodeService, Trace, name_entry
from stackwright.blueprint.dataplane.records import find_running, fold, is_for_resource
from stackwright.blueprint.dataplane.schedule import Backoff, Candidate, Due, plan_runs
from stackwright.blueprint.dataplane.variables import Variables
from stackwright.blueprint.dataplane.wishes import find_followed
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import has_value, texts_of
from stackwright.controllers.dataplane.nodes import failure_of, find_delay, find_holding, find_stuck, is_applied
from stackwright.controllers.dataplane.preparation import IMAGE, SSH_KEY, Prepared, find_unusable
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.controllers.dataplane.run_job import CONFIGURATION
from stackwright.controllers.needs import sight
from stackwright.controllers.node_services.preparation import Surroundings, find_default
from stackwright.controllers.node_services.signs import Address, find_address, is_served_here
from stackwright.controllers.node_services.steps import Begin, Drop, Tell, World, find_runs, is_owned
from stackwright.kube import clock, finalizers
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Ends, Plan, Wait
from stackwright.kube.resource import JsonObject

# The variable by which a playbook knows that the node goes too, and takes back what it has from us beside services.
NODE_GOES = "edpm_node_goes"
# How many of those that use a service are named.
NAMED = 3


@dataclass(frozen=True)
class Left:
    """What another API has left of a service: how it goes there, or `why` nobody knows; neither if nothing is left."""

    address: Address | None = None
    call: Call | None = None
    why: str = ""


@dataclass(frozen=True)
class Leaving:
    """What was seen of a service that is being deleted.

    `awaited` says that a run begins for it which cannot be seen yet. `answer` is what its API says, or why it does not.
    `occupants` are those that use it, None where nobody knows.
    """

    now: datetime
    prepared: tuple[Work, Prepared] | Wait
    begun: bool
    awaited: bool = False
    answer: JsonObject | str = ""
    occupants: tuple[str, ...] | None = None
    address: Address | None = None
    needed_by: str = ""
    trace: Left = Left()
    runs: tuple[OpenStackAnsibleEE, ...] = ()
    backoff: Backoff = field(default_factory=Backoff)
    ask_again: float = 5.0


async def observe_removal(service: NodeService, resource: NodeServiceResource, world: World) -> Leaving:
    """Ask the API of a service whether somebody uses it on this machine."""
    around = sight(world.interests.begin(resource, world.context))
    runs = await find_runs(resource, world)
    prepared = prepare_removal(service, resource, around, world.around, runs)
    needed_by = find_needing(service, resource, around, world.around)
    address = find_address(service.sign.type, around)
    # What is wanted is in the status before anything ran: the machine may have been reached by nobody, or be another's.
    begun = resource.has_begun or any(is_owned(run, resource) for run in runs)
    awaited = world.memory.shared.is_awaited(resource.metadata.uid, runs)
    seen = Leaving(clock.now(), prepared, begun, awaited, needed_by=needed_by, runs=runs, backoff=world.backoff)
    seen = replace(seen, ask_again=world.ask_again)
    if not begun or isinstance(address, str):
        return replace(seen, answer=str(address))
    host, sign = host_of(resource), service.sign
    answer = await world.signs.read(address, sign, sign.path)
    seen = replace(seen, address=address, answer=answer)
    if isinstance(answer, str) or name_occupants(answer, sign.key) is None:
        return seen
    if why := sign.doubt(answer, host):
        return replace(seen, answer=why)
    found = await _find_occupants(service, host, address, world)
    # A server that was evacuated from a lost machine uses it until its compute comes back, which it never does.
    if found == () and not is_lost(resource):
        found = await _find_users(service, resource, around, address, world)
    if isinstance(found, str):
        return replace(seen, answer=found)
    if found is None or any(service.removal.forget(answer, host)):
        return replace(seen, occupants=found)
    return replace(seen, occupants=found, trace=await _find_trace(service, resource, around, world))


async def _find_occupants(
    service: NodeService, host: str, address: Address, world: World
) -> tuple[str, ...] | str | None:
    """Return what is still on a host, or why nobody says it; None if an answer does not say it."""
    every: list[str] = []
    for question in service.removal.occupants:
        asked = {name: value.format(host=host) for name, value in question.query.items()}
        listed = await world.signs.read(address, service.sign, question.path, asked)
        found = listed if isinstance(listed, str) else name_occupants(listed, question.key, question.name)
        if found is None or isinstance(found, str):
            return found
        every += found
    return tuple(every)


async def _find_users(
    service: NodeService, resource: NodeServiceResource, around: Sight, address: Address, world: World
) -> tuple[str, ...] | str | None:
    """Return who uses what another API keeps of a service, or why nobody says it; None if an answer does not say it.

    A list that is empty may be so for other reasons than that nothing is there.
    """
    trace = service.removal.trace
    if trace is None or not is_served_here(trace.type, around):
        return ()
    other = find_address(trace.type, around)
    if isinstance(other, str):
        return other
    named = resource.status.traceID
    if not named:
        told = await world.signs.read(address, service.sign, trace.path)
        if isinstance(told, str):
            return told
        named = trace.identify(told, host_of(resource))
    kept = await _find_kept(service, trace, (named, host_of(resource)), other, world)
    if kept is None or isinstance(kept, str):
        return kept
    every: list[str] = []
    for each in kept:
        path = trace.used.format(id=each)
        used = await world.signs.read(other, service.sign, path)
        found = used if isinstance(used, str) else name_users(used, path.rpartition("/")[2], trace.user)
        if found is None or isinstance(found, str):
            return found
        every += found
    return tuple(every)


async def _find_kept(
    service: NodeService, trace: Trace, names: tuple[str, str], other: Address, world: World
) -> tuple[str, ...] | str | None:
    """Return the ids of what another API keeps of a service, by its id where it is known, and by the host's name."""
    named, host = names
    path, by_id = trace.listed
    # What comes back after it was deleted has another id, which may not be known yet.
    queries = (*((by_id,) if named else ()), trace.named)
    every: dict[str, None] = {}
    for query in queries:
        asked = {name: value.format(id=named, host=host) for name, value in query.items()}
        listed = await world.signs.read(other, service.sign, path, asked)
        key = path.rpartition("/")[2]
        found = listed if isinstance(listed, str) else name_occupants(listed, key, partial(_read_id, trace.id_key))
        if found is None or isinstance(found, str):
            return found
        every |= dict.fromkeys(found)
    return tuple(every)


def _read_id(key: str, entry: JsonObject) -> str:
    return str(entry.get(key) or "unknown")


async def _find_trace(service: NodeService, resource: NodeServiceResource, around: Sight, world: World) -> Left:
    """Ask another API whether it still keeps something of a service that is forgotten.

    One that is not in this namespace is not ours to ask.
    """
    trace, named = service.removal.trace, resource.status.traceID
    if trace is None or not named or not is_served_here(trace.type, around):
        return Left()
    address = find_address(trace.type, around)
    if isinstance(address, str):
        return Left(why=address)
    path, query = trace.listed
    asked = {name: value.format(id=named) for name, value in query.items()}
    listed = await world.signs.read(address, service.sign, path, asked)
    found = listed if isinstance(listed, str) else name_occupants(listed, path.rpartition("/")[2])
    if isinstance(found, str) or found is None:
        return Left(why=found or "it did not say what it has")
    return Left(address, Call("DELETE", trace.delete.format(id=named))) if found else Left()


def name_removal(service: NodeService) -> str:
    """Return what runs that remove a service are said to apply."""
    return f"{service.name}-removal"


def prepare_removal(
    service: NodeService,
    resource: NodeServiceResource,
    sight: Sight,
    around: Surroundings,
    runs: Iterable[OpenStackAnsibleEE] = (),
) -> tuple[Work, Prepared] | Wait:
    """Return what removes a service from its machine, or a wait for what is missing."""
    spec = resource.spec
    name = spec.inventoryConfigMapName or NAME.format(resource.node_name)
    there = sight(ConfigMap, name)
    hosts = read_hosts(there.data.get(INVENTORY_KEY, "")) if there is not None else {}
    if len(hosts) != 1:
        message = f"ConfigMap {name}, which says how the machine is reached, is not there or has not one host"
        return Wait("InventoryMissing", _or_give_up(message), INPUT_READY, ends=Ends.BY_USER)
    ((host, said),) = hosts.items()
    key = sight(Secret, spec.sshKeySecretName)
    if key is None or not has_value(key, SSH_KEY):
        message = f"Secret {spec.sshKeySecretName} has no value under the key {SSH_KEY}"
        return Wait("SshKeyMissing", _or_give_up(message), INPUT_READY, ends=Ends.BY_USER)
    if (unusable := find_unusable(key)) is not None:
        return replace(unusable, message=_or_give_up(unusable.message))
    image = spec.ansibleEEContainerImage or find_default(IMAGE, around.images)
    machine = _describe_machine(resource, host, said)
    env, extra_mounts = _find_surroundings(resource, sight, runs)
    machine = replace(machine, env=env, extra_mounts=extra_mounts)
    hidden = sight(Secret, SECRET_NAME.format(resource.node_name))
    secret = read_hosts(texts_of(hidden).get(INVENTORY_KEY, "")).get(host, {}) if hidden is not None else {}
    node = sight(OpenStackDataPlaneNode, resource.node_name)
    leaving = {NODE_GOES: True} if node is None or node.deleting else {}
    variables = Variables({**without_way(said), **service.removal.variables, **leaving}, secret)
    work = Work(name_removal(service), image, playbook=service.playbook, type=service.folder)
    due = Due(work.service, input_hash(work, machine, variables, digest_secret(key)), common_key(work, machine))
    return work, Prepared(machine, variables, (due,))


def _describe_machine(resource: NodeServiceResource, host: str, said: Mapping[str, Any]) -> Machine:
    return Machine(
        name=resource.node_name,
        host_name=host,
        address=str(said.get("ansible_host", "")),
        key_secret=resource.spec.sshKeySecretName,
        user=str(said.get("ansible_user", "")),
        port=int(said.get("ansible_port", 22)),
        network_attachments=resource.spec.networkAttachments,
    )


def _find_surroundings(
    resource: NodeServiceResource, sight: Sight, runs: Iterable[OpenStackAnsibleEE]
) -> tuple[tuple[EnvVar, ...], tuple[VolumeMounts, ...]]:
    """Return what the pod has for the machine, such as how SSH gets there: as its node says, else as its last run had.

    The files of the service are not among it: what wrote them may be gone.
    """
    node = sight(OpenStackDataPlaneNode, resource.node_name)
    role = sight(OpenStackDataPlaneRole, node.spec.role) if node is not None else None
    if node is not None and role is not None:
        machine = inherit(node, role)
        return machine.env, machine.extra_mounts
    own = (run for run in runs if is_for_resource(run, resource))
    last = max(own, key=lambda run: run.spec.sequence, default=None)
    if last is None:
        return (), ()
    files = f"{CONFIGURATION}/"
    theirs = (each for each in last.spec.extraMounts if not any(m.mountPath.startswith(files) for m in each.mounts))
    return last.spec.env, tuple(theirs)


def _or_give_up(message: str) -> str:
    return f"{message}. If the machine is lost, annotate this with {MACHINE_LOST}=true"


def find_needing(service: NodeService, resource: NodeServiceResource, sight: Sight, around: Surroundings) -> str:
    """Return the resource of the service that this one follows, while it is there on the same node; "" if it is not."""
    followed = find_followed(service, around.services)
    there = sight(followed.kind, resource.metadata.name) if followed is not None else None
    return f"{there.kind.name} {there.metadata.name}" if there is not None else ""


def name_occupants(
    answer: JsonObject, key: str, name: Callable[[JsonObject], str] = name_entry
) -> tuple[str, ...] | None:
    """Return what an API lists under a key, by name; None if it lists nothing at all, not even nothing."""
    listed = answer.get(key)
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        return None
    return tuple(found for each in listed if (found := name(each)))


def name_users(answer: JsonObject, key: str, user: str) -> tuple[str, ...] | None:
    """Return the users in a map under a key; None if there is no map at all, not even an empty one."""
    used = answer.get(key)
    return tuple(user.format(user=each) for each in used) if isinstance(used, dict) else None


def decide_removal(service: NodeService, resource: NodeServiceResource, seen: Leaving) -> Plan:
    """Return what brings a service closer to being gone; an empty plan lets its resource go."""
    if seen.awaited:
        # Both to let it go and to stop it would come too early: the run would deploy it again.
        message = "Waits until the run that begins for it just now can be seen"
        return Plan(waits=(Wait("Stopping", message, DEPLOYMENT_READY, after=seen.ask_again),))
    if not seen.begun:
        return Plan()
    waits, steps = tuple(_find_uses(seen)), _close(service, resource, seen)
    if waits or steps:
        return Plan(steps, waits)
    stopping = None if is_lost(resource) else _stop(service, resource, seen)
    if stopping is not None:
        return stopping
    assert isinstance(seen.answer, dict)  # noqa: S101  else it waits
    forgetting = _tell(seen, service.removal.forget(seen.answer, host_of(resource)), "Forgetting")
    return Plan(steps=forgetting) if forgetting else _clear(seen)


def _clear(seen: Leaving) -> Plan:
    """Return what removes the last that is left of a service, in another API."""
    left = seen.trace
    if left.why:
        message = f"It stays, because nobody can be asked whether something is left of it: {left.why}"
        return Plan(waits=(Wait("NotAsked", message, SERVICE_READY, after=seen.ask_again),))
    if left.address is None or left.call is None:
        return Plan()
    return Plan(steps=(Tell(left.address, left.call, reason="Clearing", condition=SERVICE_READY),))


def is_lost(resource: NodeServiceResource) -> bool:
    """Return whether somebody gave the machine up."""
    return resource.metadata.annotations.get(MACHINE_LOST, "").lower() == "true"


def host_of(resource: NodeServiceResource) -> str:
    """Return the name by which the service's API knows the machine."""
    return resource.status.hostName or resource.node_name


def _find_uses(seen: Leaving) -> Iterable[Wait]:
    """Yield why a service has to stay."""
    if seen.needed_by:
        yield Wait("InUse", f"{seen.needed_by} is still there, and needs it", SERVICE_READY, after=seen.ask_again)
    elif isinstance(seen.answer, str) or seen.occupants is None:
        why = seen.answer if isinstance(seen.answer, str) else "it did not say what is on the host"
        message = f"It stays, because nobody can be asked whether it is used: {why}"
        yield Wait("NotAsked", message, SERVICE_READY, after=seen.ask_again)
    elif seen.occupants:
        listed = ", ".join(seen.occupants[:NAMED])
        message = f"It stays, because these are still on the machine: {listed}; migrate or delete them"
        yield Wait("InUse", message, SERVICE_READY, after=seen.ask_again, ends=Ends.BY_USER)


def _close(service: NodeService, resource: NodeServiceResource, seen: Leaving) -> tuple[Tell, ...]:
    if not isinstance(seen.answer, dict) or seen.needed_by:
        return ()
    return _tell(seen, service.removal.close(seen.answer, host_of(resource)), "Closing")


def _tell(seen: Leaving, calls: Iterable[Call], reason: str) -> tuple[Tell, ...]:
    if seen.address is None:
        return ()
    return tuple(Tell(seen.address, call, reason=reason, condition=SERVICE_READY) for call in calls)


def _stop(service: NodeService, resource: NodeServiceResource, seen: Leaving) -> Plan | None:
    """Return what stops the service on its machine; None if it is stopped."""
    if isinstance(seen.prepared, Wait):
        return Plan(waits=(seen.prepared,))
    if finalizers.FOREGROUND in resource.metadata.finalizers:
        # Until then it would delete the run, too, and kill Ansible at its work.
        message = "Waits until Kubernetes has deleted what belongs to this: it was asked to do so first"
        return Plan(waits=(Wait("Stopping", message, DEPLOYMENT_READY, after=seen.ask_again),))
    work, prepared = seen.prepared
    name, node = name_removal(service), resource.node_name
    own = [run for run in seen.runs if run.spec.service == name and is_for_resource(run, resource)]
    (record,) = fold((), {name: prepared.services[0].inputs}, node, own)
    if is_applied(record):
        return None
    running = find_running(node, own)
    if running is not None:
        return Plan(waits=(_tell_stopping(node, record, seen.runs, running.run),))
    candidate = Candidate(node, prepared.services, (record,), counts=partial(is_for_resource, resource=resource))
    schedule = plan_runs((candidate,), seen.runs, seen.now, backoff=seen.backoff)
    if not schedule.runs:
        return Plan(waits=(replace(_tell_stopping(node, record, seen.runs), after=schedule.again),))
    objects = tuple(describe_run(resource.metadata.name, schedule.runs[0], work, {node: prepared}))
    begin = Begin(resource, objects, reason="Stopping", condition=DEPLOYMENT_READY)
    return Plan(steps=(*_drop_old(own, seen.backoff), begin))


def _drop_old(own: Iterable[OpenStackAnsibleEE], backoff: Backoff) -> Iterator[Drop]:
    """Yield what deletes the runs that ended before those by which it is known how long to wait for the next."""
    ended = sorted((run for run in own if run.finished), key=lambda run: run.spec.sequence)
    for run in ended[: -backoff.steps]:
        yield Drop(run, reason="Stopping", condition=DEPLOYMENT_READY)


def _tell_stopping(node: str, record: ServiceRecord, runs: tuple[OpenStackAnsibleEE, ...], own: str = "") -> Wait:
    """Return a wait for the run that stops a service: `own`, where it is there already."""
    if record.failures:
        failure = failure_of(record, DEPLOYMENT_READY)
        return Wait(failure.reason, _or_give_up(failure.message), DEPLOYMENT_READY, ends=Ends.BY_USER)
    other = own or find_holding(node, runs, None)
    if (stuck := find_stuck(runs, other)) is not None:
        ends = Ends.BY_USER if stuck.severity == "Error" else Ends.PERHAPS_BY_USER
        return Wait(stuck.reason, stuck.message, DEPLOYMENT_READY, ends=ends)
    if other and not own:
        message = f"Waits until OpenStackAnsibleEE {other}, which has the node, has ended"
    else:
        message = find_delay(runs, own) or "Ansible stops the service on the machine"
    return Wait("Stopping", message, DEPLOYMENT_READY)
