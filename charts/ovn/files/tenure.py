"""Whose the switch of this node is. OVNControllers of two namespaces may select one node, which has one switch.

The first one holds a lock in a folder of the node for as long as the server of the switch's database runs, and its name
stands in the file. Another one leaves the switch alone and says whose it is. The name stays while the pods of the first
are replaced, or the node is started anew: only a switch that nobody has run for a while is free.
"""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from programs import say

FILE = Path("/etc/openvswitch/owner")
# For how many seconds nobody runs a switch before another one takes it: an image may be pulled meanwhile.
FREE_AFTER = 600.0
PAUSE = 2.0


def own_name() -> str:
    """Return the OVNController of this pod, as namespace/name."""
    return os.environ["OWNER"]


def read_owner() -> str:
    """Return whose the switch is, as namespace/name; "" if it is nobody's."""
    try:
        return FILE.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def find_other() -> str:
    """Return whose the switch is, if it is another one's; otherwise ""."""
    owner = read_owner()
    return "" if owner == own_name() else owner


def describe(other: str) -> str:
    """Return what a user is told if the switch is another one's."""
    namespace, _, name = other.partition("/")
    return (
        f"the switch of this node belongs to OVNController {name} in the namespace {namespace}; a node has one: select "
        f"other nodes (spec.nodeSelector). If that one is gone, the node is free after {FREE_AFTER / 60:g} minutes"
    )


def take(clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait until the switch is ours, and hold it until this process, or the program that it becomes, ends."""
    file = os.open(FILE, os.O_RDWR | os.O_CREAT, 0o644)
    told, idle_since = "", None
    while True:
        if _lock(file):
            if not (other := find_other()):
                break
            now = clock()
            idle_since = now if idle_since is None else idle_since
            if now - idle_since >= FREE_AFTER:
                say(f"takes the switch over: nobody has run it for {other}")
                break
            # The one whose name it has must find it free.
            fcntl.flock(file, fcntl.LOCK_UN)
        else:
            other, idle_since = find_other(), None
        if other and other != told:
            say(describe(other))
            told = other
        sleep(PAUSE)
    os.ftruncate(file, 0)
    os.pwrite(file, own_name().encode(), 0)
    # The lock goes with the last process that has the file open.
    os.set_inheritable(file, True)  # noqa: FBT003  it takes no name


def let_go() -> None:
    """Say that the switch is nobody's once it ends; the lock is still held as long as it runs."""
    if not find_other():
        FILE.write_text("", encoding="utf-8")


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
