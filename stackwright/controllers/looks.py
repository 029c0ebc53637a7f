"""Looking at other objects while deciding, and being woken when one of them changes.

A resource's spec names the Secrets, servers and Services that it depends on, so no fixed rule maps a changed object to
its readers. Instead each look is remembered, and a change wakes the resources that looked.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from stackwright.blueprint.generated import Reader
from stackwright.kube.builtin import Secret
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Blocked
from stackwright.kube.predicates import Predicate
from stackwright.kube.resource import Key, Kind, Resource

R = TypeVar("R", bound=Resource)

# The reason of a resource that has to look into a namespace which its operator does not read.
NOT_READ = "NamespaceNotRead"
# Stands for all objects of a namespace; no object has an empty name.
_EVERY = ""


class Interests:
    """Remembers which resource looked at which object."""

    def __init__(self) -> None:
        self._readers: dict[tuple[Kind, Key], set[Key]] = {}
        self._looked: dict[Key, set[tuple[Kind, Key]]] = {}

    def begin(self, reader: Resource, context: Context) -> "Looker":
        """Return what a pass over `reader` looks with; what its last pass looked at is forgotten."""
        self.forget(reader.key)
        return Looker(self, reader.key, context)

    def forget(self, reader: Key) -> None:
        """Forget what a resource looked at."""
        for target in self._looked.pop(reader, ()):
            readers = self._readers[target]
            readers.discard(reader)
            if not readers:
                del self._readers[target]

    def note(self, reader: Key, kind: Kind, key: Key) -> None:
        """Remember that a resource looked at an object, whether or not it exists."""
        self._readers.setdefault((kind, key), set()).add(reader)
        self._looked.setdefault(reader, set()).add((kind, key))

    def watch(self, kind: type[R], when: Predicate | None = None, after: float = 0.0) -> Watch[R]:
        """Return the watch that wakes the resources that looked at an object of a kind."""

        def readers(resource: R) -> Iterable[Key]:
            one, every = resource.key, Key(resource.metadata.namespace, _EVERY)
            return (*self._readers.get((kind.kind, one), ()), *self._readers.get((kind.kind, every), ()))

        return Watch(kind, to=readers, when=when, after=after)

    def watch_readers(self, reader: Reader) -> Watch[Any]:
        """Return the watch that wakes the makers of a Secret when the first resource of a kind reads it.

        Those are woken that looked for the Secret and for its readers. A thousand further readers of a Secret that is
        there wake nobody, and neither do readers of another one.
        """

        def makers(resource: Resource) -> Iterable[Key]:
            namespace = resource.metadata.namespace
            listed = self._readers.get((reader.of.kind, Key(namespace, _EVERY)), set())
            looked = (self._readers.get((Secret.kind, Key(namespace, name)), set()) for name in reader.names(resource))
            return tuple(key for keys in looked for key in keys & listed)

        return Watch(reader.of, to=makers, when=reader.counts)

    def watches(self, kinds: Iterable[type[Resource]]) -> tuple[Watch[Any], ...]:
        """Return the watches of several kinds."""
        return tuple(self.watch(kind) for kind in kinds)


def forgetting(controller: Controller, *forgets: Callable[[Key], None]) -> Controller:
    """Return a controller that forgets a resource once it is gone: an operator runs for months, and resources go."""

    async def reconcile(key: Key, context: Context) -> Result | None:
        if context.store(controller.kind).get(key) is None:
            for forget in forgets:
                forget(key)
        return await controller.reconcile(key, context)

    return replace(controller, reconcile=reconcile)


class Looker:
    """Reads from the caches for one pass over one resource."""

    def __init__(self, interests: Interests, reader: Key, context: Context) -> None:
        self._interests = interests
        self._reader = reader
        self._context = context

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return an object of the resource's own namespace, of another, or a cluster-wide one; None if there is none.

        Raise Blocked for a namespace that the operator does not read.
        """
        key = Key(self._place(kind, namespace), name)
        self._interests.note(self._reader, kind.kind, key)
        return self._context.store(kind).get(key)

    def all(self, kind: type[R], *, namespace: str = "") -> list[R]:
        """Return all objects of the resource's own namespace or another, or all cluster-wide ones.

        A change of one of them wakes the resource. Raise Blocked for a namespace that the operator does not read.
        """
        place = self._place(kind, namespace)
        self._interests.note(self._reader, kind.kind, Key(place, _EVERY))
        return self._context.store(kind).list(place)

    def of_kind(self, kind: type[R]) -> list[R]:
        """Return all objects of a kind in the resource's own namespace; a change of one of them wakes the resource."""
        return self.all(kind)

    def _place(self, kind: type[Resource], namespace: str) -> str:
        """Return where to look. That a namespace is in no cache does not mean that it is empty."""
        if not kind.kind.namespaced:
            return ""
        if not namespace or namespace == self._reader.namespace:
            return self._reader.namespace
        if why := self._context.informers.unread(kind, namespace):
            raise Blocked(f"{why}, where a {kind.kind.name} is looked for", reason=NOT_READ)
        return namespace
