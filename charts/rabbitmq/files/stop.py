"""Before a node stops: leave the cluster if it shall get smaller, else hand over what others can do.

Usage: stop.py SECONDS, after which the node is killed.

Queues that are replicated move first, so nothing is lost; then the node leaves and its volume is empty. A node that
only restarts keeps its data, and lets others lead meanwhile.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import cluster

# How often a change of a queue's replicas is tried: one change at a time is permitted for each queue.
TRIES = 10
# What part of its time a node waits for those above it to leave; all that leave have the same time.
WAITING = 2 / 3


def say(text: str) -> None:
    """Say it in the pod's log: what a hook prints itself nobody sees."""
    try:
        Path("/proc/1/fd/1").write_text(f"stop: {text}\n", encoding="utf-8")
    except OSError:
        print(text, flush=True)


def run(*command: str, seconds: float = 60) -> tuple[bool, str]:
    """Run a program; return whether it succeeded and what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no answer after {seconds:g} s"
    return done.returncode == 0, f"{done.stdout}{done.stderr}".strip()


def moved(*command: str) -> bool:
    """Change where queues have replicas, until every change succeeded; return whether it came to that."""
    for _ in range(TRIES):
        succeeded, printed = run("rabbitmq-queues", "--silent", *command, "--formatter", "json")
        table = rows(printed) if succeeded else [{"result": printed[-300:]}]
        refused = [row for row in table if row.get("result") != "ok"]
        if not refused:
            return True
        say(f"{command[0]} is tried again: {refused[:3]}")
        time.sleep(1)
    return False


def rows(printed: str) -> list[dict[str, Any]]:
    """Return what a program printed as a table; other lines may stand around it."""
    start, end = printed.find("["), printed.rfind("]")
    try:
        return list(json.loads(printed[start : end + 1])) if 0 <= start < end else []
    except ValueError:
        return [{"result": printed[-300:]}]


def above(printed: str) -> list[str] | None:
    """Return the nodes above this one among those that were printed; None where nothing is known.

    Of the members that it reaches a node itself is always one.
    """
    prefix = re.escape(f"rabbit@{os.environ['STATEFUL_SET']}-")
    found = {match[0]: int(match[1]) for match in re.finditer(rf"{prefix}(\d+)[\w.-]*", printed)}
    if cluster.ordinal() not in found.values():
        return None
    return sorted(name for name, number in found.items() if number > cluster.ordinal())


def await_higher(seconds: float) -> None:
    """Wait until the nodes above have left, or fell silent.

    Nodes that leave at once disturb each other: a queue permits one change at a time; and those who stay see most of
    the cluster go, pause as a minority, and come back with a member that has left.
    """
    deadline = time.monotonic() + seconds
    told, unknown = False, 0
    while unknown < TRIES and time.monotonic() < deadline:
        # Also those whose broker has stopped already: they have not left yet.
        reached = "[N || N <- rabbit_nodes:list_members(), lists:member(N, [node() | nodes()])]."
        _, printed = run("rabbitmqctl", "eval", reached)
        names = above(printed)
        if names == []:
            return
        unknown = 0 if names else unknown + 1
        if names and not told:
            say(f"waits until {', '.join(names)} left")
            told = True
        time.sleep(1)
    say("waits no longer, and leaves beside the others")


def leave(replicas: int, seconds: float) -> None:
    """Move all replicas to the nodes that stay, and leave the cluster."""
    mine = cluster.node(cluster.ordinal())
    say(f"{mine} leaves the cluster, which gets {replicas} nodes")
    # A node in maintenance gets no new replicas. A whole drain would also stop those that are here: with two nodes
    # leaving, queues would have lost their majority and could not be moved any more.
    run("rabbitmqctl", "eval", "rabbit_maintenance:mark_as_being_drained().")
    await_higher(seconds * WAITING)
    for number in range(replicas):
        moved("grow", cluster.node(number), "all")
    if not moved("shrink", mine):
        say("queues are left here; this node stays a member and keeps its data")
        return
    # Erlang itself runs on until the end: to the others this node has left, and did not fall silent.
    run("rabbitmqctl", "stop_app")
    for _ in range(TRIES):
        succeeded, printed = run("rabbitmqctl", "reset")
        if succeeded:
            say(f"{mine} has left the cluster")
            return
        say(f"leaving is tried again: {printed[-300:]}")
        time.sleep(1)


def hand_over() -> None:
    """Wait until the others can do without this node, and let them lead."""
    run("rabbitmq-upgrade", "await_online_quorum_plus_one", "--timeout", "20", seconds=25)
    run("rabbitmq-upgrade", "drain", seconds=25)


def main() -> int:
    """Do what the new number of nodes asks for; nothing where all of them stop."""
    try:
        replicas = cluster.replicas()
    except cluster.Unanswered as error:
        say(f"{error}; taken for a restart")
        replicas = cluster.ordinal() + 1
    if not replicas:
        return 0
    if cluster.ordinal() >= replicas:
        leave(replicas, float(sys.argv[1]))
    elif replicas > 1:
        hand_over()
    return 0


if __name__ == "__main__":
    sys.exit(main())
