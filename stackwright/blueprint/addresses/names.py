"""Names of addresses: what is wrong with them, and the file that a name server reads. Pure."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from stackwright.api.network import DNSDataSpec, DNSHost
from stackwright.blueprint.addresses.subnets import parse_address
from stackwright.blueprint.refusal import Problem

# The characters of the longest address as it is written: eight groups of four digits.
_LONGEST_ADDRESS = 39


def find_problems(spec: DNSDataSpec) -> Iterator[Problem]:
    """Yield what no name server could serve, by its path."""
    for position, host in enumerate(spec.hosts):
        if parse_address(host.ip) is None:
            yield f"spec.hosts[{position}].ip", f"{host.ip!r} is not an IP address"


def find_meeting(spec: DNSDataSpec, machines: Mapping[str, DNSDataSpec]) -> Iterator[Problem]:
    """Yield the names that are those of machines, and would lead elsewhere too: whoever asks gets either address.

    `machines` are the names that operators keep, by who has them.
    """
    owned = {name: (who, each) for who, said in machines.items() for name, each in _addresses(said.hosts).items()}
    for number, host in enumerate(spec.hosts):
        for position, name in enumerate(host.hostnames):
            who, addresses = owned.get(_fold(name), ("", frozenset()))
            if who and parse_address(host.ip) not in addresses:
                path = f"spec.hosts[{number}].hostnames[{position}]"
                yield path, f"{name!r} is a name of {who}, whose address is not {host.ip}; choose another name"


def drop_meeting(named: Mapping[str, Sequence[DNSHost]], machines: Container[str]) -> dict[str, tuple[DNSHost, ...]]:
    """Return names without those that are a machine's and lead elsewhere; `machines` are whose operators keep."""
    owned = _addresses(host for each, hosts in named.items() if each in machines for host in hosts)

    def kept(host: DNSHost) -> Iterator[DNSHost]:
        address = parse_address(host.ip)
        names = tuple(name for name in host.hostnames if address in owned.get(_fold(name), (address,)))
        if names:
            yield host if names == host.hostnames else DNSHost(ip=host.ip, hostnames=names)

    return {
        each: tuple(hosts) if each in machines else tuple(left for host in hosts for left in kept(host))
        for each, hosts in named.items()
    }


def _addresses(hosts: Iterable[DNSHost]) -> dict[str, frozenset[object]]:
    found: dict[str, frozenset[object]] = {}
    for host in hosts:
        for name in map(_fold, host.hostnames):
            found[name] = found.get(name, frozenset()) | {parse_address(host.ip)}
    return found


def _fold(name: str) -> str:
    return name.rstrip(".").casefold()


def write_hosts(named: Mapping[str, Iterable[DNSHost]]) -> str:
    """Return names as a hosts file has them, by the name of the resource that they are of.

    An address that is none is left out: its resource says so, and the other names are served. The order is that of the
    resources' names, so that the same names are the same file.
    """
    lines = (line for name in sorted(named) for line in _lines(named[name]))
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


def find_left_out(named: Mapping[str, Sequence[DNSHost]], room: int) -> tuple[str, ...]:
    """Return the resources whose names find no place in a hosts file of so many bytes.

    These are the largest ones. So one that is huge keeps nobody else's names out, whichever of them was there first,
    and those of a node, which are few, are served as long as there is room for any.
    """
    # Mostly there is room for all of them, and then this says so at once.
    if sum(_LONGEST_ADDRESS + len(" ".join(host.hostnames)) + 2 for hosts in named.values() for host in hosts) <= room:
        return ()
    lines = {name: dict.fromkeys(_lines(hosts)) for name, hosts in named.items()}
    left_out: list[str] = []
    written: set[str] = set()
    for name in sorted(lines, key=lambda name: (_measure(lines[name]), name)):
        added = lines[name].keys() - written
        size = _measure(added)
        if size > room:
            left_out.append(name)
        else:
            room -= size
            written |= added
    return tuple(sorted(left_out))


def _measure(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _lines(hosts: Iterable[DNSHost]) -> Iterator[str]:
    for host in hosts:
        address = parse_address(host.ip)
        if address is not None:
            yield " ".join((str(address), *(name.rstrip(".") for name in dict.fromkeys(host.hostnames))))
