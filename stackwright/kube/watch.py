"""Watches: a stream of lines made typed events, without ever copying a long line more than twice.

A watch ends as the server ends it: quietly when its time is over, with Gone when the version is too old, with
another ApiError when the server says so in the stream, and with Unreachable when the stream breaks or is silent. A
server that is behind says so before the first event, and is asked again, as it would be by a call that reads once.
"""

import itertools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import cache
from typing import Generic, Literal, TypeVar, cast

import msgspec

from stackwright.kube import answers, decoding
from stackwright.kube.errors import ApiError, Unreachable
from stackwright.kube.resource import ObjectMeta, R, Resource
from stackwright.kube.transport import Call, Reply, Transport, pause

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
# The server ends a watch by itself after this many seconds, unless the caller asks for another time.
TIMEOUT = 300.0
# A stream that outlives its time by this much is dead.
SLACK = 10.0
# What a server says whose cache has not reached the version that was asked for.
BEHIND = 504

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
T = TypeVar("T")


class WatchEvent(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """Something that happened; a line of the stream is decoded right into it.

    A bookmark's object has metadata alone: the version reached. So has a deleted one that does not fit its type.
    """

    type: EventType
    object: T
    initial_events_end: bool = False


class _Raw(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_raw = msgspec.json.Decoder(_Raw)


@cache
def _decoder(kind: type[Resource]) -> msgspec.json.Decoder[WatchEvent[Resource]]:
    return msgspec.json.Decoder(WatchEvent[kind])  # type: ignore[valid-type]  # msgspec takes types made at run time


class Lines:
    """Cuts a stream into lines. A long line is kept as the pieces it came in until its end is there."""

    def __init__(self) -> None:
        self._started: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in this chunk, without their ends."""
        whole = chunk.split(b"\n")
        rest = whole.pop()
        if whole and self._started:
            self._started.append(whole[0])
            whole[0] = b"".join(self._started)
            self._started.clear()
        if rest:
            self._started.append(rest)
        return whole


def event_of(kind: type[R], line: bytes) -> WatchEvent[R] | None:
    """Return the event on a line, or None when its object does not fit the type; raise what the server raises."""
    try:
        event = _decoder(kind).decode(line)
        if event.type != "BOOKMARK":
            return cast("WatchEvent[R]", event)
    except msgspec.ValidationError:
        pass  # An error, or a bookmark without the fields that the type needs, or an object that does not fit.
    return _special(kind, line)


def _special(kind: type[R], line: bytes) -> WatchEvent[R] | None:
    raw = _raw.decode(line)
    if raw.type == "ERROR":
        status = answers.status_of(bytes(raw.object)) or answers.Status(message=bytes(raw.object).decode()[:200])
        raise answers.error_of_status(status, kind=kind.kind)
    if raw.type == "BOOKMARK":
        reached = decoding.name_of(raw.object)
        return WatchEvent("BOOKMARK", _named(kind, reached), INITIAL_EVENTS_END in (reached.annotations or ()))
    decoding.try_one(kind, raw.object)
    # That an object is gone must be known even when what it was last is not understood.
    return WatchEvent("DELETED", _named(kind, decoding.name_of(raw.object))) if raw.type == "DELETED" else None


def _named(_: type[R], name: decoding.Name) -> R:
    """Return an object with only its name and version, even if its type requires more."""
    metadata = ObjectMeta(name=name.name, namespace=name.namespace, resourceVersion=name.resourceVersion)
    return cast("R", Resource(metadata=metadata))


async def events(transport: Transport, kind: type[R], call: Call, *, silence: float) -> AsyncGenerator[WatchEvent[R]]:
    """Yield the events of one watch; `silence` is for how many seconds the stream may say nothing."""
    turn, begun = decoding.Turn(transport.clock), False
    for attempt in itertools.count(1):
        lines = Lines()
        try:
            async with aclosing(transport.stream(call, silence=silence)) as chunks:
                async for chunk in chunks:
                    for line in lines.feed(chunk):
                        event = _read(kind, line, transport) if line else None
                        if event is not None:
                            begun = True
                            yield event
                        if turn.over():
                            await turn.give()
        except ApiError as error:
            wait = None if begun or error.code != BEHIND else pause(call, Reply(error.code, b"", None), attempt)
            if wait is None:
                raise
            await transport.sleep(wait)
        else:
            return


def _read(kind: type[R], line: bytes, transport: Transport) -> WatchEvent[R] | None:
    try:
        return event_of(kind, line)
    except msgspec.DecodeError:
        raise Unreachable(
            f"The server {transport.server} sent a line in a watch of {kind.kind} that is not JSON."
        ) from None
