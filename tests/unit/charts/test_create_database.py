"""The chart's Job that makes schema and account refuses what the operators refuse, and gives what they give."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from stackwright.adapters import mariadb_grants, mariadb_names

SCRIPT = Path(__file__).parents[3] / "charts" / "library" / "files" / "create_database.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("create_database", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_it_knows_the_same_names_and_privileges_as_the_operators(script: ModuleType) -> None:
    assert frozenset(script.SYSTEM_SCHEMAS) == mariadb_names.SYSTEM_SCHEMAS
    assert frozenset(script.SYSTEM_USERS) == mariadb_names.SYSTEM_USERS
    assert script.SYSTEM_PREFIXES == mariadb_names.SYSTEM_PREFIXES
    assert frozenset(script.NEEDED) == mariadb_grants.NEEDED


@pytest.mark.parametrize("name", ["mysql", "MySQL", "`mysql`", "mysql ", "#mysql50#mysql", "SYS", "information_schema"])
def test_a_schema_of_the_server_itself_is_refused(script: ModuleType, name: str) -> None:
    (said,) = script.problems(name, "keystone", "root")
    assert said.startswith("provision.database.name: ")
    assert "is a schema of the server itself" in said


@pytest.mark.parametrize("name", ["", "a b", "a\\b", "a%", "a" * 65, "a`; DROP DATABASE b; --"])
def test_what_is_no_name_of_a_schema_is_refused(script: ModuleType, name: str) -> None:
    (said,) = script.problems(name, "keystone", "root")
    assert "is no name for a schema" in said


@pytest.mark.parametrize("user", ["root", "ROOT", "root ", "'root'@'%'", "mysql", "mariadb.sys", "public", "Operator"])
def test_a_user_of_the_server_itself_is_refused(script: ModuleType, user: str) -> None:
    (said,) = script.problems("keystone", user, "operator")
    assert said.startswith("provision.database.account.username: ")
    assert "is the server's own" in said


@pytest.mark.parametrize("user", ["", "nova ", "no\nva"])
def test_a_user_that_the_server_would_call_otherwise_is_refused(script: ModuleType, user: str) -> None:
    (said,) = script.problems("keystone", user, "root")
    assert "keeps as it is" in said


@pytest.mark.parametrize(
    ("name", "user"), [("keystone", "keystone"), ("nova-api", "nova_api"), ("nova_cell0", "mysqld")]
)
def test_others_are_taken(script: ModuleType, name: str, user: str) -> None:
    assert list(script.problems(name, user, "root")) == []


def test_what_earlier_charts_gave_too_much_is_found(script: ModuleType) -> None:
    every = [(r"nova\_api", privilege) for privilege in mariadb_grants.ALL_IN_SCHEMA]
    more = sorted(mariadb_grants.ALL_IN_SCHEMA - mariadb_grants.NEEDED)
    assert script.excess("nova_api", [*every, ("nova", "SHOW CREATE ROUTINE")]) == more
    assert script.excess("nova_api", [(r"nova\_api", privilege) for privilege in mariadb_grants.NEEDED]) == []
