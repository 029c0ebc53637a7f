"""Controllers on the fault server: stopping, and starting again."""

import asyncio

import pytest

from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.resource import Key, owner_reference
from stackwright.kube.runtime import Runtime, Settings
from tests.runtime.controlling import SECONDS, Runs, body, caught_up, controller, quiet, running
from tests.runtime.fault_server import Answer, FaultServer

__all__ = ["quiet"]


async def test_stopping_finishes_what_is_in_hand_and_begins_nothing(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    server.put(ConfigMap, body("b"))
    gate = asyncio.Event()
    finished: list[str] = []

    async def slowly(key: Key, _context: Context) -> None:
        await gate.wait()
        finished.append(key.name)

    runs = Runs(slowly)
    async with running(client, controller(runs, workers=1)) as runtime:
        await runs.reach("a")
        runtime.stop()
        await asyncio.sleep(0)
        assert finished == []
        gate.set()
    assert finished == ["a"]
    assert runs.names == ["a"]


async def test_stopping_has_a_bound(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    ended: list[str] = []

    async def never(_key: Key, _context: Context) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    runs = Runs(never)
    async with running(client, controller(runs), settings=Settings(drain=0.05)):
        await runs.reach("a")
    assert ended == ["cancelled"]


async def test_stopping_does_not_wait_for_the_cache(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))

    async def write(key: Key, context: Context) -> None:
        server.silence()
        await context.client.apply(ConfigMap, body(key.name, "2"))

    runs = Runs(write)
    async with running(client, controller(runs)) as runtime:
        async with asyncio.timeout(SECONDS):
            while not runtime.workers[0]._settling:
                await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        runtime.stop()
    assert asyncio.get_running_loop().time() - began < 2.0


async def copy_to_secret(key: Key, context: Context) -> Result | None:
    """A controller of the size of an example: every ConfigMap has a Secret of the same content, which it owns."""
    source = context.store(ConfigMap).get(key)
    if source is None:
        return None
    copy = context.store(Secret).get(key)
    if copy is None or copy.data != source.data:
        metadata = {"name": key.name, "namespace": key.namespace, "ownerReferences": [owner_reference(source)]}
        await context.client.apply(Secret, {"metadata": metadata, "data": source.data})
    if source.metadata.annotations.get("copied") != source.data["content"]:
        note = {"metadata": {"annotations": {"copied": source.data["content"]}}}
        await context.client.patch(ConfigMap, key.name, key.namespace, note)
    return None


@pytest.mark.parametrize("crash_at", range(1, 7))
async def test_a_crash_in_the_middle_and_a_restart_converge(client: Client, server: FaultServer, crash_at: int) -> None:
    """Cancel everything at the n-th write, before or after the server carried it out; then start anew."""
    for name in ("a", "b", "c"):
        server.put(ConfigMap, body(name))
    example = Controller(name="copy", kind=ConfigMap, reconcile=copy_to_secret, owns=(Secret,), workers=2)
    first = asyncio.create_task(Runtime(client, (example,)).run())
    writes = 0
    while writes < crash_at:
        await server.requested(len(server.requests) + 1)
        writes = len(server.seen("apply")) + len(server.seen("patch"))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    server.put(ConfigMap, body("d"))
    server.remove(ConfigMap, "a", "one")
    async with running(client, example) as runtime:
        await caught_up(runtime, server)
        await caught_up(runtime, server)
    for name in ("b", "c", "d"):
        copy, source = server.object(Secret, name, "one"), server.object(ConfigMap, name, "one")
        assert copy is not None
        assert source is not None
        assert copy["data"] == source["data"] == {"content": "1"}
        assert source["metadata"]["annotations"] == {"copied": "1"}


async def test_a_run_under_faults_converges(client: Client, server: FaultServer) -> None:
    example = Controller(name="copy", kind=ConfigMap, reconcile=copy_to_secret, owns=(Secret,))
    async with running(client, example) as runtime:
        for number in range(40):
            server.put(ConfigMap, body(f"item-{number}", str(number)))
            if number % 7 == 0:
                server.fault(Answer(500), on="apply", times=2)
                server.cut_streams()
            if number % 11 == 0:
                server.compact()
                server.fault(Answer(503, retry_after=0), on="watch")
            await asyncio.sleep(0)
        server.heal()
        async with asyncio.timeout(20):
            while len(server.objects(Secret)) < 40 or not all(
                "copied" in item["metadata"].get("annotations", {}) for item in server.objects(ConfigMap)
            ):
                await server.requested(len(server.requests) + 1, timeout=20)
        await caught_up(runtime, server)
    assert {item["metadata"]["name"]: item["data"] for item in server.objects(Secret)} == {
        f"item-{number}": {"content": str(number)} for number in range(40)
    }
