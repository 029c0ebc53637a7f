"""Which other nodes serve, which say that they have no data, and what follows for a node without data."""

import socket
import threading
import time

import cluster
from join import say

# Where a node without data says that it has none. Nothing else of the broker listens there.
BLANK_PORT = 25671
BLANK = b"blank\n"


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


def await_clear() -> list[int]:
    """Wait until it is clear whom to join; return their numbers, none to begin a cluster."""
    said = ""
    while True:
        chosen, text = look(cluster.ordinal())
        if chosen is not None:
            return chosen
        if text != said:
            say(text)
        said = text
        time.sleep(0.5)
