"""The kinds of networks that machines outside of the cluster have addresses and names in.

A NetConfig says which networks there are, an IPSet asks for one address in each of some networks, and a Reservation is
an address that an IPSet has. DNSData are names of such addresses. The names of the kinds are upstream's.
"""

from typing import Annotated, ClassVar

from stackwright.api.base import (
    AGE,
    CATEGORIES,
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Status,
    Value,
    atomic,
    describe,
    list_map,
    max_items,
    max_length,
    max_properties,
    maximum,
    min_items,
    min_length,
    minimum,
    pattern,
    shown,
)
from stackwright.api.forms import Form, OptionalName

GROUP = "network.openstack.org"
INPUT_READY, RESERVATION_READY, SERVICE_CONFIG_READY = "InputReady", "ReservationReady", "ServiceConfigReady"
# The network by which Ansible reaches a machine.
CTLPLANE = "ctlplane"
# The label of a Reservation for each network that it has an address in; the value is the subnet.
LABEL = "ipam.network.openstack.org/{}"

_NAME = r"^[a-zA-Z0-9][a-zA-Z0-9\-_]*[a-zA-Z0-9]$"
_SERVICE_NETWORK = r"^([a-z0-9][a-z0-9\-_]*[a-z0-9])?$"
_LABEL = "[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?"
DOMAIN = f"^{_LABEL}([.]{_LABEL})*$"
_OPTIONAL_DOMAIN = f"^({_LABEL}([.]{_LABEL})*)?$"

# A name that has an address; some begin with an underscore, or end in a dot.
_NAME_PART = "[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?"
_HOST_NAME = f"^{_NAME_PART}([.]{_NAME_PART})*[.]?$"

_NetworkName = Annotated[str, min_length(2), max_length(63), pattern(_NAME)]
# The longest address is one of IPv6 with an IPv4 address in it; a prefix has four characters more.
_Address = Annotated[str, max_length(45)]
_Prefix = Annotated[str, max_length(49)]


class AllocationRange(Value, frozen=True, kw_only=True):
    """Addresses that are given to IPSets: the first, the last and all in between."""

    start: Annotated[_Address, describe("The first address.")]
    end: Annotated[_Address, describe("The last address.")]


class Route(Value, frozen=True, kw_only=True):
    """A route that the machines of a subnet have."""

    destination: Annotated[_Prefix, describe("The addresses that are reached by it, as a prefix: 10.0.0.0/8.")]
    nexthop: Annotated[_Address, describe("The address in the subnet that leads there.")]


_Routes = Annotated[tuple[Route, ...], atomic, max_items(64)]


class Subnet(Value, frozen=True, kw_only=True):
    """A prefix of a network, and which of its addresses are given to IPSets."""

    name: Annotated[_NetworkName, describe("The name, which occurs once in the network.")]
    cidr: Annotated[_Prefix, describe("The prefix: 192.168.122.0/24. No other subnet may overlap it.")]
    allocationRanges: Annotated[
        tuple[AllocationRange, ...],
        atomic,
        max_items(64),
        describe("Where addresses are taken from, in this order. Fixed addresses may lie elsewhere in the prefix."),
    ]
    excludeAddresses: Annotated[
        tuple[_Address, ...], atomic, max_items(256), describe("Addresses that no IPSet gets, fixed ones included.")
    ] = ()
    gateway: Annotated[_Address, describe("The gateway; no IPSet gets its address.")] = ""
    dnsDomain: Annotated[
        str, max_length(253), pattern(_OPTIONAL_DOMAIN), describe("The domain of this subnet, if not the network's.")
    ] = ""
    vlan: Annotated[int | None, minimum(0), maximum(4094), describe("The VLAN of the subnet, if it has one.")] = None
    routes: Annotated[_Routes, describe("Routes of the machines in this subnet.")] = ()


class Network(Value, frozen=True, kw_only=True):
    """A network that machines are connected to."""

    name: Annotated[_NetworkName, describe("The name. IPSets find it whatever the case of its letters.")]
    dnsDomain: Annotated[
        str, min_length(1), max_length(253), pattern(DOMAIN), describe("The domain of the names in this network.")
    ]
    subnets: Annotated[tuple[Subnet, ...], atomic, max_items(64), describe("The subnets.")]
    mtu: Annotated[int, minimum(68), maximum(65535), describe("The largest packet, in bytes.")] = 1500
    serviceNetwork: Annotated[
        str,
        max_length(63),
        pattern(_SERVICE_NETWORK),
        describe("What the variables of Ansible call the network. If absent, its name in lower case."),
    ] = ""


class NetConfigSpec(Value, frozen=True, kw_only=True):
    """The networks of a namespace."""

    networks: Annotated[tuple[Network, ...], atomic, max_items(64), describe("The networks.")]


class NetConfig(CustomResource, frozen=True, kw_only=True):
    """The networks that machines outside of the cluster are connected to. A namespace has one at most.

    What IPSets have addresses in can neither be removed nor made smaller than these addresses.
    """

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NetConfig", "netconfigs")
    definition: ClassVar[Definition] = shown(short_names=("netcfg", "netscfg"))
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY,)

    spec: NetConfigSpec
    status: Status = Status()


class IPSetNetwork(Value, frozen=True, kw_only=True):
    """A network in which an address is asked for."""

    name: Annotated[_NetworkName, describe("The network, as the NetConfig calls it.")]
    subnetName: Annotated[_NetworkName, describe("The subnet of the network.")]
    fixedIP: Annotated[
        _Address, describe("The address to have. If absent, the next that is free in the allocation ranges.")
    ] = ""
    defaultRoute: Annotated[
        bool, describe("Whether the gateway of the subnet is the default one; of one network only.")
    ] = False


IPSetNetworks = Annotated[tuple[IPSetNetwork, ...], atomic, max_items(32)]


class IPSetSpec(Value, frozen=True, kw_only=True):
    """One address in each of some networks."""

    networks: Annotated[IPSetNetworks, describe("The networks. Others can be added later; none can be removed.")]
    immutable: Annotated[bool, describe("Whether the networks stay as they are.")] = False


class IPSetReservation(Value, frozen=True, kw_only=True):
    """An address that an IPSet has, and what a machine has to know of its subnet."""

    network: Annotated[str, describe("The network.")]
    subnet: Annotated[str, describe("The subnet.")] = ""
    address: Annotated[str, describe("The address.")] = ""
    cidr: Annotated[str, describe("The prefix of the subnet.")] = ""
    mtu: Annotated[int, describe("The largest packet, in bytes.")] = 0
    vlan: Annotated[int | None, describe("The VLAN, if the subnet has one.")] = None
    gateway: Annotated[str, describe("The gateway, if the subnet has one.")] = ""
    routes: Annotated[_Routes, describe("The routes, the default one included if it was asked for.")] = ()
    dnsDomain: Annotated[str, describe("The domain of the names in the subnet.")] = ""
    serviceNetwork: Annotated[str, describe("What the variables of Ansible call the network.")] = ""


class IPSetStatus(Status, frozen=True, kw_only=True):
    """The addresses that an IPSet has."""

    reservations: Annotated[
        tuple[IPSetReservation, ...],
        list_map("network"),
        describe("The addresses, in the order of spec.networks, that of ctlplane first."),
    ] = ()
    networks: Annotated[
        IPSetNetworks, describe("With immutable, spec.networks as they stay; otherwise they are not noted.")
    ] = ()


class IPSet(CustomResource, frozen=True, kw_only=True):
    """One address in each of some networks, for a machine. It keeps its addresses until it is deleted."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "IPSet", "ipsets")
    definition: ClassVar[Definition] = shown(
        Column("Address", ".status.reservations[0].address", description="Its address in the first network")
    )
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, RESERVATION_READY)

    spec: IPSetSpec
    status: IPSetStatus = IPSetStatus()


class IPSetReference(Value, frozen=True, kw_only=True):
    """Names an IPSet of the same namespace."""

    name: Annotated[OptionalName, describe("The IPSet. If absent, the one named after the Reservation.")] = ""
    namespace: Annotated[str, max_length(253), describe("Not read: it is the namespace of the Reservation.")] = ""


class ReservedAddress(Value, frozen=True, kw_only=True):
    """An address that is taken."""

    network: Annotated[str, max_length(63), describe("The network.")] = ""
    subnet: Annotated[str, max_length(63), describe("The subnet.")] = ""
    address: Annotated[_Address, describe("The address.")] = ""


class ReservationSpec(Value, frozen=True, kw_only=True):
    """Which address is taken, and by which IPSet."""

    ipSetRef: Annotated[IPSetReference, describe("The IPSet that has the address.")] = IPSetReference()
    reservation: Annotated[
        dict[str, ReservedAddress], max_properties(64), describe("The address, by the name of its network.")
    ] = {}


class Reservation(CustomResource, frozen=True, kw_only=True):
    """An address that an IPSet has. The operator creates it, and it goes with its IPSet.

    It is named after its network and its address, so that the API server itself gives no address twice.
    """

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Reservation", "reservations")
    definition: ClassVar[Definition] = Definition(
        categories=CATEGORIES,
        columns=(
            Column("IPSet", ".spec.ipSetRef.name", description="The IPSet that has it"),
            Column("Address", ".spec.reservation.*.address", description="The address"),
            AGE,
        ),
    )

    spec: ReservationSpec = ReservationSpec()


# Which DNSMasq serve which DNSData, where nobody says it.
DNS_DATA = "dnsdata"
DNSDataLabelSelectorValue = Annotated[str, max_length(63), Form.LABEL_VALUE]


class DNSHost(Value, frozen=True, kw_only=True):
    """An address, and the names that lead to it."""

    ip: Annotated[_Address, describe("The address, of IPv4 or IPv6.")]
    hostnames: Annotated[
        tuple[Annotated[str, min_length(1), max_length(254), pattern(_HOST_NAME)], ...],
        atomic,
        min_items(1),
        max_items(256),
        describe("The names. Whoever asks for the name of the address gets the first."),
    ]


class DNSDataSpec(Value, frozen=True, kw_only=True):
    """Names and their addresses."""

    hosts: Annotated[tuple[DNSHost, ...], atomic, max_items(16384), describe("The addresses with their names.")] = ()
    dnsDataLabelSelectorValue: Annotated[
        DNSDataLabelSelectorValue, describe("Every name server with the same value serves these names.")
    ] = DNS_DATA


class DNSData(CustomResource, frozen=True, kw_only=True):
    """Names of addresses, which the DNSMasqs of the namespace serve. Running ones learn of changes by themselves."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "DNSData", "dnsdata")
    definition: ClassVar[Definition] = shown(
        Column(
            "Served by", ".spec.dnsDataLabelSelectorValue", description="The value of the name servers that serve it"
        )
    )
    conditions: ClassVar[tuple[str, ...]] = (SERVICE_CONFIG_READY,)

    spec: DNSDataSpec = DNSDataSpec()
    status: Status = Status()


KINDS: tuple[type[CustomResource], ...] = (NetConfig, IPSet, Reservation, DNSData)


def service_network(network: Network) -> str:
    """Return what variables call a network."""
    return network.serviceNetwork or network.name.lower()
