"""A whole cloud whose operator is killed after its nth write comes to the same in the end.

Killed after every write it takes minutes: that is part of `make everything`. Otherwise it is killed at some writes of
every kind.
"""

import asyncio
import itertools
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from stackwright.adapters.mariadb import digest
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from stackwright.local.apiserver.server import Shared
from tests.functional.conftest import of_this_run
from tests.functional.definitions import defined
from tests.functional.mortal import Mortal
from tests.functional.normal import credentials, everything
from tests.functional.running import quiet, running
from tests.functional.watching import PATIENCE
from tests.functional.whole_cloud import World, ask_for_cloud, place, until_ready

pytestmark = pytest.mark.long

EVERY_POINT = bool(os.environ.get("STACKWRIGHT_EVERYTHING"))
# How many tests share the deaths among them, so that they run beside each other.
SHARES = 4 if EVERY_POINT else 2
# How many deaths there are at least where there is not one for every write.
DEATHS = 20
SEED = 15
# More writes than it takes.
NEVER = 1_000_000


@pytest.fixture(scope="module")
def connection(apiserver: Shared, kubernetes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Connection:
    """The way to a server: one for these tests alone where they leave a hundred clouds, which make others slower."""
    server = of_this_run("crash", kubernetes, tmp_path_factory) if EVERY_POINT else apiserver
    return config.load(server.kubeconfig)


def chosen(written: Sequence[str], deaths: int) -> list[int]:
    """Return after how many writes to die: before the first write of each kind, and before others by chance."""
    first = {written.index(what) for what in written}
    others = [number for number in range(len(written)) if number not in first]
    more = min(len(others), max(0, deaths - len(first)))
    return sorted(first | set(random.Random(SEED).sample(others, more)))  # noqa: S311  the same in every run


async def killed_after(connection: Connection, world: World, namespace: str, writes: int, client: Client) -> Mortal:
    """Run an operator that dies after some writes, or until it is done."""
    async with Client(connection) as own:
        mortal = Mortal(own, writes)
        async with running(Runtime(own, world.controllers(own, life=1), namespace=namespace)):
            ended = asyncio.create_task(until_ready(client, namespace))
            died = asyncio.create_task(mortal.dead.wait())
            await asyncio.wait({ended, died}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            for task in (ended, died):
                task.cancel()
            await asyncio.gather(ended, died, return_exceptions=True)
        return mortal


async def settled(
    client: Client, world: World, namespace: str, expected: dict[str, JsonObject] | None = None
) -> dict[str, JsonObject]:
    """Run an operator that lives until the cloud is ready and all is as expected, or nothing changes any more."""
    runtime = Runtime(client, world.controllers(client, life=2), namespace=namespace)
    async with running(runtime):
        await until_ready(client, namespace)
        await quiet(runtime)
        before: object = None
        async with asyncio.timeout(PATIENCE):
            while (now := await everything(client, namespace)) not in (before, expected):
                before = now
                await asyncio.sleep(0.3)  # What others do at times of their own, controllers of Kubernetes say.
    return now


async def assert_same_logins(client: Client, namespace: str, world: World, before: dict[str, str]) -> None:
    """See that what was generated before the death is still valid, and that the database has what is generated."""
    after = await credentials(client, namespace)
    assert {place: after.get(place) for place in before} == before
    assert world.server.users["keystone"].digest == digest(after["keystone-db-secret/DatabasePassword"])


@pytest.mark.parametrize("share", range(SHARES))
async def test_an_operator_that_is_killed_after_any_write_goes_on_where_it_was(
    client: Client, connection: Connection, kubernetes: dict[str, Path], share: int
) -> None:
    await defined(client)
    async with place(client, f"crash-{share}-never") as namespace:
        await ask_for_cloud(client, namespace)
        world = World(kubernetes)
        whole = await killed_after(connection, world, namespace, NEVER, client)
        assert not whole.dead.is_set()
        expected = await settled(client, world, namespace)
    assert [name for name in expected if name.startswith("Secret/sh.helm.release.v1.keystone")] == [
        "Secret/sh.helm.release.v1.keystone.v1"
    ]
    points: Iterable[int] = itertools.count(share, SHARES)
    if not EVERY_POINT:
        points = chosen(whole.written, DEATHS)[share::SHARES]
    cut: list[str] = []
    for writes in points:
        world = World(kubernetes)
        async with place(client, f"crash-{share}-{writes}") as namespace:
            await ask_for_cloud(client, namespace)
            mortal = await killed_after(connection, world, namespace, writes, client)
            before = await credentials(client, namespace)
            assert await settled(client, world, namespace, expected) == expected, f"killed after {writes} writes"
            await assert_same_logins(client, namespace, world, before)
        if not mortal.dead.is_set():
            break
        assert mortal.left == 0
        cut.append(mortal.cut)
    # Two runs need not make the same writes: they see what others do at other times.
    enough = (len(whole.written) if EVERY_POINT else DEATHS) // SHARES * 2 // 3
    assert len(cut) >= enough > 5, cut
    # Not one write again and again, but all over the way.
    assert len(set(cut)) > 5, cut


def test_deaths_are_spread_over_the_kinds_of_writes() -> None:
    written = ["PATCH Secret"] * 30 + ["POST Job", "PATCH Galera"] * 10 + ["DELETE Job"]
    points = chosen(written, 12)
    assert {written[number] for number in points} == set(written)
    assert len(points) == 12
    assert chosen(written, 12) == points
    assert chosen(written[:3], 12) == [0, 1, 2]
