"""The objects of one kind as an informer last saw them, with indexes."""

import builtins
from collections.abc import Callable, Iterable
from typing import Generic

import structlog

from stackwright.kube.resource import Key, R

_OWNERS = "ownerReferences"

_log = structlog.get_logger()


class _Index(Generic[R]):
    """Finds the keys of objects by a value that a function reads from them."""

    def __init__(self, name: str, function: Callable[[R], Iterable[str]]) -> None:
        self._name = name
        self._function = function
        # The inner dict is an ordered set: what is asked for comes back in the order in which it was seen.
        self._keys: dict[str, dict[Key, None]] = {}

    def keys(self, value: str) -> Iterable[Key]:
        return self._keys.get(value, ())

    def change(self, old: R | None, new: R | None) -> None:
        before = self._values(old) if old is not None else frozenset()
        after = self._values(new) if new is not None else frozenset()
        if old is not None:
            for value in before - after:
                keys = self._keys[value]
                del keys[old.key]
                if not keys:
                    del self._keys[value]
        if new is not None:
            for value in after - before:
                self._keys.setdefault(value, {})[new.key] = None

    def _values(self, resource: R) -> frozenset[str]:
        try:
            return frozenset(self._function(resource))
        except Exception:  # noqa: BLE001  a function that cannot read one object must not keep out the others
            _log.exception("an index cannot read an object", index=self._name, key=str(resource.key))
            return frozenset()


def _owners(resource: R) -> Iterable[str]:
    return (owner.uid for owner in resource.metadata.ownerReferences)


class Store(Generic[R]):
    """What is known of one kind. Everybody reads; only the informer writes."""

    def __init__(self) -> None:
        # By namespace, then name: listing a namespace is the common question, and no key is kept per object.
        self._spaces: dict[str, dict[str, R]] = {}
        self._indexes: dict[str, _Index[R]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def get(self, key: Key) -> R | None:
        """Return the object, or None when it is not there."""
        return self._spaces.get(key[0], {}).get(key[1])

    def list(self, namespace: str | None = None) -> list[R]:
        """Return all objects, or those of a namespace."""
        if namespace is not None:
            return list(self._spaces.get(namespace, {}).values())
        return [resource for space in self._spaces.values() for resource in space.values()]

    def index(self, name: str, function: Callable[[R], Iterable[str]]) -> None:
        """Keep an index under `name`, by the values that `function` reads; the first function of a name stays."""
        if name in self._indexes:
            return
        index = _Index(name, function)
        for space in self._spaces.values():
            for resource in space.values():
                index.change(None, resource)
        self._indexes[name] = index

    def by(self, name: str, value: str) -> builtins.list[R]:
        """Return the objects that have `value` in the index `name`."""
        found = (self.get(key) for key in self._indexes[name].keys(value))
        return [resource for resource in found if resource is not None]

    def owned_by(self, uid: str) -> builtins.list[R]:
        """Return the objects that have an owner reference to `uid`."""
        self.index(_OWNERS, _owners)
        return self.by(_OWNERS, uid)

    def put(self, resource: R) -> None:
        """Replace the object of a key; only the informer calls this."""
        name = resource.metadata.name
        space = self._spaces.setdefault(resource.metadata.namespace, {})
        old = space.get(name)
        space[name] = resource
        self._length += old is None
        for index in self._indexes.values():
            index.change(old, resource)

    def remove(self, key: Key) -> R | None:
        """Forget an object and return it; only the informer calls this."""
        namespace, name = key
        space = self._spaces.get(namespace, {})
        old = space.pop(name, None)
        if old is None:
            return None
        if not space:
            del self._spaces[namespace]
        self._length -= 1
        for index in self._indexes.values():
            index.change(old, None)
        return old
