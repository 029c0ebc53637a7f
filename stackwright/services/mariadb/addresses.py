"""Which server an address leads to: one of ours has many names, and each of them is that server. Pure."""

import ipaddress
import re

PORT = 3306
# A Service of the cluster, as pods may call it: in its own namespace by its name alone, else with more behind it.
_SERVICE = re.compile(r"(?P<name>[a-z0-9-]+)(?:\.(?P<namespace>[a-z0-9-]+)(?P<svc>\.svc(?:\..+)?)?)?")
# A node of a Galera, by the name of its pod and of the Service of the nodes.
_NODE = re.compile(r"(?P<name>.+)-galera-\d+\.(?P=name)-galera(?P<rest>(?:\..+)?)")
_NODES = re.compile(r"(?P<name>[a-z0-9-]+)-galera(?P<rest>(?:\..+)?)")


def server_at(hostname: str, port: int, namespace: str) -> str:
    """Return how the server at an address is called: by its Galera, where that is what the name would lead to."""
    host = hostname.strip().rstrip(".").lower()
    try:
        return f"the server {ipaddress.ip_address(host)}:{port}"
    except ValueError:
        pass
    for pattern in (_NODE, _NODES):
        if found := pattern.fullmatch(host):
            host = f"{found['name']}{found['rest']}"
            break
    found = _SERVICE.fullmatch(host)
    if found is None:
        return f"the server {host}:{port}"
    name, place = found["name"], found["namespace"] or namespace
    if (place, port) == (namespace, PORT):
        return f"Galera {name}"
    # Two words may be a name of the world outside, too.
    return f"the server {name}.{place}.svc:{port}" if found["svc"] else f"the server {host}:{port}"
