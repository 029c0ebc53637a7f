"""What all resources of a kind say of themselves, such as the computes outside of the cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.blueprint.look import Survey
from stackwright.blueprint.needs.need import Need, Resolved
from stackwright.blueprint.providers import Sight
from stackwright.kube.informer import Change


@dataclass(frozen=True, kw_only=True)
class Census(Need):
    """What `read` returns of each resource of a kind in the namespace, by name; nothing waits for it.

    A resource of which it returns None is left out. The service looks again when that value changes for one of them;
    whatever else changes of them wakes nobody: there may be thousands.
    """

    of: type[CustomResource]
    read: Callable[[Any], Any]

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return what they say."""
        there = sight.look.of_kind(self.of) if isinstance(sight.look, Survey) else ()
        said = ((each.metadata.name, self.read(each)) for each in there)
        return Resolved(ready=True, fact={name: value for name, value in sorted(said) if value is not None})

    def counts(self, change: Change[Any]) -> bool:
        """Return whether a change of a resource is one of what it says."""
        before, after = (self.read(each) if each is not None else None for each in (change.old, change.new))
        return bool(before != after)
