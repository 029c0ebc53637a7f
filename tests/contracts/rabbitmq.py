"""What RabbitMQ's management API does, as far as we rely on it: the fake and the real broker keep the same contract.

A class that inherits these tests has a fixture `access`: a broker and an administrator of it.
"""

import secrets
from collections.abc import AsyncIterator

import pytest

from stackwright.adapters.errors import Refused, Rejected, Unavailable
from stackwright.adapters.rabbitmq import Access, Management, Permission, Vhost, digest_of

NAMES = pytest.mark.parametrize(
    "name",
    [
        pytest.param("nova", id="a-plain-name"),
        pytest.param("a/b c?d=%e#f", id="a-name-of-characters-that-mean-something-in-a-url"),
        pytest.param("zelle-größe", id="a-name-beyond-ascii"),
    ],
)


class BrokerContract:
    """The tests."""

    @pytest.fixture
    async def broker(self, access: Access) -> AsyncIterator[Management]:
        async with Management(access) as broker:
            yield broker

    @pytest.fixture
    async def user(self, broker: Management) -> AsyncIterator[str]:
        name = f"user-{secrets.token_hex(4)}"
        await broker.put_user(name, digest_of("first password"), frozenset({"ours/one"}))
        yield name
        await broker.delete_user(name)

    @pytest.fixture
    async def vhost(self, broker: Management) -> AsyncIterator[str]:
        name = f"vhost-{secrets.token_hex(4)}"
        await broker.put_vhost(name, "quorum")
        yield name
        await broker.delete_vhost(name)

    async def test_it_says_who_we_are(self, broker: Management, access: Access) -> None:
        identity = await broker.whoami()
        assert (identity.name, identity.tags) == (access.username, frozenset({"administrator"}))

    async def test_its_nodes_run_without_alarm(self, broker: Management) -> None:
        nodes = await broker.nodes()
        assert nodes
        for node in nodes:
            assert (node.running, node.alarms, node.partitions) == (True, (), ())

    async def test_it_counts_what_it_has(self, broker: Management) -> None:
        overview = await broker.overview()
        assert overview.version.split(".")[0].isdigit()
        assert overview.queues >= 0
        assert overview.messages >= 0

    async def test_the_default_virtual_host_is_found_by_its_name(self, broker: Management) -> None:
        assert await broker.vhost("/") == Vhost("/", "quorum")

    @NAMES
    async def test_a_virtual_host_comes_and_goes(self, broker: Management, name: str) -> None:
        name = f"{name}-{secrets.token_hex(4)}"
        assert await broker.vhost(name) is None
        await broker.put_vhost(name, "quorum")
        assert await broker.vhost(name) == Vhost(name, "quorum")
        assert await broker.delete_vhost(name) is True
        assert await broker.delete_vhost(name) is False

    async def test_the_default_queue_type_of_a_virtual_host_can_change(self, broker: Management, vhost: str) -> None:
        await broker.put_vhost(vhost, "classic")
        assert await broker.vhost(vhost) == Vhost(vhost, "classic")
        await broker.put_vhost(vhost, "quorum")
        assert await broker.vhost(vhost) == Vhost(vhost, "quorum")

    @NAMES
    async def test_a_user_comes_and_goes(self, broker: Management, name: str) -> None:
        name = f"{name}-{secrets.token_hex(4)}"
        assert await broker.user(name) is None
        await broker.put_user(name, digest_of("password"), frozenset({"ours/one", "another"}))
        user = await broker.user(name)
        assert user is not None
        assert (user.name, user.tags) == (name, frozenset({"ours/one", "another"}))
        assert await broker.delete_user(name) is True
        assert await broker.delete_user(name) is False

    async def test_whether_a_password_is_right_can_be_told(self, broker: Management, user: str) -> None:
        found = await broker.user(user)
        assert found is not None
        assert found.has_password("first password")
        assert not found.has_password("another password")
        await broker.put_user(user, digest_of("sécond"), frozenset())
        changed = await broker.user(user)
        assert changed is not None
        assert changed.has_password("sécond")
        assert not changed.has_password("first password")
        assert changed.tags == frozenset()

    async def test_a_password_that_was_set_as_a_digest_lets_in(self, broker: Management, access: Access) -> None:
        name = f"user-{secrets.token_hex(4)}"
        await broker.put_user(name, digest_of("pass: wörd"), frozenset({"administrator"}))
        async with Management(Access(access.url, name, "pass: wörd")) as theirs:
            assert (await theirs.whoami()).name == name
        await broker.delete_user(name)

    async def test_permissions_are_granted_changed_and_taken(self, broker: Management, vhost: str, user: str) -> None:
        assert await broker.permission(vhost, user) is None
        await broker.put_permission(vhost, user, Permission())
        assert await broker.permission(vhost, user) == Permission(".*", ".*", ".*")
        await broker.put_permission(vhost, user, Permission("^$", "a.*", "b.*"))
        assert await broker.permission(vhost, user) == Permission("^$", "a.*", "b.*")
        assert await broker.delete_permission(vhost, user) is True
        assert await broker.delete_permission(vhost, user) is False

    async def test_permissions_go_with_their_virtual_host(self, broker: Management, user: str) -> None:
        await broker.put_vhost("short-lived", "quorum")
        await broker.put_permission("short-lived", user, Permission())
        await broker.delete_vhost("short-lived")
        assert await broker.permission("short-lived", user) is None

    async def test_permissions_go_with_their_user(self, broker: Management, vhost: str) -> None:
        await broker.put_user("short-lived", digest_of("x"))
        await broker.put_permission(vhost, "short-lived", Permission())
        await broker.delete_user("short-lived")
        assert await broker.permission(vhost, "short-lived") is None

    async def test_who_is_not_connected_has_no_connections(self, broker: Management, user: str) -> None:
        assert await broker.connections(user) == 0

    async def test_a_permission_of_nobody_is_rejected(self, broker: Management) -> None:
        with pytest.raises(Rejected, match="vhost or user not found"):
            await broker.put_permission("/", "nobody", Permission())

    async def test_a_rejection_does_not_repeat_what_was_sent(self, broker: Management) -> None:
        with pytest.raises(Rejected, match="users/nobody: not base64") as caught:
            await broker.put_user("nobody", "no-digest-at-all!")
        assert "no-digest-at-all" not in str(caught.value)

    async def test_a_wrong_password_is_refused(self, access: Access) -> None:
        async with Management(Access(access.url, access.username, "wrong-password")) as stranger:
            with pytest.raises(Refused, match=f"does not let user {access.username}") as caught:
                await stranger.whoami()
        assert "wrong-password" not in str(caught.value)

    async def test_a_user_without_rights_is_refused(self, access: Access, user: str) -> None:
        async with Management(Access(access.url, user, "first password")) as plain:
            with pytest.raises(Refused, match="administrator tag"):
                await plain.put_vhost("theirs", "quorum")

    async def test_a_port_that_nobody_listens_on_is_unavailable(self) -> None:
        async with Management(Access("http://127.0.0.1:1", "a", "secret-password")) as nowhere:
            with pytest.raises(Unavailable, match=r"http://127.0.0.1:1 cannot be reached") as caught:
                await nowhere.whoami()
        assert "secret-password" not in str(caught.value)
