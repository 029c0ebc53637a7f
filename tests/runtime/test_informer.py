"""Informers on the fault server: what they list, follow, survive and report."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from structlog.testing import capture_logs

from stackwright.kube import metrics
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.clock import Clock
from stackwright.kube.informer import Change, Informer, Timing
from stackwright.kube.informers import Informers
from stackwright.kube.queue import Backoff
from stackwright.kube.resource import JsonObject, Key
from tests.runtime.conftest import Pauses
from tests.runtime.fault_server import Answer, FaultServer, Hang, Reset, line

SECONDS = 30.0


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Bugs are logged on purpose here, and structlog takes half a second to draw a traceback for a terminal."""
    with capture_logs():
        yield


def body(name: str, content: str = "1", *, namespace: str = "one", labels: dict[str, str] | None = None) -> JsonObject:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels or {}}, "data": {"content": content}}


def told(changes: list[Change[ConfigMap]]) -> list[str]:
    """Write changes shortly: +a 1 (added), a 1>2 (changed), -a (gone); initial ones with a star."""
    words = []
    for change in changes:
        name = change.resource.metadata.name
        old = change.old.data["content"] if change.old else ""
        new = change.new.data["content"] if change.new else ""
        word = f"+{name} {new}" if not old else f"-{name}" if not new else f"{name} {old}>{new}"
        words.append(word + ("*" if change.initial else ""))
    return words


class Following:
    """An informer that runs, and what it reported."""

    def __init__(self, informer: Informer[ConfigMap], server: FaultServer, pauses: Pauses) -> None:
        self.informer = informer
        self.server = server
        self.pauses = pauses
        self.changes: list[Change[ConfigMap]] = []
        self.waits: dict[str, asyncio.Event] = {}
        informer.subscribe(self.hear)

    def hear(self, change: Change[ConfigMap]) -> None:
        self.changes.append(change)
        self.waits.setdefault(told([change])[0], asyncio.Event()).set()

    async def hears(self, word: str) -> None:
        """Wait until that change is reported."""
        async with asyncio.timeout(SECONDS):
            await self.waits.setdefault(word, asyncio.Event()).wait()

    async def caught_up(self) -> None:
        """Wait until the informer has all that the server has; a bookmark tells it where the server is."""
        async with asyncio.timeout(SECONDS):
            await self.informer.synced()
        self.server.bookmark()
        assert await self.informer.reached(str(self.server.revision), SECONDS)

    def contents(self) -> dict[str, str]:
        return {item.metadata.name: item.data["content"] for item in self.informer.store.list()}

    def news(self) -> list[str]:
        words = told(self.changes)
        self.changes.clear()
        return words


Follow = Callable[..., contextlib.AbstractAsyncContextManager[Following]]


@pytest.fixture
def follow(client: Client, server: FaultServer) -> Follow:
    @contextlib.asynccontextmanager
    async def following(*, labels: str = "", namespace: str = "", **times: float) -> AsyncIterator[Following]:
        pauses = Pauses()
        backoff = Backoff(first=0.8, limit=30.0, chance=lambda: 0.0)
        timing = Timing(clock=Clock(sleep=pauses), backoff=backoff, **times)  # type: ignore[arg-type]  # times are floats
        informer = Informer(client, ConfigMap, namespace=namespace, labels=labels, timing=timing)
        task = asyncio.create_task(informer.run())
        try:
            yield Following(informer, server, pauses)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    return following


@pytest.fixture(params=[True, False], ids=["listed-in-the-stream", "listed-in-pages"])
def streaming(request: pytest.FixtureRequest, server: FaultServer) -> bool:
    server.streaming_list = request.param
    return server.streaming_list


async def test_what_is_there_is_reported_as_initial_and_what_comes_is_not(
    follow: Follow, server: FaultServer, streaming: bool
) -> None:
    server.put(ConfigMap, body("a"))
    server.put(ConfigMap, body("b"))
    async with follow() as following:
        await following.caught_up()
        assert following.news() == ["+a 1*", "+b 1*"]
        server.put(ConfigMap, body("a", "2"))
        server.put(ConfigMap, body("c"))
        server.remove(ConfigMap, "b", "one")
        await following.caught_up()
        assert following.news() == ["a 1>2", "+c 1", "-b"]
        assert following.contents() == {"a": "2", "c": "1"}
    assert [request.verb for request in server.requests] == (["watch"] if streaming else ["watch", "list", "watch"])


async def test_a_server_that_refuses_the_stream_is_asked_once(follow: Follow, server: FaultServer) -> None:
    server.streaming_list = False
    async with follow() as following:
        await following.caught_up()
        await server.streams_open(1)
        assert following.pauses == [], "a refusal is an answer, not a failure"
        server.put(ConfigMap, body("a"), silently=True)
        server.compact()
        server.cut_streams()
        await following.hears("+a 1")
    asked = [request for request in server.seen("watch") if "sendInitialEvents" in request.query]
    assert len(asked) == 1
    assert len(server.seen("list")) == 2


@pytest.mark.parametrize("code", [400, 405, 501])
async def test_any_refusal_of_the_wish_itself_leads_to_pages(follow: Follow, server: FaultServer, code: int) -> None:
    server.put(ConfigMap, body("a"))
    server.fault(Answer(code), on="watch")
    async with follow() as following:
        await following.caught_up()
        assert following.contents() == {"a": "1"}


async def test_a_server_that_never_ends_the_list_is_paged(follow: Follow, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    server.fault(Hang(), on="watch")
    async with follow(list_silence=0.05) as following:
        await following.caught_up()
        assert following.contents() == {"a": "1"}
    assert len(server.seen("list")) == 1


async def test_many_pages_make_one_list(client: Client, server: FaultServer) -> None:
    server.streaming_list = False
    for number in range(1201):
        server.put(ConfigMap, body(f"item-{number:04}"))
    informers = Informers(client, namespace="one")
    informer = informers.of(ConfigMap)
    task = asyncio.create_task(informer.run())
    await asyncio.wait_for(informer.synced(), SECONDS)
    assert len(informer.store) == 1201
    assert len(server.seen("list")) == 3
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.mark.usefixtures("streaming")
async def test_after_410_the_missed_deletes_are_reported_and_what_did_not_change_is_not(
    follow: Follow, server: FaultServer
) -> None:
    for name in ("same", "changed", "deleted", "made anew"):
        server.put(ConfigMap, body(name))
    relists = metrics.informer_relists_total.labels("ConfigMap", "gone")
    before = relists._value.get()
    async with follow() as following:
        await following.caught_up()
        following.news()
        # Nothing of this comes as an event, and the history is gone when the stream is opened again.
        server.put(ConfigMap, body("changed", "2"), silently=True)
        server.remove(ConfigMap, "deleted", "one", silently=True)
        server.remove(ConfigMap, "made anew", "one", silently=True)
        server.put(ConfigMap, body("made anew", "2"), silently=True)
        server.put(ConfigMap, body("new"), silently=True)
        server.compact()
        server.cut_streams()
        await server.streams_open(0)
        await server.streams_open(1)
        await following.caught_up()
        assert sorted(following.news()) == ["+made anew 2", "+new 1", "-deleted", "-made anew", "changed 1>2"]
        assert following.contents() == {"same": "1", "changed": "2", "made anew": "2", "new": "1"}
    assert relists._value.get() == before + 1


async def test_a_list_that_expires_between_pages_begins_anew(client: Client, server: FaultServer) -> None:
    server.streaming_list = False
    for number in range(600):
        server.put(ConfigMap, body(f"item-{number:03}"))
    server.fault(Answer(410), on="list", when=lambda request: "continue" in request.query)
    pauses = Pauses()
    informer = Informer(client, ConfigMap, timing=Timing(clock=Clock(sleep=pauses)))
    changes: list[Change[ConfigMap]] = []
    informer.subscribe(changes.append)
    task = asyncio.create_task(informer.run())
    await asyncio.wait_for(informer.synced(), SECONDS)
    assert len(changes) == len(informer.store) == 600, "what came before the interruption is not reported again"
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_a_cut_stream_goes_on_from_the_last_version(follow: Follow, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    async with follow() as following:
        await following.caught_up()
        server.put(ConfigMap, body("b"))
        await following.caught_up()
        seen = server.revision
        server.cut_streams(torn=b'{"type":"MODI')
        server.put(ConfigMap, body("a", "2"))
        await following.caught_up()
        assert following.contents() == {"a": "2", "b": "1"}
    assert not server.seen("list")
    # The stream that was cut, and one that goes on from where it was.
    assert [request.query.get("resourceVersion", "") for request in server.seen("watch")] == ["", str(seen)]


async def test_a_bookmark_moves_the_position(follow: Follow, server: FaultServer) -> None:
    async with follow() as following:
        await following.caught_up()
        server.revision += 50
        server.bookmark()
        assert await following.informer.reached(str(server.revision), SECONDS)
        server.cut_streams()
        await server.requested(2, verb="watch")
    assert server.seen("watch")[-1].query["resourceVersion"] == str(server.revision)


async def test_failures_back_off_and_a_success_starts_over(follow: Follow, server: FaultServer) -> None:
    server.fault(Answer(500), on="watch", times=8)
    async with follow() as following:
        await following.caught_up()
        assert following.pauses == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
        server.fault(Reset(), on="watch")
        server.cut_streams()
        await server.streams_open(0)
        await server.streams_open(1)
        await following.caught_up()
        assert following.pauses[8] == 0.8


async def test_streams_that_end_at_once_are_not_opened_in_a_tight_loop(follow: Follow, server: FaultServer) -> None:
    async with follow() as following:
        await following.caught_up()
        server.fault(Answer(200, body=b""), on="watch", times=5)
        server.cut_streams()
        await server.requested(7, verb="watch")
        await following.caught_up()
        assert len(following.pauses) == 6


async def test_a_version_that_is_refused_again_and_again_is_given_up(follow: Follow, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    async with follow() as following:
        await following.caught_up()
        server.fault(
            Answer(504, message="Too large resource version"),
            on="watch",
            times=1000,
            when=lambda request: "sendInitialEvents" not in request.query,
        )
        server.cut_streams()
        await server.streams_open(0)
        await server.streams_open(1)
        assert "sendInitialEvents" in server.seen("watch")[-1].query


async def test_a_kind_that_is_not_installed_is_said_once_and_followed_when_it_is(
    follow: Follow, server: FaultServer
) -> None:
    server.uninstalled.add("configmaps")
    async with follow() as following:
        await server.requested(3, verb="watch")
        assert not following.informer.has_synced
        assert "ConfigMap" in following.informer.trouble
        assert "\n" not in following.informer.trouble
        server.uninstalled.clear()
        await following.caught_up()
        assert following.informer.trouble == ""


async def test_a_silent_stream_is_noticed(follow: Follow, server: FaultServer) -> None:
    async with follow(bookmark_silence=0.05) as following:
        await following.caught_up()
        # A server that sends bookmarks is known by now; its next stream must not be silent for long.
        server.cut_streams()
        await server.streams_open(0)
        await server.streams_open(1)
        server.silence()
        server.put(ConfigMap, body("a"))
        await server.requested(3, verb="watch")
        server.heal()
        assert await following.informer.reached(str(server.revision), SECONDS)
        assert following.contents() == {"a": "1"}


async def test_an_event_that_comes_twice_is_reported_once(follow: Follow, server: FaultServer) -> None:
    async with follow() as following:
        await following.caught_up()
        server.duplicate_events(3)
        server.put(ConfigMap, body("a"))
        server.put(ConfigMap, body("a", "2"))
        server.remove(ConfigMap, "a", "one")
        await following.caught_up()
        assert following.news() == ["+a 1", "a 1>2", "-a"]


async def test_an_old_event_does_not_bring_back_what_is_gone(follow: Follow, server: FaultServer) -> None:
    old = server.put(ConfigMap, body("a"))
    async with follow() as following:
        await following.caught_up()
        server.remove(ConfigMap, "a", "one")
        server.send(line("MODIFIED", old))
        server.put(ConfigMap, body("b"))
        await following.caught_up()
        assert following.news() == ["+a 1*", "-a", "+b 1"]


async def test_an_old_delete_does_not_take_what_was_made_anew(follow: Follow, server: FaultServer) -> None:
    old = server.put(ConfigMap, body("a"))
    async with follow() as following:
        await following.caught_up()
        server.remove(ConfigMap, "a", "one")
        server.put(ConfigMap, body("a", "2"))
        server.send(line("DELETED", old))
        server.put(ConfigMap, body("b"))
        await following.caught_up()
        assert following.contents() == {"a": "2", "b": "1"}


@pytest.mark.usefixtures("streaming")
async def test_a_server_set_back_to_an_earlier_state_is_believed(follow: Follow, server: FaultServer) -> None:
    old = server.put(ConfigMap, body("a"))
    revision = server.revision
    async with follow() as following:
        await following.caught_up()
        for content in "2345":
            server.put(ConfigMap, body("a", content))
        await following.caught_up()
        assert following.contents() == {"a": "5"}
        # As after a restore of etcd: the same object at an older version, under a lower revision.
        server._objects[("", "v1", "configmaps")][Key("one", "a")] = old
        server.revision = revision
        server.compact()
        server.send_error(410, "Expired", "too old resource version")
        await following.hears("a 5>1")
        assert following.contents() == {"a": "1"}
        server.put(ConfigMap, body("a", "6"))
        await following.hears("a 1>6")


async def test_a_selector_hides_what_does_not_match(follow: Follow, server: FaultServer) -> None:
    server.put(ConfigMap, body("other"))
    server.put(ConfigMap, body("ours", labels={"color": "red"}))
    async with follow(labels="color=red", namespace="one") as following:
        await following.caught_up()
        server.put(ConfigMap, body("ours", labels={"color": "blue"}))
        server.put(ConfigMap, body("elsewhere", namespace="two", labels={"color": "red"}))
        await following.caught_up()
        assert following.news() == ["+ours 1*", "-ours"]
        assert not following.informer.covers(Key("one", "ours"))
        assert not following.informer.covers(Key("two", "elsewhere"))


async def test_a_handler_that_fails_stops_nobody(follow: Follow, server: FaultServer) -> None:
    async with follow() as following:

        def broken(change: Change[ConfigMap]) -> None:
            raise ValueError(change.resource.metadata.name)

        following.informer._handlers.insert(0, broken)
        server.put(ConfigMap, body("a"))
        await following.caught_up()
        server.put(ConfigMap, body("b"))
        await following.caught_up()
        assert following.contents() == {"a": "1", "b": "1"}
        assert len(following.news()) == 2


async def test_who_subscribes_late_is_told_what_is_there(follow: Follow, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    async with follow() as following:
        await following.caught_up()
        late: list[Change[ConfigMap]] = []
        following.informer.subscribe(late.append)
        assert told(late) == ["+a 1*"]


async def test_objects_are_transformed_before_they_are_kept(client: Client, server: FaultServer) -> None:
    def shorten(resource: ConfigMap) -> ConfigMap:
        if resource.metadata.name == "broken":
            raise ValueError
        return ConfigMap(metadata=resource.metadata)

    server.put(ConfigMap, body("a"))
    server.put(ConfigMap, body("broken"))
    informer = Informer(client, ConfigMap, transform=shorten)
    task = asyncio.create_task(informer.run())
    await asyncio.wait_for(informer.synced(), SECONDS)
    assert {item.metadata.name: item.data for item in informer.store.list()} == {"a": {}, "broken": {"content": "1"}}
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_waiting_for_a_version_is_woken_by_it_and_gives_up_in_time(follow: Follow, server: FaultServer) -> None:
    async with follow() as following:
        await following.caught_up()
        informer = following.informer
        assert await informer.reached(str(server.revision), 0.0)
        assert not await informer.reached(str(server.revision + 1), 0.01)
        waits = [asyncio.create_task(informer.reached(str(server.revision + more), SECONDS)) for more in (2, 1)]
        await asyncio.sleep(0)
        server.put(ConfigMap, body("a"))
        assert await waits[1]
        assert not waits[0].done()
        server.put(ConfigMap, body("b"))
        assert await waits[0]
        assert not informer._progress.waiting, "nobody is left behind"


async def test_each_watch_runs_for_a_random_time_between_five_and_ten_minutes(
    client: Client, server: FaultServer
) -> None:
    chances = iter([0.0, 0.5, 0.999])
    timing = Timing(clock=Clock(sleep=Pauses()), chance=lambda: next(chances))
    informer = Informer(client, ConfigMap, timing=timing)
    task = asyncio.create_task(informer.run())
    for opened in (1, 2, 3):
        await server.requested(opened, verb="watch")
        await server.streams_open(1)
        if opened < 3:
            server.cut_streams()
            await server.streams_open(0)
    assert [request.query["timeoutSeconds"] for request in server.seen("watch")] == ["300", "450", "600"]
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_informers_are_shared_and_may_come_later(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a", labels={"color": "red"}))
    informers = Informers(client)
    assert informers.of(ConfigMap) is informers.of(ConfigMap)
    with pytest.raises(LookupError, match="nobody follows ConfigMap; add it"):
        informers.store(ConfigMap, labels="color=red")
    with contextlib.suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            await informers.start(group)
            await asyncio.wait_for(informers.synced(), SECONDS)
            late = informers.of(ConfigMap, labels="color=red")
            assert informers.unsynced() == [late]
            await asyncio.wait_for(informers.synced(), SECONDS)
            assert len(informers.store(ConfigMap, labels="color=red")) == 1
            assert informers.caching(ConfigMap.kind) == informers.all()
            raise asyncio.CancelledError
