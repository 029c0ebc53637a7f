"""Logs and commands in pods, against a server that speaks as a kubelet does (there is none in these rings).

The commands' protocol is version 5 of Kubernetes' channels over a websocket: each message begins with the number
of its channel; the exit code comes as a Status on channel 3; 255 and a number end a channel.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from stackwright.kube import pods
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.errors import ApiError, Denied, NotFound, Unreachable

SUCCESS: dict[str, Any] = {"metadata": {}, "status": "Success"}
Kubelet = Callable[[web.Request, web.WebSocketResponse], Awaitable[None]]


def failed(code: int) -> dict[str, Any]:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


async def end(socket: web.WebSocketResponse, status: dict[str, Any]) -> None:
    await socket.send_bytes(b"\x03" + json.dumps(status).encode())
    await socket.close()


class Pods:
    """One pod, and what its kubelet does with a command."""

    def __init__(self) -> None:
        self.kubelet: Kubelet | None = None
        self.protocols: tuple[str, ...] = (pods.PROTOCOL,)
        self.queries: list[list[tuple[str, str]]] = []
        self.refusal = 0
        self.url = ""
        # Unless it is clear, a log ends when all of it was said.
        self.node_answers = asyncio.Event()
        self.node_answers.set()

    async def execute(self, request: web.Request) -> web.StreamResponse:
        self.queries.append(list(request.query.items()))
        if request.match_info["name"] != "here":
            return self.missing(request)
        if self.refusal:
            return web.json_response({"kind": "Status", "message": "no", "code": self.refusal}, status=self.refusal)
        socket = web.WebSocketResponse(protocols=self.protocols, max_msg_size=0)
        await socket.prepare(request)
        assert self.kubelet is not None
        await self.kubelet(request, socket)
        return socket

    async def logs(self, request: web.Request) -> web.StreamResponse:
        self.queries.append(list(request.query.items()))
        if request.match_info["name"] != "here":
            return self.missing(request)
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(3):
            await response.write(f"line {number}\n".encode())
        await self.node_answers.wait()
        return response

    async def get(self, request: web.Request) -> web.StreamResponse:
        return self.missing(request)

    def missing(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        status = {"kind": "Status", "message": f'pods "{name}" not found', "details": {"name": name}, "code": 404}
        return web.json_response(status, status=404)


@pytest.fixture
async def cluster() -> AsyncIterator[Pods]:
    cluster = Pods()
    application = web.Application()
    application.router.add_get("/api/v1/namespaces/x/pods/{name}", cluster.get)
    application.router.add_get("/api/v1/namespaces/x/pods/{name}/exec", cluster.execute)
    application.router.add_get("/api/v1/namespaces/x/pods/{name}/log", cluster.logs)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    cluster.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield cluster
    await runner.cleanup()


@pytest.fixture
async def client(cluster: Pods) -> AsyncIterator[Client]:
    async with Client(Connection(server=cluster.url)) as client:
        yield client


async def test_a_command_gives_its_output_and_code(cluster: Pods, client: Client) -> None:
    async def kubelet(_: web.Request, socket: web.WebSocketResponse) -> None:
        for channel in range(4):
            await socket.send_bytes(bytes((channel,)))  # As the kubelet does, to open them.
        await socket.send_bytes(b"\x01one ")
        await socket.send_bytes(b"\x02oops")
        await socket.send_bytes(b"\x01two")
        await end(socket, SUCCESS)

    cluster.kubelet = kubelet
    result = await pods.execute(client, "here", "x", ["ls", "-l", "/a b"], container="main")
    assert result == pods.ExecResult(0, b"one two", b"oops")
    assert cluster.queries == [
        [
            ("command", "ls"),
            ("command", "-l"),
            ("command", "/a b"),
            ("stdout", "true"),
            ("stderr", "true"),
            ("stdin", "false"),
            ("container", "main"),
        ]
    ]


@pytest.mark.parametrize("code", [1, 137])
async def test_a_code_other_than_zero_is_a_result(cluster: Pods, client: Client, code: int) -> None:
    cluster.kubelet = lambda _, socket: end(socket, failed(code))
    assert await pods.execute(client, "here", "x", ["false"]) == pods.ExecResult(code)


async def test_input_is_sent_and_ended(cluster: Pods, client: Client) -> None:
    async def echo(_: web.Request, socket: web.WebSocketResponse) -> None:
        """Be `cat`: write what comes, until the input is ended by its own message."""
        async for message in socket:
            assert message.type is aiohttp.WSMsgType.BINARY
            if message.data == bytes((pods.CLOSE, pods.STDIN)):
                await end(socket, SUCCESS)
                break
            assert message.data[0] == pods.STDIN
            await socket.send_bytes(b"\x01" + message.data[1:])

    cluster.kubelet = echo
    text = bytes(range(256)) * 1000
    assert await pods.execute(client, "here", "x", ["cat"], stdin=text) == pods.ExecResult(0, text)


async def test_a_command_that_does_not_read_its_input_ends_all_the_same(cluster: Pods, client: Client) -> None:
    cluster.kubelet = lambda _, socket: end(socket, failed(2))
    result = await pods.execute(client, "here", "x", ["false"], stdin=b"x" * 10_000_000)
    assert result.code == 2


async def test_a_connection_that_breaks_is_not_a_result(cluster: Pods, client: Client) -> None:
    async def vanish(request: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\x01half of")
        assert request.transport is not None
        request.transport.close()

    cluster.kubelet = vanish
    with pytest.raises(Unreachable, match="broke before the command's exit code came"):
        await pods.execute(client, "here", "x", ["ls"])


async def test_a_command_that_cannot_start_is_an_error(cluster: Pods, client: Client) -> None:
    status = {"status": "Failure", "message": "exec: no such program", "reason": "InternalError", "code": 500}
    cluster.kubelet = lambda _, socket: end(socket, status)
    with pytest.raises(ApiError, match="The command did not run: exec: no such program"):
        await pods.execute(client, "here", "x", ["nothing"])


async def test_a_pod_that_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match='pods "gone" not found'):
        await pods.execute(client, "gone", "x", ["ls"])
    with pytest.raises(NotFound, match='pods "gone" not found'):
        await anext(pods.logs(client, "gone", "x"))


async def test_who_may_not_is_denied(cluster: Pods, client: Client) -> None:
    cluster.refusal = 403
    with pytest.raises(Denied, match="an RBAC role must allow it"):
        await pods.execute(client, "here", "x", ["ls"])


async def test_an_older_server_is_told_apart(cluster: Pods, client: Client) -> None:
    async def wait(_: web.Request, socket: web.WebSocketResponse) -> None:
        await socket.receive()

    cluster.protocols = ("v4.channel.k8s.io",)
    cluster.kubelet = wait
    with pytest.raises(ApiError, match=r"does not speak v5\.channel\.k8s\.io; .* Kubernetes 1\.30 or newer"):
        await pods.execute(client, "here", "x", ["ls"])


async def test_logs_are_streamed(cluster: Pods, client: Client) -> None:
    pieces = [
        piece async for piece in pods.logs(client, "here", "x", container="main", tail=9, follow=True, previous=True)
    ]
    assert b"".join(pieces) == b"line 0\nline 1\nline 2\n"
    assert cluster.queries == [
        [("container", "main"), ("tailLines", "9"), ("follow", "true"), ("previous", "true")],
    ]


async def test_a_log_that_says_nothing_more_is_lost_after_a_while(cluster: Pods, client: Client) -> None:
    cluster.node_answers.clear()
    pieces = pods.logs(client, "here", "x", silence=0.2)
    async with asyncio.timeout(30):
        found = [await anext(pieces)]
        with pytest.raises(Unreachable):
            found.extend([piece async for piece in pieces])
    assert found[0].startswith(b"line 0\n")
    cluster.node_answers.set()
