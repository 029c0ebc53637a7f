"""A whole cloud whose operator is killed after its nth write, for every n, comes to the same in the end."""

import asyncio
import contextlib
import dataclasses
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stackwright import services
from stackwright.adapters.mariadb import Login, MariaDB, digest
from stackwright.controllers import database
from stackwright.controllers.controlplane import controller as umbrella
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment, controllers
from stackwright.kube import config
from stackwright.kube.builtin import StorageClass
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Controller
from stackwright.kube.runtime import Runtime
from stackwright.simulator import Script, simulated, storage_class
from tests.fakes.mariadb import FakeMariaDB
from tests.functional import neighbours
from tests.functional.cloud import environment
from tests.functional.conftest import fresh_namespace, of_this_run
from tests.functional.definitions import defined
from tests.functional.normal import credentials, everything
from tests.functional.running import running
from tests.functional.test_release_crash import Mortal
from tests.functional.test_service_controller import is_ready
from tests.functional.watching import PATIENCE, eventually

# How many tests share the numbers among them, so that they run beside each other.
SHARES = 4
NAME = "cloud"
CLASS = "played"
ROOT_SECRET = "openstack-mariadb-root"
SUCCEEDS = Script()
# More writes than it takes.
NEVER = 1_000_000


class World:
    """What outlives an operator: the database server."""

    def __init__(self, kubernetes: dict[str, Path]) -> None:
        self._kubernetes = kubernetes
        self._password = environment(kubernetes).source(ROOT_SECRET).password()
        self.server = FakeMariaDB(password=self._password)
        self._servers: dict[str, FakeMariaDB] = {}

    def connect(self, login: Login) -> MariaDB:
        """Return a way to the server of a host: each cloud has its own, and the first one is `server`."""
        if login.host not in self._servers:
            self._servers[login.host] = FakeMariaDB(password=self._password) if self._servers else self.server
        return self._servers[login.host].connect(login)

    def controllers(self, client: Client, life: int) -> tuple[Controller, ...]:
        """Return the controllers of an operator, which in another life makes up other passwords."""
        numbers = itertools.count()
        return (
            umbrella(lambda length: f"life-{life}-password-{next(numbers)}-".ljust(length, "p")),
            *controllers(services.blueprints(), self._environment(life)),
            *database.controllers(Dialler(client, inside=True), self.connect),
        )

    def _environment(self, life: int) -> Environment:
        ours, first = environment(self._kubernetes, seed=life), environment(self._kubernetes)

        def chance(purpose: str) -> Callable[[int], bytes]:
            # The server in memory was set up with what its Secret will be.
            return (first if purpose == ROOT_SECRET else ours).random(purpose)

        return dataclasses.replace(ours, random=chance)


async def ask_for_cloud(client: Client, namespace: str) -> None:
    spec = {"secret": "osp-secret", "passwordPolicy": "Generate", "storageClass": CLASS, "keystone": {}}
    body = {"metadata": {"name": NAME, "namespace": namespace}, "spec": spec}
    await client.apply(services.control_plane(), body, field_manager="user")


async def until_ready(client: Client, namespace: str) -> None:
    await eventually(client, services.control_plane(), NAME, namespace, is_ready)


@pytest.fixture(scope="module")
def connection(kubernetes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Connection:
    """The way to a server for these tests alone: with a hundred clouds in it others would be slower."""
    return config.load(of_this_run("crash", kubernetes, tmp_path_factory).kubeconfig)


@contextlib.asynccontextmanager
async def place(client: Client, name: str, script: Script = SUCCEEDS) -> AsyncIterator[str]:
    await client.apply(StorageClass, storage_class(CLASS))
    namespace = await fresh_namespace(client, name)
    async with simulated(client, namespace, script), neighbours.nodes_agree(client, namespace):
        yield namespace


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


async def settled(client: Client, world: World, namespace: str) -> dict[str, object]:
    """Run an operator that lives until the cloud is ready and nothing changes any more; return what is there."""
    async with running(Runtime(client, world.controllers(client, life=2), namespace=namespace)):
        await until_ready(client, namespace)
        before: object = None
        async with asyncio.timeout(PATIENCE):
            while (now := await everything(client, namespace)) != before:
                before = now
                await asyncio.sleep(0.3)
    return dict(now)


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
    # Two runs need not make the same writes: they see what others do at other times.
    enough = (NEVER - whole.left) // SHARES * 2 // 3
    cut: list[str] = []
    for writes in itertools.count(share, SHARES):
        world = World(kubernetes)
        async with place(client, f"crash-{share}-{writes}") as namespace:
            await ask_for_cloud(client, namespace)
            mortal = await killed_after(connection, world, namespace, writes, client)
            before = await credentials(client, namespace)
            assert await settled(client, world, namespace) == expected, f"killed after {writes} writes"
            await assert_same_logins(client, namespace, world, before)
        if not mortal.dead.is_set():
            break
        assert mortal.left == 0
        cut.append(mortal.cut)
    assert len(cut) >= enough > 5, cut
    # Not one write again and again, but all over the way.
    assert len(set(cut)) > 5, cut
