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
from typing import Any

import cluster
import hooks
import volume
from volume import Volume

# How often a change of a queue's replicas is tried: one change at a time is permitted for each queue.
TRIES = 10
# What part of its time a node waits for those above it to leave; all that leave have the same time.
WAITING = 2 / 3
# For how many seconds it waits at least for those that stay.
LEAST = 5.0


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
        hooks.say("stop", f"{command[0]} is tried again: {refused[:3]}")
        time.sleep(1)
    return False


def rows(printed: str) -> list[dict[str, Any]]:
    """Return what a program printed as a table; other lines may stand around it."""
    start, end = printed.find("["), printed.rfind("]")
    try:
        return list(json.loads(printed[start : end + 1])) if 0 <= start < end else []
    except ValueError:
        return [{"result": printed[-300:]}]


def named(printed: str) -> dict[str, int]:
    """Return the nodes that were printed, with their numbers."""
    prefix = re.escape(f"rabbit@{os.environ['STATEFUL_SET']}-")
    return {match[0]: int(match[1]) for match in re.finditer(rf"{prefix}(\d+)[\w.-]*", printed)}


def above(printed: str, least: int = 0) -> list[str] | None:
    """Return the nodes above this one, from number `least` on, among those printed; None where nothing is known.

    Of the members that it reaches a node itself is always one.
    """
    found = named(printed)
    if cluster.ordinal() not in found.values():
        return None
    return sorted(name for name, number in found.items() if number > cluster.ordinal() and number >= least)


def await_higher(seconds: float, least: int = 0, tries: int = TRIES) -> None:
    """Wait until the nodes above, from number `least` on, have left, or fell silent.

    Nodes that leave at once disturb each other: a queue permits one change at a time; and those who stay see most of
    the cluster go, pause as a minority, and come back with a member that has left.
    """
    deadline = time.monotonic() + seconds
    told, unknown = False, 0
    while unknown < tries and time.monotonic() < deadline:
        # Also those whose broker has stopped already: they have not left yet.
        reached = "[N || N <- rabbit_nodes:list_members(), lists:member(N, [node() | nodes()])]."
        _, printed = run("rabbitmqctl", "eval", reached)
        names = above(printed, least)
        if names == []:
            return
        unknown = 0 if names else unknown + 1
        if names and not told:
            hooks.say("stop", f"waits until {', '.join(names)} left")
            told = True
        time.sleep(1)
    hooks.say("stop", "waits no longer for the others")


def await_staying(replicas: int, seconds: float) -> bool:
    """Wait until most nodes that stay run; replicas of queues cannot be moved to the others, and nobody says so."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        _, printed = run("rabbitmqctl", "eval", "rabbit_nodes:list_running().")
        if 2 * sum(number < replicas for number in named(printed).values()) > replicas:
            return True
        time.sleep(1)
    return False


def forget_lost(replicas: int) -> None:
    """Let the cluster forget those that were to leave and are lost: they would count as members for ever."""
    _, printed = run("rabbitmqctl", "eval", "rabbit_nodes:list_members() -- [node() | nodes()].")
    for name, number in named(printed).items():
        if number >= replicas:
            hooks.say("stop", f"{name} was to leave and is lost; the cluster forgets it")
            moved("shrink", name)
            run("rabbitmqctl", "forget_cluster_node", name)


def has_joined(own: Volume, seconds: float) -> bool:
    """Wait while this node joins, or undoes a join; return whether it is a member that can leave.

    The others have forgotten one that has undone its join. Until then they may need its Erlang.
    """
    deadline = time.monotonic() + seconds
    while own.is_marked and time.monotonic() < deadline:
        time.sleep(1)
    return own.has_data and not own.is_marked


def leave(replicas: int, seconds: float) -> None:
    """Move all replicas to the nodes that stay, and leave the cluster."""
    mine = cluster.node(cluster.ordinal())
    hooks.say("stop", f"{mine} leaves the cluster, which gets {replicas} nodes")
    # A node in maintenance gets no new replicas. A whole drain would also stop those that are here: with two nodes
    # leaving, queues would have lost their majority and could not be moved any more.
    run("rabbitmqctl", "eval", "rabbit_maintenance:mark_as_being_drained().")
    begin = time.monotonic()
    await_higher(seconds * WAITING)
    if not await_staying(replicas, max(LEAST, seconds * WAITING - (time.monotonic() - begin))):
        hooks.say("stop", "too few of the nodes that stay run; this node stays a member and keeps its data")
        return
    forget_lost(replicas)
    for number in range(replicas):
        moved("grow", cluster.node(number), "all")
    if not moved("shrink", mine):
        hooks.say("stop", "queues are left here; this node stays a member and keeps its data")
        return
    # Erlang itself runs on until the end: to the others this node has left, and did not fall silent.
    run("rabbitmqctl", "stop_app")
    for _ in range(TRIES):
        succeeded, printed = run("rabbitmqctl", "reset")
        if succeeded:
            hooks.say("stop", f"{mine} has left the cluster")
            return
        hooks.say("stop", f"leaving is tried again: {printed[-300:]}")
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
        hooks.say("stop", f"{error}; taken for a restart")
        replicas = cluster.ordinal() + 1
    if not replicas:
        return 0
    seconds, begin = float(sys.argv[1]), time.monotonic()
    if cluster.ordinal() >= replicas:
        if has_joined(volume.own(), seconds * WAITING):
            leave(replicas, seconds - (time.monotonic() - begin))
    else:
        # Those that leave need the ones that stay, and Kubernetes may restart these at the same time. A broker that
        # does not answer any more helps nobody.
        await_higher(seconds * WAITING, replicas, tries=1)
        if replicas > 1:
            hand_over()
    return 0


if __name__ == "__main__":
    sys.exit(main())
