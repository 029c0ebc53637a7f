"""The informers that controllers share: one for each kind, in all namespaces, in one, or in each of several.

Where several namespaces are named, each kind has an informer for each of them, and one store. So an operator needs no
rights anywhere else, and whoever reads the store does not notice.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.informer import Informer, Timing
from stackwright.kube.resource import Kind, R
from stackwright.kube.store import Store


class Informers:
    """The informers of a process. `namespace` is one name or several; all are looked at where it is empty.

    `places` says of which kinds another namespace is looked at.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str | Iterable[str] = "",
        places: Mapping[type[Any], str] = MappingProxyType({}),
        timing: Timing | None = None,
    ) -> None:
        self._client = client
        self._namespaces = (namespace,) if isinstance(namespace, str) else tuple(dict.fromkeys(namespace)) or ("",)
        self._places = places
        self._timing = timing
        self._informers: dict[tuple[type[Any], str], tuple[Informer[Any], ...]] = {}
        self._group: asyncio.TaskGroup | None = None

    def following(
        self, kind: type[R], *, labels: str = "", transform: Callable[[R], R] | None = None
    ) -> tuple[Informer[R], ...]:
        """Return the informers of a kind, one for each place; the first call makes and starts them."""
        found = self._informers.get((kind, labels))
        if found is None:
            names = (self._places[kind],) if kind in self._places else self._namespaces
            # Of namespaces themselves, those are followed in which we look: no right to read others is needed.
            spaces = kind.kind == Namespace.kind
            names = names if kind.kind.namespaced or spaces else ("",)
            store: Store[R] | None = Store() if len(names) > 1 else None
            found = tuple(
                Informer(
                    self._client,
                    kind,
                    namespace=name,
                    labels=labels,
                    only=name if spaces else "",
                    transform=transform,
                    timing=self._timing,
                    store=store,
                )
                for name in names
            )
            self._informers[kind, labels] = found
            if self._group is not None:
                self._start(found)
        return found

    def of(self, kind: type[R], *, labels: str = "", transform: Callable[[R], R] | None = None) -> Informer[R]:
        """Return the informer of a kind that is followed in one place, or everywhere."""
        (found,) = self.following(kind, labels=labels, transform=transform)
        return found

    def store(self, kind: type[R], *, labels: str = "") -> Store[R]:
        """Return the store of a kind that an informer follows."""
        found = self._informers.get((kind, labels))
        if found is None:
            raise LookupError(f"nobody follows {kind.kind}; add it to the controller's owns, watches or reads")
        return found[0].store

    def unread(self, kind: type[Any], namespace: str, *, labels: str = "") -> str:
        """Say that the cache of a kind does not have a namespace, and what to do; an empty text where it has it."""
        followed = [one for one in self._informers.get((kind, labels), ()) if one.place in ("", namespace)]
        if not followed:
            return f"the operator does not read namespace {namespace}: add it to its namespaces"
        if all(informer.refused and not informer.has_synced for informer in followed):
            return f"the operator may not read namespace {namespace}: give its account a Role and a RoleBinding there"
        return ""

    def caching(self, kind: Kind) -> list[Informer[Any]]:
        """Return the informers that hold objects of a kind, whichever part of them they decode."""
        return [informer for informer in self.all() if informer.kind.kind == kind]

    def all(self) -> list[Informer[Any]]:
        """Return all informers."""
        return [informer for found in self._informers.values() for informer in found]

    async def start(self, group: asyncio.TaskGroup) -> None:
        """Run all informers, and those that are requested later, as tasks of `group`."""
        self._group = group
        self._start(self.all())

    async def synced(self) -> None:
        """Wait until every informer has synced."""
        for informer in self.all():
            await informer.synced()

    def left_out(self) -> dict[str, str]:
        """Return the namespaces that the server does not let us look at, with its own word; the others are worked on.

        Where no other is left, nothing is left out: everything waits.
        """
        refused = {
            informer.place: informer.trouble
            for informer in self.all()
            if informer.shares and informer.refused and not informer.has_synced
        }
        return refused if set(self._namespaces) - set(refused) else {}

    def unsynced(self) -> list[Informer[Any]]:
        """Return the informers that wait for their first list, and hold up what needs it."""
        without = self.left_out()
        return [
            informer
            for informer in self.all()
            if not informer.has_synced and not (informer.shares and informer.place in without)
        ]

    def _start(self, informers: Iterable[Informer[Any]]) -> None:
        assert self._group is not None  # noqa: S101  asked by the callers
        for informer in informers:
            self._group.create_task(informer.run(), name=f"informer {informer}")
