"""Prepare a node's start: its cookie, its first user, and whom it forms a cluster with.

RabbitMQ's own discovery asks all nodes that answer at that moment; two that do not find each other form two clusters
for ever. So here only node 0 may begin a cluster, and only when nobody else has one: a node without data waits until
another serves, and joins that. While it waits, it says so to whoever asks, so that node 0 need not guess: a node that
says nothing may have data, and wait for those of node 0.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import cluster

HOME = Path(os.environ.get("HOME", "/var/lib/rabbitmq"))
DATA = HOME / "mnesia"
CONFIGURATION = Path("/etc/rabbitmq/conf.d")
SECRETS = Path("/var/lib/stackwright/secrets")
# Where a node without data says that it has none. Nothing else of the broker listens there.
BLANK_PORT = 25671
BLANK = b"blank\n"


def copy(source: Path, destination: Path) -> None:
    """Copy a file that only its owner may read; Erlang insists on that for its cookie."""
    destination.unlink(missing_ok=True)
    descriptor = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(descriptor, "wb") as writer:
        writer.write(source.read_bytes())


def write(name: str, lines: Iterable[str]) -> None:
    """Write a file of the configuration."""
    (CONFIGURATION / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def has_data(data: Path) -> bool:
    """Return whether this node was a member of a cluster, and did not leave it."""
    name = cluster.node(cluster.ordinal())
    # `coordination` is there before a node has joined anybody. It is data only where the newer store is in use.
    flags = data / f"{name}-feature_flags"
    is_newer = flags.exists() and "khepri_db" in flags.read_text(encoding="utf-8", errors="replace")
    return (data / name / "schema.DAT").exists() or (is_newer and (data / name / "coordination").exists())


def serves(host: str) -> bool:
    """Return whether a node accepts clients: it does so when it has booted."""
    try:
        socket.create_connection((host, cluster.AMQP), timeout=2).close()
    except OSError:
        return False
    return True


def is_blank(host: str) -> bool:
    """Return whether a node says that it has no data and waits for another."""
    try:
        with socket.create_connection((host, BLANK_PORT), timeout=2) as connection:
            return connection.recv(len(BLANK)) == BLANK
    except OSError:
        return False


def say_blank() -> None:
    """Answer everybody who asks, for as long as this program runs."""
    listener = socket.create_server(("", BLANK_PORT))

    def answer() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(BLANK)

    threading.Thread(target=answer, daemon=True).start()


def choose(number: int, serving: list[int], silent: list[int]) -> list[int] | None:
    """Return the nodes to join, none of them to begin a cluster, None to wait."""
    if serving:
        return serving
    return [] if number == 0 and not silent else None


def look(number: int) -> tuple[list[int] | None, str]:
    """Look at all peers once; return whom to join, if that is clear, and what is waited for."""
    try:
        replicas = cluster.replicas()
    except cluster.Unanswered as error:
        return None, f"Trying again: {error}"
    if not replicas:
        return None, "Waiting: there shall be no nodes"
    others = [other for other in range(replicas) if other != number]
    serving = [other for other in others if serves(cluster.host(other))]
    blank = [] if serving or number else [other for other in others if is_blank(cluster.host(other))]
    silent = [other for other in others if other not in serving and other not in blank]
    return choose(number, serving, silent), f"Waiting for {', '.join(map(cluster.node, silent))}"


def peers() -> list[int]:
    """Wait until it is clear whom to join; return their numbers, none to begin a cluster."""
    said = ""
    while True:
        chosen, text = look(cluster.ordinal())
        if chosen is not None:
            return chosen
        if text != said:
            print(text, flush=True)
        said = text
        time.sleep(0.5)


def control(number: int, *words: str) -> str:
    """Return what another node says; nothing where it does not answer, or refuses."""
    command = ["rabbitmqctl", "--longnames", "--node", cluster.node(number), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""


def lacks(printed: str, asked: int) -> bool:
    """Return whether a node that was asked for the members of its cluster says that this one is none."""
    return cluster.node(asked) in printed and cluster.node(cluster.ordinal()) not in printed


def forget(number: int) -> bool:
    """Let the cluster forget an earlier life of this node; return whether this one is no member of it now.

    Its volume was lost. As long as its former self is a member, RabbitMQ refuses to join, and never says so.
    """
    control(number, "forget_cluster_node", cluster.node(cluster.ordinal()))
    return lacks(control(number, "eval", "rabbit_nodes:list_members()."), number)


def form() -> None:
    """Say in the configuration with whom this node forms a cluster, if it has to form one."""
    if has_data(DATA):
        print("This node has data and goes on with it", flush=True)
        return
    say_blank()
    numbers = peers()
    while numbers and not forget(numbers[0]):
        print("Trying again: an earlier life of this node is not forgotten yet", flush=True)
        time.sleep(1)
        numbers = peers()
    nodes = [cluster.node(number) for number in (cluster.ordinal(), *numbers)]
    print(f"Joining {', '.join(nodes[1:])}" if numbers else "Beginning a cluster", flush=True)
    listed = [f"cluster_formation.classic_config.nodes.{place} = {name}" for place, name in enumerate(nodes, 1)]
    lines = (
        "cluster_formation.peer_discovery_backend = classic_config",
        *listed,
        # Who has somebody to join never goes on alone: RabbitMQ would, after half a minute.
        "cluster_formation.discovery_retry_limit = 100000",
        "cluster_formation.discovery_retry_interval = 1000",
    )
    write("05-peers.conf", lines)


def main() -> int:
    """Prepare everything."""
    copy(SECRETS / ".erlang.cookie", HOME / ".erlang.cookie")
    copy(SECRETS / "default_user.conf", CONFIGURATION / "20-default-user.conf")
    write("05-memory.conf", [f"total_memory_available_override_value = {os.environ['MEMORY_LIMIT']}"])
    form()
    return 0


if __name__ == "__main__":
    sys.exit(main())
