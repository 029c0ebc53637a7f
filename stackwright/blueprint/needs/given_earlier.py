"""A connection that a resource gave to a child, and asks for no more: that of a cell that is being removed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from stackwright.blueprint.needs.given import Given
from stackwright.blueprint.needs.need import Resolved
from stackwright.blueprint.providers import Sight
from stackwright.kube.builtin import Secret


@dataclass(frozen=True, kw_only=True)
class GivenEarlier(Given):
    """A connection in a Secret that the resource has written itself, as the child reads it still.

    The spec says no more which server it was. `named` returns the name of the Secret. Nothing waits for it: without the
    Secret, or without the server that it names, the entry of the facts is missing.
    """

    named: Callable[[Any], str]
    apart: bool = True

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the connection, if the server is still there."""
        fact = super().resolve(resource, sight).fact
        server = self.server(resource, fact)
        if fact is None or (server and sight.provider(self.word, server).offer is None):
            return Resolved(ready=False)
        return Resolved(ready=True, fact=fact)

    def _secret_of(self, resource: Any) -> str:
        return self.named(resource)

    def used(self, resource: Any, sight: Sight) -> Iterator[Secret]:
        """Yield nothing: it marks no Secret of its own as one that it reads."""
        yield from ()
