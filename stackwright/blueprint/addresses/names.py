"""Names of addresses: what is wrong with them, and the file that a name server reads. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

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
