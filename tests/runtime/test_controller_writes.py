"""Controllers on the fault server: what comes after a write."""

import asyncio

import pytest

from stackwright.kube import workers
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Result
from stackwright.kube.errors import Retry
from stackwright.kube.resource import Key
from tests.runtime.controlling import Runs, body, controller, idle, quiet, running
from tests.runtime.fault_server import FaultServer

__all__ = ["quiet"]


async def test_a_key_does_not_run_again_before_the_cache_has_what_it_wrote(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a", "0"))
    seen: list[str] = []

    async def count(key: Key, context: Context) -> Result | None:
        found = context.store(ConfigMap).get(key)
        assert found is not None
        seen.append(found.data["content"])
        if len(seen) == 1:
            server.silence()
        if len(seen) < 3:
            await context.client.apply(ConfigMap, body(key.name, str(int(found.data["content"]) + 1)))
        return Result(after=0.001)

    runs = Runs(count)
    async with running(client, controller(runs)):
        await server.requested(1, verb="apply")
        await runs.reach("a")
        # The delay is long over; only the cache holds the key back.
        await asyncio.wait([asyncio.ensure_future(runs.reach("a", "a"))], timeout=0.05)
        assert seen == ["0"]
        server.heal()
        server.cut_streams()
        await runs.reach("a", "a", "a")
    assert seen[:3] == ["0", "1", "2"]


async def test_a_cache_that_stays_behind_is_not_waited_for_longer(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CACHE_PATIENCE", 0.02)
    server.put(ConfigMap, body("a"))

    async def write(key: Key, context: Context) -> Result | None:
        if len(runs.names) > 1:
            return None
        server.silence()
        await context.client.apply(ConfigMap, body(key.name, "2"))
        return Result(after=0.001)

    runs = Runs(write)
    async with running(client, controller(runs)):
        await runs.reach("a", "a")


async def test_a_write_of_a_kind_that_nobody_follows_is_not_waited_for(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))

    async def write(key: Key, context: Context) -> Result | None:
        await context.client.apply(Secret, body(key.name, str(len(runs.names))))
        return Result(after=0.001)

    runs = Runs(write)
    async with running(client, controller(runs)):
        await runs.reach("a", "a", "a")


async def test_a_failed_run_waits_for_its_writes_as_well(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a", "0"))
    seen: list[str] = []

    async def write_and_fail(key: Key, context: Context) -> None:
        found = context.store(ConfigMap).get(key)
        assert found is not None
        seen.append(found.data["content"])
        if len(seen) < 4:
            await context.client.apply(ConfigMap, body(key.name, str(len(seen))))
            raise Retry("again", after=0.0)

    runs = Runs(write_and_fail)
    async with running(client, controller(runs)):
        await runs.reach("a", "a", "a", "a")
    assert seen[:4] == ["0", "1", "2", "3"]


async def test_a_kind_that_is_not_declared_cannot_be_read(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    messages: list[str] = []

    async def read(_key: Key, context: Context) -> None:
        try:
            context.store(Secret)
        except LookupError as error:
            messages.append(str(error))

    runs = Runs(read)
    async with running(client, controller(runs)) as runtime:
        await runs.reach("a")
        await idle(runtime)
    assert messages == ["nobody follows Secret; add it to the controller's owns, watches or reads"]
