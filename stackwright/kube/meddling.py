"""Statuses into which somebody else wrote, by `kubectl edit --subresource=status` or from a backup.

Whoever keeps the resource is woken by that. What wakes it is a version of the status that it did not write itself: the
echo of its own writes costs nothing, and what somebody took away is noticed. Before anything is decided on it, the
status is written as it was. Some of what a status says is found anew by each pass; the rest only it remembers, such as
which account is used up to now.

Whoever depends on the resource is woken `LATER`, so that it need not believe what is about to be put right. It may be
another process, which does not know what the keeper wrote: what counts for it is what the server notes of writers.

A write of our own whose answer was lost has no version that we know, and the echo of one may come long after its run,
when the cache is behind. Both are known by what they say.
"""

from collections.abc import Callable, Container, Sequence
from typing import Any

import structlog

from stackwright.kube import status_writers
from stackwright.kube.controller import Context, Controller
from stackwright.kube.errors import Invalid, TypedPatchRefused
from stackwright.kube.events import EventRecorder
from stackwright.kube.informer import Change
from stackwright.kube.resource import CustomResource, Key, Resource, Status
from stackwright.kube.shapes import exchange, pausing
from stackwright.kube.shapes.exchange import Exchanges, Name
from stackwright.kube.shapes.report import write

# Seconds. By then, a status has mostly been put right, which wakes everybody at once.
LATER = 5.0
# So many statuses are remembered that a resource's runs wrote and that the cache has not shown.
UNSEEN = 4

_log = structlog.get_logger()


class Meddling:
    """What others wrote into the statuses that one controller keeps. Its field manager is `ours`."""

    def __init__(self, controller: Controller, ours: str, events: EventRecorder, clock: Callable[[], float]) -> None:
        self._controller = controller
        self._ours = ours
        self._events = events
        self._clock = clock
        self._exchanges = Exchanges()
        # What came of each key in hand. The echo of a write may come before the answer to it, so that only at the end
        # is it known which changes are our own.
        self._heard: dict[Key, list[Change[Any]]] = {}
        # The statuses that are to be written again, with the uids of their resources.
        self._former: dict[Key, tuple[str, Status]] = {}
        # What runs that are over meant to write, as far as it may still come.
        self._unseen: dict[Key, tuple[Status, ...]] = {}
        # Whose last run only wrote the former status.
        self._righted: set[Key] = set()

    def begin(self, key: Key) -> None:
        """Note that a run of a key begins."""
        self._heard[key] = []

    def hear(self, change: Change[Any]) -> float | None:
        """Take note of a change; return in how many seconds to look at what somebody else wrote, None if nobody did."""
        if not status_writers.has_moved(change):
            return None
        key = change.resource.key
        if (heard := self._heard.get(key)) is not None:
            heard.append(change)
            return None
        if not self._is_meant(change):
            return self._note(change)
        self._former.pop(key, None)
        return None

    def end(self, key: Key, written: Container[str], meant: Sequence[Status], present: Resource | None) -> float | None:
        """Note that a key is let go, whose run wrote these versions and meant these statuses; return as `hear` does.

        `present` is what the cache has then.
        """
        after: float | None = None
        self._unseen[key] = (*self._unseen.get(key, ()), *meant)
        for change in self._heard.pop(key, ()):
            is_whole = self._is_meant(change)
            if is_whole or change.resource.metadata.resourceVersion in written:
                # Where writing the former status failed halfway, what somebody added is still to be taken out.
                if is_whole or key in self._righted or self._former.get(key, ("", None))[1] not in meant:
                    self._former.pop(key, None)
                after = None
            else:
                after = self._note(change)
        unseen = self._unseen.pop(key, ())[-UNSEEN:]
        if not isinstance(present, CustomResource):
            self._former.pop(key, None)
            self._righted.discard(key)
            self._exchanges.forget(key)
        elif unseen and unseen[-1] != present.status:
            self._unseen[key] = unseen
        return after

    async def put_right(self, resource: Resource | None, context: Context) -> bool:
        """Write a status as it was before somebody else wrote it; return whether there was anything to write."""
        if not isinstance(resource, CustomResource) or resource.deleting:
            return False
        was_righted = resource.key in self._righted
        self._righted.discard(resource.key)
        uid, former = self._former.get(resource.key, ("", None))
        if former is None or uid != resource.metadata.uid or former == resource.status:
            return False
        # Somebody may write faster than we do: the pass must come to its turn, and the exchange to its rest.
        is_turn_of_pass = was_righted and self._exchanges.rest(_name_of(resource), self._clock()) > 0
        if is_turn_of_pass or pausing.is_paused(self._controller.pause, resource):
            return False
        try:
            written = await write(resource, former, context)
        except (Invalid, TypedPatchRefused) as error:
            # The schema is another one than when it was written. No retry heals that, and a pass writes a new one.
            self._former.pop(resource.key, None)
            _log.warning("a former status is refused", controller=self._controller.name, error=error.message)
            return False
        if written.metadata.resourceVersion == resource.metadata.resourceVersion:
            # The server makes the same of both, and no echo comes.
            self._former.pop(resource.key, None)
            return False
        self._righted.add(resource.key)
        return True

    def later(self, change: Change[Any]) -> float:
        """Return in how many seconds those look at a change who depend on the resource."""
        return LATER if status_writers.is_by_another(change, self._ours) else 0.0

    def _note(self, change: Change[Any]) -> float:
        """Remember what was there before; return for how many seconds it is left alone, if the two go on and on."""
        resource = change.resource
        key, name, now = resource.key, _name_of(resource), self._clock()
        if change.old is not None and status_writers.is_by_hand(change, self._ours):
            # Of several changes by hand, the first one knows what was there.
            self._former.setdefault(key, (resource.metadata.uid, change.old.status))
        else:
            self._former.pop(key, None)
        if rest := self._exchanges.rest(name, now):
            return rest
        managers = sorted({entry.manager for entry in status_writers.find_others(resource.metadata, self._ours)})
        _log.info("somebody else wrote the status", controller=self._controller.name, key=str(key), managers=managers)
        if self._exchanges.note(name, status_writers.STATUS, now):
            what = f"The status of {resource.kind.name} {key.name}"
            self._events.event(resource, "Warning", exchange.REASON, exchange.describe_exchange(what))
        return self._exchanges.rest(name, now)

    def _is_meant(self, change: Change[Any]) -> bool:
        """Return whether a status is one that was to come; what was written before it comes no more."""
        key, unseen = change.resource.key, self._unseen.get(change.resource.key, ())
        if change.resource.status not in unseen:
            return False
        if rest := unseen[unseen.index(change.resource.status) + 1 :]:
            self._unseen[key] = rest
        else:
            del self._unseen[key]
        return True


def _name_of(resource: Resource) -> Name:
    return resource.key, resource.kind, resource.key
