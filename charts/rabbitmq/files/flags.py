"""After an upgrade: enable the feature flags of the new version, when all nodes run it.

RabbitMQ never does that by itself, and the version after the next one does not start with what is not enabled. The node
that comes up last finds all others there, and does it for all.
"""

import http.client
import json
import sys
import time
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any

import cluster
import hooks
import ready

# It moves all that the broker knows of itself into another store: for a person to choose.
BY_HAND = frozenset({"khepri_db"})
# How many seconds lie between two looks; more where the first user is not let in: each try stands in the broker's log.
PAUSE = 15.0
REFUSED = 1800.0
# A broker that starts may refuse somebody whom it knows a moment later.
DOUBTS = 3
UNKNOWN = (
    "the broker does not let its first user in, so nobody enables new feature flags; correct the Secret with"
    " default_user.conf and restart all nodes, or enable what `rabbitmqctl list_feature_flags` calls disabled"
)


class Unknown(Exception):
    """The node does not let its first user in: somebody has changed it by hand."""


def ask(method: str, path: str) -> Any:
    """Ask the node itself, as its first user; None where it refuses what is asked."""
    connection = http.client.HTTPConnection("127.0.0.1", ready.MANAGEMENT, timeout=60)
    headers = {**ready.login(ready.USER.read_text(encoding="utf-8")), "Content-Type": "application/json"}
    connection.request(method, f"/api/{path}", headers=headers, body="{}" if method == "PUT" else None)
    response = connection.getresponse()
    content = response.read()
    if response.status == http.client.UNAUTHORIZED:
        raise Unknown
    if response.status >= 300:
        return None
    return json.loads(content) if content else {}


def are_alike(nodes: Iterable[Mapping[str, Any]], replicas: int) -> bool:
    """Return whether all nodes that shall be there run, and run one version."""
    running = {node["name"]: versions(node) for node in nodes if node.get("running")}
    return running.keys() == {cluster.node(number) for number in range(replicas)} and len(set(running.values())) == 1


def versions(node: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Return the programs of a node, with their versions; plugins may have flags of their own."""
    return frozenset((each["name"], each["version"]) for each in node.get("applications", ()))


def missing(flags: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the flags to enable."""
    wanted = [flag for flag in flags if flag["state"] == "disabled" and flag.get("stability") != "experimental"]
    return sorted(str(flag["name"]) for flag in wanted if flag["name"] not in BY_HAND)


def enable() -> bool:
    """Enable what is missing, if all nodes can do it; return whether they can."""
    replicas, nodes = cluster.replicas(), ask("GET", "nodes?columns=name,running,applications")
    if not replicas or nodes is None or not are_alike(nodes, replicas):
        return False
    for name in missing(ask("GET", "feature-flags") or ()):
        done = ask("PUT", f"feature-flags/{urllib.parse.quote(name, safe='')}/enable") is not None
        hooks.say(
            "flags",
            f"{name} is enabled" if done else f"{name} could not be enabled; see `rabbitmqctl list_feature_flags`",
        )
    return True


def is_through() -> bool:
    """Return whether there is nothing more to wait for."""
    try:
        return not ready.ask() and enable()
    except (OSError, ValueError, KeyError, cluster.Unanswered, http.client.HTTPException):
        return False


def main() -> int:
    """Wait until all nodes serve, and enable what is missing."""
    refused = 0
    while True:
        try:
            if is_through():
                return 0
        except Unknown:
            refused += 1
            if refused == DOUBTS:
                hooks.say("flags", UNKNOWN)
        else:
            refused = 0
        time.sleep(PAUSE if refused < DOUBTS else REFUSED)


if __name__ == "__main__":
    sys.exit(main())
