"""What a service gets to know of the world around it. Each need adds one field to the service's own facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.api.base import JsonObject


@dataclass(frozen=True)
class Endpoints:
    """The URLs of an API; an interface that it does not have is empty."""

    public: str = ""
    internal: str = ""

    @property
    def by_interface(self) -> dict[str, str]:
        """The URLs by interface, of those that it has."""
        found = {"public": self.public, "internal": self.internal}
        return {interface: url for interface, url in found.items() if url}


@dataclass(frozen=True)
class Facts:
    """What every service knows; a service's own facts have a field more for each of its needs."""

    name: str
    namespace: str
    image: str
    # Of the API that the catalog lists; None before the cluster has given its Services addresses.
    endpoints: Endpoints | None = None
    # Where clients outside of the cluster reach what is no API, as host:port; "" where they cannot.
    outside: str = ""
    # Of every API, by its name.
    apis: Mapping[str, Endpoints] = field(default_factory=dict)
    # By the name of the selector that says under which key of spec.secret they stand.
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    # A short name for the keys of each ring that was turned since it was made, once all pods hold what is migrated to.
    rings: Mapping[str, str] = field(default_factory=dict)
    # The content of those Secrets of its own that took the place of lost ones, by the name of the Secret.
    renewed: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    # What the Topologies say that its components refer to, by their names, in the words of a pod's spec.
    topologies: Mapping[str, JsonObject] = field(default_factory=dict)
    # The names of the jobs that are done, with the inputs that they have now; and the children that are ready, each as
    # Kind/name.
    done: frozenset[str] = frozenset()
    # For how many seconds each of them has been done; what depends on it has to wake itself.
    done_for: Mapping[str, float] = field(default_factory=dict)
