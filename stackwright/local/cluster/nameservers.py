"""Chooses the nameservers that a node can ask; pure, and quick to import."""

from collections.abc import Iterable
from ipaddress import ip_address


def usable(text: str, *, forwards: bool, own: Iterable[str]) -> tuple[str, ...]:
    """Return the nameservers of a resolv.conf that a node can ask.

    One on loopback answers the host alone, and one beyond the host only where the host forwards packets. To ask
    a server that cannot answer would make every wrong name a wait.
    """
    reachable = set(own)
    words = [line.split() for line in text.splitlines()]
    named = [word[1] for word in words if len(word) > 1 and word[0] == "nameserver"]
    return tuple(name for name in named if not _is_loopback(name) and (forwards or name in reachable))[:3]


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return True
