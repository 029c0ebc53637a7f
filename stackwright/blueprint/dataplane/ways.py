"""The ways from a machine to what its services need: tried from there, in a run of Ansible that changes nothing. Pure.

The task that tries them fails with one word for each way that is closed, such as `0:timeout 3:111`: the way's number,
and either a word or the number of an error of the system. So the answer is short, however many ways there are.
"""

import errno
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.blueprint.whole_numbers import read_number

# The service that runs of this sort name; no role has it.
SERVICE = "ways"
# The variable of a host with its ways, and how many seconds each may take.
VARIABLE, PATIENCE = "stackwright_ways", 5
TIMEOUT, UNKNOWN_NAME = "timeout", "name"

# It runs on the machine, with the Python that Ansible needs there.
PROGRAM = """\
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def attempt(way):
    try:
        socket.create_connection((way["host"], way["port"]), float(sys.argv[2])).close()
    except socket.gaierror:
        return "name"
    except socket.timeout:
        return "timeout"
    except OSError as error:
        return str(error.errno)
    return ""
ways = json.loads(sys.argv[1])
with ThreadPoolExecutor(len(ways) or 1) as pool:
    found = list(pool.map(attempt, ways))
print(" ".join("%d:%s" % one for one in enumerate(found) if one[1]))
"""
_INDENT = " " * 10
PLAYBOOK = f"""\
- name: Try the ways to the cloud
  hosts: all
  gather_facts: false
  tasks:
    - name: Connect with each place
      ansible.builtin.command:
        argv:
        - python3
        - -c
        - |
{"".join(f"{_INDENT}{line}{chr(10)}" for line in PROGRAM.splitlines())}\
        - "{{{{ {VARIABLE} | to_json }}}}"
        - "{PATIENCE}"
      changed_when: false
      register: {VARIABLE}_closed

    - name: Report what is closed
      ansible.builtin.fail:
        msg: "{{{{ {VARIABLE}_closed.stdout }}}}"
      when: {VARIABLE}_closed.stdout | length > 0
"""
_ANSWER = re.compile(r"\d+:\w+( \d+:\w+)*")
_WORDS = {
    TIMEOUT: "no answer; a firewall drops it, or there is no route",
    UNKNOWN_NAME: "the name is unknown there; see its DNS servers",
}


@dataclass(frozen=True)
class Way:
    """A place that a machine has to reach."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name} at {host}:{self.port}"


def describe(ways: Iterable[Way]) -> dict[str, Any]:
    """Return the variable of a host with its ways."""
    return {VARIABLE: [{"host": way.host, "port": way.port} for way in ways]}


def read_answer(message: str, ways: tuple[Way, ...]) -> Mapping[Way, str] | None:
    """Return the ways that are closed, each with why; None if a message is something else."""
    if not _ANSWER.fullmatch(message):
        return None
    found: dict[Way, str] = {}
    for word in message.split():
        number, _, code = word.partition(":")
        if int(number) < len(ways):
            found[ways[int(number)]] = _explain(code)
    return found


def _explain(code: str) -> str:
    number = read_number(code)
    return _WORDS.get(code) or (
        os.strerror(number).lower() if number is not None and number in errno.errorcode else code
    )
