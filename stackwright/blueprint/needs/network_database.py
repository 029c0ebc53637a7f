"""A database of the virtual networks: of those that are wanted (NB), or of how they are built (SB)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from stackwright.blueprint.needs.need import Imagination, Need, Places, Resolved
from stackwright.blueprint.places import connection_places
from stackwright.blueprint.providers import Sight
from stackwright.kube.plan import Ends, Wait

# The word of what provides it.
NETWORK_DATABASE = "network-database"


@dataclass(frozen=True)
class NetworkDatabaseServer:
    """A database of the virtual networks. `role` is NB for the networks as they are wanted, SB for how they are built.

    `inside` is how clients in the cluster reach it, `outside` how machines outside of it do. Both list every member
    by its number, as tcp:10.96.1.2:6641,tcp:10.96.1.3:6641, because these clients resolve no names. `inside` is empty
    until the addresses are known, and `outside` also if the database cannot be reached from there. `outside_config` is
    the ConfigMap with what such machines have to know; "" where there is none. `published` says that machines outside
    shall reach it.
    """

    role: str
    inside: str = ""
    outside: str = ""
    outside_config: str = ""
    published: bool = True


@dataclass(frozen=True)
class NetworkDatabaseFacts:
    """How to reach a database of the virtual networks, from pods and from machines outside of the cluster.

    Each is a list such as tcp:10.96.1.2:6641,tcp:10.96.1.3:6641; `outside` is "" if nothing outside can reach it.
    """

    inside: str
    outside: str = ""
    # The resource that provides it, and what its pods are called.
    server: str = ""
    pods: str = ""


@dataclass(frozen=True, kw_only=True)
class NetworkDatabase(Need):
    """The database of a `role`, NB or SB. No field names it: a namespace has one of each, whatever it is called.

    `usual` is the name of the one that the umbrella creates if nobody asks for another.
    """

    role: str
    usual: str
    condition: str = "InputReady"
    words: ClassVar[tuple[str, ...]] = (NETWORK_DATABASE,)
    labelled: ClassVar[bool] = True

    @property
    def word(self) -> str:
        """The word of what provides it."""
        return NETWORK_DATABASE

    def provided_by(self, resource: Any) -> str:
        """Return the name of the one that there usually is."""
        return self.usual

    def accepts(self, offer: Any) -> bool:
        """Return whether this is the database of the role."""
        return isinstance(offer, NetworkDatabaseServer) and offer.role == self.role

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return how to reach the database, once its members have addresses."""
        found = sight.choose(self.word, self.usual, self.accepts)
        offer: NetworkDatabaseServer | None = found.offer
        if offer is None:
            message = f"No {found.kind} of type {self.role} exists in this namespace; create {found}"
            return Resolved(
                ready=False, waits=(Wait(f"{found.kind}Missing", message, self.condition, ends=Ends.BY_AUTHOR),)
            )
        if not offer.inside:
            return Resolved(ready=False, waits=(Wait(f"{found.kind}NotReady", found.why, self.condition),))
        pods = sight.providers[self.word].pods
        return Resolved(ready=True, fact=NetworkDatabaseFacts(offer.inside, offer.outside, found.name, pods))

    def server(self, resource: Any, fact: NetworkDatabaseFacts | None) -> str:
        """Return the name of the database's resource."""
        return fact.server if fact is not None and fact.server else self.usual

    def places(self, fact: NetworkDatabaseFacts) -> Places:
        """Return where the members are."""
        return tuple(connection_places(fact.inside))

    def pods(self, fact: NetworkDatabaseFacts) -> str:
        """Return what the members' pods are called."""
        return fact.pods

    def imagine(self, resource: Any, world: Imagination) -> None:
        """Put a database of the role there."""
        world.add(world.offering(self.word, self.usual, NetworkDatabaseServer(self.role)))
