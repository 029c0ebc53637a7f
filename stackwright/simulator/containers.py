"""Decides what becomes of one container: a small state machine, pure.

    (nothing) → waiting → running → terminated → running again at once, the first time
                  │                     │
                  ErrImagePull          CrashLoopBackOff → running again after the backoff
                  ImagePullBackOff
                  CreateContainerConfigError

A state lasts a given time, or until its fault is healed. Whatever takes no time is passed through in one
decision, so that a container without delays costs one write.
"""

import hashlib
from dataclasses import dataclass, replace
from enum import Enum

from msgspec import structs

from stackwright.simulator.behaviour import Behaviour, Crash, ImageMissing, ProbeFailing
from stackwright.simulator.objects import (
    Container,
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    Waiting,
)
from stackwright.simulator.steps import Tell

# How long a failed pull shows as ErrImagePull before it shows as ImagePullBackOff, as a part of the backoff.
_PULL_SHOWN = 0.1
# Kubelets double the pause before each further try up to this.
_LONGEST_BACKOFF = 300.0
# How often a failing probe is reported: the default period of probes.
_PROBE_PERIOD = 10.0
_NOT_STARTED = ("ContainerCreating", "PodInitializing")


class Role(Enum):
    """What a container is for in its pod."""

    INIT = "runs to completion before the others start"
    SIDECAR = "starts among the init containers and runs as long as the pod"
    MAIN = "runs after all init containers"


@dataclass(frozen=True)
class Surroundings:
    """All that decides about a container besides its own status.

    `elapsed` is how long it is in its present state, `visits` how often it was in that state before. `crashes` are
    those of the pods that this one replaces.
    """

    role: Role
    behaviour: Behaviour
    pod: str
    restart_policy: str
    now: str
    elapsed: float = 0.0
    visits: int = 0
    may_start: bool = True
    has_inits: bool = False
    refused: str = ""
    crashes: int = 0

    @property
    def endless(self) -> bool:
        """Whether the container is meant to run until the pod is deleted."""
        return self.role is Role.SIDECAR or (self.role is Role.MAIN and self.restart_policy == "Always")


@dataclass(frozen=True)
class Move:
    """A container's next status, the events on the way, and when to look again."""

    status: ContainerStatus
    events: tuple[Tell, ...] = ()
    after: float | None = None


def advance(container: Container, status: ContainerStatus | None, around: Surroundings) -> Move:
    """Return how far a container gets now."""
    current = _waiting_to_start(container, around) if status is None or not status.state.label else status
    here = around if current is status else replace(around, elapsed=0.0, visits=0)
    events: list[Tell] = []
    while True:
        move = _move(container, current, here)
        events += move.events
        stays = (move.status.state, move.status.restartCount) == (current.state, current.restartCount)
        if stays:
            return Move(move.status, tuple(events), move.after)
        current = move.status
        here = replace(around, elapsed=0.0, visits=0)


def stop(status: ContainerStatus, now: str, *, exit_code: int) -> ContainerStatus:
    """Return the status of a container that was stopped with its pod; one that never ran counts as lost."""
    if status.state.terminated is not None:
        return status
    if status.state.running is None:
        lost = Terminated(
            exitCode=137,
            reason="ContainerStatusUnknown",
            message="The container could not be located when the pod was terminated",
        )
        return structs.replace(status, state=ContainerState(terminated=lost), ready=False, started=False)
    return _ended(status, now, exit_code=exit_code)


def _move(container: Container, status: ContainerStatus, around: Surroundings) -> Move:
    """Return the next state, or the present one with when to look again."""
    if status.state.running is not None:
        return _running(container, status, around)
    if status.state.terminated is not None:
        return _terminated(container, status, around)
    if status.state.label == "CrashLoopBackOff":
        return _backing_off(container, status, around)
    return _starting(container, status, around)


def _waiting_to_start(container: Container, around: Surroundings) -> ContainerStatus:
    reason = "PodInitializing" if around.has_inits else "ContainerCreating"
    return ContainerStatus(
        name=container.name, image=container.image, started=False, state=ContainerState(waiting=Waiting(reason=reason))
    )


def _starting(container: Container, status: ContainerStatus, around: Surroundings) -> Move:
    label, behaviour = status.state.label, around.behaviour
    if not around.may_start:
        return Move(status)
    if label in _NOT_STARTED and around.elapsed < behaviour.start_after:
        return Move(status, after=behaviour.start_after - around.elapsed)
    if isinstance(behaviour.fault, ImageMissing):
        return _pulling(container, status, behaviour.fault, around)
    if around.refused:
        told = Tell("Warning", "Failed", f"Error: {around.refused}", container.name, every=_PROBE_PERIOD)
        return Move(_waits(status, "CreateContainerConfigError", around.refused), (told,), _PROBE_PERIOD)
    return _started(container, status, around)


def _pulling(container: Container, status: ContainerStatus, fault: ImageMissing, around: Surroundings) -> Move:
    image, label = container.image, status.state.label
    error = (
        fault.message or f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": not found'
    )
    if label == "ErrImagePull":
        shown = fault.backoff * _PULL_SHOWN
        if around.elapsed < shown:
            return Move(status, after=shown - around.elapsed)
        told = (
            Tell("Normal", "BackOff", f'Back-off pulling image "{image}"', container.name),
            Tell("Warning", "Failed", "Error: ImagePullBackOff", container.name),
        )
        message = f'Back-off pulling image "{image}": ErrImagePull: {error}'
        return Move(_waits(status, "ImagePullBackOff", message), told)
    if label == "ImagePullBackOff":
        pause = _pause(fault.backoff, around.visits)
        if around.elapsed < pause:
            return Move(status, after=pause - around.elapsed)
    events = (
        Tell("Normal", "Pulling", f'Pulling image "{image}"', container.name),
        Tell("Warning", "Failed", f'Failed to pull image "{image}": {error}', container.name),
        Tell("Warning", "Failed", "Error: ErrImagePull", container.name),
    )
    return Move(_waits(status, "ErrImagePull", error), events)


def _started(container: Container, status: ContainerStatus, around: Surroundings) -> Move:
    again = status.state.terminated is not None or status.lastState.terminated is not None
    restarts = status.restartCount + 1 if again else status.restartCount
    events = (
        Tell(
            "Normal",
            "Pulled",
            f'Container image "{container.image}" already present on machine and can be accessed by the pod',
            container.name,
        ),
        Tell("Normal", "Created", "Container created", container.name),
        Tell("Normal", "Started", "Container started", container.name),
    )
    running = structs.replace(
        status,
        state=ContainerState(running=Running(startedAt=around.now)),
        lastState=status.state if status.state.terminated is not None else status.lastState,
        ready=False,
        started=around.role is not Role.INIT and container.startupProbe is None,
        restartCount=restarts,
        image=container.image,
        imageID=f"simulated://{_digest(container.image)}",
        containerID=f"simulated://{_digest(around.pod, container.name, str(restarts))}",
    )
    return Move(running, events)


def _running(container: Container, status: ContainerStatus, around: Surroundings) -> Move:
    end, lasts = _end(container, status, around)
    if lasts is not None and around.elapsed >= lasts:
        return end
    fault = around.behaviour.fault
    pauses = [] if lasts is None else [lasts - around.elapsed]
    events: tuple[Tell, ...] = ()
    if around.role is Role.INIT:
        ready = False
    elif isinstance(fault, ProbeFailing) and fault.probe == "readiness":
        ready = False
        note = f"Readiness probe failed: {fault.message}"
        events = (Tell("Warning", "Unhealthy", note, container.name, every=_PROBE_PERIOD),)
        pauses.append(_PROBE_PERIOD)
    else:
        # What is ready stays so: a simulator that takes over does not know since when the container runs.
        ready = status.ready or not around.endless or around.elapsed >= around.behaviour.ready_after
        if not ready:
            pauses.append(around.behaviour.ready_after - around.elapsed)
    started = around.role is not Role.INIT and (ready or bool(status.started))
    return Move(structs.replace(status, ready=ready, started=started), events, min(pauses, default=None))


def _end(container: Container, status: ContainerStatus, around: Surroundings) -> tuple[Move, float | None]:
    """Return how a running container ends, and after how long; None when it runs on."""
    fault = around.behaviour.fault
    if isinstance(fault, Crash) and (fault.times is None or status.restartCount + around.crashes < fault.times):
        ended = _ended(status, around.now, exit_code=fault.exit_code, message=fault.message)
        return Move(ended), fault.after
    if isinstance(fault, ProbeFailing) and fault.probe == "liveness":
        events = (
            Tell("Warning", "Unhealthy", f"Liveness probe failed: {fault.message}", container.name),
            Tell(
                "Normal",
                "Killing",
                f"Container {container.name} failed liveness probe, will be restarted",
                container.name,
            ),
        )
        return Move(_ended(status, around.now, exit_code=137), events), fault.after
    lasts = around.behaviour.init_for if around.role is Role.INIT else around.behaviour.runs_for
    completed = structs.replace(_ended(status, around.now, exit_code=0), ready=around.role is Role.INIT)
    return Move(completed), None if around.endless else lasts


def _terminated(container: Container, status: ContainerStatus, around: Surroundings) -> Move:
    assert status.state.terminated is not None  # noqa: S101  asked by the only caller
    if not restarts(around.role, around.restart_policy, status.state.terminated.exitCode):
        return Move(status)
    if status.restartCount == 0 or not _keeps_failing(around):
        return _started(container, status, around)
    backoff = _waits(
        structs.replace(status, lastState=status.state), "CrashLoopBackOff", _backoff_message(container, status, around)
    )
    return Move(backoff)


def _backing_off(container: Container, status: ContainerStatus, around: Surroundings) -> Move:
    pause = _crash_pause(status, around)
    if not _keeps_failing(around) or around.elapsed >= pause:
        return _started(container, status, around)
    note = f"Back-off restarting failed container {container.name} in pod {around.pod}"
    told = Tell("Warning", "BackOff", note, container.name, every=_PROBE_PERIOD)
    return Move(status, (told,), min(pause - around.elapsed, _PROBE_PERIOD))


def restarts(role: Role, restart_policy: str, exit_code: int) -> bool:
    """Whether a container that ended so is started again."""
    if role is Role.SIDECAR:
        return True
    if role is Role.MAIN and restart_policy == "Always":
        return True
    return exit_code != 0 and restart_policy != "Never"


def _keeps_failing(around: Surroundings) -> bool:
    fault = around.behaviour.fault
    return isinstance(fault, Crash) or (isinstance(fault, ProbeFailing) and fault.probe == "liveness")


def _waits(status: ContainerStatus, reason: str, message: str) -> ContainerStatus:
    state = ContainerState(waiting=Waiting(reason=reason, message=message))
    return structs.replace(status, state=state, ready=False, started=False)


def _ended(status: ContainerStatus, now: str, *, exit_code: int, message: str = "") -> ContainerStatus:
    assert status.state.running is not None  # noqa: S101  asked by the callers
    ended = Terminated(
        exitCode=exit_code,
        reason="Error" if exit_code else "Completed",
        message=message,
        startedAt=status.state.running.startedAt,
        finishedAt=now,
        containerID=status.containerID,
    )
    return structs.replace(status, state=ContainerState(terminated=ended), ready=False, started=False)


def _backoff_message(container: Container, status: ContainerStatus, around: Surroundings) -> str:
    pause = duration(_crash_pause(status, around))
    return f"back-off {pause} restarting failed container={container.name} pod={around.pod}"


def _crash_pause(status: ContainerStatus, around: Surroundings) -> float:
    """Return the pause before the next start: the first was at once, then the backoff doubles."""
    fault = around.behaviour.fault
    first = fault.backoff if isinstance(fault, Crash | ProbeFailing) else 0.0
    return _pause(first, status.restartCount - 1)


def _pause(first: float, earlier: int) -> float:
    return min(first * 2.0 ** min(earlier, 10), max(_LONGEST_BACKOFF, first))


def duration(seconds: float) -> str:
    """Return a duration as Kubernetes writes it in messages: 1m20s, 200ms."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
