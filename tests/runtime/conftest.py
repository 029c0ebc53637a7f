"""Fixtures of the runtime ring: the fault server, and a client of it that does not sleep."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from tests.runtime.fault_server import FaultServer


class Pauses(list[float]):
    """Notes the pauses that a client makes between tries, in place of making them."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
def connection(server: FaultServer) -> Connection:
    return Connection(server=server.url, source="a test")


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def client(connection: Connection, pauses: Pauses) -> AsyncIterator[Client]:
    async with Client(connection, timeout=5, sleep=pauses) as client:
        yield client
