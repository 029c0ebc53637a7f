"""A small server that speaks the Kubernetes API on loopback and misbehaves when it is told to.

It keeps objects of any kind in memory with resource versions, history and paging, and does what a test asks:
wrong answers, hangs, lost answers, cut, silent, duplicated and torn streams. It checks no schema and tracks
no field managers: what the real server does with an object is tested against the real server.

    async with FaultServer() as server:
        server.put(ConfigMap, {"metadata": {"name": "a", "namespace": "x"}})
        server.fault(Answer(429, retry_after=1), on="list")      # the next list
        server.fault(Hang(), on="get", times=2)                  # the next two gets
        await server.streams_open(1)
        server.cut_streams()
"""

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from aiohttp import web

from stackwright.kube.resource import JsonObject
from tests.runtime.fault_objects import Collection, Objects, Refused, Request, line, selects, status_body

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
TOO_OLD = "too old resource version"

__all__ = ["Answer", "CutBody", "Effect", "FaultServer", "Hang", "Request", "Reset", "Slow", "line"]


@dataclass(frozen=True)
class Answer:
    """The server answers with this code and does nothing."""

    code: int
    message: str = "injected"
    reason: str = ""
    retry_after: float | None = None
    body: bytes | None = None
    """Sent as it is, in place of a Status."""


@dataclass(frozen=True)
class Hang:
    """The server takes the request and never answers."""


@dataclass(frozen=True)
class Slow:
    """The server answers after `seconds`; a test that must not sleep gives `until` and sets it.

    With `after_handling` the request is carried out at once, and only the answer is late.
    """

    seconds: float = 0.0
    until: asyncio.Event | None = None
    after_handling: bool = False

    async def pass_time(self) -> None:
        """Wait until it is time."""
        await (self.until.wait() if self.until else asyncio.sleep(self.seconds))


@dataclass(frozen=True)
class Reset:
    """The connection breaks before any answer; with `after_handling` the request was carried out all the same."""

    after_handling: bool = False


@dataclass(frozen=True)
class CutBody:
    """The connection breaks in the middle of the body of the answer."""


Effect = Answer | Hang | Slow | Reset | CutBody


@dataclass
class Fault:
    """An effect that waits for its requests."""

    effect: Effect
    on: str
    times: int
    when: Callable[[Request], bool] | None


@dataclass
class Stream:
    """One open watch."""

    collection: Collection
    namespace: str
    labels: str
    fields: str
    bookmarks: bool
    chunks: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue)
    """None breaks the connection."""

    def sees(self, body: JsonObject | None) -> bool:
        """Whether this watch selects the object."""
        return body is not None and selects(body, self.namespace, self.labels, self.fields)


class FaultServer(Objects):
    """The server. Its state is changed by requests and, from a test, by its methods; both make events."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        super().__init__()
        self.port = port
        self.url = ""
        self.version: JsonObject = {"major": "1", "minor": "35", "gitVersion": "v1.35.8"}
        self.streaming_list = True
        """Whether watches may ask for sendInitialEvents."""
        self.uninstalled: set[str] = set()
        """Plurals that the server does not know."""
        self.requests: list[Request] = []
        self.streams: list[Stream] = []
        self._faults: list[Fault] = []
        self._drop = 0
        self._duplicate = 0
        self._silent = False
        self._changed = asyncio.Condition()
        self._closing = asyncio.Event()
        self._tls = tls
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen on loopback; after `stop`, on the same port and with the same objects."""
        self._closing.clear()
        self._runner = web.ServerRunner(
            web.Server(self._handle, access_log=None, handler_cancellation=True), shutdown_timeout=0.05
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._tls, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        """Break all connections and stop listening."""
        self._closing.set()
        self.cut_streams()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    # What a test asks for.

    def fault(
        self, effect: Effect, *, on: str = "", times: int = 1, when: Callable[[Request], bool] | None = None
    ) -> None:
        """Let the next `times` requests with the verb `on` (any, when empty) that fit `when` meet the effect."""
        self._faults.append(Fault(effect, on, times, when))

    def heal(self) -> None:
        """Forget all faults that did not happen yet, and speak again."""
        self._faults.clear()
        self._drop = self._duplicate = 0
        self._silent = False

    def drop_events(self, count: int) -> None:
        """Lose the next `count` events on all streams."""
        self._drop = count

    def duplicate_events(self, count: int) -> None:
        """Send the next `count` events twice on all streams."""
        self._duplicate = count

    def silence(self) -> None:
        """Keep all streams open and send nothing more on them, nor on new ones, until `heal`."""
        self._silent = True

    def bookmark(self) -> None:
        """Send a bookmark on all streams that want them."""
        for stream in self.streams:
            if stream.bookmarks:
                stream.chunks.put_nowait(self._bookmark(stream.collection))

    def send(self, chunk: bytes) -> None:
        """Send bytes as they are on all streams: half a line, nonsense, two lines at once."""
        for stream in self.streams:
            stream.chunks.put_nowait(chunk)

    def send_error(self, code: int, reason: str, message: str) -> None:
        """Send an ERROR event on all streams."""
        self.send(line("ERROR", status_body(code, reason, message)))

    def cut_streams(self, *, torn: bytes = b"") -> None:
        """Break all streams, after `torn` (the first half of a line, say)."""
        for stream in self.streams:
            if torn:
                stream.chunks.put_nowait(torn)
            stream.chunks.put_nowait(None)

    async def streams_open(self, count: int, timeout: float = 5.0) -> None:
        """Wait until that many watches are open."""
        await self._until(lambda: len(self.streams) == count, timeout)

    async def requested(self, count: int, *, verb: str = "", timeout: float = 5.0) -> None:
        """Wait until that many requests (of a verb) came in."""
        await self._until(lambda: len(self.seen(verb)) >= count, timeout)

    def seen(self, verb: str = "", *, subresource: str | None = None) -> list[Request]:
        """Return the requests of a verb (any, when empty), in order."""
        return [
            request
            for request in self.requests
            if (not verb or request.verb == verb) and (subresource is None or request.subresource == subresource)
        ]

    async def _until(self, holds: Callable[[], bool], timeout: float) -> None:
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(holds)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # State.

    def _publish(
        self, collection: Collection, old: JsonObject | None, new: JsonObject | None, *, silently: bool
    ) -> None:
        if silently:
            return
        self._history.append((self.revision, collection, old, new))
        if self._drop:
            self._drop -= 1
            return
        copies = 1
        if self._duplicate:
            self._duplicate -= 1
            copies = 2
        for stream in self.streams:
            if stream.collection == collection:
                for chunk in self._events(stream, self.revision, old, new) * copies:
                    stream.chunks.put_nowait(chunk)

    def _events(self, stream: Stream, revision: int, old: JsonObject | None, new: JsonObject | None) -> list[bytes]:
        seen, sees = stream.sees(old), stream.sees(new)
        if sees:
            assert new is not None
            return [line("MODIFIED" if seen else "ADDED", new)]
        if seen:
            assert old is not None
            return [line("DELETED", {**old, "metadata": {**old["metadata"], "resourceVersion": str(revision)}})]
        return []

    def _bookmark(self, collection: Collection, *, initial: bool = False) -> bytes:
        group, version, plural = collection
        known = next(iter(self._objects.get(collection, {}).values()), {"kind": plural})
        metadata: JsonObject = {"resourceVersion": str(self.revision), "creationTimestamp": None}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        api_version = f"{group}/{version}" if group else version
        return line("BOOKMARK", {"kind": known["kind"], "apiVersion": api_version, "metadata": metadata})

    # Requests.

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        request = await self._read(incoming)
        self.requests.append(request)
        await self._notify()
        effect = self._take(request)
        if isinstance(effect, Answer):
            return _answer(effect)
        if isinstance(effect, Hang):
            await self._closing.wait()
        if isinstance(effect, Hang) or effect == Reset():
            return _abort(incoming)
        if isinstance(effect, Slow) and not effect.after_handling:
            await effect.pass_time()
        if request.verb == "watch":
            return await self._watch(incoming, request)
        response = self._respond(request)
        if isinstance(effect, Slow) and effect.after_handling:
            await effect.pass_time()
        if isinstance(effect, Reset):
            return _abort(incoming)
        return await _half(incoming, response) if isinstance(effect, CutBody) else response

    def _take(self, request: Request) -> Effect | None:
        for fault in self._faults:
            if fault.on in ("", request.verb) and (fault.when is None or fault.when(request)):
                fault.times -= 1
                if fault.times == 0:
                    self._faults.remove(fault)
                return fault.effect
        return None

    async def _read(self, incoming: web.BaseRequest) -> Request:
        raw = await incoming.read()
        body = json.loads(raw) if raw else None
        headers = {name.lower(): value for name, value in incoming.headers.items()}
        query = dict(incoming.query)
        path = incoming.rel_url.raw_path
        collection, namespace, name, subresource = _parse(path)
        verb = "other"
        if collection is not None:
            verb = _verb(incoming.method, name, query, headers)
        return Request(incoming.method, path, query, headers, body, verb, collection, namespace, name, subresource)

    def _respond(self, request: Request) -> web.Response:
        if request.path == "/version":
            return web.json_response(self.version)
        if request.collection is None or request.collection[2] in self.uninstalled:
            return web.Response(status=404, text="404 page not found\n")
        answers: dict[str, Callable[[Request], web.Response]] = {
            "list": self._list,
            "get": self._get,
            "create": self._create,
            "apply": self._apply,
            "patch": self._patch,
            "delete": self._remove,
        }
        try:
            return answers[request.verb](request)
        except Refused as refusal:
            body = status_body(refusal.code, refusal.reason, refusal.message, {"name": request.name or None})
            return web.json_response(body, status=refusal.code)

    async def _watch(self, incoming: web.BaseRequest, request: Request) -> web.StreamResponse:
        assert request.collection is not None
        if request.collection[2] in self.uninstalled:
            return web.Response(status=404, text="404 page not found\n")
        query = request.query
        initial = query.get("sendInitialEvents") == "true"
        if initial and not self.streaming_list:
            message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            return web.json_response(status_body(422, "Invalid", message), status=422)
        stream = Stream(
            request.collection,
            request.namespace,
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
            query.get("allowWatchBookmarks") == "true",
        )
        self._begin(stream, query.get("resourceVersion", ""), initial=initial)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        self.streams.append(stream)
        try:
            await response.prepare(incoming)
            await self._notify()
            async with asyncio.timeout(float(query.get("timeoutSeconds", "300"))):
                while (chunk := await stream.chunks.get()) is not None:
                    if not self._silent:
                        await response.write(chunk)
            return _abort(incoming)
        except TimeoutError:
            return response
        except ConnectionResetError:
            return response
        finally:
            self.streams.remove(stream)
            await self._notify()

    def _begin(self, stream: Stream, resource_version: str, *, initial: bool) -> None:
        if initial or resource_version in ("", "0"):
            for _, body in sorted(self._objects.get(stream.collection, {}).items()):
                if stream.sees(body):
                    stream.chunks.put_nowait(line("ADDED", body))
            if initial:
                stream.chunks.put_nowait(self._bookmark(stream.collection, initial=True))
            return
        since = int(resource_version)
        if since < self.compacted:
            message = f"{TOO_OLD}: {since} ({self.compacted})"
            stream.chunks.put_nowait(line("ERROR", status_body(410, "Expired", message)))
            return
        for revision, collection, old, new in self._history:
            if revision > since and collection == stream.collection:
                for chunk in self._events(stream, revision, old, new):
                    stream.chunks.put_nowait(chunk)


def _parse(path: str) -> tuple[Collection | None, str, str, str]:
    """Return collection, namespace, name and subresource of a path."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None, "", "", ""
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    rest += ["", ""]
    return (group, version, rest[0]), namespace, rest[1], rest[2]


def _verb(method: str, name: str, query: dict[str, str], headers: dict[str, str]) -> str:
    """Return what a request to a collection or object does."""
    if method == "GET" and not name:
        return "watch" if query.get("watch") in ("true", "1") else "list"
    if method == "PATCH":
        return "apply" if "apply-patch" in headers.get("content-type", "") else "patch"
    return {"GET": "get", "POST": "create", "DELETE": "delete"}.get(method, "other")


def _answer(effect: Answer) -> web.Response:
    headers = {} if effect.retry_after is None else {"Retry-After": f"{effect.retry_after:g}"}
    if effect.body is not None:
        return web.Response(status=effect.code, body=effect.body, headers=headers)
    reasons = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired"}
    reasons |= {422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
    reason = effect.reason or reasons.get(effect.code, "")
    return web.json_response(status_body(effect.code, reason, effect.message), status=effect.code, headers=headers)


def _abort(incoming: web.BaseRequest) -> web.StreamResponse:
    """Break the connection; the response that is returned goes nowhere."""
    if incoming.transport is not None:
        incoming.transport.abort()
    return web.Response()


async def _half(incoming: web.BaseRequest, whole: web.Response) -> web.StreamResponse:
    """Send half of a body and break the connection."""
    assert isinstance(whole.body, bytes)
    response = web.StreamResponse(status=whole.status, headers={"Content-Length": str(len(whole.body))})
    await response.prepare(incoming)
    await response.write(whole.body[: len(whole.body) // 2])
    return _abort(incoming)
