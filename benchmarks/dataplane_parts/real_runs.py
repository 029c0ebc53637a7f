"""Times the real Ansible: the program of the execution image runs the product's own first playbook on 20 hosts.

There is no SSH: the hosts are this machine twenty times (connection local), so what is timed is Ansible, its runner,
and our program that follows both. The playbooks that change a machine would change this one; `tests/long` runs those.
"""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from benchmarks.parts.running import ROOT, ProgramFailed
from stackwright.blueprint.dataplane import inputs
from stackwright.local import cache
from stackwright.local.progress import Progress

HOSTS = 20
PINNED = ROOT / "images" / "ansible-runner" / "requirements.txt"
PROGRAM = ROOT / "images" / "ansible-runner" / "run_ansible.py"
DEADLINE = 600.0


def interpreter(progress: Progress) -> Path:
    """Return a Python that has Ansible, as the execution image has it."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    names = ("ansible-core", "ansible-runner")
    pins = [line.split()[0] for line in PINNED.read_text().splitlines() if line.startswith(names)]
    folder = cache.root().parent / "benchmarks" / f"{'-'.join(pins)}-{python}".replace("==", "-")
    folder.mkdir(parents=True, exist_ok=True)
    found, installed = folder / "bin" / "python", folder / "installed"
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists():
            progress.say(f"Installing {' and '.join(pins)} into {folder}.")
            try:
                subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
                subprocess.run([found, "-m", "pip", "install", "--quiet", *pins], check=True)
            except subprocess.CalledProcessError as error:
                raise ProgramFailed(f"{pins} cannot be installed; what pip said stands above") from error
            installed.touch()
    return found


def measure(python: Path, hosts: int = HOSTS) -> float:
    """Return how many seconds one run of the first playbook takes on that many hosts."""
    with tempfile.TemporaryDirectory(prefix="stackwright-run-") as directory:
        runner = Path(directory)
        for name in ("inventory", "project", "artifacts", "env"):
            (runner / name).mkdir()
        named = {f"node-{number}": {"ansible_connection": "local"} for number in range(hosts)}
        inventory = {"all": {"hosts": named, "vars": {"ansible_python_interpreter": sys.executable}}}
        (runner / "inventory" / "hosts.yaml").write_text(yaml.safe_dump(inventory))
        contents = inputs.reach_work("").contents
        (runner / "project" / "playbook.yaml").write_text(contents)
        path = f"{python.parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "HOME": directory, "ANSIBLE_NO_TARGET_SYSLOG": "True"}
        words = [str(python), str(PROGRAM), "ansible-runner", "run", directory, "--playbook", "playbook.yaml"]
        began = time.monotonic()
        ended = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False, cwd=directory
        )
        took = time.monotonic() - began
    last = json.loads((ended.stdout.splitlines() or ["{}"])[-1])
    if last.get("summary") != dict.fromkeys(named, "ok"):
        raise ProgramFailed(f"Ansible did not reach all of {hosts} hosts: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return took
