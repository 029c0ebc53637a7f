"""A new image of Nova while its operator is killed again and again: each life goes on where the one before was."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stackwright import tasks
from stackwright.kube.builtin import Deployment, Job, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.services.nova import upgrade
from stackwright.services.nova.kinds.nova import Nova
from tests.functional import novas
from tests.functional.definitions import defined
from tests.functional.dying import EVERY_POINT, NEVER, PATIENCE, killed_after
from tests.functional.nova_scene import NovaWithCells
from tests.functional.watching import eventually, is_ready

pytestmark = pytest.mark.long

IMAGE = "registry.example/openstack:2"
# After so many writes a life ends. An upgrade of one cell takes about eighty.
WRITES = 1 if EVERY_POINT else 18
# What gets the image, in this order: within a step, all at once.
STEPS = (
    ("nova-sync-cell0",),
    ("nova-sync-cell1",),
    ("nova-cell0-conductor", "nova-cell1-conductor"),
    ("nova-scheduler", "nova-metadata", "nova-cell1-novncproxy"),
    ("nova-api",),
    ("nova-migrate-cell0", "nova-migrate-cell1"),
)


class Upgrade(NovaWithCells):
    """A Nova whose user has asked for a new image."""

    async def ask(self, client: Client, namespace: str) -> None:
        images = {f"{service}ContainerImageURL": IMAGE for service in upgrade.IMAGES}
        await client.patch(Nova, novas.NAME, namespace, {"spec": images})

    async def ready(self, client: Client, namespace: str) -> None:
        await eventually(client, Nova, novas.NAME, namespace, is_upgraded, patience=PATIENCE)


def is_upgraded(nova: Nova) -> bool:
    return is_ready(nova) and not nova.status.upgradePhase and set(nova.status.images.values()) == {IMAGE}


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


async def test_an_upgrade_goes_on_where_its_operator_was_killed(
    client: Client, connection: Connection, kubernetes: dict[str, Path]
) -> None:
    await defined(client)
    scene = Upgrade(kubernetes, cells=1)
    async with scene.place(client, "upgrade-deaths") as namespace:
        before = NovaWithCells(kubernetes, cells=1)
        await before.ask(client, namespace)
        await killed_after(connection, before, namespace, NEVER, client)
        course, lives = Course(client, namespace), 1
        async with course.followed():
            await scene.ask(client, namespace)
            while (await killed_after(connection, scene, namespace, WRITES, client)).dead.is_set():
                lives += 1
            await scene.ready(client, namespace)
            await asyncio.sleep(0)
    assert lives > 3, lives
    places = {name: number for number, step in enumerate(STEPS) for name in step}
    # Conductors look at their tables again, and cells are mapped again: that may be at any time after the tables.
    got = [places[name] for name in course.got if name in places]
    assert len(got) == len(places), course.got
    assert got == sorted(got), course.got
    # One that is killed as a phase begins may not tell of it; but none is told twice, or too late.
    assert course.phases == [phase for phase in upgrade.PHASES if phase in course.phases]
    assert len(course.phases) >= 3, course.phases
