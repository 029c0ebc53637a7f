"""Fixtures: a fake Keystone for each test, the operator of identity, and a namespace to write into."""

from collections.abc import AsyncIterator, Iterator

import pytest

from stackwright.kube.client import Client
from tests.fakes.running import Fake, fake
from tests.functional.definitions import defined
from tests.functional.identity.cloud import ADMIN, Cloud


@pytest.fixture
def fake_keystone() -> Iterator[Fake]:
    with fake("tests.fakes.keystone", ADMIN.password) as started:
        yield started


@pytest.fixture
async def cloud(client: Client, namespace: str, fake_keystone: Fake) -> Cloud:
    await defined(client)
    return Cloud(client, namespace, fake_keystone.url)


@pytest.fixture
async def operator(cloud: Cloud) -> AsyncIterator[None]:
    """The controllers."""
    async with cloud.operator():
        yield
