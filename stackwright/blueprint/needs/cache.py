"""A cache: a service that loses it is slower, and goes on."""

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from stackwright.api import paths
from stackwright.blueprint.needs.need import Imagination, Need, Places, Resolved
from stackwright.blueprint.places import place_of
from stackwright.blueprint.providers import Sight
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Ends, Wait

# The word of what provides it.
CACHE = "cache"


@dataclass(frozen=True)
class CacheFacts:
    """The nodes of a cache, each as host:port: what a cache offers, and what a service knows of it."""

    servers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Cache(Need):
    """A cache: the field at `instance` names it.

    If it is `optional`, a resource that names none has none: the fact is None, and the service works without.
    """

    name: str = "cache"
    instance: str = "memcachedInstance"
    optional: bool = False
    condition: str = "MemcachedReady"
    everywhere: ClassVar[tuple[str, ...]] = (CACHE,)
    labelled: ClassVar[bool] = True

    @property
    def word(self) -> str:
        """The word of what provides it."""
        return CACHE

    def provided_by(self, resource: Any) -> str:
        """Return the name of the cache."""
        return str(paths.find(resource.spec, self.instance) or "")

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the nodes of the cache, once they are known."""
        if self.optional and not self.provided_by(resource):
            return Resolved(ready=True)
        cache = sight.provider(self.word, self.provided_by(resource))
        offer: CacheFacts | None = cache.offer
        if offer is None:
            message = f"{cache} does not exist; create it, or name another one in spec.{self.instance}"
            wait = Wait("MemcachedMissing", message, self.condition, ends=Ends.BY_AUTHOR)
            return Resolved(ready=False, waits=(wait,))
        if not offer.servers:
            return Resolved(ready=False, waits=(Wait("MemcachedNotReady", cache.why, self.condition),))
        findings: tuple[Finding, ...] = ()
        if not cache.ready:
            # A cache that is away costs time, not answers: the service goes on and says so.
            findings = (Finding(self.condition, "False", "MemcachedNotReady", cache.why, "Warning"),)
        return Resolved(ready=True, fact=offer, findings=findings)

    def places(self, fact: CacheFacts) -> Places:
        """Return where the nodes are."""
        return tuple(place_of(server) for server in fact.servers)

    def pods(self, fact: CacheFacts) -> str:
        """Return what the nodes' pods are called."""
        return "memcached"

    def imagine(self, resource: Any, world: Imagination) -> None:
        """Put the cache there, with the nodes that the user names or that it would have."""
        if self.optional and not self.provided_by(resource):
            return
        cache = world.provider(self.word, self.provided_by(resource), {})
        servers = world.outside.cache_servers or cache.status.serverList
        world.add(msgspec.structs.replace(cache, status=msgspec.structs.replace(cache.status, serverList=servers)))
