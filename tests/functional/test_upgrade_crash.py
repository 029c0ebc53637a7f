"""A new image of Nova while its operator is killed again and again: each life goes on where the one before was."""

import asyncio
from pathlib import Path

import pytest

from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.services.nova import upgrade
from stackwright.services.nova.kinds.nova import Nova
from tests.functional import novas
from tests.functional.definitions import defined
from tests.functional.dying import EVERY_POINT, NEVER, PATIENCE, killed_after
from tests.functional.nova_scene import NovaWithCells
from tests.functional.nova_upgrades import IMAGE, Course, is_upgraded
from tests.functional.watching import eventually

pytestmark = pytest.mark.long

# After so many writes a life ends. An upgrade of one cell takes about eighty.
WRITES = 1 if EVERY_POINT else 18


class Upgrade(NovaWithCells):
    """A Nova whose user has asked for a new image."""

    async def ask(self, client: Client, namespace: str) -> None:
        images = {f"{service}ContainerImageURL": IMAGE for service in upgrade.IMAGES}
        await client.patch(Nova, novas.NAME, namespace, {"spec": images})

    async def ready(self, client: Client, namespace: str) -> None:
        await eventually(client, Nova, novas.NAME, namespace, is_upgraded, patience=PATIENCE)


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
    course.check()
