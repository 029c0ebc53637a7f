"""Reaps orphans: the first process of a node inherits every process whose parent has ended."""

import os
from collections.abc import Callable


def reap(is_own: Callable[[int], bool]) -> None:
    """Reap orphaned children that have ended; our own programs are left to the code that started them."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or is_own(ended.si_pid):
            # Others may wait behind one of our own; the code that notes its end calls us again.
            return
        os.waitpid(ended.si_pid, 0)
