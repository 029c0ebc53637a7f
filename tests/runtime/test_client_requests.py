"""The client's requests against a server that fails: what is tried again, what is not, and what a caller sees."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from stackwright.kube.builtin import ConfigMap, Event, Lease, Namespace
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Denied,
    Gone,
    KindNotInstalled,
    NotFound,
    TypedPatchRefused,
    Unreachable,
)
from stackwright.kube.resource import JsonObject, Key, Kind, ObjectMeta
from stackwright.kube.transport import ATTEMPTS
from tests.runtime.conftest import Pauses
from tests.runtime.fault_server import Answer, CutBody, FaultServer, Hang, Reset, Slow
from tests.runtime.things import Thing


def config_map(name: str = "a", **data: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "x"}, "data": data}


# What works when nothing fails.


async def test_objects_are_created_read_changed_and_deleted(server: FaultServer, client: Client) -> None:
    created = await client.create(ConfigMap, config_map(a="1"))
    assert created.data == {"a": "1"}
    assert await client.get(ConfigMap, "a", "x") == created
    applied = await client.apply(ConfigMap, ConfigMap(metadata=ObjectMeta(name="a", namespace="x"), data={"b": "2"}))
    assert applied.data == {"a": "1", "b": "2"}
    patched = await client.patch(ConfigMap, "a", "x", {"data": {"a": None}})
    assert patched.data == {"b": "2"}
    patched = await client.patch(ConfigMap, "a", "x", [{"op": "add", "path": "/data/c", "value": "3"}])
    assert patched.data == {"b": "2", "c": "3"}
    assert [found.metadata.name for found in await client.list(ConfigMap, "x")] == ["a"]
    assert await client.delete(ConfigMap, "a", "x") is True
    assert await client.delete(ConfigMap, "a", "x") is False
    assert await client.find(ConfigMap, "a", "x") is None
    apply = server.seen("apply")[0]
    assert apply.query == {"fieldManager": "stackwright", "force": "true"}
    assert apply.body["apiVersion"] == "v1"
    assert apply.body["kind"] == "ConfigMap"


async def test_names_are_quoted_in_the_path(server: FaultServer, client: Client) -> None:
    with pytest.raises(NotFound):
        await client.get(Namespace, "../nodes?x=1")
    assert server.requests[0].path == "/api/v1/namespaces/..%2Fnodes%3Fx%3D1"
    assert server.requests[0].query == {}


async def test_an_object_without_its_namespace_is_a_bug(client: Client) -> None:
    with pytest.raises(ValueError, match="a ConfigMap lives in a namespace"):
        await client.get(ConfigMap, "a")
    with pytest.raises(ValueError, match="a ConfigMap lives in a namespace"):
        await client.create(ConfigMap, {"metadata": {"name": "a"}})


@pytest.mark.parametrize("name", ["", ".", ".."])
async def test_a_deletion_never_reaches_the_collection(server: FaultServer, client: Client, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be found by the name"):
        await client.delete(ConfigMap, name, "x")
    with pytest.raises(ValueError, match="cannot be found by the name"):
        await client.delete(Namespace, name)
    assert server.requests == []


async def test_a_deletion_spares_what_was_made_anew_under_the_same_name(client: Client) -> None:
    first = await client.create(ConfigMap, config_map(a="1"))
    assert await client.delete(ConfigMap, "a", "x", uid=first.metadata.uid) is True
    second = await client.create(ConfigMap, config_map(a="2"))
    with pytest.raises(Conflict):
        await client.delete(ConfigMap, "a", "x", uid=first.metadata.uid)
    assert await client.get(ConfigMap, "a", "x") == second


# Tried again.


async def test_retry_after_is_honoured(server: FaultServer, client: Client, pauses: Pauses) -> None:
    server.put(ConfigMap, config_map())
    server.fault(Answer(429, retry_after=7), on="get", times=2)
    assert (await client.get(ConfigMap, "a", "x")).metadata.name == "a"
    assert pauses == [7.0, 7.0]


async def test_a_create_that_was_not_handled_is_made_again(server: FaultServer, client: Client, pauses: Pauses) -> None:
    server.fault(Answer(429, retry_after=1), on="create")
    server.fault(Answer(503, retry_after=2), on="create")
    await client.create(ConfigMap, config_map())
    assert pauses == [1.0, 2.0]


async def test_one_who_is_told_to_wait_for_long_is_told_so(server: FaultServer, client: Client, pauses: Pauses) -> None:
    server.fault(Answer(429, retry_after=3600), on="get")
    with pytest.raises(ApiError) as caught:
        await client.get(ConfigMap, "a", "x")
    assert (caught.value.code, caught.value.retry_after, pauses) == (429, 3600.0, [])


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Answer(500), id="a-500-may-be-a-new-leader-of-etcd"),
        pytest.param(Answer(503), id="a-503-without-an-order"),
        pytest.param(Answer(504), id="a-504"),
        pytest.param(Reset(), id="a-connection-that-breaks-before-the-answer"),
        pytest.param(Reset(after_handling=True), id="an-answer-that-is-lost"),
        pytest.param(CutBody(), id="a-body-that-is-cut"),
    ],
)
@pytest.mark.parametrize("verb", ["get", "list", "apply", "delete"])
async def test_what_may_be_done_twice_is_tried_again(
    server: FaultServer, client: Client, verb: str, fault: Answer | Reset | CutBody
) -> None:
    server.put(ConfigMap, config_map())
    server.fault(fault, on=verb)
    match verb:
        case "get":
            assert (await client.get(ConfigMap, "a", "x")).metadata.name == "a"
        case "list":
            assert len(await client.list(ConfigMap)) == 1
        case "apply":
            assert (await client.apply(ConfigMap, config_map(b="1"))).data == {"b": "1"}
        case "delete":
            await client.delete(ConfigMap, "a", "x")
            assert server.object(ConfigMap, "a", "x") is None
    assert len(server.seen(verb)) == 2


async def test_tries_end(server: FaultServer, client: Client, pauses: Pauses) -> None:
    server.fault(Answer(503), on="get", times=100)
    with pytest.raises(ApiError, match="injected") as caught:
        await client.get(ConfigMap, "a", "x")
    assert caught.value.code == 503
    assert len(server.seen("get")) == ATTEMPTS
    # The pauses double, with jitter.
    assert [0.05 * 2**number <= pause <= 0.1 * 2**number for number, pause in enumerate(pauses)] == [True] * 4


async def test_a_server_that_comes_back_is_found(server: FaultServer, connection: Connection) -> None:
    async def bring_back(_: float) -> None:
        await server.start()

    server.put(ConfigMap, config_map())
    async with Client(connection, sleep=bring_back) as client:
        # A refused connection sent nothing, so that a create, too, is made again.
        await server.stop()
        assert (await client.create(ConfigMap, config_map("b"))).metadata.name == "b"
        # A connection that was kept and is dead now costs a get no more than a second try.
        await server.stop()
        assert (await client.get(ConfigMap, "a", "x")).metadata.name == "a"


# Not tried again.


@pytest.mark.parametrize(
    "fault", [pytest.param(Reset(after_handling=True), id="lost"), pytest.param(CutBody(), id="cut")]
)
async def test_a_create_whose_answer_is_lost_is_not_made_again(
    server: FaultServer, client: Client, fault: Reset | CutBody
) -> None:
    server.fault(fault, on="create")
    with pytest.raises(Unreachable, match="closed the connection before its answer was complete"):
        await client.create(ConfigMap, config_map())
    assert len(server.seen("create")) == 1
    assert server.object(ConfigMap, "a", "x") is not None


async def test_a_patch_whose_answer_is_lost_is_not_made_again(server: FaultServer, client: Client) -> None:
    server.put(ConfigMap, config_map())
    server.fault(Reset(after_handling=True), on="patch")
    with pytest.raises(Unreachable):
        await client.patch(ConfigMap, "a", "x", [{"op": "add", "path": "/data/b", "value": "1"}])
    assert len(server.seen("patch")) == 1


async def test_a_500_for_a_create_is_not_tried_again(server: FaultServer, client: Client) -> None:
    server.fault(Answer(500), on="create")
    with pytest.raises(ApiError):
        await client.create(ConfigMap, config_map())
    assert len(server.seen("create")) == 1


async def test_an_apply_that_does_not_fit_the_schema_is_not_tried_again(
    server: FaultServer, client: Client, pauses: Pauses
) -> None:
    message = "failed to create typed patch object (x/a; /v1, Kind=ConfigMap): .data.a: expected string, got 1"
    server.fault(Answer(500, message), on="apply")
    with pytest.raises(TypedPatchRefused, match=r"\.data\.a: expected string"):
        await client.apply(ConfigMap, config_map())
    assert (len(server.seen("apply")), pauses) == (1, [])


async def test_a_request_that_hangs_ends_as_unreachable(server: FaultServer, connection: Connection) -> None:
    # Long enough to connect on a machine that is busy.
    async with Client(connection, timeout=1.0) as client:
        server.fault(Hang(), on="create")
        with pytest.raises(Unreachable, match="did not answer in time"):
            await client.create(ConfigMap, config_map())
    assert len(server.seen("create")) == 1


async def test_a_cancelled_request_leaves_its_slot(server: FaultServer, connection: Connection) -> None:
    server.put(ConfigMap, config_map())
    async with Client(connection, limit=1) as client:
        server.fault(Hang(), on="get")
        stuck = asyncio.create_task(client.get(ConfigMap, "a", "x"))
        await server.requested(1, verb="get")
        stuck.cancel()
        await asyncio.wait([stuck])
        assert (await client.get(ConfigMap, "a", "x")).metadata.name == "a"


async def test_no_more_requests_are_under_way_than_the_limit(server: FaultServer, connection: Connection) -> None:
    server.put(ConfigMap, config_map())
    go = asyncio.Event()
    server.fault(Slow(until=go), on="get", times=10)
    async with Client(connection, limit=3) as client:
        # A watch is not counted.
        watching = asyncio.create_task(anext(client.watch(ConfigMap, resource_version=str(server.revision))))
        await server.streams_open(1)
        asked = [asyncio.create_task(client.get(ConfigMap, "a", "x")) for _ in range(10)]
        await server.requested(3, verb="get")
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(server.seen("get")) == 3
        go.set()
        await asyncio.gather(*asked)
        server.put(ConfigMap, config_map("b"))
        await watching


# What a caller sees.


@pytest.mark.parametrize(
    ("fault", "error", "sentence"),
    [
        pytest.param(
            Answer(401), Denied, "did not accept our credentials from a test: they are wrong or have expired", id="401"
        ),
        pytest.param(Answer(403, "no way"), Denied, "no way .*an RBAC role must allow it", id="403"),
        pytest.param(Answer(409), Conflict, "injected", id="409"),
        pytest.param(Answer(409, reason="AlreadyExists"), AlreadyExists, "injected", id="409-of-a-name-in-use"),
        pytest.param(Answer(410), Gone, "injected", id="410"),
        pytest.param(
            Answer(404, body=b"404 page not found\n"),
            KindNotInstalled,
            "does not know Thing of example.org/v1; install the CustomResourceDefinition things.example.org",
            id="a-404-of-the-path",
        ),
        pytest.param(
            Answer(404, "the server could not find the requested resource"),
            KindNotInstalled,
            "install the CustomResourceDefinition",
            id="a-404-that-names-no-object",
        ),
        pytest.param(Answer(418, body=b"<html>a\nteapot"), ApiError, "answered 418: <html>a teapot", id="a-proxy"),
        pytest.param(Answer(302, body=b""), ApiError, "answered 302", id="a-redirect-of-a-sign-in-page"),
        pytest.param(Answer(200, body=b"<html>sign in"), ApiError, "does not match this version", id="not-json"),
    ],
)
async def test_answers_become_errors(
    server: FaultServer, client: Client, fault: Answer, error: type[ApiError], sentence: str
) -> None:
    server.fault(fault, on="get")
    with pytest.raises(error, match=sentence) as caught:
        await client.get(Thing, "a", "x")
    assert type(caught.value) is error


async def test_a_missing_object_is_not_a_missing_kind(server: FaultServer, client: Client) -> None:
    with pytest.raises(NotFound, match='things "a" not found'):
        await client.get(Thing, "a", "x")
    server.uninstalled.add("things")
    with pytest.raises(KindNotInstalled):
        await client.find(Thing, "a", "x")
    with pytest.raises(KindNotInstalled):
        await client.list(Thing)
    with pytest.raises(KindNotInstalled):
        await anext(client.watch(Thing))


async def test_a_server_that_is_not_there_is_named(server: FaultServer, client: Client) -> None:
    await server.stop()
    with pytest.raises(Unreachable, match=rf"The server {server.url} \(from a test\) refuses connections"):
        await client.get(ConfigMap, "a", "x")


async def test_a_closed_client_says_so(client: Client) -> None:
    await client.close()
    with pytest.raises(Unreachable, match="closed"):
        await client.get(ConfigMap, "a", "x")


# Lists.


async def test_a_list_comes_in_pages(server: FaultServer, client: Client) -> None:
    for number in range(25):
        server.put(ConfigMap, config_map(f"a{number:02}"))
    pages = [page async for page in client.pages(ConfigMap, page=10)]
    assert [len(page.items) for page in pages] == [10, 10, 5]
    assert {page.resource_version for page in pages} == {str(server.revision)}


async def test_a_list_whose_continuation_expired_begins_anew(server: FaultServer, client: Client) -> None:
    for number in range(25):
        server.put(ConfigMap, config_map(f"a{number:02}"))
    server.fault(Answer(410), on="list", when=lambda request: "continue" in request.query)
    found = await client.list(ConfigMap, page=10)
    assert [config_map.metadata.name for config_map in found] == [f"a{number:02}" for number in range(25)]
    assert ["continue" in request.query for request in server.seen("list")] == [False, True, False, True, True]


async def test_a_list_that_expires_again_and_again_is_taken_in_one_piece(server: FaultServer, client: Client) -> None:
    for number in range(25):
        server.put(ConfigMap, config_map(f"a{number:02}"))
    server.fault(Answer(410), on="list", times=100, when=lambda request: "continue" in request.query)
    assert len(await client.list(ConfigMap, page=10)) == 25
    assert "limit" not in server.seen("list")[-1].query


async def test_pages_that_expire_are_told_of(server: FaultServer, client: Client) -> None:
    for number in range(25):
        server.put(ConfigMap, config_map(f"a{number:02}"))
    pages = client.pages(ConfigMap, page=10)
    await anext(pages)
    server.compact()
    with pytest.raises(Gone):
        await anext(pages)


async def test_selectors_reach_the_server(server: FaultServer, client: Client) -> None:
    server.put(ConfigMap, {"metadata": {"name": "a", "namespace": "x", "labels": {"app": "one"}}})
    server.put(ConfigMap, {"metadata": {"name": "b", "namespace": "x", "labels": {"app": "two"}}})
    assert [found.metadata.name for found in await client.list(ConfigMap, labels="app=two")] == ["b"]
    assert [found.metadata.name for found in await client.list(ConfigMap, fields="metadata.name=a")] == ["a"]


@pytest.mark.parametrize("padding", [pytest.param(0, id="a-small-page"), pytest.param(200_000, id="a-large-page")])
async def test_an_object_that_does_not_fit_is_left_out_alone(server: FaultServer, client: Client, padding: int) -> None:
    before = REGISTRY.get_sample_value("undecodable_objects_total", {"kind": "Thing.example.org"}) or 0
    for number in range(20):
        size: int | str = "huge" if number == 7 else number
        body = {"metadata": {"name": f"a{number:02}", "namespace": "x"}, "spec": {"size": size}, "p": "p" * padding}
        server.put(Thing, body)
    found = await client.list(Thing)
    assert [thing.spec.size for thing in found] == [number for number in range(20) if number != 7]
    assert REGISTRY.get_sample_value("undecodable_objects_total", {"kind": "Thing.example.org"}) == before + 1
    with pytest.raises(ApiError, match=r"The server's Thing does not match this version .*\$\.spec\.size"):
        await client.get(Thing, "a07", "x")


# Writes that are reported.


class Notes(list[tuple[str, Key, str]]):
    def wrote(self, kind: Kind, key: Key, resource_version: str) -> None:
        self.append((kind.name, key, resource_version))


async def test_a_recording_client_reports_its_writes(server: FaultServer, client: Client) -> None:
    notes = Notes()
    recording = client.recording(notes)
    key = Key("x", "a")
    made = await recording.create(ConfigMap, config_map())
    applied = await recording.apply(ConfigMap, config_map(a="1"))
    tried = await recording.try_apply(ConfigMap, config_map(a="2"))
    assert isinstance(tried, ConfigMap)
    patched = await recording.patch(ConfigMap, "a", "x", {"metadata": {"finalizers": ["example.org/wait"]}})
    written = [written.metadata.resourceVersion for written in (made, applied, tried, patched)]
    await recording.apply(ConfigMap, config_map(a="3"), dry_run=True)
    await recording.delete(ConfigMap, "a", "x")
    deleting = server.object(ConfigMap, "a", "x")
    assert deleting is not None
    assert notes == [("ConfigMap", key, version) for version in (*written, deleting["metadata"]["resourceVersion"])]
    await client.apply(ConfigMap, config_map(a="4"))
    await recording.apply(Lease, config_map())
    await recording.apply(Event, config_map())
    assert len(notes) == 5


async def test_a_failed_write_is_not_reported(server: FaultServer, client: Client) -> None:
    notes = Notes()
    server.fault(Answer(403), on="apply")
    with pytest.raises(Denied):
        await client.recording(notes).apply(ConfigMap, config_map())
    assert await client.recording(notes).delete(ConfigMap, "a", "x") is False
    assert notes == []


async def test_who_has_no_patience_hears_of_a_silent_server_after_one_try(
    server: FaultServer, connection: Connection, pauses: Pauses
) -> None:
    server.fault(Hang(), on="list", times=5)
    async with Client(connection, timeout=0.05, patience=0.05, sleep=pauses) as client:
        with pytest.raises(Unreachable, match="did not answer in time"):
            await client.list(ConfigMap, "x")
    assert pauses == []


async def test_patience_is_for_all_tries_together(server: FaultServer, connection: Connection, pauses: Pauses) -> None:
    server.fault(Answer(503, retry_after=3), on="list", times=5)
    async with Client(connection, timeout=5, patience=2, sleep=pauses) as client:
        with pytest.raises(ApiError):
            await client.list(ConfigMap, "x")
    assert pauses == []


@pytest.mark.parametrize(
    "body", [b"<html></html>", b"[]", b"{}", b""], ids=["a-page", "a-list", "an-object", "nothing"]
)
async def test_an_answer_that_is_no_list_is_one_sentence(server: FaultServer, client: Client, body: bytes) -> None:
    server.fault(Answer(200, body=body), on="list")
    with pytest.raises(ApiError, match="is not a list of ConfigMap"):
        await client.list(ConfigMap, "x")
