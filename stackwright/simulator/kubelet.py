"""Decides what a kubelet would do with a pod of its node: run it, report it, end it; pure."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from stackwright.kube.plan import Plan, Step, Wait
from stackwright.simulator import containers, inputs, status
from stackwright.simulator.behaviour import SUCCESS, Behaviour
from stackwright.simulator.containers import Move, Role, Surroundings
from stackwright.simulator.inputs import Inputs
from stackwright.simulator.objects import Address, Container, ContainerStatus, Pod, PodStatus
from stackwright.simulator.steps import Remove, Report, Say, Tell

# The part of a pod, besides its containers, that is timed.
DELETION = "(deletion)"
# How often a pod that cannot start says so again.
_SAY_AGAIN = 10.0
# Processes that end on SIGTERM, and those that did not and got SIGKILL.
_STOPPED, _KILLED = 143, 137


@dataclass(frozen=True)
class Spent:
    """How long a part of a pod is in its present state, and how often it was in that state before."""

    elapsed: float = 0.0
    visits: int = 0


@dataclass(frozen=True)
class Host:
    """The node that runs the pod; if it is not ready, it reports nothing, and everything stays as it is."""

    name: str
    address: str
    ready: bool = True


@dataclass(frozen=True)
class Seen:
    """All that decides about a pod besides the pod itself.

    `behaviours` and `spent` are by the container's name; `crashes` counts the failed pods that this one replaces.
    """

    host: Host
    inputs: Inputs
    now: str
    behaviour: Behaviour = SUCCESS
    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    spent: Mapping[str, Spent] = field(default_factory=dict)
    crashes: int = 0


def decide(pod: Pod, seen: Seen) -> Plan:
    """Return what the kubelet of the pod's node does now; an empty plan means that nothing changes by itself."""
    if pod.spec.nodeName != seen.host.name:
        return Plan()
    if not seen.host.ready:
        return _lost(pod, seen)
    if pod.deleting:
        return _end(pod, seen)
    if pod.finished:
        return Plan()
    return _run(pod, seen)


def _lost(pod: Pod, seen: Seen) -> Plan:
    """Say that a pod of a lost node is not ready, as the node-lifecycle controller does; its end is not confirmed."""
    ready = pod.status.condition("Ready")
    if ready is None or ready.status != "True":
        return Plan()
    others = (one for one in pod.status.conditions if one.type != "Ready")
    unready = status.settled(pod, structs.replace(ready, status="False"), seen.now)
    reported = structs.replace(pod.status, conditions=(unready, *others))
    event = Tell("Warning", "NodeNotReady", "Node is not ready")
    return Plan(steps=(Report(reason="NodeNotReady", status=reported, events=(event,)),))


def timed_parts(pod: Pod) -> Iterator[tuple[str, str]]:
    """Return each part of a pod whose time counts, with the name of its present state."""
    for one in (*pod.status.initContainerStatuses, *pod.status.containerStatuses):
        yield one.name, f"{one.state.label}/{one.restartCount}"
    yield DELETION, pod.metadata.deletionTimestamp


def _run(pod: Pod, seen: Seen) -> Plan:
    unfilled = "" if _sandbox(pod.status) else inputs.missing_volume(pod, seen.inputs)
    moves = _moves(pod, seen, mounted=not unfilled)
    inits = tuple(moves[container.name].status for container in pod.spec.initContainers)
    mains = tuple(moves[container.name].status for container in pod.spec.containers)
    phase = status.phase(pod, inits, mains, ending=False)
    events = [event for move in moves.values() for event in move.events]
    pauses = [move.after for move in moves.values() if move.after is not None]
    if _over(pod, inits, mains):
        inits = tuple(containers.stop(one, seen.now, exit_code=0) if one.state.running else one for one in inits)
        phase = status.phase(pod, inits, mains, ending=True)
    if unfilled:
        events.append(Tell("Warning", "FailedMount", unfilled, every=_SAY_AGAIN))
        pauses.append(_SAY_AGAIN)
    reported = _composed(pod, seen, inits, mains, phase)
    waits = (Wait("Running", "the simulated time passes", after=min(pauses)),) if pauses else ()
    return Plan(steps=_told(pod, reported, tuple(events)), waits=waits)


def _moves(pod: Pod, seen: Seen, *, mounted: bool) -> dict[str, Move]:
    """Move every container as far as it gets; each init container waits for those before it."""
    moves: dict[str, Move] = {}
    may_start = mounted
    for container in pod.spec.initContainers:
        moves[container.name] = _move(pod, seen, container, role=status.role(container, init=True), may_start=may_start)
        may_start = may_start and _lets_next_start(container, moves[container.name].status)
    for container in pod.spec.containers:
        moves[container.name] = _move(pod, seen, container, role=Role.MAIN, may_start=may_start)
    return moves


def _move(pod: Pod, seen: Seen, container: Container, *, role: Role, may_start: bool) -> Move:
    spent = seen.spent.get(container.name, Spent())
    around = Surroundings(
        role=role,
        behaviour=seen.behaviours.get(container.name, seen.behaviour),
        pod=pod.description,
        restart_policy=pod.spec.restartPolicy,
        now=seen.now,
        elapsed=spent.elapsed,
        visits=spent.visits,
        may_start=may_start,
        has_inits=bool(pod.spec.initContainers),
        refused=inputs.missing_variable(pod, container, seen.inputs),
        crashes=seen.crashes,
    )
    return containers.advance(container, pod.status.container(container.name), around)


def _lets_next_start(container: Container, reported: ContainerStatus) -> bool:
    if status.role(container, init=True) is Role.SIDECAR:
        return bool(reported.started)
    return reported.state.terminated is not None and reported.state.terminated.exitCode == 0


def _over(pod: Pod, inits: tuple[ContainerStatus, ...], mains: tuple[ContainerStatus, ...]) -> bool:
    """Whether nothing but sidecars runs, and nothing will be started again."""
    policy = pod.spec.restartPolicy
    ended = [one.state.terminated for one in mains]
    if all(end is not None and not containers.restarts(Role.MAIN, policy, end.exitCode) for end in ended):
        return True
    return status.phase(pod, inits, mains, ending=False) == "Failed"


def _end(pod: Pod, seen: Seen) -> Plan:
    """Stop the containers of a deleted pod, report their end, then confirm it."""
    grace = pod.metadata.deletionGracePeriodSeconds or 0
    if pod.finished:
        return Plan(steps=(Remove(reason="Stopped"),)) if grace else Plan()
    killing = tuple(
        Tell("Normal", "Killing", f"Stopping container {one.name}", one.name, every=float("inf"))
        for one in (*pod.status.initContainerStatuses, *pod.status.containerStatuses)
        if one.state.running is not None
    )
    lasts = min(seen.behaviour.stop_after, float(grace))
    left = lasts - seen.spent.get(DELETION, Spent()).elapsed
    if left > 0:
        wait = Wait("Stopping", "the containers take their time to stop", after=left)
        return Plan(steps=(Say(reason="Stopping", events=killing),), waits=(wait,))
    exit_code = _KILLED if seen.behaviour.stop_after > grace else _STOPPED
    inits, mains = (
        tuple(containers.stop(_present(pod, one), seen.now, exit_code=exit_code) for one in group)
        for group in (pod.spec.initContainers, pod.spec.containers)
    )
    reported = _composed(pod, seen, inits, mains, status.phase(pod, inits, mains, ending=True))
    return Plan(steps=_told(pod, reported, killing))


def _present(pod: Pod, container: Container) -> ContainerStatus:
    return pod.status.container(container.name) or ContainerStatus(name=container.name, image=container.image)


def _told(pod: Pod, reported: PodStatus, events: tuple[Tell, ...]) -> tuple[Step, ...]:
    if reported != pod.status:
        return (Report(reason=reported.phase, status=reported, events=events),)
    return (Say(reason=reported.phase, events=events),) if events else ()


def _composed(
    pod: Pod, seen: Seen, inits: tuple[ContainerStatus, ...], mains: tuple[ContainerStatus, ...], phase: str
) -> PodStatus:
    """Return the whole status that follows from those of the containers."""
    host = seen.host.address
    bare = structs.replace(
        pod.status,
        phase=phase,
        initContainerStatuses=inits,
        containerStatuses=mains,
        startTime=pod.status.startTime or seen.now,
        hostIP=host,
        hostIPs=(Address(ip=host),),
        observedGeneration=pod.metadata.generation,
    )
    if _sandbox(bare):
        own = bare.podIP or (host if pod.spec.hostNetwork else address(pod.metadata.uid))
        bare = structs.replace(bare, podIP=own, podIPs=(Address(ip=own),))
    return structs.replace(bare, conditions=status.conditions(pod, bare, seen.now))


def _sandbox(reported: PodStatus) -> bool:
    """Whether any container of the pod has run."""
    return any(one.containerID for one in (*reported.initContainerStatuses, *reported.containerStatuses))


def address(uid: str) -> str:
    """Return an address for a pod. It follows from the uid, so nothing is kept; nothing listens there."""
    digest = hashlib.sha256(uid.encode()).digest()
    return f"10.{digest[0]}.{digest[1]}.{1 + digest[2] % 254}"
