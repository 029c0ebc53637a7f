"""The logins of what a resource has no more, such as those of a cell that was removed. Schemas stay."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from stackwright.api.base import Resource
from stackwright.api.mariadb import DATABASE_LABEL, MariaDBAccount
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint.needs.broker import Messaging, Notifications
from stackwright.blueprint.needs.database import Database, retire_account
from stackwright.blueprint.needs.need import KEEP, Need, Resolved, Retirement
from stackwright.blueprint.providers import Sight
from stackwright.kube.builtin import Secret
from stackwright.kube.shapes.belonging import made_for


@dataclass(frozen=True, kw_only=True)
class Leftovers(Need):
    """What earlier needs of a resource kept, and none of the present ones does; `present` returns those.

    It is for needs that depend on the resource: one for each entry of a map (`Each`).
    """

    present: Callable[[Any], Iterable[Need]]
    reads: ClassVar[tuple[type[Resource], ...]] = (Secret, MariaDBAccount, TransportURL)
    keeps: ClassVar[Mapping[type[Resource], frozenset[str]]] = {MariaDBAccount: KEEP, TransportURL: KEEP}

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return that nothing waits for it."""
        return Resolved(ready=True)

    def retired(self, resource: Any, fact: Any, sight: Sight, known: Iterable[Resource]) -> Iterator[Retirement]:
        """Yield the logins to brokers that no need names, and the accounts of schemas that no need has."""
        needs = tuple(self.present(resource))
        urls = {need.url(resource) for need in needs if isinstance(need, Messaging | Notifications)}
        databases = {need.database(resource) for need in needs if isinstance(need, Database)}
        for item in known:
            if item.deleting or not made_for(item, resource):
                continue
            if isinstance(item, TransportURL) and item.metadata.name not in urls:
                yield Retirement(item, "BusRetired")
            if isinstance(item, MariaDBAccount) and item.metadata.labels.get(DATABASE_LABEL) not in databases:
                yield retire_account(item, resource, sight)
