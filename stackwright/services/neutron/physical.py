"""What a user's configuration says of physical networks, ranges and sizes of packets, against what there is. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stackwright.blueprint import ini
from stackwright.blueprint.providers import NETWORK_GATEWAY, NetworkGateways, Provider, Sight
from stackwright.blueprint.whole_numbers import read_number
from stackwright.services.neutron.facts import has_ovn
from stackwright.services.neutron.kinds import NeutronAPI
from stackwright.services.neutron.settings import GENEVE_HEADER, PHYSICAL, TYPE_DRIVERS

PATH = "spec.customServiceConfig"
# The resource that the umbrella makes for gateways.
USUAL = "ovncontroller"
VLAN, FLAT = ("ml2_type_vlan", "network_vlan_ranges"), ("ml2_type_flat", "flat_networks")
# How large the number of a network may be, by the options that have ranges of them.
NUMBERS = {("ml2_type_geneve", "vni_ranges"): 2**24 - 1, ("ml2_type_vxlan", "vni_ranges"): 2**24 - 1}
LARGEST_VLAN = 4094
MTU, PATH_MTU = ("DEFAULT", "global_physnet_mtu"), ("ml2", "path_mtu")
PHYSICAL_MTUS = ("ml2", "physical_network_mtus")
HEADER = ("ml2_type_geneve", "max_header_size")
# What Neutron assumes of the network below, unless the user says something else.
USUAL_MTU = 1500
# The header of IPv4 before that of the tunnel.
ADDRESS_HEADER = 20

Option = tuple[str, str]


@dataclass(frozen=True)
class Said:
    """What the user's own configuration says; the last of several lines wins."""

    sections: Mapping[str, Mapping[str, tuple[str, ...]]]

    def text(self, option: Option) -> str:
        """Return the text of an option; "" where the user does not set it."""
        return self.sections.get(option[0], {}).get(option[1], ("",))[-1]

    def entries(self, option: Option) -> list[str]:
        """Return the entries of an option that is a list."""
        return [entry.strip() for entry in self.text(option).split(",") if entry.strip()]

    def number(self, option: Option, usual: int) -> int:
        """Return a number, or the usual one."""
        number = read_number(self.text(option))
        return usual if number is None else number


def read(resource: NeutronAPI) -> Said:
    """Return what a resource's configuration says; nothing where it cannot be read, which is told elsewhere."""
    parsed = ini.parse(resource.spec.customServiceConfig)
    return Said({} if isinstance(parsed, ini.Problem) else parsed)


def problems(resource: NeutronAPI) -> Iterator[tuple[str, str]]:
    """Yield the ranges with which Neutron would not start."""
    said = read(resource)
    for entry in said.entries(VLAN):
        if wrong := _wrong_vlans(entry):
            yield PATH, f"[{VLAN[0]}] {VLAN[1]}: {ini.shown(entry)} {wrong}"
    for option, most in NUMBERS.items():
        for entry in said.entries(option):
            if wrong := _wrong_range(entry, most):
                yield PATH, f"[{option[0]}] {option[1]}: {ini.shown(entry)} {wrong}"
    for entry in said.entries(PHYSICAL_MTUS):
        network, _, size = entry.partition(":")
        if not network or read_number(size) is None:
            yield PATH, f"[{PHYSICAL_MTUS[0]}] {PHYSICAL_MTUS[1]}: {ini.shown(entry)} is not a network:bytes"


def _wrong_vlans(entry: str) -> str:
    network, _, numbers = entry.partition(":")
    if not network:
        return "names no physical network"
    return _wrong_range(numbers, LARGEST_VLAN) if ":" in entry else ""


def _wrong_range(entry: str, most: int) -> str:
    ends = [read_number(end) for end in entry.split(":")]
    if len(ends) != 2 or None in ends:
        return "is no range; write its first and its last number, such as 100:199"
    first, last = (int(end or 0) for end in ends)
    if not 1 <= first <= most or not 1 <= last <= most:
        return f"has a number that is not between 1 and {most}"
    return "begins after its end" if first > last else ""


def advice(resource: NeutronAPI, sight: Sight) -> Iterator[tuple[str, str]]:
    """Yield what would be accepted, and would not work as its author thinks."""
    said = read(resource)
    yield from _sizes(said)
    if not has_ovn(resource):
        return
    yield from _types(said)
    gateways = sight.choose(NETWORK_GATEWAY, USUAL, lambda _: True)
    yield from _unmapped(said, gateways)
    if gateways.offer is not None:
        yield from _too_large(said, gateways.offer)


def _types(said: Said) -> Iterator[tuple[str, str]]:
    """Yield the types of networks that users may make and that no driver knows."""
    known = said.entries(("ml2", "type_drivers")) or list(TYPE_DRIVERS)
    for option in (("ml2", "project_network_types"), ("ml2", "tenant_network_types")):
        for kind in said.entries(option):
            if kind not in known:
                yield PATH, f"[ml2] {option[1]} names {kind}, which is not among type_drivers ({', '.join(known)})"
    header = said.number(HEADER, GENEVE_HEADER)
    if header < GENEVE_HEADER:
        sentence = f"OVN's tunnels need {GENEVE_HEADER}: larger packets would be lost"
        yield PATH, f"[{HEADER[0]}] {HEADER[1]} is {header}; {sentence}"


def _unmapped(said: Said, gateways: Provider) -> Iterator[tuple[str, str]]:
    """Yield the physical networks that the user names and to which no gateway is connected.

    Where there is no gateway at all, the usual network is that of machines outside of the cluster.
    """
    offer: NetworkGateways | None = gateways.offer
    mapped = offer.networks if offer is not None else (PHYSICAL,)
    named: dict[str, Option] = {}
    for option in (FLAT, VLAN):
        named |= {entry.partition(":")[0]: option for entry in said.entries(option)}
    for network, (section, name) in sorted(named.items()):
        if network and network != "*" and network not in mapped:
            there = f"{gateways} does not map it" if offer is not None else f"there is no {gateways}"
            yield (
                PATH,
                f"[{section}] {name} names the physical network {network}, and {there}: routers and ports get no "
                f"chassis there, unless machines outside of the cluster map it; add {network} to its nicMappings",
            )


def _sizes(said: Said) -> Iterator[tuple[str, str]]:
    """Yield sizes of packets that have no effect, because another one is smaller."""
    most = said.number(MTU, USUAL_MTU)
    sizes = {f"[ml2] {PATH_MTU[1]}": said.number(PATH_MTU, 0)}
    for entry in said.entries(PHYSICAL_MTUS):
        network, _, size = entry.partition(":")
        sizes[f"[ml2] {PHYSICAL_MTUS[1]} of {network}"] = read_number(size) or 0
    for name, large in sizes.items():
        if large > most:
            yield PATH, f"{name} is {large}, and no packet is larger than [DEFAULT] global_physnet_mtu, which is {most}"


def _too_large(said: Said, gateways: NetworkGateways) -> Iterator[tuple[str, str]]:
    """Yield that packets of virtual networks do not fit into tunnels between the nodes."""
    most = said.number(MTU, USUAL_MTU)
    below = min(most, said.number(PATH_MTU, 0) or most)
    header = said.number(HEADER, GENEVE_HEADER) + ADDRESS_HEADER
    narrow = {node: size for node, size in gateways.mtus.items() if 0 < size < below}
    if narrow:
        node = min(narrow, key=lambda name: narrow[name])
        size = narrow[node]
        yield (
            PATH,
            f"Neutron takes packets of {below} bytes for granted between nodes, so that virtual networks have "
            f"{below - header}; node {node} sends {size} at most: set [ml2] path_mtu = {size}, and virtual networks "
            f"have {size - header}",
        )
