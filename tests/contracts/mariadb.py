"""What every `MariaDB` does, the real one and the fake.

A ring subclasses the contract and gives a `server`, a `wrong` one where the password is not right, and a way to give a
user `everything` in a schema, as former versions did.
"""

import secrets
from collections.abc import Callable

import pytest

from stackwright.adapters.errors import Refused, Rejected
from stackwright.adapters.mariadb import MariaDB, Schema
from stackwright.adapters.mariadb_grants import ALL_IN_SCHEMA, NEEDED, Grant, needed_in
from stackwright.adapters.mariadb_marks import SCHEMA, UNMARKED, USER, Mark, Thing
from stackwright.adapters.mariadb_names import LEDGER

Everything = Callable[[str, str], None]

PASSWORD = 'a pass\'word with "signs" and 100 % \\'


async def grants(server: MariaDB, user: str) -> tuple[Grant, ...] | None:
    found = await server.user(user)
    return None if found is None else found.grants


async def has_other_password(server: MariaDB, user: str, password: str) -> bool:
    found = await server.user(user)
    assert found is not None
    return found.has_other_password(password)


class MariaDBContract:
    """Each test has names of its own, so a server may be used by many."""

    @pytest.fixture
    def name(self) -> str:
        return f"contract_{secrets.token_hex(4)}"

    async def test_a_schema_is_made_once_and_dropped(self, server: MariaDB, name: str) -> None:
        wanted = await server.named(Schema(name, "utf8", "utf8_general_ci"))
        assert wanted == Schema(name, "utf8mb3", "utf8mb3_general_ci")
        assert await server.schema(name) is None
        for _ in range(2):
            await server.create_schema(wanted)
        assert await server.schema(name) == wanted
        for _ in range(2):
            await server.drop_schema(name)
        assert await server.schema(name) is None

    async def test_a_schema_that_is_there_is_altered(self, server: MariaDB, name: str) -> None:
        await server.create_schema(Schema(name, "latin1", "latin1_swedish_ci"))
        wanted = Schema(name, "utf8mb4", "utf8mb4_unicode_ci")
        await server.create_schema(wanted)
        assert await server.schema(name) == Schema(name, "latin1", "latin1_swedish_ci")
        await server.alter_schema(wanted)
        assert await server.schema(name) == wanted
        await server.drop_schema(name)

    async def test_an_unknown_character_set_is_rejected_by_name(self, server: MariaDB, name: str) -> None:
        with pytest.raises(Rejected, match="klingon"):
            await server.named(Schema(name, "klingon", "klingon_general_ci"))

    async def test_a_collation_of_another_character_set_is_rejected_by_name(self, server: MariaDB, name: str) -> None:
        with pytest.raises(Rejected, match="latin1_swedish_ci"):
            await server.named(Schema(name, "utf8", "latin1_swedish_ci"))

    async def test_a_name_that_would_end_the_statement_is_rejected(self, server: MariaDB) -> None:
        with pytest.raises(Rejected, match="is not a name"):
            await server.create_schema(Schema("x`; DROP DATABASE mysql; --", "utf8", "utf8_general_ci"))

    async def test_a_mark_is_set_changed_and_struck_out(self, server: MariaDB, name: str) -> None:
        thing = Thing(SCHEMA, name)
        assert await server.mark(thing) == UNMARKED
        for mark in (
            Mark("cloud/keystone", made=True),
            Mark('cloud/it\'s "other"', made=False, identity="1f2e"),
            Mark("cloud/keystone", made=True, galera="0c6a7d0e-5d1b-4b0e-9d4a-0a4c0c8f6f11"),
        ):
            await server.set_mark(thing, mark)
            assert await server.mark(thing) == mark
            assert await server.mark(Thing(SCHEMA, name.upper())) == mark
            assert await server.mark(Thing(USER, name)) == UNMARKED
        for _ in range(2):
            await server.remove_mark(thing)
        assert await server.mark(thing) == UNMARKED

    async def test_the_case_of_a_users_name_matters(self, server: MariaDB, name: str) -> None:
        await server.set_mark(Thing(USER, name), Mark("cloud/keystone"))
        assert await server.mark(Thing(USER, name.upper())) == UNMARKED
        await server.remove_mark(Thing(USER, name))

    async def test_the_schema_of_the_marks_is_out_of_reach(self, server: MariaDB) -> None:
        with pytest.raises(Rejected, match="is a schema of the server itself"):
            await server.drop_schema(LEDGER)

    async def test_a_user_comes_with_no_rights_and_goes(self, server: MariaDB, name: str) -> None:
        assert await grants(server, name) is None
        assert not await server.accepts(name, PASSWORD)
        for _ in range(2):
            await server.create_user(name, PASSWORD)
        assert await grants(server, name) == ()
        assert await server.accepts(name, PASSWORD)
        for _ in range(2):
            await server.drop_user(name)
        assert await grants(server, name) is None
        assert not await server.accepts(name, PASSWORD)

    async def test_a_password_is_changed(self, server: MariaDB, name: str) -> None:
        await server.create_user(name, PASSWORD)
        await server.create_user(name, "another")
        assert await server.accepts(name, PASSWORD)
        await server.set_password(name, "another")
        assert await server.accepts(name, "another")
        assert not await server.accepts(name, PASSWORD)
        await server.drop_user(name)

    async def test_a_former_password_stays_until_it_is_taken_away(self, server: MariaDB, name: str) -> None:
        await server.create_user(name, PASSWORD)
        assert not await has_other_password(server, name, PASSWORD)
        for _ in range(2):
            await server.set_password(name, "another", keep=True)
            assert await server.accepts(name, "another")
            assert await server.accepts(name, PASSWORD)
            assert await has_other_password(server, name, "another")
        assert not await server.accepts(name, "neither")
        assert await grants(server, name) == ()
        await server.set_password(name, "another")
        assert await server.accepts(name, "another")
        assert not await server.accepts(name, PASSWORD)
        assert not await has_other_password(server, name, "another")
        await server.drop_user(name)

    async def test_of_two_changes_in_a_row_the_oldest_password_is_kept(self, server: MariaDB, name: str) -> None:
        await server.create_user(name, PASSWORD)
        await server.set_password(name, "mistyped", keep=True)
        await server.set_password(name, "another", keep=True)
        assert await server.accepts(name, "another")
        assert await server.accepts(name, PASSWORD)
        assert not await server.accepts(name, "mistyped")
        # Clients answer only once when they are asked again, so there are never three.
        await server.set_password(name, PASSWORD, keep=True)
        assert await server.accepts(name, "another")
        await server.drop_user(name)

    async def test_a_user_with_signs_in_its_name_is_quoted(self, server: MariaDB, name: str) -> None:
        user = f"o'{name} 100 %s"
        await server.create_user(user, PASSWORD)
        assert await server.accepts(user, PASSWORD)
        await server.set_password(user, "another", keep=True)
        assert await has_other_password(server, user, "another")
        await server.drop_user(user)
        assert await grants(server, user) is None

    async def test_a_grant_is_of_one_schema_and_is_taken_away(self, server: MariaDB, name: str) -> None:
        other = f"{name}_other"
        await server.create_user(name, PASSWORD)
        for _ in range(2):
            await server.grant(name, name)
        await server.grant(name, other)
        assert sorted(await grants(server, name) or (), key=lambda grant: grant.scope) == [
            needed_in(name),
            needed_in(other),
        ]
        await server.revoke(name, needed_in(other))
        assert await grants(server, name) == (Grant(f"{name}.*", NEEDED),)
        await server.drop_user(name)

    async def test_everything_is_told_by_name_and_what_is_too_much_is_taken_away(
        self, server: MariaDB, name: str, everything: Everything
    ) -> None:
        await server.create_user(name, PASSWORD)
        everything(name, name)
        (given,) = await grants(server, name) or ()
        assert given.scope == f"{name}.*"
        assert given.privileges >= ALL_IN_SCHEMA
        excess = given.beyond(needed_in(name))
        assert excess is not None
        await server.revoke(name, excess)
        assert await grants(server, name) == (needed_in(name),)
        await server.drop_user(name)

    @pytest.mark.parametrize("system", ["mysql", "MySQL", "`mysql`", "mysql ", "#mysql50#mysql", "sys"])
    async def test_the_servers_own_schemas_are_left_alone(self, server: MariaDB, name: str, system: str) -> None:
        await server.create_user(name, PASSWORD)
        schema = Schema(system, "utf8", "utf8_general_ci")
        for change in (
            server.create_schema(schema),
            server.alter_schema(schema),
            server.drop_schema(system),
            server.grant(name, system),
        ):
            with pytest.raises(Rejected, match="schema of the server itself"):
                await change
        assert await grants(server, name) == ()
        await server.drop_user(name)

    @pytest.mark.parametrize("system", ["root", "root ", "Root", "'root'@'%'", "mysql", "mariadb.sys", "PUBLIC"])
    async def test_the_servers_own_users_are_left_alone(self, server: MariaDB, name: str, system: str) -> None:
        for change in (
            server.create_user(system, PASSWORD),
            server.set_password(system, PASSWORD),
            server.grant(system, name),
            server.revoke(system, Grant("*.*")),
            server.drop_user(system),
        ):
            with pytest.raises(Rejected, match="the server's own"):
                await change

    async def test_a_change_of_a_user_who_is_not_there_is_rejected(self, server: MariaDB, name: str) -> None:
        with pytest.raises(Rejected):
            await server.set_password(name, PASSWORD)

    async def test_a_wrong_password_of_ours_is_refused_and_not_repeated(self, wrong: MariaDB, name: str) -> None:
        with pytest.raises(Refused, match="does not accept user root") as refused:
            await wrong.schema(name)
        assert "wrong-password" not in str(refused.value)
