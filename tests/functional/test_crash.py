"""A whole cloud, and a Nova, whose operator is killed after its nth write comes to the same in the end.

Killed after every write it takes minutes: that is part of `make everything`. Otherwise it is killed at some writes of
every kind; for a Nova, at a few.
"""

import contextlib
import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest

from stackwright.adapters.mariadb_passwords import digest
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.local.apiserver.server import Shared
from tests.functional.conftest import of_this_run
from tests.functional.definitions import defined
from tests.functional.dying import EVERY_POINT, PATIENCE, chosen, die, spread, whole
from tests.functional.normal import credentials
from tests.functional.nova_scene import NovaWithCells
from tests.functional.whole_cloud import World, ask_for_cloud, place, until_ready

pytestmark = pytest.mark.long

# How many tests share the deaths among them, so that they run beside each other; each brings all up once more.
SHARES = 4 if EVERY_POINT else 1
# How many deaths there are at least where there is not one for every write.
DEATHS = 12
# A Nova has three times the objects of a Keystone, and each takes seconds.
NOVA_DEATHS = 100 if EVERY_POINT else 2
NOVA_SHARES = 4 if EVERY_POINT else 1
CELLS = 3


class KeystoneCloud(World):
    """A cloud with a Keystone in it."""

    def place(self, client: Client, name: str) -> contextlib.AbstractAsyncContextManager[str]:
        return place(client, name)

    async def ask(self, client: Client, namespace: str) -> None:
        await ask_for_cloud(client, namespace)

    async def ready(self, client: Client, namespace: str) -> None:
        await until_ready(client, namespace, patience=PATIENCE)

    async def check(self, client: Client, namespace: str) -> None:
        """See that the database has what is generated."""
        passwords = await credentials(client, namespace)
        assert self.server.users["keystone"].digest == digest(passwords["keystone-db-secret/DatabasePassword"])


@pytest.fixture(scope="module")
def connection(apiserver: Shared, kubernetes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Connection:
    """The way to a server: one for these tests alone where they leave a hundred clouds, which make others slower."""
    server = of_this_run("crash", kubernetes, tmp_path_factory) if EVERY_POINT else apiserver
    return config.load(server.kubeconfig)


@pytest.mark.parametrize("share", range(SHARES))
async def test_an_operator_that_is_killed_after_any_write_goes_on_where_it_was(
    client: Client, connection: Connection, kubernetes: dict[str, Path], share: int
) -> None:
    await defined(client)
    written, expected = await whole(client, connection, KeystoneCloud(kubernetes), f"crash-{share}-never")
    assert [name for name in expected if name.startswith("Secret/sh.helm.release.v1.keystone")] == [
        "Secret/sh.helm.release.v1.keystone.v1"
    ]
    points: Iterable[int] = itertools.count(share, SHARES)
    if not EVERY_POINT:
        points = chosen(written.written, DEATHS)[share::SHARES]
    scenes = ((number, KeystoneCloud(kubernetes)) for number in points)
    cut = await die(client, connection, scenes, expected, f"crash-{share}")
    # Two runs need not make the same writes: they see what others do at other times.
    enough = (len(written.written) if EVERY_POINT else DEATHS) // SHARES * 2 // 3
    assert len(cut) >= enough > 5, cut
    # Not one write again and again, but all over the way.
    assert len(set(cut)) > 5, cut


@pytest.mark.parametrize("share", range(NOVA_SHARES))
async def test_a_nova_whose_operator_crashes_at_any_write_has_all_its_cells(
    client: Client, connection: Connection, kubernetes: dict[str, Path], share: int
) -> None:
    await defined(client)
    written, expected = await whole(client, connection, NovaWithCells(kubernetes, CELLS), f"crash-nova-{share}-never")
    records = [name for name in expected if name.startswith("Secret/sh.helm.release.")]
    assert records, expected.keys()
    assert all(name.endswith(".v1") for name in records), records
    points = spread(written.written, NOVA_DEATHS + 1)[1:][share::NOVA_SHARES]
    scenes = ((number, NovaWithCells(kubernetes, CELLS)) for number in points)
    cut = await die(client, connection, scenes, expected, f"crash-nova-{share}")
    assert len(cut) >= len(points) * 2 // 3, cut


def test_deaths_are_spread_over_the_kinds_of_writes() -> None:
    written = ["PATCH Secret"] * 30 + ["POST Job", "PATCH Galera"] * 10 + ["DELETE Job"]
    points = chosen(written, 12)
    assert {written[number] for number in points} == set(written)
    assert len(points) == 12
    assert chosen(written, 12) == points
    assert chosen(written[:3], 12) == [0, 1, 2]


def test_deaths_are_spread_evenly_over_the_way() -> None:
    assert spread(["PATCH Secret"] * 100, 4) == [0, 25, 50, 75]
    assert spread(["PATCH Secret"] * 2, 4) == [0, 1]
