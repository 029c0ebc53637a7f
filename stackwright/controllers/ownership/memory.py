"""What resources claim, remembered for as long as nothing that says so has changed.

In each pass over a resource all others of its namespace are asked what they claim. Objects in the caches are never
changed, only replaced: what one claims is the same while it, and each object that was looked at for it, is the same.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from stackwright.blueprint.claims import Claim, Claims
from stackwright.blueprint.look import Look
from stackwright.kube.resource import CustomResource, Resource

# How many resources are remembered: more than a large cloud has, at some hundred bytes each.
REMEMBERED = 4096


@dataclass(frozen=True)
class _Remembered:
    """What a resource claims, and what was looked at for that."""

    resource: CustomResource
    looked: tuple[tuple[type[Resource], str, str, Resource | None], ...]
    claims: Claims


@dataclass(frozen=True)
class Memory:
    """Remembers what resources claim, by uid; those that were asked for least recently are forgotten."""

    known: OrderedDict[str, _Remembered] = field(default_factory=OrderedDict)

    def recall(self, resource: CustomResource, look: Look, make: Callable[[Look], Iterable[Claim]]) -> Claims:
        """Return what a resource claims; `make` works it out, and looks at others only by the look that it is given."""
        uid = resource.metadata.uid
        found = self.known.get(uid)
        if found is None or found.resource is not resource or not _is_same(found, look):
            found = _remember(resource, look, make)
            # One that nobody has created yet has no uid.
            if uid:
                self.known[uid] = found
        if uid:
            self.known.move_to_end(uid)
        while len(self.known) > REMEMBERED:
            self.known.popitem(last=False)
        return found.claims

    def last(self, resource: CustomResource) -> Claims:
        """Return what a resource claimed when that was worked out last; nothing if that was forgotten, or never was."""
        found = self.known.get(resource.metadata.uid)
        return found.claims if found is not None else Claims()


def _is_same(found: _Remembered, look: Look) -> bool:
    return all(look(kind, name, namespace=where) is seen for kind, name, where, seen in found.looked)


def _remember(resource: CustomResource, look: Look, make: Callable[[Look], Iterable[Claim]]) -> _Remembered:
    looked: list[tuple[type[Resource], str, str, Resource | None]] = []

    def noting(kind: type[Any], name: str, *, namespace: str = "") -> Any:
        seen = look(kind, name, namespace=namespace)
        looked.append((kind, name, namespace, seen))
        return seen

    claims = Claims(make(noting))
    return _Remembered(resource, tuple(looked), claims)
