"""Operations that only pods have: reading their logs, and running a command in a container."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import aiohttp
import msgspec

from stackwright import tasks
from stackwright.kube import answers, paths
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, KindNotInstalled, Unreachable
from stackwright.kube.transport import Call

# Version 5 is the first in which the client can end the command's input without ending the connection.
PROTOCOL = "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
PIECE = 2**15


@dataclass(frozen=True)
class ExecResult:
    """How a command in a container ended, and its output."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""


async def logs(  # noqa: PLR0913  what the server's log takes; all but three by name
    client: Client,
    name: str,
    namespace: str,
    *,
    container: str = "",
    tail: int | None = None,
    follow: bool = False,
    previous: bool = False,
    since: float | None = None,
    silence: float | None = None,
) -> AsyncGenerator[bytes]:
    """Yield a container's log as it comes, in pieces that need not end with a line.

    `follow` goes on until the container ends; `previous` is of the container before its last restart; `since` is
    for how many seconds back. `silence` is how long the server may say nothing before it counts as lost: a log that is
    not followed ends, and a server that cannot reach the node may leave it open for ever.
    """
    query: dict[str, str] = {}
    if container:
        query["container"] = container
    if tail is not None:
        query["tailLines"] = str(tail)
    if since is not None:
        query["sinceSeconds"] = str(max(1, round(since)))
    if follow:
        query["follow"] = "true"
    if previous:
        query["previous"] = "true"
    call = Call("GET", paths.item(Pod.kind, namespace, name, "log"), query, accept="*/*", kind=Pod.kind)
    async with aclosing(client.transport.stream(call, silence=silence)) as pieces:
        async for piece in pieces:
            yield piece


async def execute(
    client: Client, name: str, namespace: str, command: Sequence[str], *, container: str = "", stdin: bytes = b""
) -> ExecResult:
    """Run a command in a container and return how it ended; a code other than 0 is a result, not an error."""
    query = [("command", word) for word in command]
    query += [("stdout", "true"), ("stderr", "true"), ("stdin", "true" if stdin else "false")]
    if container:
        query.append(("container", container))
    try:
        async with client.transport.websocket(paths.item(Pod.kind, namespace, name, "exec"), query, PROTOCOL) as socket:
            if socket.protocol != PROTOCOL:
                raise ApiError(
                    f"The server {client.connection.server} does not speak {PROTOCOL}; "
                    "commands in pods need Kubernetes 1.30 or newer."
                )
            return await _converse(socket, stdin)
    except KindNotInstalled:
        # A refused handshake carries no reason; asking for the pod itself tells whether it exists.
        await client.get(Pod, name, namespace)
        raise


async def _converse(socket: aiohttp.ClientWebSocketResponse, stdin: bytes) -> ExecResult:
    """Send the input and read the output at the same time: a command may write before it has read everything."""
    output = {STDOUT: bytearray(), STDERR: bytearray(), ERROR: bytearray()}
    sending = tasks.start(_send(socket, stdin))
    try:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.BINARY and message.data:
                channel, data = message.data[0], message.data[1:]
                if channel in output:
                    output[channel] += data
    finally:
        await tasks.end(sending)
    if not output[ERROR]:
        raise Unreachable("The connection to the container broke before the command's exit code came.")
    return ExecResult(_exit_code(bytes(output[ERROR])), bytes(output[STDOUT]), bytes(output[STDERR]))


async def _send(socket: aiohttp.ClientWebSocketResponse, stdin: bytes) -> None:
    if not stdin:
        return
    for start in range(0, len(stdin), PIECE):
        await socket.send_bytes(bytes((STDIN,)) + stdin[start : start + PIECE])
    await socket.send_bytes(bytes((CLOSE, STDIN)))


def _exit_code(body: bytes) -> int:
    """Return the exit code in the Status of the error channel; raise other errors."""
    try:
        status = msgspec.json.decode(body, type=answers.Status)
    except msgspec.DecodeError:
        raise ApiError(f"The command did not run: {body[:200].decode(errors='replace')}") from None
    if status.status == "Success":
        return 0
    for cause in (status.details.causes if status.details else None) or ():
        if cause.reason == "ExitCode" and cause.message.isdecimal():
            return int(cause.message)
    raise ApiError(f"The command did not run: {status.message}", code=status.code, reason=status.reason)
