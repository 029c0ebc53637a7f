"""Plays one pod on paper: decides, writes the decision back into the pod, and lets time pass on a clock by hand."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from stackwright.kube.clock import seconds
from stackwright.kube.plan import Plan
from stackwright.kube.resource import JsonObject
from stackwright.simulator import casting, kubelet
from stackwright.simulator.behaviour import Script
from stackwright.simulator.inputs import Inputs
from stackwright.simulator.kubelet import Host, Seen
from stackwright.simulator.objects import ContainerStatus, Owner, Pod, PodStatus
from stackwright.simulator.steps import Act, Remove, Report, Tell
from stackwright.simulator.timers import Timers

HOST = Host("simulated", "192.0.2.1")
BEGIN = datetime(2026, 11, 15, 10, 0, 0, tzinfo=UTC)
NOTHING = Inputs(config_maps=lambda _: None, secrets=lambda _: None)


def pod_of(
    *containers: str, inits: tuple[JsonObject, ...] = (), metadata: JsonObject | None = None, **spec: Any
) -> Pod:
    """Return a pod that is bound and not yet looked at."""
    return msgspec.convert(
        {
            "metadata": {"name": "web-1", "namespace": "here", "uid": "u-1", "generation": 1, **(metadata or {})},
            "spec": {
                "nodeName": HOST.name,
                "containers": [{"name": name, "image": f"registry/{name}:1"} for name in containers],
                "initContainers": [{"image": f"registry/{one['name']}:1", **one} for one in inits],
                **spec,
            },
        },
        Pod,
    )


def reason_of(status: ContainerStatus | None) -> str:
    """Return what `kubectl get pod` would say of a container."""
    if status is None:
        return "unknown"
    state = status.state
    if state.waiting is not None:
        return state.waiting.reason
    if state.terminated is not None:
        return f"{state.terminated.reason} {state.terminated.exitCode}"
    return "ready" if status.ready else "running"


@dataclass
class Play:
    """One pod over time."""

    pod: Pod
    script: Script = field(default_factory=Script)
    inputs: Inputs = NOTHING
    owners: tuple[Owner, ...] = ()
    host: Host = HOST
    crashes: int = 0
    time: float = 0.0
    writes: int = 0
    removed: bool = False
    told: list[Tell] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)

    def __post_init__(self) -> None:
        self.timers = Timers(lambda: self.time)
        self.look()

    def look(self) -> None:
        """Decide until nothing more is written at this moment."""
        for _ in range(20):
            cast = casting.cast_pod(self.pod, self.owners, self.script)
            seen = Seen(
                host=self.host,
                inputs=self.inputs,
                now=seconds(BEGIN + timedelta(seconds=self.time)),
                behaviour=cast.behaviour,
                behaviours=cast.containers,
                spent=self.timers.spent(self.pod, kubelet.timed_parts(self.pod)),
                crashes=self.crashes,
            )
            self.plan = kubelet.decide(self.pod, seen)
            if not self._written():
                return
        raise AssertionError("the simulator never comes to rest")

    def until(self, time: float) -> "Play":
        """Let time pass, looking whenever the plan asked to."""
        while (pause := min((w.after for w in self.plan.waits if w.after is not None), default=None)) is not None:
            if self.time + pause > time:
                break
            # A pause so short that adding it changes nothing would never pass.
            self.time += max(pause, 1e-9)
            self.look()
        self.time = time
        self.look()
        return self

    def perform(self, script: Script) -> None:
        """Exchange the script now."""
        self.script = script
        self.look()

    def move(self, host: Host) -> None:
        """Change what is known of the pod's node; a watch would wake it."""
        self.host = host
        self.look()

    def provide(self, inputs: Inputs) -> None:
        """Change what the pod can refer to; a watch would wake it."""
        self.inputs = inputs
        self.look()

    def delete(self, grace: int = 30) -> None:
        """Ask for the pod's deletion, as a user does."""
        metadata = msgspec.structs.replace(
            self.pod.metadata, deletionTimestamp="2026-11-15T10:01:00Z", deletionGracePeriodSeconds=grace
        )
        self.pod = msgspec.structs.replace(self.pod, metadata=metadata)
        self.look()

    def reason(self, container: str) -> str:
        return reason_of(self.status.container(container))

    def condition(self, type_: str) -> tuple[str, str]:
        found = self.status.condition(type_)
        return (found.status, found.reason) if found else ("", "")

    @property
    def status(self) -> PodStatus:
        return self.pod.status

    @property
    def reasons_told(self) -> list[str]:
        return [event.reason for event in self.told]

    def _written(self) -> bool:
        wrote = False
        for step in self.plan.steps:
            if isinstance(step, Report):
                # As the server gives it back, so that what does not survive the wire would be noticed.
                status = msgspec.convert(msgspec.to_builtins(step.status), PodStatus)
                self.pod = msgspec.structs.replace(self.pod, status=status)
                self.writes += 1
                wrote = True
            self.removed = self.removed or isinstance(step, Remove)
            if isinstance(step, Act):
                self.told += [event for event in step.events if self.timers.due(self.pod, event)]
        return wrote
