"""A join that did not get through is tried again in the same container.

If the container ended, the kubelet would start it anew after longer and longer pauses, and of two members the other one
is no majority meanwhile. So this program stays beside what a node becomes, passes on what it is told, and ends with it.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from join import say
from volume import Volume

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
# Something else may be wrong in a container where it never succeeds.
TRIES = 10
PAUSE = 2.0


def run(become: Callable[[], None], own: Volume) -> int:
    """Let a node become what it shall be, again while that is a join that fails; return how it ended, as shells do."""
    told: list[int] = []
    code = attend(become, told)
    for _ in range(TRIES - 1):
        # Who was killed may have left others behind. The container ends all of them.
        if told or code < 0 or not own.is_marked:
            break
        say("The join did not get through, and is tried again")
        time.sleep(PAUSE)
        code = attend(become, told)
    return code if code >= 0 else 128 - code


def attend(become: Callable[[], None], told: list[int]) -> int:
    """Become something in a process of its own; note and pass on signals until it has ended, and return how it did."""
    sys.stdout.flush()
    # Nobody may be told anything between a fork and what it needs to pass that on.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    child = os.fork()
    if child == 0:
        begin(become)

    def pass_on(number: int, _: FrameType | None) -> None:
        told.append(number)
        os.kill(child, number)

    for each in SIGNALS:
        signal.signal(each, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    # Whoever has ended keeps its number until it is asked for: nobody else is told in its place.
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def begin(become: Callable[[], None]) -> NoReturn:
    """Become something in the process that was made for it, and do not come back."""
    try:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        become()
    except Exception:  # noqa: BLE001  whatever it is, it is said; the other process goes on from here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(1)
