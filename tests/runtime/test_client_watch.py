"""Watches against a server whose streams are cut, torn, silent, and wrong."""

import asyncio
import json
import time
from contextlib import aclosing

import pytest

from stackwright.kube import decoding
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client, WatchEvent
from stackwright.kube.config import Connection
from stackwright.kube.errors import ApiError, Denied, Gone, Unreachable
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.transport import ATTEMPTS
from stackwright.kube.watch import Lines
from tests.runtime.conftest import Pauses
from tests.runtime.fault_objects import status_body
from tests.runtime.fault_server import Answer, FaultServer, Hang, line
from tests.runtime.things import Thing


def config_map(name: str = "a", **data: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "x"}, "data": data}


def told(event: WatchEvent[ConfigMap]) -> tuple[str, str]:
    return event.type, event.object.metadata.name


async def test_events_come_in_order(server: FaultServer, client: Client) -> None:
    async with aclosing(client.watch(ConfigMap, resource_version=str(server.revision))) as events:
        first = asyncio.ensure_future(anext(events))
        await server.streams_open(1)
        server.put(ConfigMap, config_map("a"))
        server.put(ConfigMap, config_map("a", b="1"))
        server.remove(ConfigMap, "a", "x")
        assert told(await first) == ("ADDED", "a")
        modified = await anext(events)
        assert (modified.type, modified.object.data) == ("MODIFIED", {"b": "1"})
        assert told(await anext(events)) == ("DELETED", "a")
        server.bookmark()
        bookmark = await anext(events)
        assert bookmark.type == "BOOKMARK"
        assert bookmark.object.metadata.resourceVersion == str(server.revision)
        assert not bookmark.initial_events_end
    await server.streams_open(0)


async def test_all_objects_come_first_when_asked_for(server: FaultServer, client: Client) -> None:
    for name in ("a", "b"):
        server.put(Thing, {"metadata": {"name": name, "namespace": "x"}, "spec": {"size": 1}})
    async with aclosing(client.watch(Thing, initial=True)) as events:
        seen = [await anext(events) for _ in range(3)]
    assert [(event.type, event.initial_events_end) for event in seen] == [
        ("ADDED", False),
        ("ADDED", False),
        ("BOOKMARK", True),
    ]
    # The type has a spec that must be there; a bookmark comes without one all the same.
    assert seen[2].object.metadata.resourceVersion == str(server.revision)
    query = server.seen("watch")[0].query
    assert (query["sendInitialEvents"], query["resourceVersionMatch"]) == ("true", "NotOlderThan")


async def test_a_watch_ends_with_its_time(server: FaultServer, client: Client) -> None:
    events = [event async for event in client.watch(ConfigMap, resource_version=str(server.revision), timeout=1)]
    assert events == []
    assert server.seen("watch")[0].query["timeoutSeconds"] == "1"


async def test_a_version_that_is_too_old_is_gone(server: FaultServer, client: Client) -> None:
    server.put(ConfigMap, config_map())
    server.compact()
    with pytest.raises(Gone, match="too old resource version"):
        await anext(client.watch(ConfigMap, resource_version="1"))


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        pytest.param(410, "Expired", Gone, id="gone"),
        pytest.param(403, "Forbidden", Denied, id="a-right-that-was-taken-away"),
        pytest.param(500, "InternalError", ApiError, id="an-error-of-the-server"),
    ],
)
async def test_an_error_event_is_raised(
    server: FaultServer, client: Client, code: int, reason: str, error: type[ApiError]
) -> None:
    watching = asyncio.ensure_future(anext(client.watch(ConfigMap, resource_version=str(server.revision))))
    await server.streams_open(1)
    server.send_error(code, reason, "the end")
    with pytest.raises(error, match="the end") as caught:
        await watching
    assert (type(caught.value), caught.value.code, caught.value.reason) == (error, code, reason)


BEHIND = line("ERROR", status_body(504, "Timeout", "Too large resource version"))


async def test_a_server_that_is_behind_is_asked_again(server: FaultServer, client: Client, pauses: Pauses) -> None:
    server.put(ConfigMap, config_map())
    server.fault(Answer(200, body=BEHIND), on="watch", times=2)
    async with aclosing(client.watch(ConfigMap, initial=True)) as events:
        assert told(await anext(events)) == ("ADDED", "a")
        assert len(pauses) == 2
        # What was told already would come again, so this is for the caller to decide.
        server.send(BEHIND)
        with pytest.raises(ApiError, match="Too large"):
            [event async for event in events]
    assert len(server.seen("watch")) == 3


async def test_a_server_that_stays_behind_is_an_error(server: FaultServer, client: Client) -> None:
    server.fault(Answer(200, body=BEHIND), on="watch", times=ATTEMPTS)
    with pytest.raises(ApiError, match="Too large"):
        await anext(client.watch(ConfigMap, initial=True))


async def test_an_error_event_of_a_type_with_a_status_of_its_own_is_raised(server: FaultServer, client: Client) -> None:
    watching = asyncio.ensure_future(anext(client.watch(Thing, resource_version=str(server.revision))))
    await server.streams_open(1)
    server.send(b'{"type": "ERROR", "object": {"nonsense": true}}\n')
    with pytest.raises(ApiError, match="nonsense"):
        await watching


async def test_an_answer_of_failure_is_raised(server: FaultServer, client: Client) -> None:
    server.fault(Answer(410), on="watch")
    with pytest.raises(Gone):
        await anext(client.watch(ConfigMap))
    server.streaming_list = False
    with pytest.raises(ApiError, match="WatchList feature gate") as caught:
        await anext(client.watch(ConfigMap, initial=True))
    assert caught.value.code == 422


async def test_a_watch_that_must_wait_waits(server: FaultServer, client: Client, pauses: Pauses) -> None:
    server.put(ConfigMap, config_map())
    server.fault(Answer(429, retry_after=3), on="watch", times=2)
    async with aclosing(client.watch(ConfigMap)) as events:
        assert told(await anext(events)) == ("ADDED", "a")
    assert pauses == [3.0, 3.0]
    server.fault(Answer(429), on="watch")
    with pytest.raises(ApiError, match="injected"):
        await anext(client.watch(ConfigMap))


async def test_lines_may_come_in_pieces(server: FaultServer, client: Client) -> None:
    whole = line("ADDED", {**config_map("b"), "kind": "ConfigMap"})
    async with aclosing(client.watch(ConfigMap, resource_version=str(server.revision))) as events:
        first = asyncio.ensure_future(anext(events))
        await server.streams_open(1)
        for start in range(0, len(whole), 7):
            server.send(whole[start : start + 7])
        assert told(await first) == ("ADDED", "b")
        server.send(b"\n" + whole + whole + whole[:10])
        assert [told(await anext(events)) for _ in range(2)] == [("ADDED", "b")] * 2
        server.send(whole[10:])
        assert told(await anext(events)) == ("ADDED", "b")


async def test_a_cut_stream_is_unreachable_and_half_a_line_is_no_event(server: FaultServer, client: Client) -> None:
    events = client.watch(ConfigMap, resource_version=str(server.revision))
    first = asyncio.ensure_future(anext(events))
    await server.streams_open(1)
    server.put(ConfigMap, config_map("a"))
    assert told(await first) == ("ADDED", "a")
    server.cut_streams(torn=line("ADDED", config_map("b"))[:-20])
    with pytest.raises(Unreachable, match="closed the connection"):
        await anext(events)


async def test_a_stream_that_hangs_before_its_head_is_noticed(server: FaultServer, client: Client) -> None:
    server.fault(Hang(), on="watch")
    with pytest.raises(Unreachable, match="did not answer in time"):
        await anext(client.watch(ConfigMap, silence=0.05))


async def test_a_silent_stream_is_noticed(server: FaultServer, client: Client) -> None:
    server.silence()
    watching = asyncio.ensure_future(anext(client.watch(ConfigMap, silence=0.1)))
    await server.streams_open(1)
    server.put(ConfigMap, config_map())
    with pytest.raises(Unreachable, match="did not answer in time"):
        await watching


async def test_nonsense_in_a_stream_is_not_an_event(server: FaultServer, client: Client) -> None:
    watching = asyncio.ensure_future(anext(client.watch(ConfigMap, resource_version=str(server.revision))))
    await server.streams_open(1)
    server.send(b'{"type": "ADDED", "object": {"meta\n')
    with pytest.raises(Unreachable, match="a line in a watch of ConfigMap that is not JSON"):
        await watching


async def test_an_object_that_does_not_fit_is_left_out_alone(server: FaultServer, client: Client) -> None:
    async with aclosing(client.watch(Thing, resource_version=str(server.revision))) as events:
        first = asyncio.ensure_future(anext(events))
        await server.streams_open(1)
        server.put(Thing, {"metadata": {"name": "a", "namespace": "x"}, "spec": {"size": "huge"}})
        server.put(Thing, {"metadata": {"name": "b", "namespace": "x"}, "spec": {"size": 2}})
        assert (await first).object.spec.size == 2
        # That it is gone must be known all the same.
        server.remove(Thing, "a", "x")
        gone = await anext(events)
        assert (gone.type, gone.object.key) == ("DELETED", Key("x", "a"))
        assert gone.object.metadata.resourceVersion == str(server.revision)


class Hours:
    """A clock by which everything takes long."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.mark.parametrize(
    ("step", "least", "most"),
    [
        pytest.param(0.03, 900, 5000, id="slow-work-gives-way-after-each-event"),
        pytest.param(0.001, 40, 200, id="quick-work-gives-way-now-and-then"),
    ],
)
async def test_a_burst_leaves_turns_to_others(
    server: FaultServer, connection: Connection, step: float, least: int, most: int
) -> None:
    """Thousands of events that came at once are not read at once."""
    burst = b"".join(line("ADDED", config_map(f"a{number}")) for number in range(1001))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with (
        Client(connection, clock=Hours(step)) as client,
        aclosing(client.watch(ConfigMap, resource_version=str(server.revision))) as events,
    ):
        first = asyncio.ensure_future(anext(events))
        await server.streams_open(1)
        server.send(burst)
        await first
        beside = asyncio.create_task(other())
        for _ in range(1000):
            await anext(events)
        beside.cancel()
    assert least <= turns <= most


async def test_a_large_page_leaves_turns_to_others() -> None:
    item = json.dumps({**config_map(text="t" * 4000), "kind": "ConfigMap"})
    body = f'{{"metadata": {{"resourceVersion": "7"}}, "items": [{",".join([item] * 1000)}]}}'.encode()
    assert len(body) > decoding.ONE_GO
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    beside = asyncio.create_task(other())
    page = await decoding.page(ConfigMap, body, decoding.Turn(Hours(0.03)))
    beside.cancel()
    assert (len(page.items), page.resource_version) == (1000, "7")
    assert turns >= 999


def test_a_long_line_is_not_copied_again_and_again() -> None:
    """A line of 64 MB in chunks of 16 KB takes as long per chunk as one of 4 MB, within reason."""

    def cost(megabytes: int) -> float:
        lines = Lines()
        chunk = b"x" * 2**14
        start = time.process_time()
        for _ in range(megabytes * 64):
            assert lines.feed(chunk) == []
        (whole,) = lines.feed(b"\n")
        assert len(whole) == megabytes * 2**20
        return (time.process_time() - start) / megabytes

    assert min(cost(64) for _ in range(3)) < 8 * min(cost(4) for _ in range(3)) + 0.005


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"a\nb\n"], [b"a", b"b"], id="two-in-one"),
        pytest.param([b"a", b"b\n", b"c\n"], [b"ab", b"c"], id="one-in-two"),
        pytest.param([b"a\nb", b"", b"c", b"\nd"], [b"a", b"bc"], id="half-a-line-at-the-end"),
        pytest.param([b"a", b"\n", b"\n", b"b\n"], [b"a", b"", b"b"], id="an-empty-line"),
        pytest.param([json.dumps("é").encode()[:3], json.dumps("é").encode()[3:] + b"\n"], [b'"\\u00e9"'], id="é"),
    ],
)
def test_chunks_are_cut_into_lines(chunks: list[bytes], expected: list[bytes]) -> None:
    lines = Lines()
    assert [line for chunk in chunks for line in lines.feed(chunk)] == expected
