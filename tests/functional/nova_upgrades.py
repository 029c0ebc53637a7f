"""A new image of Nova, as somebody sees it who looks on: who gets it, one after the other, and the phases."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from stackwright import tasks
from stackwright.kube.builtin import Deployment, Job, StatefulSet
from stackwright.kube.client import Client
from stackwright.services.nova import upgrade
from stackwright.services.nova.kinds.nova import Nova
from tests.functional.watching import is_ready

IMAGE = "registry.example/openstack:2"
# What gets the image, in this order: within a step, all at once.
STEPS = (
    ("nova-sync-cell0",),
    ("nova-sync-cell1",),
    ("nova-cell0-conductor", "nova-cell1-conductor"),
    ("nova-scheduler", "nova-metadata", "nova-cell1-novncproxy"),
    ("nova-api",),
    ("nova-migrate-cell0", "nova-migrate-cell1"),
)


def is_upgraded(nova: Nova) -> bool:
    """Return whether the way to the image is at its end."""
    return is_ready(nova) and not nova.status.upgradePhase and set(nova.status.images.values()) == {IMAGE}


def has_come_to(phase: str, nova: Nova) -> bool:
    """Return whether an upgrade is in a phase, or further."""
    reached = nova.status.upgradePhase
    return is_upgraded(nova) if not reached else upgrade.PHASES.index(reached) >= upgrade.PHASES.index(phase)


@dataclass
class Course:
    """What somebody sees who looks on: who got the image, one after the other, and the phases."""

    client: Client
    namespace: str
    got: list[str] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Look on for the time of a block."""
        watches = [tasks.start(self._look(kind)) for kind in (Job, StatefulSet, Deployment)]
        watches.append(tasks.start(self._look_at_phases()))
        try:
            yield
        finally:
            await tasks.end(*watches)

    async def _look(self, kind: type[Any]) -> None:
        async for event in self.client.watch(kind, self.namespace, initial=True):
            if event.type not in {"ADDED", "MODIFIED"}:
                continue
            name = event.object.metadata.name.rpartition("-")[0] if kind is Job else event.object.metadata.name
            image = event.object.spec["template"]["spec"]["containers"][0]["image"]
            if image == IMAGE and name not in self.got and not name.endswith("-trial"):
                self.got.append(name)

    async def _look_at_phases(self) -> None:
        async for event in self.client.watch(Nova, self.namespace, initial=True):
            if event.type in {"ADDED", "MODIFIED"}:
                phase = event.object.status.upgradePhase
                self.phases.extend([phase] if phase and phase not in self.phases[-1:] else [])

    def check(self) -> None:
        """See that all of one cell got the image in order, and that no phase was told twice or too late."""
        places = {name: number for number, step in enumerate(STEPS) for name in step}
        # Conductors look at their tables again, and cells are mapped again: that may be at any time after the tables.
        got = [places[name] for name in self.got if name in places]
        assert len(got) == len(places), self.got
        assert got == sorted(got), self.got
        # One that is killed as a phase begins may not tell of it; but none is told twice, or too late.
        assert self.phases == [phase for phase in upgrade.PHASES if phase in self.phases]
        assert len(self.phases) >= 3, self.phases
