"""Events of events.k8s.io/v1: what controllers tell people, without ever waiting for it.

`event` only notes what happened. A task in the background writes: the same thing again within six minutes
raises the count of one event instead of making another, and one object gets 25 writes at once and then one in
five minutes. What does not fit into the buffer is dropped and counted; an event is news, never state.
"""

import asyncio
import contextlib
import socket
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

import structlog

from stackwright.kube import metrics
from stackwright.kube.builtin import Event
from stackwright.kube.client import Client
from stackwright.kube.clock import REAL, Clock, microseconds
from stackwright.kube.errors import AlreadyExists, ApiError, NotFound, Unreachable
from stackwright.kube.resource import JsonObject, Resource

_log = structlog.get_logger()

EventType = Literal["Normal", "Warning"]

# The same as client-go: dashboards and people are used to it.
SERIES_SECONDS = 360.0
BURST = 25
REFILL_SECONDS = 300.0

# How many events may wait to be written, and how many series and objects are remembered.
CAPACITY = 1000
REMEMBERED = 4096

# How often an event that the server did not take is tried, and how long the first pause is; each is twice as long.
TRIES = 5
FIRST_PAUSE = 1.0

# Limits of the API, in bytes.
_LONGEST_NOTE = 1024
_LONGEST_WORD = 128
_LONGEST_NAME = 253

_created = metrics.events_total.labels("created")
_counted = metrics.events_total.labels("counted")
_limited = metrics.events_total.labels("limited")
_dropped = metrics.events_total.labels("dropped")
_failed = metrics.events_total.labels("failed")

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Recent(Generic[K, V]):
    """The values that were asked for last, at most REMEMBERED of them."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._values: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        value = self._values.pop(key, None)
        self._values[key] = value = self._make(key) if value is None else value
        if len(self._values) > REMEMBERED:
            self._values.popitem(last=False)
        return value


class _Sort(NamedTuple):
    """What makes two events the same."""

    kind: str
    namespace: str
    name: str
    uid: str
    type: str
    reason: str
    action: str
    note: str
    field_path: str = ""


@dataclass(slots=True)
class _Series:
    """One event of the server, and how often it happened."""

    sort: _Sort
    api_version: str = ""
    name: str = ""
    first: str = ""
    last: str = ""
    seen_at: float = 0.0
    count: int = 0
    written: int = 0
    waiting: bool = False


@dataclass(slots=True)
class _Bucket:
    """How many writes an object may still cause."""

    tokens: float = BURST
    filled_at: float = field(default=0.0)

    def take(self, now: float) -> bool:
        self.tokens = min(BURST, self.tokens + (now - self.filled_at) / REFILL_SECONDS)
        self.filled_at = now
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


class EventRecorder:
    """Takes events and writes them in the background; `controller` and `instance` name the reporter."""

    def __init__(self, client: Client, controller: str, instance: str = "", *, clock: Clock = REAL) -> None:
        self._client = client
        self._controller = controller
        self._instance = _cut(instance or f"{controller}-{socket.gethostname()}", _LONGEST_WORD)
        self._clock = clock
        self._series: _Recent[_Sort, _Series] = _Recent(_Series)
        self._buckets: _Recent[tuple[str, str, str], _Bucket] = _Recent(lambda _: _Bucket(filled_at=clock.monotonic()))
        self._waiting: deque[_Series] = deque()
        self._something = asyncio.Event()
        self._writing = asyncio.Lock()

    def event(
        self,
        regarding: Resource,
        type: EventType,  # noqa: A002  the API's own word
        reason: str,
        note: str,
        action: str = "",
        *,
        field_path: str = "",
    ) -> None:
        """Note that something happened to an object; never waits and never raises.

        `reason` is one CamelCase word for why, `action` one for what was done (the reason, when left out), and
        `note` a sentence. `field_path` is the part of the object that it happened to.
        """
        metadata, kind = regarding.metadata, regarding.kind
        sort = _Sort(
            kind=kind.name,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            type=type,
            reason=_cut(reason, _LONGEST_WORD),
            action=_cut(action or reason, _LONGEST_WORD),
            note=_cut(note, _LONGEST_NOTE),
            field_path=field_path,
        )
        series = self._series[sort]
        now = self._clock.monotonic()
        series.last = microseconds(self._clock.now())
        if not series.count or (not series.waiting and now - series.seen_at > SERIES_SECONDS):
            # The story before is over; this is a new one.
            series.name, series.first, series.count, series.written = _name(metadata.name), series.last, 0, 0
        series.api_version = kind.api_version
        series.seen_at = now
        series.count += 1
        if not series.waiting:
            self._enqueue(series)

    def _enqueue(self, series: _Series) -> None:
        sort = series.sort
        if len(self._waiting) >= CAPACITY:
            _dropped.inc()
        elif not self._buckets[sort.kind, sort.namespace, sort.name].take(self._clock.monotonic()):
            # A series goes on counting; the next write that is allowed tells the whole number.
            _limited.inc()
        else:
            series.waiting = True
            self._waiting.append(series)
            self._something.set()

    async def run(self) -> None:
        """Write what was noted, until cancelled."""
        while True:
            await self._something.wait()
            await self.flush()

    async def flush(self) -> None:
        """Return when everything that was noted before is written or given up."""
        while self._waiting:
            # One writer at a time; what is being written stays in its place, so that a second one waits for it too.
            async with self._writing:
                if self._waiting:
                    await self._write_first()
        self._something.clear()

    async def _write_first(self) -> None:
        series = self._waiting[0]
        written = await self._write(series)
        self._waiting.popleft()
        series.waiting = False
        if written and series.count > series.written:
            self._enqueue(series)  # It happened again meanwhile.

    async def _write(self, series: _Series) -> bool:
        """Send the event, trying again if that helps; False if it was given up."""
        pause = FIRST_PAUSE
        for left in reversed(range(TRIES)):
            try:
                await self._send(series)
                return True
            except Unreachable as error:
                complaint = str(error)
            except ApiError as error:
                complaint = error.message
                if error.code < 500 and error.code != 429:
                    break  # A namespace that is going, say: nobody is left to read it.
            except Exception:  # noqa: BLE001  a bug here must not stop a controller; it is loud in the log
                _log.exception("an event could not be written", reason=series.sort.reason)
                return False
            if left:
                await self._clock.sleep(pause)
                pause *= 2
        _failed.inc()
        _log.info("an event was given up", reason=series.sort.reason, regarding=series.sort.name, error=complaint)
        return False

    async def _send(self, series: _Series) -> None:
        count = series.count
        if series.written:
            patch: JsonObject = {"series": {"count": count, "lastObservedTime": series.last}}
            try:
                await self._client.patch(Event, series.name, series.sort.namespace or "default", patch)
            except NotFound:
                pass  # The server forgets events after an hour, so the event is sent again.
            else:
                series.written = count
                _counted.inc()
                return
        # That it exists means that an answer to an earlier try was lost.
        with contextlib.suppress(AlreadyExists):
            await self._client.create(Event, self._body(series))
        series.written = count
        _created.inc()

    def _body(self, series: _Series) -> JsonObject:
        sort = series.sort
        regarding = {"apiVersion": series.api_version, "kind": sort.kind, "name": sort.name}
        if sort.namespace:
            regarding["namespace"] = sort.namespace
        if sort.uid:
            regarding["uid"] = sort.uid
        if sort.field_path:
            regarding["fieldPath"] = sort.field_path
        body: JsonObject = {
            # Events of objects without a namespace live in the default one; the API server insists.
            "metadata": {"name": series.name, "namespace": sort.namespace or "default"},
            "eventTime": series.first,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": sort.action,
            "reason": sort.reason,
            "regarding": regarding,
            "note": sort.note,
            "type": sort.type,
        }
        if series.count > 1:
            body["series"] = {"count": series.count, "lastObservedTime": series.last}
        return body


def _name(of: str) -> str:
    """Return a name for an event that no other has."""
    suffix = f".{uuid.uuid4().hex[:16]}"
    return of[: _LONGEST_NAME - len(suffix)] + suffix


def _cut(text: str, longest: int) -> str:
    """Return the text, cut to that many bytes."""
    raw = text.encode()
    return text if len(raw) <= longest else raw[: longest - 3].decode(errors="ignore") + "..."
