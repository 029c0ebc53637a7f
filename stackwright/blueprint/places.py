"""Hosts and ports, as the addresses of services have them. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from stackwright.api.rabbitmq import PORT

Place = tuple[str, int]

MOST_PORTS = 65535


def place_of(server: str) -> Place:
    """Return the place of `host:port`."""
    host, _, port = server.rpartition(":")
    return host, int(port)


def broker_places(transport_url: str) -> Iterator[Place]:
    """Yield the nodes of a broker; a URL names several, with a login before each."""
    parts = urlsplit(transport_url)
    for entry in parts.netloc.split(","):
        node = urlsplit(f"//{entry.rpartition('@')[2].strip()}")
        yield node.hostname or "", node.port or PORT


def is_url(url: str) -> bool:
    """Return whether a text is a URL of HTTP with a host."""
    try:
        host, _ = url_place(url)
    except ValueError:
        return False
    return bool(host) and url.isprintable() and " " not in url and url.startswith(("http://", "https://"))


def connection_places(connection: str) -> Iterator[Place]:
    """Yield the places of a list of connections, each as protocol:host:port: tcp:10.96.1.2:6641,tcp:[fd00::2]:6641."""
    for entry in filter(None, connection.split(",")):
        host, port = place_of(entry.partition(":")[2])
        yield host.strip("[]"), port


def url_place(url: str) -> Place:
    """Return the place of a URL, with the usual port where it names none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
