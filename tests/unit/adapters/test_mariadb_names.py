"""Names that are the server's own, in every spelling, and names that the server would not keep as they are."""

import pytest

from stackwright.adapters.mariadb_names import schema_problem, user_problem

SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")
USERS = ("root", "mysql", "mariadb.sys", "mysql.session", "PUBLIC", "debian-sys-maint")


def spellings(name: str) -> list[str]:
    return [
        name,
        name.upper(),
        name.title(),
        f"{name} ",
        f" {name}",
        f"{name}\t",
        f"{name}\0",
        f"`{name}`",
        f"'{name}'",
        f'"{name}"',
        f" `{name.upper()}` ",
    ]


@pytest.mark.parametrize(
    "name", [*(each for name in SCHEMAS for each in spellings(name)), "#mysql50#mysql", "\uff4dysql"]
)
def test_a_schema_of_the_server_itself_is_refused_in_every_spelling(name: str) -> None:
    assert "is a schema of the server itself; choose another name" in schema_problem(name)


@pytest.mark.parametrize("name", ["", "a-b", "a b", "ä", "a" * 65, "a.b", "a`b", "a%"])
def test_what_is_no_name_of_a_schema_is_refused(name: str) -> None:
    assert "is not a name that MariaDB accepts here" in schema_problem(name)


@pytest.mark.parametrize("name", ["keystone", "nova_api", "mysql2", "mysql_keystone", "system", "_", "0", "a" * 64])
def test_other_schemas_are_taken(name: str) -> None:
    assert schema_problem(name) == ""


@pytest.mark.parametrize(
    "name", [*(each for name in USERS for each in spellings(name)), "root@localhost", "'root'@'%'"]
)
def test_a_user_of_the_server_itself_is_refused_in_every_spelling(name: str) -> None:
    assert "is the server's own; choose another name" in user_problem(name)


@pytest.mark.parametrize("name", ["", "nova ", " nova", "no\nva", "nova\0", "nova😀"])
def test_a_user_that_the_server_would_call_otherwise_is_refused(name: str) -> None:
    assert "is not a name that MariaDB keeps unchanged" in user_problem(name)


@pytest.mark.parametrize("name", ["keystone", "o'nova 100 %", "rooted", "größe", "mysqld", "nova-api"])
def test_other_users_are_taken(name: str) -> None:
    assert user_problem(name) == ""
