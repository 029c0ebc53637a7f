"""Computes a pod's phase and conditions from its containers, by the rules of the kubelet; pure."""

from collections.abc import Iterable

from msgspec import structs

from stackwright.simulator import containers
from stackwright.simulator.containers import Role
from stackwright.simulator.objects import Container, ContainerStatus, Pod, PodCondition, PodStatus

# The conditions that the kubelet keeps; those of others, such as readiness gates, stay as they are.
_KUBELET = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def role(container: Container, *, init: bool) -> Role:
    """Return what a container is for."""
    if not init:
        return Role.MAIN
    return Role.SIDECAR if container.restartPolicy == "Always" else Role.INIT


def phase(pod: Pod, inits: tuple[ContainerStatus, ...], mains: tuple[ContainerStatus, ...], *, ending: bool) -> str:
    """Return the phase; `ending` says that the pod is being deleted, so that nothing is started again."""
    policy = pod.spec.restartPolicy
    roles = {c.name: role(c, init=True) for c in pod.spec.initContainers}
    firsts = [status for status in inits if roles[status.name] is Role.INIT]
    if any(_failed_for_good(status, policy, ending=ending) for status in firsts):
        return "Failed"
    if not ending and (any(not _completed(s) for s in firsts) or any(_never_ran(s) for s in mains)):
        return "Pending"
    running = any(status.state.running is not None for status in (*inits, *mains))
    if running:
        return "Running"
    codes = [_exit_code(status) for status in mains]
    if not ending and any(containers.restarts(Role.MAIN, policy, code) for code in codes):
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def conditions(pod: Pod, status: PodStatus, now: str) -> tuple[PodCondition, ...]:
    """Return the conditions that follow from the rest of `status`; times move only with a change."""
    ready_to_start = any(s.containerID for s in (*status.initContainerStatuses, *status.containerStatuses))
    containers_ready = _containers_ready(pod, status)
    computed = (
        _condition("PodReadyToStartContainers", holds=ready_to_start and status.phase not in {"Succeeded", "Failed"}),
        _initialized(pod, status),
        _ready(pod, containers_ready),
        containers_ready,
        _condition("PodScheduled", holds=True),
    )
    others = tuple(condition for condition in pod.status.conditions if condition.type not in _KUBELET)
    return (*(settled(pod, condition, now) for condition in computed), *others)


def settled(pod: Pod, condition: PodCondition, now: str) -> PodCondition:
    """Return the condition with the time since when it is so."""
    before = pod.status.condition(condition.type)
    unchanged = before is not None and before.status == condition.status and before.lastTransitionTime
    since = before.lastTransitionTime if before is not None and unchanged else now
    return structs.replace(condition, lastTransitionTime=since, observedGeneration=pod.metadata.generation)


def _condition(type_: str, *, holds: bool, reason: str = "", message: str = "") -> PodCondition:
    return PodCondition(type=type_, status="True" if holds else "False", reason=reason, message=message)


def _initialized(pod: Pod, status: PodStatus) -> PodCondition:
    if status.phase == "Succeeded":
        return _condition("Initialized", holds=True, reason="PodCompleted")
    roles = {c.name: role(c, init=True) for c in pod.spec.initContainers}
    incomplete = [
        s.name
        for s in status.initContainerStatuses
        if not (s.started if roles[s.name] is Role.SIDECAR else _completed(s))
    ]
    if incomplete and all(_never_ran(s) for s in status.containerStatuses):
        message = f"containers with incomplete status: {_names(incomplete)}"
        return _condition("Initialized", holds=False, reason="ContainersNotInitialized", message=message)
    return _condition("Initialized", holds=True)


def _containers_ready(pod: Pod, status: PodStatus) -> PodCondition:
    if status.phase in {"Succeeded", "Failed"}:
        reason = "PodCompleted" if status.phase == "Succeeded" else "PodFailed"
        return _condition("ContainersReady", holds=False, reason=reason)
    sidecars = {c.name for c in pod.spec.initContainers if role(c, init=True) is Role.SIDECAR}
    asked = (*(s for s in status.initContainerStatuses if s.name in sidecars), *status.containerStatuses)
    unready = [s.name for s in asked if not s.ready]
    if unready:
        message = f"containers with unready status: {_names(unready)}"
        return _condition("ContainersReady", holds=False, reason="ContainersNotReady", message=message)
    return _condition("ContainersReady", holds=True)


def _ready(pod: Pod, containers_ready: PodCondition) -> PodCondition:
    if containers_ready.status != "True":
        return structs.replace(containers_ready, type="Ready")
    unmet = []
    for gate in pod.spec.readinessGates:
        condition = pod.status.condition(gate.conditionType)
        if condition is None:
            unmet.append(f'corresponding condition of pod readiness gate "{gate.conditionType}" does not exist.')
        elif condition.status != "True":
            unmet.append(
                f'the status of pod readiness gate "{gate.conditionType}" is not "True", but {condition.status}'
            )
    return _condition(
        "Ready", holds=not unmet, reason="ReadinessGatesNotReady" if unmet else "", message=", ".join(unmet)
    )


def _completed(status: ContainerStatus) -> bool:
    return status.state.terminated is not None and status.state.terminated.exitCode == 0


def _never_ran(status: ContainerStatus) -> bool:
    return status.state.running is None and status.state.terminated is None and status.lastState.terminated is None


def _exit_code(status: ContainerStatus) -> int:
    ended = status.state.terminated or status.lastState.terminated
    return ended.exitCode if ended is not None else 0


def _failed_for_good(status: ContainerStatus, policy: str, *, ending: bool) -> bool:
    ended = status.state.terminated
    return ended is not None and ended.exitCode != 0 and (ending or policy == "Never")


def _names(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"
