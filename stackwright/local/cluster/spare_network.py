"""The network behind the node's spare interface, for workloads that have networks of their own; pure."""

from ipaddress import IPv4Network

import msgspec

# The interface in the node. It has no address, and nobody uses it until a workload takes it.
INTERFACE = "spare0"
# By this one the node and its pods reach what a workload connects there.
WAY = "outside0"


class SpareNetwork(msgspec.Struct, frozen=True):
    """A network between the host and an interface of the node that Kubernetes does not use: workloads may take it."""

    range: str

    @property
    def host(self) -> str:
        """The host's own address in it, which is the way out of it."""
        return str(IPv4Network(self.range)[1])

    @property
    def way(self) -> str:
        """The address of the node in it, with the length of its prefix; its pods ask with that address."""
        network = IPv4Network(self.range)
        return f"{network[2]}/{network.prefixlen}"

    @property
    def free(self) -> tuple[str, str]:
        """The first and the last of the addresses that nobody has: workloads may hand them out."""
        return str(IPv4Network(self.range)[32]), str(IPv4Network(self.range)[-2])


def variables(spare: SpareNetwork) -> dict[str, str]:
    """Return the network as variables of an environment."""
    first, last = spare.free
    said = {"INTERFACE": INTERFACE, "RANGE": spare.range, "HOST": spare.host, "FIRST": first, "LAST": last}
    return {f"SPARE_{name}": value for name, value in said.items()}


def shell_lines(spare: SpareNetwork) -> list[str]:
    """Return the network as variables of a shell."""
    return [f"export {name}={value}" for name, value in variables(spare).items()]


def sentence(spare: SpareNetwork) -> str:
    """Return how the network is reached."""
    first, last = spare.free
    return (
        f"{INTERFACE} of the node leads to {spare.range}; this machine is {spare.host}, and {first} to {last} are free"
    )
