"""Become the server: go on with the data that are there, begin a cluster if that is this node's part, or join one."""

import os
import sys
import time

import attempts
import cluster
import join
import peers
import prepare
import volume
from join import say
from volume import Volume

SERVER = ["rabbitmq-server"]
# Each change of the newer store, also that of its members, needs most of them, and only their servers count there.
STUCK = (
    "Nobody serves. The cluster uses khepri_db: if only one node was a member before this one, it cannot serve without"
    " this one, which cannot help. If it is still so in some minutes, run `rabbitmqctl force_standalone_khepri_boot` in"
    " the pod of that one, and in no other: what it has is kept, and this node joins then"
)


def is_disowned(own: Volume) -> bool:
    """Return whether this node has the data of a member, and is none any more; no where that is not sure.

    One that never was in the cluster of the others has data that nobody else has: a person must choose between two.
    """
    try:
        declared = cluster.replicas() or 0
    except cluster.Unanswered:
        return False
    others = (other for other in range(declared) if other != cluster.ordinal())
    serving = [other for other in others if peers.serves(cluster.host(other))]
    known = own.members
    if not any(cluster.node(other) in known for other in serving):
        return False
    return join.is_disowned(declared, serving)


def clean(own: Volume) -> None:
    """Undo a join that did not get through: the cluster forgets it, and nothing of it stays on the volume."""
    say("This node was stopped while it joined a cluster. It has no data of its own, and joins anew")
    while not is_forgotten(own):
        say("Trying again: the cluster has not forgotten this node yet")
        time.sleep(1)
    own.wipe()
    own.unmark()


def is_forgotten(own: Volume) -> bool:
    """Wait until others serve, and let them forget this node; return whether none of them knows it now."""
    numbers, _ = peers.look(cluster.ordinal())
    if numbers is None:
        if own.has_newer_store:
            say(STUCK)
        with join.shown(own) as running:
            numbers = peers.await_clear()
            while numbers and not join.hide(running):
                time.sleep(0.5)
            return forgotten_by(numbers)
    return forgotten_by(numbers)


def forgotten_by(numbers: list[int]) -> bool:
    """Return whether the cluster has forgotten this node; there is none where nobody serves and nobody has data."""
    return not numbers or any(join.forget(number) for number in numbers)


def is_wanted() -> bool:
    """Return whether there shall be this node; no where nobody says so."""
    try:
        return cluster.ordinal() < (cluster.replicas() or 0)
    except cluster.Unanswered:
        return False


def target() -> int | None:
    """Wait until this node can join; return the node to join, None to begin a cluster."""
    while True:
        numbers = peers.await_clear()
        if not is_wanted():
            # One that joined now, and was gone then, would be missed by the others for ever.
            say("Waiting: nobody says that there shall be this node")
            time.sleep(5)
            continue
        ready = next((number for number in numbers if join.forget(number)), None)
        if ready is not None or not numbers:
            return ready
        say(f"Trying again: {cluster.node(numbers[0])} has not forgotten an earlier life of this node yet")
        time.sleep(1)


def decide(own: Volume) -> tuple[list[str], bool]:
    """Return the command to become, and whether it may begin a cluster."""
    if own.has_data and not own.is_marked:
        if not is_disowned(own):
            say("This node has data and goes on with it")
            return SERVER, False
        say(f"The others have forgotten this node. Its data are kept in {own.put_aside()}, and it joins anew")
    peers.say_blank()
    if own.is_marked:
        clean(own)
    number = target()
    if number is not None:
        return join.start(own, number), False
    say("Beginning a cluster")
    return SERVER, True


def become() -> None:
    """Decide, and become what was decided."""
    words, begins = decide(volume.own())
    prepare.write_peers(begins=begins)
    sys.stdout.flush()
    os.execvp(words[0], words)  # noqa: S606  it is the program that the pod is for


def main() -> int:
    """Become the server: at once with data, else beside a program that lets a join be tried again."""
    own = volume.own()
    if own.has_data and not own.is_marked:
        become()
    return attempts.run(become, own)


if __name__ == "__main__":
    sys.exit(main())
