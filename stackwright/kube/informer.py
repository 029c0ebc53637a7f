"""Keeps the objects of a kind in memory as the server has them, and reports changes to subscribers.

An informer lists once and then follows a watch. It asks for the list as the beginning of the watch where the
server can do that, else in pages. When the stream ends it goes on from the last version that it saw; when the
server no longer knows that version, it lists again, reports what was deleted meanwhile, and is silent about
what did not change.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic

import msgspec
import structlog

from stackwright.kube import metrics
from stackwright.kube.client import Client, WatchEvent
from stackwright.kube.clock import REAL, Clock
from stackwright.kube.decoding import Turn
from stackwright.kube.errors import ApiError, Denied, Gone, KubeError
from stackwright.kube.progress import Progress
from stackwright.kube.queue import Backoff
from stackwright.kube.resource import Key, R
from stackwright.kube.store import Store

# A stream that lived for this many seconds was a success, even if nothing happened meanwhile.
LIVED = 60.0
# After this many refusals in a row to continue from a version, the version itself is suspected.
REFUSALS = 3
FORBIDDEN = 403
# Refusals whose cause is us or the server, not the version.
_NOT_THE_VERSION = (401, 403, 404, 429, 503)
_STREAM_REFUSED = (400, 405, 406, 422, 501)

_log = structlog.get_logger()


class Change(msgspec.Struct, Generic[R], frozen=True, gc=False):
    """What became of one object: `old` is what was reported last, `new` is None when it is gone.

    `initial` marks what the first list brought. An object that was deleted and created again under the same name
    is two changes.
    """

    old: R | None
    new: R | None
    initial: bool = False

    @property
    def resource(self) -> R:
        """The object as it is, or as it last was."""
        resource = self.new if self.new is not None else self.old
        assert resource is not None, "a change is of something"  # noqa: S101  one of the two is always there
        return resource


Handler = Callable[[Change[R]], None]


def _random() -> float:
    return random.random()  # noqa: S311  spreads load in time; nothing is secret about it


@dataclass(frozen=True)
class Timing:
    """Times of an informer, in seconds, and where it takes time and chance from.

    A watch is renewed after a random time between `shortest` and `longest`, so that not all come back at once.
    Older servers ignore the wish for a list in the stream, and some never end it: after a silence of
    `list_silence` it is asked for in pages. A server that sends bookmarks does so about every minute: a stream
    without one for `bookmark_silence` is dead.
    """

    shortest: float = 300.0
    longest: float = 600.0
    list_silence: float = 30.0
    bookmark_silence: float = 150.0
    clock: Clock = REAL
    chance: Callable[[], float] = _random
    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.8, limit=30.0))

    def watch_seconds(self) -> float:
        """Return how long the next watch runs."""
        return self.shortest + (self.longest - self.shortest) * self.chance()


class _Listing(Generic[R]):
    """A list in progress."""

    def __init__(self, known: Iterable[R]) -> None:
        # Objects that were known before and have not come yet; those left at the end are gone.
        self.unseen: set[Key] = {resource.key for resource in known}
        # Objects that came in an older version than the known one.
        self.stale: list[R] = []
        self.turn = Turn()


class Informer(Generic[R]):
    """Follows the objects of one kind, all or those of a namespace or selector.

    Several that follow a namespace each may share a `store`; each writes what is of its own namespace. With `only`, it
    follows the one object of that name, which is in no namespace: so the right to read that one is enough.
    """

    def __init__(  # noqa: PLR0913  all but two by name, each with a default
        self,
        client: Client,
        kind: type[R],
        *,
        namespace: str = "",
        labels: str = "",
        only: str = "",
        transform: Callable[[R], R] | None = None,
        timing: Timing | None = None,
        store: Store[R] | None = None,
    ) -> None:
        self.kind = kind
        self.namespace = namespace if kind.kind.namespaced else ""
        self.labels = labels
        self.place = only or self.namespace
        """The namespace that it is about; empty for all."""
        self._only = only
        self._fields = f"metadata.name={only}" if only else ""
        self.shares = store is not None
        """Whether others fill the same store from other namespaces."""
        self.store: Store[R] = Store() if store is None else store
        self.trouble = ""
        """Why the informer makes no progress, in a sentence; empty if it does."""
        self.refused = False
        """Whether the server last said that we may not read there."""
        self._client = client
        self._transform = transform
        self._timing = timing or Timing()
        self._handlers: list[Handler[R]] = []
        self._synced = asyncio.Event()
        self._settled = asyncio.Event()
        self._streaming = True
        self._progress = Progress()
        self._must_list = True
        self._list_reason = "start"
        self._failures = 0
        self._refusals = 0
        self._hears_bookmarks = False
        self._objects = metrics.informer_objects.labels(str(kind.kind))

    def __str__(self) -> str:
        place = f" in {self.place}" if self.shares else ""
        return (f"{self.kind.kind}({self.labels})" if self.labels else str(self.kind.kind)) + place

    @property
    def has_synced(self) -> bool:
        """Whether the store has been complete once."""
        return self._synced.is_set()

    @property
    def version(self) -> int:
        """The resource version up to which the store is complete."""
        return self._progress.version

    async def synced(self) -> None:
        """Wait for the first list to be complete."""
        await self._synced.wait()

    async def settled(self) -> None:
        """Wait for the first list, or for its refusal: a refused namespace holds up no other."""
        await (self._settled if self.shares else self._synced).wait()

    def subscribe(self, handler: Handler[R]) -> None:
        """Call `handler` at every change from now on, first with everything that is known."""
        self._handlers.append(handler)
        for resource in self._known():
            self._call(handler, Change(None, resource, initial=True))

    def _known(self) -> list[R]:
        known = self.store.list(self.namespace or None)
        return [resource for resource in known if self._only in ("", resource.metadata.name)]

    def covers(self, key: Key) -> bool:
        """Whether a write to that object will show here.

        A selector hides that from us for an object that we do not have: we cannot know whether it matches.
        """
        if (self.namespace and key.namespace != self.namespace) or (self._only and key.name != self._only):
            return False
        return not self.labels or self.store.get(key) is not None

    async def reached(self, resource_version: str, timeout: float) -> bool:
        """Wait until the store is complete up to a version; return False if it is not in time."""
        return await self._progress.reached(int(resource_version), timeout)

    async def run(self) -> None:
        """Follow the kind until cancelled. No error ends it: each is logged once and retried with backoff."""
        now = self._timing.clock.monotonic
        while True:
            before, began = self.version, now()
            failed = await self._try()
            progressed, lived = before != self.version, now() - began
            if progressed or lived > LIVED:
                self._failures = 0
            # A stream that ends at once and brought nothing would otherwise be opened in a tight loop.
            if failed or not (progressed or lived > 1.0):
                await self._timing.clock.sleep(self._timing.backoff.delay(self._failures))
                self._failures += 1

    async def _try(self) -> bool:
        """Follow the kind until something ends it; return whether that is a failure."""
        try:
            await self._follow()
        except Gone:
            self._list_again("gone")
            return False
        except KubeError as error:
            self._complain(error)
            self._doubt(error)
            return True
        except Exception as error:  # noqa: BLE001  our bug, and loud; but the cache must not go stale for ever
            _log.exception("an informer failed", kind=str(self))
            self.trouble = f"{type(error).__name__}: {error}"
            self._list_again("error")
            return True
        return False

    async def _follow(self) -> None:
        """List if needed, then apply what the stream sends until it ends."""
        if self._must_list and not self._streaming:
            await self._list_in_pages()
        listing = _Listing(self._known()) if self._must_list else None
        try:
            await self._stream(listing)
        except ApiError as error:
            if listing is None or not self._must_list or error.code not in _STREAM_REFUSED:
                raise
            self._page_from_now_on(error.message)
            await self._follow()

    async def _stream(self, listing: _Listing[R] | None) -> None:
        stream = self._client.watch(
            self.kind,
            self.namespace,
            labels=self.labels,
            fields=self._fields,
            resource_version="" if listing else str(self.version),
            initial=listing is not None,
            timeout=self._timing.watch_seconds(),
            silence=self._timing.bookmark_silence if self._hears_bookmarks else 0.0,
        )
        async with contextlib.aclosing(stream):
            try:
                async with asyncio.timeout(self._timing.list_silence if listing else None) as patience:
                    async for event in stream:
                        listing = self._take(event, listing)
                        self._be_patient(patience, listing)
            except TimeoutError:
                if listing is None or not patience.expired():
                    raise
                self._page_from_now_on(f"it sent nothing for {self._timing.list_silence:.0f} s")

    def _be_patient(self, patience: asyncio.Timeout, listing: _Listing[R] | None) -> None:
        """Give a list that makes progress more time; after its end there is no limit."""
        if patience.when() is None:
            return
        if listing is None:
            patience.reschedule(None)
        elif listing.turn.over():
            # Not for every object: setting a timer costs a tenth of decoding an object.
            patience.reschedule(asyncio.get_running_loop().time() + self._timing.list_silence)
            listing.turn = Turn()

    async def _list_in_pages(self) -> None:
        listing = _Listing(self._known())
        version = ""
        pages = self._client.pages(self.kind, self.namespace, labels=self.labels, fields=self._fields)
        async with contextlib.aclosing(pages):
            async for page in pages:
                version = version or page.resource_version
                for resource in page.items:
                    self._list_one(resource, listing)
                    if listing.turn.over():
                        await listing.turn.give()
        self._finish(listing, version)

    def _take(self, event: WatchEvent[R], listing: _Listing[R] | None) -> _Listing[R] | None:
        """Apply one event; return the list that is still in progress after it."""
        resource = event.object
        if event.type == "BOOKMARK":
            if listing is None:
                self._hears_bookmarks = True
                self._advance(resource.metadata.resourceVersion)
            elif event.initial_events_end:
                self._finish(listing, resource.metadata.resourceVersion)
                return None
        elif listing is not None:
            # Changes may come before the end of the list if the server's cache was behind.
            if event.type == "DELETED":
                listing.unseen.discard(resource.key)
                self._remove(resource.key)
            else:
                self._list_one(resource, listing)
        elif int(resource.metadata.resourceVersion) > self.version:
            # An event that is not newer than the stream's own position was sent twice.
            if event.type == "DELETED":
                self._remove(resource.key)
            else:
                self._put(resource)
            self._advance(resource.metadata.resourceVersion)
        return listing

    def _list_one(self, resource: R, listing: _Listing[R]) -> None:
        key = resource.key
        listing.unseen.discard(key)
        known = self.store.get(key)
        if known is not None and known.metadata.uid == resource.metadata.uid:
            version, known_version = resource.metadata.resourceVersion, known.metadata.resourceVersion
            if version == known_version:
                return
            if int(version) < int(known_version):
                listing.stale.append(resource)
                return
        self._put(resource)

    def _finish(self, listing: _Listing[R], version: str) -> None:
        """Accept a list as complete: objects that it did not contain are gone."""
        if int(version) < self.version:
            # Only a server that was reset to an earlier state has older versions; then they are the truth.
            _log.warning("the server went back to an earlier state", kind=str(self), version=version)
            for resource in listing.stale:
                self._put(resource)
        for key in listing.unseen:
            self._remove(key)
        metrics.informer_relists_total.labels(str(self.kind.kind), self._list_reason).inc()
        self._must_list = False
        self._advance(version)
        self._synced.set()
        self._settled.set()

    def _put(self, resource: R) -> None:
        if self._transform:
            resource = self._transformed(resource)
        key = resource.key
        old = self.store.get(key)
        if old is not None and old.metadata.uid != resource.metadata.uid:
            self._remove(key)
            old = None
        self.store.put(resource)
        if old is None:
            self._objects.inc()
        self._tell(Change(old, resource, initial=not self.has_synced))

    def _remove(self, key: Key) -> None:
        old = self.store.remove(key)
        if old is not None:
            self._objects.dec()
            self._tell(Change(old, None))

    def _transformed(self, resource: R) -> R:
        assert self._transform is not None  # noqa: S101  asked by the only caller
        try:
            return self._transform(resource)
        except Exception:  # noqa: BLE001  one object that cannot be transformed must not stop the others
            _log.exception("an object cannot be transformed", kind=str(self), key=str(resource.key))
            return resource

    def _tell(self, change: Change[R]) -> None:
        for handler in self._handlers:
            self._call(handler, change)

    def _call(self, handler: Handler[R], change: Change[R]) -> None:
        try:
            handler(change)
        except Exception:  # noqa: BLE001  a handler's bug must not keep changes from the others
            _log.exception("a handler failed", kind=str(self), key=str(change.resource.key))

    def _advance(self, version: str) -> None:
        self._refusals = 0
        if self.trouble:
            _log.info("following again", kind=str(self))
            self.trouble = ""
            self.refused = False
        self._progress.advance(int(version))

    def _list_again(self, reason: str) -> None:
        if not self._must_list:
            self._must_list = True
            self._list_reason = reason

    def _doubt(self, error: KubeError) -> None:
        """List again if the server keeps refusing to continue from our version for a reason of its own."""
        if isinstance(error, ApiError) and error.code not in _NOT_THE_VERSION:
            self._refusals += 1
            if self._refusals >= REFUSALS:
                self._list_again("refused")

    def _page_from_now_on(self, reason: str) -> None:
        self._streaming = False
        _log.info("the server does not list in a stream; listing in pages", kind=str(self), reason=reason)

    def _complain(self, error: KubeError) -> None:
        """Log what is wrong, once until it changes."""
        sentence = str(error) or type(error).__name__
        say = _log.debug if sentence == self.trouble else _log.warning
        say("cannot follow a kind", kind=str(self), error=sentence)
        self.trouble = sentence
        self.refused = isinstance(error, Denied) and error.code == FORBIDDEN
        if self.refused:
            self._settled.set()
