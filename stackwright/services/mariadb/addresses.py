"""The server at an address: a server of ours has several host names, and all of them mean the same server. Pure."""

import ipaddress
import re

from stackwright.api.mariadb import PORT

# A Service of the cluster, as pods may write it: its name alone, or with the namespace and the domain after it.
_SERVICE = re.compile(r"(?P<name>[a-z0-9-]+)(?:\.(?P<namespace>[a-z0-9-]+)(?P<svc>\.svc(?:\..+)?)?)?")
# A node of a Galera: the name of its pod, and the Service of the nodes.
_NODE = re.compile(r"(?P<name>.+)-galera-\d+\.(?P=name)-galera(?P<rest>(?:\..+)?)")
_NODES = re.compile(r"(?P<name>[a-z0-9-]+)-galera(?P<rest>(?:\..+)?)")


def server_at(hostname: str, port: int, namespace: str) -> str:
    """Return a name for the server at an address: its Galera, if the address is a Service of that Galera."""
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
    # A host name of two words may also be one outside the cluster.
    return f"the server {name}.{place}.svc:{port}" if found["svc"] else f"the server {host}:{port}"
