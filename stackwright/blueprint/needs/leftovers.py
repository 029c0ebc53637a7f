"""The logins of what a resource has no more, such as those of a cell that was removed. Schemas stay."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from stackwright.api.base import Resource
from stackwright.blueprint.needs.broker import Messaging
from stackwright.blueprint.needs.database import Database
from stackwright.blueprint.needs.need import KEEP, Need, Resolved, Retirement
from stackwright.blueprint.providers import Sight
from stackwright.kube.builtin import Secret
from stackwright.kube.shapes.belonging import made_for

# The needs of which something may be left, by the kind of their credentials.
_LEFT: Mapping[type[Resource], type[Need]] = {of.credential: of for of in (Database, Messaging) if of.credential}


@dataclass(frozen=True, kw_only=True)
class Leftovers(Need):
    """What earlier needs of a resource kept, and none of the present ones does; `present` returns those.

    It is for needs that depend on the resource: one for each entry of a map (`Each`).
    """

    present: Callable[[Any], Iterable[Need]]
    reads: ClassVar[tuple[type[Resource], ...]] = (Secret, *_LEFT)
    keeps: ClassVar[Mapping[type[Resource], frozenset[str]]] = dict.fromkeys(_LEFT, KEEP)

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return that nothing waits for it."""
        return Resolved(ready=True)

    def retired(self, resource: Any, fact: Any, sight: Sight, known: Iterable[Resource]) -> Iterator[Retirement]:
        """Yield the credentials that were made for the resource, and that no need logs in with."""
        needs = tuple(self.present(resource))
        for item in known:
            of = _LEFT.get(type(item))
            if of is None or item.deleting or not made_for(item, resource):
                continue
            if not any(need.logs_in_with(resource, item) for need in needs):
                yield of.retire(item, resource, sight)
