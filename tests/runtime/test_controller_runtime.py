"""The runtime as a whole: caches that do not fill, leading, services, health, signals."""

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import Callable

import aiohttp
import pytest
from structlog.testing import capture_logs

from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Context, Controller
from stackwright.kube.health import HealthServer
from stackwright.kube.leader import Election
from stackwright.kube.resource import Key
from stackwright.kube.runtime import GC_THRESHOLDS, Runtime, Settings, serve
from tests.runtime.fault_server import FaultServer
from tests.runtime.runtimes import SECONDS, quick, started

NAMED = {"metadata": {"name": "a", "namespace": "one"}}


class Seen:
    """A controller that tells when it ran."""

    def __init__(self) -> None:
        self.count = 0
        self.ran = asyncio.Event()

    async def __call__(self, _key: Key, _context: Context) -> None:
        self.count += 1
        self.ran.set()

    async def once(self) -> None:
        async with asyncio.timeout(SECONDS):
            await self.ran.wait()
        self.ran.clear()


async def test_a_kind_that_is_not_installed_holds_up_its_own_controller_alone(
    client: Client, server: FaultServer
) -> None:
    server.uninstalled.add("secrets")
    server.put(ConfigMap, NAMED)
    server.put(Secret, NAMED)
    installed, missing = Seen(), Seen()
    controllers = (
        Controller(name="installed", kind=ConfigMap, reconcile=installed),
        Controller(name="missing", kind=Secret, reconcile=missing),
    )
    runtime = Runtime(client, controllers, settings=quick(patience=0.02))
    with capture_logs() as logs:
        async with started(runtime):
            await installed.once()
            assert missing.count == 0
            async with asyncio.timeout(SECONDS):
                while not any(entry["event"] == "caches are not complete" for entry in logs):
                    await server.requested(len(server.requests) + 1)
            sentence = runtime.unready()
            server.uninstalled.clear()
            await missing.once()
            assert runtime.unready() == ""
    assert "Secret" in sentence
    assert "ConfigMap" not in sentence
    warned = [entry for entry in logs if entry.get("kind") == "Secret" and entry["log_level"] == "warning"]
    assert len(warned) == 1, "said once, however often it is tried"


@pytest.mark.parametrize("use", ["owns", "reads"])
async def test_a_controller_begins_when_all_that_it_needs_is_in_the_cache(
    client: Client, server: FaultServer, use: str
) -> None:
    server.uninstalled.add("secrets")
    server.put(ConfigMap, NAMED)
    server.put(Secret, NAMED)
    known: list[int] = []

    async def look(_key: Key, context: Context) -> None:
        known.append(len(context.store(Secret)))
        looked.set()

    looked = asyncio.Event()
    needy = Controller(**{"name": "needy", "kind": ConfigMap, "reconcile": look, use: (Secret,)})  # type: ignore[arg-type]  # made from a table
    runtime = Runtime(client, (needy,), settings=quick())
    async with started(runtime):
        await asyncio.wait_for(runtime.informers.of(ConfigMap).synced(), SECONDS)
        await server.requested(len(server.requests) + 3)
        assert known == []
        server.uninstalled.clear()
        await asyncio.wait_for(looked.wait(), SECONDS)
    assert known[0] == 1


async def test_two_controllers_of_one_name_are_refused(client: Client) -> None:
    controllers = [Controller(name="twin", kind=kind, reconcile=Seen()) for kind in (ConfigMap, Secret)]
    with pytest.raises(ValueError, match="two controllers are called twin"):
        Runtime(client, controllers)


async def test_one_of_two_processes_works_and_the_other_takes_over(
    connection: Connection, client: Client, server: FaultServer
) -> None:
    server.put(ConfigMap, NAMED)
    async with Client(connection) as other:
        runs = Seen(), Seen()
        runtimes = [
            Runtime(
                each,
                (Controller(name=f"process-{number}", kind=ConfigMap, reconcile=runs[number]),),
                election=Election(each, "lock", "one", f"process-{number}", lease=0.6, renew=0.4, retry=0.05),
                settings=quick(),
            )
            for number, each in enumerate((client, other))
        ]
        async with started(runtimes[1]), started(runtimes[0]):
            waits = [asyncio.create_task(seen.once()) for seen in runs]
            done, waiting = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            assert len(done) == 1
            leader = waits.index(done.pop())
            for task in waiting:
                task.cancel()
            server.put(ConfigMap, {**NAMED, "data": {"content": "2"}})
            await runs[leader].once()
            assert runs[1 - leader].count == 0
            runtimes[leader].stop()
            await runs[1 - leader].once()


async def test_processes_that_share_a_part_of_the_work_divide_it(
    connection: Connection, client: Client, server: FaultServer
) -> None:
    """One runs the maps and the secrets, the other the secrets alone: who has the secrets' lease does them."""
    server.put(ConfigMap, NAMED)
    server.put(Secret, NAMED)
    maps, secrets, alone = Seen(), Seen(), Seen()

    def elected(each: Client) -> Callable[[Controller], Election]:
        found = {
            kind: Election(each, kind.kind.plural, "one", "process", lease=0.6, renew=0.4, retry=0.05)
            for kind in (ConfigMap, Secret)
        }
        return lambda controller: found[controller.kind]  # type: ignore[index]  # of one of the two kinds

    async with Client(connection) as other:
        single = Controller(name="alone", kind=Secret, reconcile=alone)
        both = (
            Controller(name="maps", kind=ConfigMap, reconcile=maps),
            Controller(name="secrets", kind=Secret, reconcile=secrets),
        )
        whole = Runtime(client, both, election=elected(client), settings=quick())
        first = Runtime(other, (single,), election=elected(other), settings=quick())
        async with started(first):
            await alone.once()
            async with started(whole):
                await maps.once()
                server.put(Secret, {**NAMED, "type": "Opaque"})
                await alone.once()
                assert secrets.count == 0
                # The one that leads goes, and the other takes its part over beside what it does already.
                first.stop()
                await secrets.once()
                assert maps.count == 1


async def test_a_key_that_stands_is_looked_at_though_nothing_is_there(client: Client) -> None:
    keys: list[Key] = []
    looked = asyncio.Event()

    async def look(key: Key, _context: Context) -> None:
        keys.append(key)
        looked.set()

    standing = (Key("one", "absent"),)
    controllers = (Controller(name="standing", kind=ConfigMap, reconcile=look, standing=standing),)
    async with started(Runtime(client, controllers, settings=quick())):
        await asyncio.wait_for(looked.wait(), SECONDS)
    assert keys == list(standing)


async def test_of_some_kinds_another_namespace_is_looked_at(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, NAMED)
    server.put(Secret, {"metadata": {"name": "a", "namespace": "two"}})
    controllers = (Controller(name="here", kind=ConfigMap, reconcile=Seen(), reads=(Secret,)),)
    runtime = Runtime(client, controllers, namespace="one", places={Secret: "two"}, settings=quick())
    async with started(runtime):
        await asyncio.wait_for(runtime.informers.synced(), SECONDS)
        assert runtime.informers.of(Secret).namespace == "two"
        assert [found.key for found in runtime.informers.store(Secret).list()] == [Key("two", "a")]


async def test_a_candidate_that_never_led_stops_at_once(client: Client, server: FaultServer) -> None:
    async with Client(Connection(server=server.url, source="a test")) as other:
        holder = Election(other, "lock", "one", "holder")
        leading = asyncio.Event()

        async def lead() -> None:
            leading.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(holder.run(lead))
        await asyncio.wait_for(leading.wait(), SECONDS)
        seen = Seen()
        election = Election(client, "lock", "one", "candidate")
        controllers = (Controller(name="candidate", kind=ConfigMap, reconcile=seen),)
        async with started(Runtime(client, controllers, election=election)) as running:
            await server.streams_open(1)
        assert running.done()
        assert seen.count == 0
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_services_run_beside_and_end_with_the_runtime(client: Client) -> None:
    steps: list[str] = []
    begun = asyncio.Event()

    async def service() -> None:
        steps.append("begun")
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("ended")

    async with started(Runtime(client, (), services=(service,))):
        await asyncio.wait_for(begun.wait(), SECONDS)
        assert steps == ["begun"]
    assert steps == ["begun", "ended"]


async def test_a_service_that_fails_ends_the_runtime_loudly(client: Client) -> None:
    async def service() -> None:
        raise OSError("the port is taken")

    with pytest.raises(ExceptionGroup) as caught:
        await asyncio.wait_for(Runtime(client, (), services=(service,)).run(), SECONDS)
    assert caught.group_contains(OSError, match="the port is taken")


async def test_readiness_says_which_cache_is_missing(client: Client, server: FaultServer) -> None:
    server.uninstalled.add("configmaps")
    health = HealthServer(host="127.0.0.1", port=0)
    seen = Seen()
    controllers = (Controller(name="ready", kind=ConfigMap, reconcile=seen),)
    async with started(Runtime(client, controllers, health=health, settings=quick())), aiohttp.ClientSession() as http:
        await server.requested(2)
        async with http.get(f"http://127.0.0.1:{health.port}/readyz") as answer:
            assert answer.status == 500
            assert "ConfigMap" in await answer.text()
        server.uninstalled.clear()
        server.put(ConfigMap, NAMED)
        await seen.once()
        async with http.get(f"http://127.0.0.1:{health.port}/readyz") as answer:
            assert answer.status == 200


async def test_events_are_written_before_the_end(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, NAMED)
    told = asyncio.Event()

    async def tell(key: Key, context: Context) -> None:
        resource = context.store(ConfigMap).get(key)
        if resource is not None and not told.is_set():
            context.events.event(resource, "Normal", "Seen", "It was seen.")
            told.set()

    async with started(Runtime(client, (Controller(name="teller", kind=ConfigMap, reconcile=tell),))):
        await asyncio.wait_for(told.wait(), SECONDS)
    created = server.seen("create")
    assert [request.body["reason"] for request in created] == ["Seen"]
    assert created[0].body["reportingController"] == "teller"


async def test_a_process_of_its_own_tunes_the_collector_and_puts_it_back(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, NAMED)
    before = gc.get_threshold()
    inside: list[tuple[int, int, int]] = []

    async def look(_key: Key, _context: Context) -> None:
        inside.append(gc.get_threshold())
        seen.set()

    seen = asyncio.Event()
    controllers = (Controller(name="collected", kind=ConfigMap, reconcile=look),)
    async with started(Runtime(client, controllers, settings=Settings(own_process=True))):
        await asyncio.wait_for(seen.wait(), SECONDS)
    assert inside[0] == GC_THRESHOLDS
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


async def test_the_first_signal_drains_and_the_second_does_not(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, NAMED)
    begun, gate = asyncio.Event(), asyncio.Event()
    finished: list[str] = []

    async def slowly(key: Key, _context: Context) -> None:
        begun.set()
        await gate.wait()
        finished.append(key.name)

    controllers = (Controller(name="slow", kind=ConfigMap, reconcile=slowly),)
    for signals, expected in ((1, ["a"]), (2, [])):
        begun.clear()
        gate.clear()
        finished.clear()
        runtime = Runtime(client, controllers)
        task = asyncio.create_task(serve(runtime, signals=(signal.SIGUSR1,)))
        await asyncio.wait_for(begun.wait(), SECONDS)
        for _ in range(signals):
            os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(runtime._stopping.wait(), SECONDS)
        if signals == 1:
            gate.set()
        await asyncio.wait_for(task, SECONDS)
        assert finished == expected


@pytest.mark.parametrize("everything_counts", [True, False])
async def test_work_goes_on_after_the_lead_was_lost_and_won_back(
    client: Client, server: FaultServer, everything_counts: bool
) -> None:
    """The same workers run again. They look at everything, for another leader may have left anything behind, and
    at what they had in hand, even where a predicate keeps out the rest.
    """
    server.put(ConfigMap, NAMED)
    begun = asyncio.Event()
    count = 0

    async def hang(_key: Key, _context: Context) -> None:
        nonlocal count
        count += 1
        begun.set()
        if not everything_counts or count == 1:
            await asyncio.Event().wait()

    again = Controller(
        name="again", kind=ConfigMap, reconcile=hang, when=lambda change: everything_counts or not change.initial
    )
    runtime = Runtime(client, (again,), settings=quick())
    async with asyncio.TaskGroup() as group:
        informers = group.create_task(_informers(runtime))
        await asyncio.wait_for(runtime.informers.synced(), SECONDS)
        for time in range(3):
            begun.clear()
            (team,) = runtime._teams.values()
            lead = asyncio.create_task(runtime._lead(team))
            if time == 0:
                while not runtime.workers[0]._active:
                    await asyncio.sleep(0)
                server.put(ConfigMap, {**NAMED, "data": {"content": "2"}})
            await asyncio.wait_for(begun.wait(), SECONDS)
            lead.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await lead
        informers.cancel()
    assert count == 3


async def test_who_stands_by_collects_no_keys(client: Client, server: FaultServer) -> None:
    idle = Controller(name="idle", kind=ConfigMap, reconcile=_nothing)
    runtime = Runtime(client, (idle,), settings=quick())
    async with asyncio.TaskGroup() as group:
        informers = group.create_task(_informers(runtime))
        await asyncio.wait_for(runtime.informers.synced(), SECONDS)
        server.put(ConfigMap, NAMED)
        server.put(ConfigMap, {**NAMED, "data": {"content": "2"}})
        server.remove(ConfigMap, NAMED["metadata"]["name"], NAMED["metadata"]["namespace"])
        last = server.put(ConfigMap, {**NAMED, "data": {"content": "3"}})
        version = last["metadata"]["resourceVersion"]
        assert await runtime.informers.of(ConfigMap).reached(version, SECONDS)
        assert len(runtime.workers[0].queue) == 0
        informers.cancel()


async def _nothing(_key: Key, _context: Context) -> None:
    return


async def _informers(runtime: Runtime) -> None:
    async with asyncio.TaskGroup() as group:
        await runtime.informers.start(group)
