"""An operator that is killed after any of its writes leaves nothing in Keystone that nobody knows of."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from tests.fakes.running import fake
from tests.functional.conftest import fresh_namespace
from tests.functional.dying import EVERY_POINT
from tests.functional.identity.cloud import ADMIN, Cloud
from tests.functional.identity.mortal import Wires, mortal
from tests.functional.watching import PATIENCE

BOTH = (KeystoneService, KeystoneEndpoint)
WHOLE = ["endpoint internal", "endpoint public", "service glance", "user glance"]
# How many writes there are between two deaths.
STRIDE = 1 if EVERY_POINT else 3

pytestmark = pytest.mark.usefixtures("cloud")


async def ask(cloud: Cloud) -> None:
    for write in (cloud.passwords, cloud.api, cloud.service, cloud.endpoint):
        await write()


async def ready(cloud: Cloud) -> None:
    for kind in BOTH:
        await cloud.ready(kind)


async def delete(cloud: Cloud) -> None:
    for kind in BOTH:
        await cloud.delete(kind)


async def dies_or(wires: Wires, ends: Awaitable[None]) -> bool:
    """Wait until an operator was killed, or came to its end; return whether it was killed."""
    ended, died = asyncio.ensure_future(ends), asyncio.create_task(wires.dead.wait())
    await asyncio.wait({ended, died}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    for task in (ended, died):
        task.cancel()
    await asyncio.gather(ended, died, return_exceptions=True)
    return wires.dead.is_set()


async def for_every_write(client: Client, name: str, trial: Callable[[Cloud, int], Awaitable[bool]]) -> None:
    """Try it with a death after some more writes each time, until nobody dies."""
    killed, writes = True, 0
    while killed:
        namespace = await fresh_namespace(client, f"{name}-{writes}")
        with fake("tests.fakes.keystone", ADMIN.password) as started:
            killed = await trial(Cloud(client, namespace, started.url), writes)
        writes += STRIDE
    assert writes > 5


async def test_a_registration_that_was_cut_off_is_taken_up_again(client: Client, connection: Connection) -> None:
    async def trial(cloud: Cloud, writes: int) -> bool:
        await ask(cloud)
        async with mortal(cloud, connection, writes) as wires:
            killed = await dies_or(wires, ready(cloud))
        async with cloud.operator():
            await ready(cloud)
            assert await cloud.catalog() == WHOLE, f"killed after {writes} writes"
            await delete(cloud)
            await cloud.swept()
        return killed

    await for_every_write(client, "taken-up", trial)


async def test_a_registration_that_was_cut_off_and_is_not_asked_for_any_more_goes(
    client: Client, connection: Connection
) -> None:
    async def trial(cloud: Cloud, writes: int) -> bool:
        await ask(cloud)
        async with mortal(cloud, connection, writes) as wires:
            killed = await dies_or(wires, ready(cloud))
        await delete(cloud)
        async with cloud.operator():
            await cloud.swept()
        return killed

    await for_every_write(client, "given-up", trial)


async def test_a_sweep_that_was_cut_off_is_taken_up_again(client: Client, connection: Connection) -> None:
    async def trial(cloud: Cloud, writes: int) -> bool:
        await ask(cloud)
        async with cloud.operator():
            await ready(cloud)
        await delete(cloud)
        async with mortal(cloud, connection, writes) as wires:
            killed = await dies_or(wires, cloud.swept())
        async with cloud.operator():
            await cloud.swept()
        return killed

    await for_every_write(client, "swept", trial)
