"""What machines outside of the cluster can reach. Pure."""

import ipaddress
from urllib.parse import urlsplit

from stackwright.blueprint.places import broker_places, url_place

# The label that stands behind the namespace in every name of a Service.
_SERVICES = "svc"
_DOMAIN = ".cluster.local"


def is_inside(host: str) -> bool:
    """Return whether a host means something only within the cluster, or only on the machine itself.

    A name without a dot is one of those, because each side would add a domain of its own.
    """
    name = host.strip("[]").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        labels = name.split(".")
        return len(labels) == 1 or _SERVICES in labels[2:] or name.endswith(_DOMAIN)
    return address.is_loopback or address.is_unspecified


def is_url_inside(url: str) -> bool:
    """Return whether a URL leads to such a host."""
    return is_inside(url_place(url)[0])


def is_broker_inside(transport_url: str) -> bool:
    """Return whether any node of a broker is such a host."""
    return any(is_inside(host) for host, _ in broker_places(transport_url))


def lead_to(transport_url: str, address: str) -> str:
    """Return the URL of a broker with `address`, a host and its port, in place of all its nodes; the login stays."""
    nodes = urlsplit(transport_url).netloc
    login = nodes.partition(",")[0].rpartition("@")[0]
    return transport_url.replace(nodes, f"{login}@{address}", 1)
