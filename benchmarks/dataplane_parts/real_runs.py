"""Times the real Ansible: the program of the execution image runs the product's own first playbook on 20 hosts.

It runs in the image, by the image's Python. There is no SSH: the hosts are that container twenty times (connection
local), so what is timed is Ansible, its runner, and our program that follows both. The playbooks that change a machine
would change this one; `tests/long` runs those.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from benchmarks.parts.running import ProgramFailed
from stackwright.blueprint.dataplane import inputs
from stackwright.local.images import building
from stackwright.local.progress import Progress
from tests.images.built import Built, container, why_not_built

HOSTS = 20
IMAGE = "ansible-runner"
DEADLINE = 600.0


@contextmanager
def image(progress: Progress) -> Iterator[Built]:
    """Make a container of the execution image for the time of a block; build the image where it is missing."""
    building.build([IMAGE], building.catalogue(), ask=lambda _: True, progress=progress)
    if reason := why_not_built([IMAGE]):
        raise ProgramFailed(reason)
    with container(IMAGE) as made:
        yield made


def measure(made: Built, hosts: int = HOSTS) -> float:
    """Return how many seconds one run of the first playbook takes on that many hosts."""
    runner = made.root / "runner"
    named = {f"node-{number}": {"ansible_connection": "local"} for number in range(hosts)}
    (runner / "inventory" / "hosts.yaml").write_text(yaml.safe_dump({"all": {"hosts": named}}))
    (runner / "project" / "playbook.yaml").write_text(inputs.reach_work("").contents)
    began = time.monotonic()
    answer = made.run("cd /runner && exec run-ansible ansible-runner run . --playbook playbook.yaml", timeout=DEADLINE)
    took = time.monotonic() - began
    if {"summary": dict.fromkeys(named, "ok")} not in _told(answer.output):
        raise ProgramFailed(f"Ansible did not reach all of {hosts} hosts: {answer.output[-2000:]}")
    return took


def _told(output: str) -> Iterator[object]:
    """Yield what the program told, without what was written beside it."""
    for line in output.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
