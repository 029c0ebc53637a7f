"""Drives an informer and a misbehaving server through random histories.

After quiescence the store equals the server, and so does what a subscriber can fold from the changes it was
told; and nobody is ever told an older version of an object after a newer one.
"""

import asyncio
import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.clock import Clock
from stackwright.kube.config import Connection
from stackwright.kube.informer import Change, Informer, Timing
from stackwright.kube.resource import JsonObject, Key
from tests.runtime.fault_server import Answer, Effect, FaultServer, Reset, line

NAMES = st.sampled_from(["a", "b", "c", "d"])
SECONDS = 10.0


class Folded:
    """A subscriber that believes what it is told, and minds when that cannot be."""

    def __init__(self) -> None:
        self.objects: dict[Key, ConfigMap] = {}
        self.latest: dict[str, int] = {}

    def hear(self, change: Change[ConfigMap]) -> None:
        key = change.resource.key
        assert change.old == self.objects.get(key), "the old state is what was told last"
        if change.new is None:
            del self.objects[key]
            return
        metadata = change.new.metadata
        version = int(metadata.resourceVersion)
        assert version > self.latest.get(metadata.uid, 0), "an older version, or the same once more"
        assert change.old is None or change.old.metadata.uid == metadata.uid, "two lives in one change"
        self.latest[metadata.uid] = version
        self.objects[key] = change.new


class InformerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.loop = self.runner.get_loop()
        self.content = 0
        self.problems: list[str] = []
        self.ended: list[JsonObject] = []

    def run(self, *steps: int) -> None:
        """Let the informer get on by some turns of the loop, which may end in the middle of anything."""

        async def turns() -> None:
            for _ in range(sum(steps)):
                await asyncio.sleep(0)

        self.runner.run(turns())

    @initialize(streaming=st.booleans(), names=st.sets(NAMES))
    def begin(self, streaming: bool, names: set[str]) -> None:
        self.runner.run(self._begin(streaming))
        for name in sorted(names):
            self.put(name)

    async def _begin(self, streaming: bool) -> None:
        self.server = FaultServer()
        await self.server.start()
        self.server.streaming_list = streaming
        self.client = Client(Connection(server=self.server.url, source="a test"), timeout=5, sleep=self._pause)
        self.informer = Informer(self.client, ConfigMap, timing=Timing(clock=Clock(sleep=self._pause)))
        self.folded = Folded()
        # What the subscriber minds is kept, because the informer survives a handler that fails.
        self.informer.subscribe(self._hear)
        self.task = asyncio.create_task(self.informer.run())

    async def _pause(self, _seconds: float) -> None:
        await asyncio.sleep(0)

    def _hear(self, change: Change[ConfigMap]) -> None:
        try:
            self.folded.hear(change)
        except AssertionError as error:
            self.problems.append(str(error))

    @rule(name=NAMES)
    def put(self, name: str) -> None:
        self.content += 1
        metadata = {"name": name, "namespace": "one"}
        self.server.put(ConfigMap, {"metadata": metadata, "data": {"content": str(self.content)}})

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        found = self.server.object(ConfigMap, name, "one")
        if found is not None:
            self.ended.append(found)
            self.server.remove(ConfigMap, name, "one")

    @rule(name=NAMES)
    def make_anew(self, name: str) -> None:
        self.remove(name)
        self.put(name)

    @rule(turns=st.integers(1, 60))
    def time_passes(self, turns: int) -> None:
        self.run(turns)

    @rule()
    def compact(self) -> None:
        self.server.compact()

    @rule()
    def bookmark(self) -> None:
        self.server.bookmark()

    @rule(torn=st.sampled_from([b"", b'{"type":"ADDED","obj', b"\n"]))
    def cut(self, torn: bytes) -> None:
        self.server.cut_streams(torn=torn)

    @rule(changes=st.lists(st.tuples(st.sampled_from(["put", "remove", "make_anew"]), NAMES), min_size=1, max_size=5))
    def miss_changes_for_good(self, changes: list[tuple[str, str]]) -> None:
        """Nobody hears of these, and the history that would tell is gone."""
        self.quiescence()
        self.server.cut_streams()
        for change, name in changes:
            getattr(self, change)(name)
        self.server.compact()

    @rule(count=st.integers(1, 4))
    def duplicate(self, count: int) -> None:
        self.server.duplicate_events(count)

    @precondition(lambda self: self.ended)
    @rule(data=st.data(), event=st.sampled_from(["ADDED", "MODIFIED", "DELETED"]))
    def replay_what_ended(self, data: st.DataObject, event: str) -> None:
        self.server.send(line(event, data.draw(st.sampled_from(self.ended))))

    @rule()
    def lose_the_streams(self) -> None:
        """What is sent from now on goes nowhere, until the streams are found dead."""
        self.server.silence()

    @rule()
    def find_the_streams_dead(self) -> None:
        # Once the server speaks again, what a stream did not get cannot come any more: it is dead.
        self.server.cut_streams()
        self.run(3)
        self.server.heal()
        self.server.cut_streams()

    @rule(
        effect=st.sampled_from([Answer(500), Answer(503), Answer(429, retry_after=1), Answer(410), Reset()]),
        on=st.sampled_from(["watch", "list"]),
        times=st.integers(1, 3),
    )
    def fail(self, effect: Effect, on: str, times: int) -> None:
        self.server.fault(effect, on=on, times=times)

    @rule(code=st.sampled_from([410, 500]))
    def error_in_the_stream(self, code: int) -> None:
        self.server.send_error(code, "Expired" if code == 410 else "InternalError", "injected")

    @rule()
    def restart_the_server(self) -> None:
        self.runner.run(self._restart())

    async def _restart(self) -> None:
        await self.server.stop()
        await self.server.start()

    @rule()
    def quiescence(self) -> None:
        self.find_the_streams_dead()
        self.runner.run(self._settle())
        there = {
            item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in self.server.objects(ConfigMap)
        }
        stored = {item.metadata.name: item.metadata.resourceVersion for item in self.informer.store.list()}
        heard = {item.metadata.name: item.metadata.resourceVersion for item in self.folded.objects.values()}
        assert not self.problems, self.problems
        assert stored == there
        assert heard == there
        assert not self.informer._progress.waiting

    async def _settle(self) -> None:
        # A last change tells when everything before it has arrived.
        self.put("last")
        assert await self.informer.reached(str(self.server.revision), SECONDS), self.informer.trouble
        assert self.informer.has_synced

    def teardown(self) -> None:
        try:
            if hasattr(self, "task"):
                self.quiescence()
        finally:
            if hasattr(self, "task"):
                self.runner.run(self._end())
            self.runner.close()

    async def _end(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task
        await self.client.close()
        await self.server.stop()


TestInformerMachine = InformerMachine.TestCase
TestInformerMachine.settings = settings(max_examples=60, stateful_step_count=30)
