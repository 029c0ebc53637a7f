"""Names of addresses: what is wrong with them, and the file that a name server reads. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from stackwright.api.network import DNSDataSpec, DNSHost
from stackwright.blueprint.addresses.subnets import parse_address
from stackwright.blueprint.refusal import Problem


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


def _lines(hosts: Iterable[DNSHost]) -> Iterator[str]:
    for host in hosts:
        address = parse_address(host.ip)
        if address is not None:
            yield " ".join((str(address), *(name.rstrip(".") for name in dict.fromkeys(host.hostnames))))
