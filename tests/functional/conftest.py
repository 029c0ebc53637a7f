"""Fixtures of the functional ring: a real API server with its controllers, shared by all workers of a run."""

import asyncio
import contextlib
import os
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from stackwright.kube import config
from stackwright.kube.builtin import Namespace, Node, ServiceAccount
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.local import binaries, programs
from stackwright.local.apiserver.server import ApiServer, Options, Shared, shared
from stackwright.local.errors import LocalError
from stackwright.local.progress import Shown
from tests.functional.definitions import defined

# How long a namespace's controllers may take on a loaded machine.
PATIENCE = 120.0


# Before xdist's own, which gives each test to its group by the marks that it has by then.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes minutes: at the end a single worker would be at it, and the others idle.

    First come the tests on a private server. One worker runs all of them (`--dist loadgroup`): each worker would start
    a server of its own, which takes a core for ten seconds, and a part of one from then on.
    """
    private = [item for item in items if "second_apiserver" in getattr(item, "fixturenames", ())]
    for item in private:
        item.add_marker(pytest.mark.xdist_group("private"))
    alone = set(private)
    items.sort(key=lambda item: (item not in alone, item.get_closest_marker("long") is None))


@pytest.fixture(scope="session")
def kubernetes(request: pytest.FixtureRequest) -> dict[str, Path]:
    """Where each of Kubernetes' programs is; the first run on a machine fetches or builds them, and shows how far."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext(), Shown() as progress:
        try:
            return binaries.ensure(programs.ALL, progress=progress)
        except LocalError as error:
            reason = str(error)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def apiserver(kubernetes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """The server of this run; whichever worker needs it first starts it, and it ends with the run.

    Its programs are never stopped; what must be restarted is a `private_apiserver`.
    """
    return of_this_run("apiserver", kubernetes, tmp_path_factory)


def of_this_run(name: str, kubernetes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Return a server by its name, the same to all workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return shared(folder.parent / name, kubernetes, master=os.getppid())
    return shared(folder / name, kubernetes, master=os.getpid())


@pytest.fixture
def connection(apiserver: Shared) -> Connection:
    """The administrator's way to the server."""
    # When one of its programs has died, say so, and not only that a connection was refused.
    apiserver.check()
    return config.load(apiserver.kubeconfig)


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[Client]:
    """A client of the server, with all rights."""
    async with Client(connection) as client:
        yield client


@pytest.fixture
async def namespace(client: Client, request: pytest.FixtureRequest) -> str:
    """A fresh namespace, in which pods can be made; it stays until the server ends.

    To delete one costs the server more than most tests: it lists every kind in it, twice.
    """
    return await fresh_namespace(client, request.node.name)


@pytest.fixture
async def kinds(client: Client) -> None:
    """Our kinds, on the server of the run."""
    await defined(client)


@pytest.fixture
def fresh_apiserver(kubernetes: dict[str, Path], tmp_path: Path) -> Iterator[ApiServer]:
    """A server that nobody has used before. It takes seconds to start: most tests need only a `private_apiserver`."""
    with ApiServer(tmp_path / "apiserver", kubernetes) as server:
        yield server


@pytest.fixture(scope="session")
def second_apiserver(kubernetes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The server of this worker alone; its tests use it one after the other."""
    with ApiServer(tmp_path_factory.mktemp("private") / "apiserver", kubernetes, Options(audit=True)) as server:
        yield server


@pytest.fixture
def private_apiserver(second_apiserver: ApiServer, request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """A server that nobody else uses meanwhile.

    Its programs may be killed, paused and started again, its requests counted, its nodes be real. What earlier tests
    made in their namespaces is still there.
    """
    by_groups = request.config.getoption("loadgroup", default=False)
    assert not by_groups or request.node.nodeid.endswith("@private"), "each worker would start a server of its own"
    yield second_apiserver
    for program in programs.API_SERVER:
        if program not in second_apiserver.pids:
            second_apiserver.start(program)


@pytest.fixture
async def private_client(private_apiserver: ApiServer) -> AsyncIterator[Client]:
    """A client of the private server, with all rights; there are no nodes yet."""
    async with Client(config.load(private_apiserver.kubeconfig)) as client:
        for node in await client.list(Node):
            await client.delete(Node, node.metadata.name)
        yield client


@pytest.fixture
async def private_namespace(private_client: Client, request: pytest.FixtureRequest) -> str:
    """A fresh namespace of the private server."""
    return await fresh_namespace(private_client, request.node.name)


async def fresh_namespace(client: Client, test: str) -> str:
    """Make a namespace that carries the test's name, and wait until pods can be made in it."""
    words = re.sub(r"[^a-z0-9]+", "-", test.lower().removeprefix("test_")).strip("-")[:40].strip("-")
    name = f"{words}-{secrets.token_hex(3)}"
    await client.create(Namespace, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    async with asyncio.timeout(PATIENCE):
        events = client.watch(ServiceAccount, name, fields="metadata.name=default", initial=True)
        async with contextlib.aclosing(events):
            async for event in events:
                if event.type == "ADDED":
                    break
    return name
