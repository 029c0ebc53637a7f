"""Where another resource says that it is served."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.blueprint.interfaces import PUBLIC
from stackwright.blueprint.needs.need import Imagination, Need, Resolved
from stackwright.blueprint.needs.reported import add_telling
from stackwright.blueprint.providers import Sight


@dataclass(frozen=True, kw_only=True)
class Published(Need):
    """The URLs in status.apiEndpoints of another resource, by interface, as a fact: nothing waits for them.

    `of` is the kind of that resource, `resource` returns its name. It is for a child, which the service reads anyway.
    """

    of: type[CustomResource]
    resource: Callable[[Any], str]

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the URLs; none as long as the resource does not say them."""
        other: Any = sight(self.of, self.resource(resource))
        return Resolved(ready=True, fact=dict(other.status.apiEndpoints) if other is not None else {})

    def imagine(self, resource: Any, world: Imagination) -> None:
        """Put the resource there; only a cluster knows its URLs."""
        add_telling(self.of, self.resource(resource), world, apiEndpoints={PUBLIC: ""})
