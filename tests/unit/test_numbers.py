"""Ports and users are written once: Python says them in one place, and what cannot import it says the same."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.api import mariadb, rabbitmq
from stackwright.cli.validation import manifests
from stackwright.services.ovn import database

ROOT = Path(__file__).parents[2]
NOVA = tomllib.loads((ROOT / "stackwright/services/nova/image.toml").read_text())["uid"]
NORTH, SOUTH = (database.PORTS[role] for role in ("NB", "SB"))
# Each number, with the only module that says it; a user of an image is said by its recipe.
WRITTEN = {
    mariadb.PORT: {"api/mariadb.py"},
    rabbitmq.PORT: {"api/rabbitmq.py"},
    rabbitmq.MANAGEMENT_PORT: {"api/rabbitmq.py"},
    NORTH[0]: {"services/ovn/database.py"},
    SOUTH[0]: {"services/ovn/database.py"},
    NOVA: set(),
    manifests.USER: {"cli/validation/manifests.py"},
}
# What runs in pods, on machines and in images imports nothing of ours: there the number stands after these words.
ELSEWHERE = [
    ("charts/library/templates/_database.tpl", r"default (\d+) \| quote", [mariadb.PORT]),
    ("charts/mariadb/files/server.py", r"node-incoming-address=\{self.pod\}:(\d+)", [mariadb.PORT]),
    ("charts/rabbitmq/files/cluster.py", r"AMQP = (\d+)", [rabbitmq.PORT]),
    ("charts/rabbitmq/files/ready.py", r"MANAGEMENT = (\d+)", [rabbitmq.MANAGEMENT_PORT]),
    ("charts/rabbitmq/example/rabbitmq.conf", r"tcp\.\w+ = (\d+)", [rabbitmq.PORT, rabbitmq.MANAGEMENT_PORT]),
    ("charts/ovn/files/database.py", r'"[NS]B_Global", (\d+), \d+', [NORTH[0], SOUTH[0]]),
    ("charts/ovn/files/database.py", r'"[NS]B_Global", \d+, (\d+)', [NORTH[1], SOUTH[1]]),
    ("charts/stackwright/values.yaml", r"externalPorts: .*?\b(3306|\d+672)\b", [mariadb.PORT]),
    ("ansible/roles/edpm_nova/vars/main.yml", r'edpm_nova_user: "(\d+)"', [NOVA]),
    ("images/compute/Containerfile", r"USER (42\d+)", [NOVA]),
    ("images/tempest/Containerfile", r"(?:USER|add-user tempest) (42\d+)", [manifests.USER] * 2),
]


def numbers(path: Path) -> Iterator[str]:
    """Yield what a module says in numbers and texts, but for prose: docstrings, and what users read of fields."""
    tree = ast.parse(path.read_text())
    prose = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "describe")
        for child in ast.walk(node)
    }
    yield from (str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in prose)


def test_a_port_or_a_user_is_written_once() -> None:
    modules = (ROOT / "stackwright").rglob("*.py")
    said = {path: set(numbers(path)) for path in modules if any(str(number) in path.read_text() for number in WRITTEN)}
    found = {
        number: {
            str(path.relative_to(ROOT / "stackwright"))
            for path, texts in said.items()
            if any(re.search(rf"\b{number}\b", text) for text in texts)
        }
        for number in WRITTEN
    }
    assert found == WRITTEN


@pytest.mark.parametrize(("path", "pattern", "expected"), ELSEWHERE)
def test_what_imports_nothing_says_the_same(path: str, pattern: str, expected: list[int]) -> None:
    assert [int(number) for number in re.findall(pattern, (ROOT / path).read_text())] == expected
