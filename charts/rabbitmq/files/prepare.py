"""Prepare a node's start: its cookie and its first user; without data, wait until it is clear whom it joins.

Two nodes that do not find each other form two clusters for ever. So only node 0 may begin a cluster, and only when
nobody else has one: a node without data waits until another serves, and joins that (serve.py). While it waits, it says
so to whoever asks, so that node 0 need not guess: a node that says nothing may have data, and wait for those of node 0.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import cluster
import peers
import volume
from volume import HOME

CONFIGURATION = Path("/etc/rabbitmq/conf.d")
SECRETS = Path("/var/lib/stackwright/secrets")
# Who looks for peers, finds nobody, and does not go on alone. Only a server without data looks for any, such as one
# that was reset by hand. Nobody is in the domain `invalid`.
NEVER_ALONE = (
    "cluster_formation.classic_config.nodes.1 = rabbit@nobody.invalid",
    "cluster_formation.discovery_retry_limit = 1000000",
    "cluster_formation.discovery_retry_interval = 60000",
)


def copy(source: Path, destination: Path) -> None:
    """Copy a file that only its owner may read; Erlang insists on that for its cookie."""
    destination.unlink(missing_ok=True)
    descriptor = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(descriptor, "wb") as writer:
        writer.write(source.read_bytes())


def write(name: str, lines: Iterable[str]) -> None:
    """Write a file of the configuration."""
    (CONFIGURATION / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_peers(*, begins: bool) -> None:
    """Say in the configuration whether the server may begin a cluster; with nobody else in either case."""
    alone = (f"cluster_formation.classic_config.nodes.1 = {cluster.node(cluster.ordinal())}",)
    backend = "cluster_formation.peer_discovery_backend = classic_config"
    write("05-peers.conf", [backend, *(alone if begins else NEVER_ALONE)])


def main() -> int:
    """Prepare everything."""
    copy(SECRETS / ".erlang.cookie", HOME / ".erlang.cookie")
    copy(SECRETS / "default_user.conf", CONFIGURATION / "20-default-user.conf")
    write("05-memory.conf", [f"total_memory_available_override_value = {os.environ['MEMORY_LIMIT']}"])
    own, begins = volume.own(), False
    # One that was stopped while it joined does not wait here: others may wait for its Erlang.
    if not own.is_marked and not own.has_data:
        peers.say_blank()
        begins = not peers.await_clear()
    write_peers(begins=begins)
    return 0


if __name__ == "__main__":
    sys.exit(main())
