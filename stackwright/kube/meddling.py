"""Statuses into which somebody else wrote, by `kubectl edit --subresource=status` or from a backup.

Whoever keeps the resource is woken by that. What wakes it is a version of the status that it did not write itself: the
echo of its own writes costs nothing, and what somebody took away is noticed. Before anything is decided on it, the
status is written as it was. Some of what a status says is found anew by each pass; the rest only it remembers, such as
which account is used up to now.

Whoever depends on the resource is woken `LATER`, so that it need not believe what is about to be put right. It may be
another process, which does not know what the keeper wrote: what counts for it is what the server notes of writers.
"""

from collections.abc import Callable, Container
from typing import Any

import structlog

from stackwright.kube import status_writers
from stackwright.kube.controller import Context, Controller
from stackwright.kube.events import EventRecorder
from stackwright.kube.informer import Change
from stackwright.kube.resource import CustomResource, Key, Resource, Status
from stackwright.kube.shapes import exchange, pausing
from stackwright.kube.shapes.exchange import Exchanges
from stackwright.kube.shapes.report import write

# Seconds. By then, a status has mostly been put right, which wakes everybody at once.
LATER = 5.0

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

    def begin(self, key: Key) -> None:
        """Note that a run of a key begins."""
        self._heard[key] = []

    def hear(self, change: Change[Any]) -> float | None:
        """Take note of a change; return in how many seconds to look at what somebody else wrote, None if nobody did."""
        if not status_writers.has_moved(change):
            return None
        if (heard := self._heard.get(change.resource.key)) is None:
            return self._note(change)
        heard.append(change)
        return None

    def end(self, key: Key, written: Container[str], *, there: bool) -> float | None:
        """Note that a key is let go, whose run wrote these versions; return the same as `hear`."""
        after: float | None = None
        for change in self._heard.pop(key, ()):
            if change.resource.metadata.resourceVersion in written:
                self._former.pop(key, None)
                after = None
            else:
                after = self._note(change)
        if not there:
            self._former.pop(key, None)
            self._exchanges.forget(key)
        return after

    async def put_right(self, resource: Resource | None, context: Context) -> bool:
        """Write a status as it was before somebody else wrote it; return whether there was anything to write."""
        if not isinstance(resource, CustomResource) or resource.deleting:
            return False
        uid, former = self._former.get(resource.key, ("", None))
        if former is None or uid != resource.metadata.uid or former == resource.status:
            return False
        if pausing.is_paused(self._controller.pause, resource):
            return False
        await write(resource, former, context)
        return True

    def later(self, change: Change[Any]) -> float:
        """Return in how many seconds those look at a change who depend on the resource."""
        return LATER if status_writers.is_by_another(change, self._ours) else 0.0

    def _note(self, change: Change[Any]) -> float:
        """Remember what was there before; return for how many seconds it is left alone, if the two go on and on."""
        resource = change.resource
        key, now = resource.key, self._clock()
        if change.old is not None and status_writers.is_by_hand(change, self._ours):
            # Of several changes by hand, the first one knows what was there.
            self._former.setdefault(key, (resource.metadata.uid, change.old.status))
        else:
            self._former.pop(key, None)
        name = (key, resource.kind, key)
        if rest := self._exchanges.rest(name, now):
            return rest
        managers = sorted({entry.manager for entry in status_writers.find_others(resource.metadata, self._ours)})
        _log.info("somebody else wrote the status", controller=self._controller.name, key=str(key), managers=managers)
        if self._exchanges.note(name, status_writers.STATUS, now):
            what = f"The status of {resource.kind.name} {key.name}"
            self._events.event(resource, "Warning", exchange.REASON, exchange.describe_exchange(what))
        return self._exchanges.rest(name, now)
