"""Bytes of the server made typed objects: decoders kept per type, pages and events in one pass over the bytes.

An object that does not fit its type (a newer server, say) never stops the others: it is left out with one line
in the log and a count in the metrics.
"""

import asyncio
import time
from collections.abc import Callable
from functools import cache
from typing import Generic, NamedTuple, TypeVar, cast

import msgspec
import structlog

from stackwright.kube import metrics
from stackwright.kube.errors import ApiError
from stackwright.kube.resource import R, Resource

# How long one task may hold the event loop, in seconds.
TURN = 0.02
# A page up to this size is decoded in one go, within about one turn; a larger one object by object.
ONE_GO = 2 * 2**20

T = TypeVar("T")
logger = structlog.get_logger()


class Turn:
    """Yields to the other tasks of the loop when ours has run for long.

    while …:
        if turn.over():
            await turn.give()
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()

    def over(self) -> bool:
        """Whether our turn is over."""
        return self._clock() - self._since > TURN

    async def give(self) -> None:
        """Let the others run; then our turn starts again."""
        await asyncio.sleep(0)
        self._since = self._clock()


class Page(NamedTuple, Generic[T]):
    """Some of the objects of a list. The resource version is the same on all pages of one list."""

    items: list[T]
    resource_version: str
    token: str = ""
    """What the server continues the list by; empty on the last page."""


class _ListMeta(msgspec.Struct, frozen=True):
    resourceVersion: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, Generic[T], gc=False):
    metadata: _ListMeta
    items: list[T] | None = None


class _Raw(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Name(msgspec.Struct, frozen=True):
    """The object and version that some bytes are about; nothing else is read of bookmarks and of unknown types."""

    name: str = ""
    namespace: str = ""
    resourceVersion: str = ""
    annotations: dict[str, str] | None = None


class _Named(msgspec.Struct, frozen=True):
    metadata: Name = Name()


_raw_list = msgspec.json.Decoder(_Raw)
_named = msgspec.json.Decoder(_Named)


@cache
def _decoder(kind: type[Resource]) -> msgspec.json.Decoder[Resource]:
    return msgspec.json.Decoder(kind)


@cache
def _list_decoder(kind: type[Resource]) -> msgspec.json.Decoder[_List[Resource]]:
    return msgspec.json.Decoder(_List[kind])  # type: ignore[valid-type]  # msgspec takes types made at run time


def one(kind: type[R], body: bytes) -> R:
    """Return the object in an answer; raise an ApiError when it does not fit its type."""
    try:
        return cast("R", _decoder(kind).decode(body))
    except msgspec.DecodeError as error:
        raise ApiError(
            f"The server's {kind.kind.name} does not match this version ({error}); use a version that fits.",
            code=200,
            reason="Undecodable",
        ) from None


def try_one(kind: type[R], body: bytes | msgspec.Raw) -> R | None:
    """Return the object, or None when it does not fit its type; that is logged and counted."""
    try:
        return cast("R", _decoder(kind).decode(body))
    except msgspec.ValidationError as error:
        skip(kind, body, error)
        return None


def name_of(body: bytes | msgspec.Raw) -> Name:
    """Return which object of any kind this is."""
    return _named.decode(body).metadata


def skip(kind: type[Resource], body: bytes | msgspec.Raw, error: Exception) -> None:
    """Log and count an object that does not fit its type."""
    metrics.undecodable_objects_total.labels(str(kind.kind)).inc()
    try:
        name = name_of(body)
    except msgspec.DecodeError:
        name = Name("unknown")
    # What msgspec says names the field and the types, never the value.
    logger.warning(
        "object is left out: it does not fit its type",
        kind=str(kind.kind),
        namespace=name.namespace,
        name=name.name,
        problem=str(error),
    )


async def page(kind: type[R], body: bytes, turn: Turn) -> Page[R]:
    """Return the objects of one page of a list; raise an ApiError when the answer is no list at all."""
    try:
        return await _page(kind, body, turn)
    except msgspec.DecodeError as error:
        raise ApiError(
            f"The server's answer is not a list of {kind.kind.name} ({error}); check that its address is that of a "
            "Kubernetes API server.",
            code=200,
            reason="Undecodable",
        ) from None


async def _page(kind: type[R], body: bytes, turn: Turn) -> Page[R]:
    if len(body) <= ONE_GO:
        try:
            whole = cast("_List[R]", _list_decoder(kind).decode(body))
        except msgspec.ValidationError:
            pass  # One object does not fit; the way below finds it.
        else:
            if turn.over():
                await turn.give()
            return Page(whole.items or [], whole.metadata.resourceVersion, whole.metadata.continue_)
    raw = _raw_list.decode(body)
    items: list[R] = []
    for item in raw.items or ():
        if (found := try_one(kind, item)) is not None:
            items.append(found)
        if turn.over():
            await turn.give()
    return Page(items, raw.metadata.resourceVersion, raw.metadata.continue_)
