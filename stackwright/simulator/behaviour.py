"""What simulated workloads shall do, as data: how long things take, and what goes wrong.

    Script((
        Behaviour(Selector(kind="Job", name="*-db-sync"), fault=Crash(exit_code=2, times=1)),
        Behaviour(Selector(image="*/nova-api:*"), fault=ImageMissing()),
        Behaviour(ready_after=0.5),
    ))

The first behaviour that matches a container is its behaviour; the first that matches one of a pod's
containers is the pod's. What nothing matches succeeds in the time of `SUCCESS`. All times are seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, Protocol


def _positive(seconds: float) -> float:
    """Return a pause between two tries; without one a simulated fault would turn without end."""
    if seconds <= 0:
        raise ValueError(f"backoff must be more than 0 seconds, not {seconds}")
    return seconds


@dataclass(frozen=True)
class ImageMissing:
    """The image cannot be pulled: ErrImagePull and ImagePullBackOff take turns. A running container runs on."""

    message: str = ""
    backoff: float = 10.0

    def __post_init__(self) -> None:
        _positive(self.backoff)


@dataclass(frozen=True)
class Crash:
    """The container ends with an exit code, `after` seconds after it started, for ever or `times` times.

    Where pods are not restarted but replaced (Jobs with restartPolicy Never), `times` counts the pods of one owner.
    """

    exit_code: int = 1
    after: float = 0.0
    times: int | None = None
    message: str = ""
    backoff: float = 10.0

    def __post_init__(self) -> None:
        _positive(self.backoff)
        if not 0 < self.exit_code < 256:
            raise ValueError(f"exit_code of a crash must be 1 to 255, not {self.exit_code}")


@dataclass(frozen=True)
class Unschedulable:
    """No node fits the pod. A pod that is bound already stays where it is."""

    message: str = "1 Insufficient cpu"


@dataclass(frozen=True)
class ProbeFailing:
    """The container runs and its probe fails: by readiness it is not Ready, by liveness it is killed `after` a time."""

    probe: Literal["readiness", "liveness"] = "readiness"
    message: str = "HTTP probe failed with statuscode: 503"
    after: float = 0.0
    backoff: float = 10.0

    def __post_init__(self) -> None:
        _positive(self.backoff)


@dataclass(frozen=True)
class VolumeUnbound:
    """No volume is made for the claim, so that the pods which use it are not scheduled."""

    message: str = "rpc error: code = ResourceExhausted desc = not enough space"


Fault = ImageMissing | Crash | Unschedulable | ProbeFailing | VolumeUnbound


class ContainerLike(Protocol):
    """What a selector asks of a container."""

    @property
    def name(self) -> str:
        """The container's name."""

    @property
    def image(self) -> str:
        """The container's image."""


@dataclass(frozen=True)
class Subject:
    """What a behaviour is chosen for: a pod or claim, with all that it comes from.

    `names` are kind and name of the object itself and of its owners, nearest first.
    """

    namespace: str
    names: tuple[tuple[str, str], ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[ContainerLike, ...] = ()


@dataclass(frozen=True)
class Selector:
    """Chooses pods, claims and containers; what is empty matches all.

    `kind` and `name` speak of the object or of one of its owners: kind="Deployment", name="keystone" is every pod
    of that Deployment. `name`, `container` and `image` are patterns as a shell has them.
    """

    kind: str = ""
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    container: str = ""
    image: str = ""

    def matches(self, subject: Subject, container: ContainerLike | None = None) -> bool:
        """Whether this speaks of one container, or, without one, of anything in the subject."""
        if self.namespace and not fnmatchcase(subject.namespace, self.namespace):
            return False
        if any(subject.labels.get(label) != value for label, value in self.labels.items()):
            return False
        if not any(self._names(kind, name) for kind, name in subject.names):
            return False
        if not self.container and not self.image:
            return True
        candidates = subject.containers if container is None else (container,)
        return any(self._contains(candidate) for candidate in candidates)

    def _names(self, kind: str, name: str) -> bool:
        return self.kind in {"", kind} and (not self.name or fnmatchcase(name, self.name))

    def _contains(self, container: ContainerLike) -> bool:
        return (not self.container or fnmatchcase(container.name, self.container)) and (
            not self.image or fnmatchcase(container.image, self.image)
        )


@dataclass(frozen=True)
class Behaviour:
    """How long each thing takes, and what goes wrong, for whatever `match` selects.

    A pod's first container starts `start_after` its binding; an init container ends after `init_for`; a container of
    a long-running pod is ready `ready_after` its start, one that runs to completion ends after `runs_for` (None:
    never); a deleted pod is gone `stop_after` the request, or at the end of its grace period; a claim has its volume
    after `bind_after`.
    """

    match: Selector = Selector()
    fault: Fault | None = None
    start_after: float = 0.0
    init_for: float = 0.0
    ready_after: float = 0.1
    runs_for: float | None = 0.1
    stop_after: float = 0.0
    bind_after: float = 0.0


# What happens to everything that no behaviour speaks of: it succeeds, soon.
SUCCESS = Behaviour()


@dataclass(frozen=True)
class Script:
    """Behaviours in order; the first that matches counts. A change of plan is a new script."""

    behaviours: tuple[Behaviour, ...] = ()

    def behaviour(self, subject: Subject, container: ContainerLike | None = None) -> Behaviour:
        """Return what one container, or without one the pod or claim itself, shall do."""
        matching = (behaviour for behaviour in self.behaviours if behaviour.match.matches(subject, container))
        return next(matching, SUCCESS)
