"""Pages whose commands need an API server and an operator, and no pods that are real: they run as they read."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.memcached.service import SERVICE
from tests.documentation import blocks, sessions
from tests.documentation.sessions import Reader
from tests.functional.cloud import cloud, environment
from tests.functional.emptying import empty

PAGES = blocks.run_in(__file__)
# The namespace that the pages speak of.
NAMESPACE = "openstack"


@pytest.fixture
async def reader(
    private_apiserver: ApiServer, private_client: Client, kubernetes: dict[str, Path], tmp_path: Path
) -> AsyncIterator[Reader]:
    """Somebody with a server of his own, in which an operator looks after a namespace whose workloads are played."""
    await empty(private_client, (NAMESPACE,))
    await private_client.create(Namespace, {"metadata": {"name": NAMESPACE}})
    programs = sessions.equip(tmp_path / "programs", kubernetes)
    somebody = sessions.reader(tmp_path / "reader", programs, private_apiserver.kubeconfig)
    (somebody.directory / ".venv").symlink_to(blocks.ROOT / ".venv")
    async with cloud(private_client, NAMESPACE, (SERVICE,), environment(kubernetes)):
        yield somebody


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_runs_as_it_reads(reader: Reader, page: str) -> None:
    await asyncio.to_thread(reader.follow, PAGES[page])
