"""The umbrella's controller on the server of the run, and a person who writes control planes."""

import asyncio
import fcntl
import itertools
from collections.abc import AsyncIterator, Callable

import pytest

from stackwright import services
from stackwright.controllers.controlplane import controller
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.crd import generate
from stackwright.kube.crd.install import install
from stackwright.kube.runtime import Runtime
from stackwright.local.apiserver.server import Shared
from tests.functional.controlplane.clouds import Umbrella
from tests.functional.running import running


@pytest.fixture(scope="session")
def definitions(apiserver: Shared) -> None:
    """Put the definitions of all our kinds on the server, once for all workers of the run."""

    async def put() -> None:
        async with Client(config.load(apiserver.kubeconfig)) as client:
            await install(client, [generate.manifest(kind) for kind in services.kinds()])

    with (apiserver.kubeconfig.parent / "definitions.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asyncio.run(put())


def numbered() -> Callable[[int], str]:
    """Return a generator of passwords that can be told from each other."""
    numbers = itertools.count(1)
    return lambda strength: f"generated-{next(numbers)}-{strength}"


@pytest.fixture
async def cloud(definitions: None, client: Client, namespace: str) -> AsyncIterator[Umbrella]:
    """A namespace in which the umbrella's controller works."""
    runtime = Runtime(client, (controller(numbered()),), namespace=namespace)
    async with running(runtime):
        yield Umbrella(client, namespace, runtime=runtime)
