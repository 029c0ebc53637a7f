"""What services provide for others, and how a need finds it: by a word, whoever provides what the word stands for.

A service says `provides=Provides("database", offer)`. A need of the word `database` learns, from `offer`, where the
server is and where its administrator's password is; it knows neither the kind nor the chart of the provider.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from stackwright.api.base import CustomResource, JsonObject, Resource
from stackwright.blueprint.look import Look, Survey
from stackwright.kube import conditions

C = TypeVar("C", bound=CustomResource)
R = TypeVar("R", bound=Resource)

# What connects virtual networks to physical ones. Nobody waits for it; it is asked what it has.
NETWORK_GATEWAY = "network-gateway"
# What tells machines outside of the cluster the addresses of names. They are not kept from anything without it.
NAME_SERVER = "name-server"


@dataclass(frozen=True)
class Imagined(Generic[C]):
    """How a provider looks that is only imagined: its spec for what a need asks for, and what it reports once it runs.

    `report` completes a resource that may be the user's own; what it says of itself already stays.
    """

    spec: Callable[[Any], JsonObject]
    report: Callable[[C], C]


@dataclass(frozen=True)
class Provides(Generic[C]):
    """What a service provides: the `word` of the needs that it meets, and what they learn of one of its resources."""

    word: str
    offer: Callable[[C], Any]
    imagined: Imagined[C] | None = None


@dataclass(frozen=True)
class Offerer:
    """A service that provides something: the kind of its resources, the name of its pods, and what it offers."""

    kind: type[CustomResource]
    pods: str
    offer: Callable[[Any], Any]
    imagined: Imagined[Any] | None = None


@dataclass(frozen=True)
class NetworkGateways:
    """Nodes between virtual and physical networks: the `networks` to which they are to be connected.

    `mtus` is how large the packets may be that each node sends to others; only of nodes that say so.
    """

    networks: tuple[str, ...] = ()
    mtus: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class NameServer:
    """A name server: its `addresses` for machines outside of the cluster, and the word of the DNSData that it serves.

    There are no addresses as long as such machines cannot reach it. `left_out` are the DNSData for whose names it has
    no room.
    """

    addresses: tuple[str, ...] = ()
    serves: str = ""
    # Machines are told of the rest, and of nothing else: a thousand nodes need not look again.
    left_out: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Provider:
    """A resource that a need names: `offer` is None if the resource does not exist."""

    kind: str
    name: str
    offer: Any = None
    ready: bool = False
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class Sight:
    """What a need sees: objects of the namespace, and the providers by word.

    `privileges` are those that an account of a service has on its schema.
    """

    look: Look
    providers: Mapping[str, Offerer]
    privileges: tuple[str, ...] = ()

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return an object, None where it is not there."""
        return self.look(kind, name, namespace=namespace)

    def provider(self, word: str, name: str) -> Provider:
        """Return the resource of a name that provides what a word stands for."""
        known = self.providers[word]
        resource = self.look(known.kind, name)
        return Provider(known.kind.kind.name, name) if resource is None else self._seen(known, resource)

    def choose(self, word: str, usual: str, fits: Callable[[Any], bool]) -> Provider:
        """Return the resource whose offer fits, whatever its name is; the `usual` one stands for one that is missing.

        If several fit, the usual one is chosen, else the one whose name is first.
        """
        known = self.providers[word]
        there: dict[str, CustomResource] = {}
        if isinstance(self.look, Survey):
            there = {item.metadata.name: item for item in self.look.of_kind(known.kind)}
        elif (named := self.look(known.kind, usual)) is not None:
            there = {usual: named}
        fitting = [name for name, item in there.items() if not item.deleting and fits(known.offer(item))]
        name = usual if usual in fitting or not fitting else min(fitting)
        return self._seen(known, there[name]) if name in fitting else Provider(known.kind.kind.name, usual)

    @staticmethod
    def _seen(known: Offerer, resource: CustomResource) -> Provider:
        ready = conditions.is_true(resource.status.conditions)
        return Provider(known.kind.kind.name, resource.metadata.name, known.offer(resource), ready, _why(resource))


def _why(resource: CustomResource) -> str:
    ready = conditions.find(resource.status.conditions, conditions.READY)
    said = f": {ready.message}" if ready is not None and ready.status != "True" else " is not ready yet"
    return f"{resource.kind.name} {resource.metadata.name}{said}"
