"""Machines beside a cluster, as the tests use them."""

import subprocess

from stackwright.local.machine import lifecycle
from stackwright.local.machine.lifecycle import KEY, Machine
from stackwright.local.machine.root_files import USER


def ssh(machine: Machine, command: str) -> str:
    """Run a command on a machine, and return what it printed; the machine's own key is checked."""
    key = machine.folder.directory.parent / KEY
    known = machine.folder.directory / "known_hosts"
    known.write_text(f"{lifecycle.known_host(machine)}\n")
    options = [f"-oUserKnownHostsFile={known}", "-oStrictHostKeyChecking=yes", "-oBatchMode=yes", f"-i{key}"]
    words = ["ssh", *options, f"{USER}@{machine.settings.address}", command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout
