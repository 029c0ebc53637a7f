"""Hosts and ports, as the addresses of services have them. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

Place = tuple[str, int]


def place_of(server: str) -> Place:
    """Return the place of `host:port`."""
    host, _, port = server.rpartition(":")
    return host, int(port)


def broker_places(transport_url: str) -> Iterator[Place]:
    """Yield the nodes of a broker; a URL names several, with a login before each."""
    for entry in urlsplit(transport_url).netloc.split(","):
        yield place_of(entry.rpartition("@")[2])


def url_place(url: str) -> Place:
    """Return the place of a URL, with the usual port where it names none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
