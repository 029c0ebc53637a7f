"""Our definitions on the server of the run, and the real kubectl."""

import asyncio
import fcntl
import secrets
from pathlib import Path

import pytest

from stackwright import services
from stackwright.kube import config
from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.crd import generate
from stackwright.kube.crd.install import install
from stackwright.local.apiserver.server import Shared
from tests.functional.crds.kubectl import Kubectl


@pytest.fixture(scope="session")
def definitions(apiserver: Shared) -> None:
    """Put the definitions of all our kinds on the server, once for all workers of the run."""

    async def put() -> None:
        async with Client(config.load(apiserver.kubeconfig)) as client:
            await install(client, [generate.manifest(kind) for kind in services.kinds()])

    # Definitions are of the whole cluster: two workers at once would see each other's half.
    with (apiserver.kubeconfig.parent / "definitions.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asyncio.run(put())


@pytest.fixture(scope="session")
def place(apiserver: Shared, definitions: None) -> str:
    """A namespace for tests of one resource each, which none of them minds sharing."""
    name = f"crds-{secrets.token_hex(3)}"

    async def make() -> None:
        async with Client(config.load(apiserver.kubeconfig)) as client:
            await client.create(Namespace, {"metadata": {"name": name}})

    asyncio.run(make())
    return name


@pytest.fixture
def group() -> str:
    """A group for made-up kinds that no other test uses."""
    return f"crds-{secrets.token_hex(4)}.example.org"


@pytest.fixture
def kubectl(kubernetes: dict[str, Path], apiserver: Shared, tmp_path: Path) -> Kubectl:
    """The real kubectl on the server of the run."""
    return Kubectl(kubernetes["kubectl"], apiserver.kubeconfig, tmp_path / "cache")
