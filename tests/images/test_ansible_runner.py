"""The execution image runs playbooks, of text and of the collection, and tells how they go."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from tests.images.built import COMPILERS, Built, container, why_not_built

NAME = "ansible-runner"
RUNNER = 1001
HOSTS = """\
all:
  hosts:
    good: {ansible_connection: local}
    bad: {ansible_connection: local}
    away: {ansible_host: 127.0.0.1, ansible_port: 9, ansible_user: nobody}
"""
PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Reach it
      ansible.builtin.ping:
    - name: Hide it
      ansible.builtin.command: "sh -c 'echo {{ password }}; exit 3'"
      no_log: true
      when: inventory_hostname == 'bad'
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[Built]:
    """A container of the execution image."""
    if reason := why_not_built([NAME]):
        pytest.skip(reason)
    with container(NAME) as made:
        yield made


def run(runner: Built, *arguments: str, inventory: str = HOSTS) -> tuple[int, list[dict[str, Any]], str]:
    folder = runner.root / "runner"
    (folder / "inventory" / "hosts.yaml").write_text(inventory)
    (folder / "project" / "playbook.yaml").write_text(PLAYBOOK)
    (folder / "env" / "extravars").write_text(json.dumps({"password": "very-secret-word"}))
    command = [*runner.config["Entrypoint"], "ansible-runner", "run", "/runner", *arguments]
    answer = runner.run(shlex.join(command), environment={"ANSIBLE_TIMEOUT": "3"})
    told = [json.loads(line) for line in answer.output.splitlines() if line.startswith("{")]
    return answer.code, told, answer.output


def test_a_run_is_told_as_it_goes(runner: Built) -> None:
    code, told, output = run(runner, "-p", "playbook.yaml", "-i", "run-1")
    assert code != 0
    assert told[-1] == {"summary": {"away": "unreachable", "bad": "failed", "good": "ok"}}, output
    assert {"play": "all", "hosts": "all"} in told
    assert {"host": "good", "status": "ok", "task": "Reach it", "message": ""} in told
    (failed,) = [line for line in told if line.get("status") == "failed"]
    assert (failed["host"], failed["task"]) == ("bad", "Hide it")
    (away,) = [line for line in told if line.get("status") == "unreachable"]
    assert "Connection refused" in away["message"]
    assert "very-secret-word" not in output


def test_a_playbook_of_the_collection_runs(runner: Built) -> None:
    # It checks nothing here, because it is told of nothing to check: that needs a machine of its own (tests/long).
    code, told, output = run(
        runner,
        "-p",
        "stackwright.edpm.validate_network",
        inventory="all: {hosts: {here: {ansible_connection: local}}}",
    )
    assert told[-1] == {"summary": {"here": "ok"}}, output
    assert code == 0


def test_a_role_runs_though_the_project_cannot_be_written(runner: Built) -> None:
    code, told, output = run(
        runner,
        "-r",
        "stackwright.edpm.edpm_nodes_validation",
        inventory="all: {hosts: {here: {ansible_connection: local}}}",
    )
    assert (code, told[-1]) == (0, {"summary": {"here": "ok"}}), output


def test_what_never_began_is_told_too(runner: Built) -> None:
    code, told, _ = run(runner, "-p", "stackwright.edpm.nothing_of_that_name")
    assert code != 0
    assert told[-1]["summary"] == {}
    assert "nothing_of_that_name" in told[-1]["message"]


def test_it_runs_as_the_user_of_the_pods_and_has_no_compiler(runner: Built) -> None:
    assert runner.user == RUNNER
    assert not [path for path in runner.files("usr/bin", "usr/local/bin", "opt/ansible/bin") if path.name in COMPILERS]
    assert runner.run("ssh -V && ansible --version").code == 0
