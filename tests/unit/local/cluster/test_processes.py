"""Who is who among processes."""

import os
import subprocess

from stackwright.local.cluster import processes
from stackwright.local.cluster.layout import ProcessKey


def test_a_process_is_known_by_its_start_as_well_as_its_id() -> None:
    with subprocess.Popen(["sleep", "60"]) as running:
        who = processes.key_of(running.pid)
        assert who is not None
        assert processes.alive(who)
        assert not processes.alive(ProcessKey(who.pid, who.started - 1))
        running.kill()
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        # It waits to be buried, and is dead all the same.
        assert not processes.alive(who)
    assert processes.key_of(running.pid) is None


def test_memory_is_that_of_this_process() -> None:
    assert processes.memory(os.getpid()) > 1_000_000
    assert processes.memory(0) == 0


def test_we_are_inside_of_our_own_namespace() -> None:
    assert os.getpid() in processes.inside(os.getpid()).values()
    assert processes.inside(0) == {}
