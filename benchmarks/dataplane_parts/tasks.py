"""How many tasks a playbook of the collection has on a machine that it configures, as its files say.

Upstream's number was found in the same way. Includes are followed, but not those that remove a service: Ansible does
not look into them. What a condition skips counts all the same.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.parts.running import ROOT

COLLECTION = ROOT / "ansible"
PREFIX = "stackwright.edpm."
_BLOCKS = ("block", "rescue", "always")
_TASKS = ("pre_tasks", "tasks", "post_tasks")
_FILES = ("include_tasks", "import_tasks")
# The condition of tasks that remove a service.
_REMOVAL = "== 'absent'"
_ROLES = ("include_role", "import_role")
_STATE = re.compile(r"\{\{ \w+_state \}\}")


def count(playbook: str, collection: Path = COLLECTION) -> int:
    """Return how many tasks a playbook has, by its name in the collection."""
    path = collection / "playbooks" / f"{playbook.removeprefix(PREFIX)}.yml"
    return sum(1 for play in _read(path) for _ in _of_play(play, collection))


def _read(path: Path) -> list[Any]:
    return list(yaml.safe_load(path.read_text()) or ())


def _of_play(play: dict[str, Any], collection: Path) -> Iterator[object]:
    # Facts are a task.
    if play.get("gather_facts", True):
        yield "facts"
    for role in play.get("roles") or ():
        yield from _of_role(role["role"] if isinstance(role, dict) else role, "main", collection)
    for word in _TASKS:
        yield from _of_tasks(play.get(word) or (), None, collection)


def _of_role(name: str, file: str, collection: Path) -> Iterator[object]:
    folder = collection / "roles" / name.removeprefix(PREFIX)
    path = folder / "tasks" / f"{file.removesuffix('.yml')}.yml"
    yield from _of_tasks(_read(path), folder, collection)


def _of_tasks(listed: Any, role: Path | None, collection: Path) -> Iterator[object]:
    for task in listed:
        words = {word.rpartition(".")[2]: value for word, value in task.items()}
        if any(word in words for word in _BLOCKS):
            for word in _BLOCKS:
                yield from _of_tasks(words.get(word) or (), role, collection)
            continue
        yield task
        if _REMOVAL in str(words.get("when", "")):
            continue
        named = next((words[word] for word in _FILES if word in words), None)
        if named is not None and role is not None:
            file = named["file"] if isinstance(named, dict) else named
            # Named by the state in which the service is wanted.
            file = _STATE.sub("started", file)
            yield from _of_tasks(_read(role / "tasks" / file), role, collection)
        within = next((words[word] for word in _ROLES if word in words), None)
        if within is not None:
            yield from _of_role(within["name"], within.get("tasks_from", "main"), collection)
