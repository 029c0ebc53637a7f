"""Requests to the API server over one aiohttp session: limits, deadlines, retries, and answers made errors.

What is retried, at most ATTEMPTS times in all: whatever the server says that it did not handle (429, or 503 with
Retry-After) and what never reached it; and, where a request may safely be carried out twice, also lost answers
and other 5xx. A 500 that says that an apply does not fit the schema is never retried: no retry heals it.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
import structlog
from yarl import URL

from stackwright.kube import answers, metrics
from stackwright.kube.answers import Lost
from stackwright.kube.config import Connection
from stackwright.kube.credentials import Authentication, Credentials
from stackwright.kube.errors import ApiError, Unreachable
from stackwright.kube.gathering import Gathering
from stackwright.kube.resource import Kind
from stackwright.kube.sockets import Sockets

ATTEMPTS = 5
FIRST_PAUSE = 0.1
# If the server asks for a longer pause than this, the caller gets the answer and no worker sleeps here.
LONGEST_PAUSE = 30.0
# The server ends its own requests after 60 s; what it says then is better than our own "no answer".
REQUEST_DEADLINE = 65.0
CONNECT_DEADLINE = 10.0
READ_BUFFER = 2**18
USER_AGENT = "stackwright"

logger = structlog.get_logger()
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Call:
    """One request. `safe` says that carrying it out twice is the same as once."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    safe: bool = True
    kind: Kind | None = None
    """What the request is about, for messages."""


@dataclass(frozen=True)
class Reply:
    """An answer of the server, read whole."""

    code: int
    body: bytes
    retry_after: float | None


def pause(call: Call, outcome: Reply | Lost, attempt: int) -> float | None:
    """Return for how long to wait before the call is made again, or None when it is not.

    `attempt` counts from 1. Without an order of the server the pause doubles, with jitter.
    """
    if attempt >= ATTEMPTS or not _again(call, outcome):
        return None
    if isinstance(outcome, Reply) and outcome.retry_after is not None:
        return outcome.retry_after if outcome.retry_after <= LONGEST_PAUSE else None
    longest = FIRST_PAUSE * 2 ** (attempt - 1)
    return random.uniform(longest / 2, longest)  # noqa: S311  jitter, not cryptography


def _again(call: Call, outcome: Reply | Lost) -> bool:
    if isinstance(outcome, Lost):
        return not outcome.hopeless and (call.safe or not outcome.sent)
    if outcome.code == 429:
        return True
    if outcome.code == 503 and outcome.retry_after is not None:
        return True
    return call.safe and outcome.code in (500, 502, 503, 504) and not answers.refuses_typed_patch(outcome.body)


class Transport:
    """Carries calls to one server. Streams are not counted in `limit`, which is of requests under way.

    `timeout` is for each try of a request. `patience` is for all its tries together: a person who waits for a command
    wants to hear of a silent server once, and not after the fifth try.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        limit: int = 32,
        timeout: float = REQUEST_DEADLINE,
        patience: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.connection = connection
        self.server = connection.server
        self.clock = clock
        self._base = connection.server.rstrip("/")
        self._host = URL(connection.server).authority
        self._limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_DEADLINE)
        self._patience = patience
        self.sleep = sleep
        self._slots = asyncio.Semaphore(limit)
        self._credentials = Credentials(connection, clock=clock)
        self._session: aiohttp.ClientSession | None = None
        self._sockets = Sockets()
        self._closed = False

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None
            await self._sockets.release()

    async def request(self, call: Call) -> Reply:
        """Make a call, again where that is right, and return the last answer, whatever it says.

        Raises Unreachable when there was none.
        """
        renewed = False
        attempt = 0
        began = self.clock()
        while True:
            attempt += 1
            async with self._slots:
                identity = await self._credentials.current()
                outcome = await self._attempt(call, identity)
            if isinstance(outcome, Reply):
                if outcome.code < 300:
                    return outcome
                if outcome.code == 401 and not renewed and self._credentials.forget(identity):
                    renewed = True
                    continue
            wait = pause(call, outcome, attempt)
            if wait is None or self._is_over(began, wait):
                if isinstance(outcome, Lost):
                    raise Unreachable(outcome.sentence)
                return outcome
            logger.debug("request is made again", method=call.method, path=call.path, after=wait, attempt=attempt)
            await self.sleep(wait)

    def _is_over(self, began: float, wait: float) -> bool:
        return self._patience is not None and self.clock() - began + wait >= self._patience

    async def _attempt(self, call: Call, identity: Authentication) -> Reply | Lost:
        try:
            async with self._open(call, identity, self._limits) as response:
                reply = Reply(response.status, await response.read(), retry_after(response.headers))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            metrics.request("<error>", call.method, self._host).inc()
            return self._lost(error)
        metrics.request(str(reply.code), call.method, self._host).inc()
        return reply

    async def stream(self, call: Call, *, silence: float | None = None) -> AsyncGenerator[bytes]:
        """Yield an answer's bytes as they come; raise Unreachable when it breaks, or is silent for that long.

        An answer of failure is raised as its error, after the tries that the server asked for by Retry-After. A
        stream that broke is not opened again: only its reader knows where to go on. Leaving it early closes
        it (`contextlib.aclosing`).
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_DEADLINE, sock_read=silence)
        renewed = False
        attempt = 0
        while True:
            attempt += 1
            identity = await self._credentials.current()
            try:
                async with self._open(call, identity, limits) as response:
                    metrics.request(str(response.status), call.method, self._host).inc()
                    if response.status < 300:
                        gathering = Gathering(response.connection.transport if response.connection else None)
                        try:
                            async for chunk in response.content.iter_any():
                                gathering.read()
                                yield chunk
                        finally:
                            gathering.close()
                            _cut(response)
                        return
                    reply = Reply(response.status, await response.read(), retry_after(response.headers))
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                metrics.request("<error>", call.method, self._host).inc()
                raise Unreachable(self._lost(error).sentence) from None
            if reply.code == 401 and not renewed and self._credentials.forget(identity):
                renewed = True
                continue
            wait = pause(call, reply, attempt) if reply.retry_after is not None else None
            if wait is None:
                raise self.error(reply, call.kind)
            await self.sleep(wait)

    @asynccontextmanager
    async def websocket(
        self, path: str, query: Sequence[tuple[str, str]], protocol: str
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a websocket that speaks `protocol`."""
        identity = await self._credentials.current()
        try:
            connected = await self._session_now().ws_connect(
                URL(self._base + path, encoded=True).with_query(list(query)),
                protocols=(protocol,),
                headers=identity.headers,
                ssl=identity.tls or True,
                server_hostname=self.connection.server_name or None,
                proxy=self.connection.proxy or None,
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=CONNECT_DEADLINE),
            )
        except aiohttp.WSServerHandshakeError as error:
            metrics.request(str(error.status), "GET", self._host).inc()
            raise self.error(Reply(error.status, b"", None), None) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            metrics.request("<error>", "GET", self._host).inc()
            raise Unreachable(self._lost(error).sentence) from None
        metrics.request("101", "GET", self._host).inc()
        async with connected:
            yield connected

    def error(self, reply: Reply, kind: Kind | None) -> ApiError:
        """Return the error that an answer of failure stands for."""
        return answers.error_of(
            reply.code, reply.body, retry_after=reply.retry_after, kind=kind, who=f" from {self.connection.source}"
        )

    def _open(
        self, call: Call, identity: Authentication, timeout: aiohttp.ClientTimeout
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        headers = [("Accept", call.accept), *identity.headers]
        if call.body is not None:
            headers.append(("Content-Type", call.content_type))
        return self._session_now().request(
            call.method,
            URL(self._base + call.path, encoded=True).with_query(call.query),
            data=call.body,
            headers=headers,
            ssl=identity.tls or True,
            server_hostname=self.connection.server_name or None,
            proxy=self.connection.proxy or None,
            timeout=timeout,
            allow_redirects=False,
        )

    def _session_now(self) -> aiohttp.ClientSession:
        if self._closed:
            raise Unreachable("This client is closed.")
        if self._session is None:
            # The session is made here because it belongs to the running loop. Requests are limited by our own
            # slots: the connector's limit would count the watches too.
            connector = aiohttp.TCPConnector(limit=0, socket_factory=self._sockets.make)
            self._session = aiohttp.ClientSession(
                connector=connector,
                read_bufsize=READ_BUFFER,
                # Compressing costs both sides more than the bytes cost a cluster's network.
                headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session

    def _lost(self, error: BaseException) -> Lost:
        return answers.lost(error, f"The server {self.server} (from {self.connection.source})")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, which may also be a date."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _cut(response: aiohttp.ClientResponse) -> None:
    """End a stream that was left early, at once: a farewell over TLS could outlive the event loop."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
