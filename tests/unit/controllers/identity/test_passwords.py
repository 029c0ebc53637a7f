"""When a password is tried again: a clock of the test, and a Keystone that keeps everything in memory."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from stackwright.adapters.identity import Credentials, Keystone, Session, User
from stackwright.api.keystone import KeystoneService, KeystoneServiceSpec
from stackwright.controllers.identity.access import Access
from stackwright.controllers.identity.passwords import Passwords, PasswordState
from stackwright.controllers.identity.service import Seen, ask_keystone
from stackwright.controllers.identity.world import World
from stackwright.controllers.looks import Interests
from stackwright.kube.resource import Key, ObjectMeta
from tests.fakes.running import fake

GLANCE = Key("cloud", "glance")
ADMIN = Credentials("admin", "admin-password", "admin")
SHARED = Access("cloud", "keystone", "http://k", "regionOne", ADMIN, "Secret s", cloud="ours", external=True)
SERVICE = KeystoneService(
    metadata=ObjectMeta(name="glance", namespace="cloud"),
    spec=KeystoneServiceSpec(
        serviceType="image", serviceName="glance", serviceUser="glance", secret="s", passwordSelector="p"
    ),
)
WORKS, DIFFERS, FUTILE = PasswordState.WORKS, PasswordState.DIFFERS, PasswordState.FUTILE


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with fake("tests.fakes.keystone", "admin-password") as started:
        yield started.url


@pytest.fixture
async def keystone(url: str) -> AsyncIterator[Keystone]:
    keystone = Keystone(Session(url, ADMIN))
    async with keystone.connected():
        yield keystone


@pytest.fixture
async def user(keystone: Keystone) -> AsyncIterator[User]:
    await keystone.create_user("glance", "another")
    user = await keystone.find_user("glance")
    assert user is not None
    yield user
    await keystone.delete_user(user.id)


class Tries:
    """A memory of passwords, and the time as the test lets it pass."""

    def __init__(self, keystone: Keystone, user: User) -> None:
        self.now = 1000.0
        self.passwords = Passwords(seldom=20.0, often=10.0, clock=lambda: self.now)
        self.keystone, self.user = keystone, user

    async def state(self, *, again: bool = True, ours: bool = True) -> PasswordState:
        return await self.passwords.state(GLANCE, self.keystone, self.user, "secret", again=again, ours=ours)

    async def is_tried_after(self, seconds: float, *, ours: bool = True) -> bool:
        """Whether the password is tried after some more seconds; it is wrong before and right then."""
        self.now += seconds
        await self.keystone.set_password(self.user.id, "secret")
        works = await self.state(ours=ours) is WORKS
        await self.keystone.set_password(self.user.id, "another")
        return works


@pytest.fixture
def tries(keystone: Keystone, user: User) -> Tries:
    return Tries(keystone, user)


async def test_a_password_that_does_not_work_is_tried_ever_more_seldom(tries: Tries) -> None:
    assert await tries.state() is DIFFERS
    for pause in (20.0, 40.0, 80.0, 160.0, 320.0, 600.0, 600.0):
        assert not await tries.is_tried_after(pause - 1)
        tries.now += 1
        assert await tries.state() is DIFFERS
    assert await tries.is_tried_after(600.0)


async def test_the_password_of_a_user_that_is_not_ours_is_tried_again_after_the_longest_pause(tries: Tries) -> None:
    assert await tries.state(ours=False) is DIFFERS
    assert not await tries.is_tried_after(599.0, ours=False)
    assert await tries.is_tried_after(1.0, ours=False)


async def test_a_password_that_was_set_and_does_not_help_is_tried_again(tries: Tries) -> None:
    tries.passwords.gave(GLANCE, tries.user.id, "secret", "now")
    assert await tries.state() is FUTILE
    assert await tries.is_tried_after(20.0)


async def test_a_password_that_would_not_be_set_is_tried_once(tries: Tries) -> None:
    assert await tries.state(again=False) is DIFFERS
    await tries.keystone.set_password(tries.user.id, "secret")
    tries.now += 10000.0
    assert await tries.state(again=False) is DIFFERS
    assert await tries.state() is WORKS


@pytest.mark.parametrize("made_for", ["", "KeystoneService cloud/glance of cloud another"], ids=["nobodys", "anothers"])
async def test_a_user_that_is_not_ours_works_once_keystone_lets_it_in(tries: Tries, made_for: str) -> None:
    if made_for:
        await tries.keystone.update_user(tries.user.id, made_for=made_for)
    nothing = cast("Any", None)
    world = World(nothing, Interests(), nothing, tries.passwords, nothing)
    seen = Seen(SHARED, "secret")

    async def login(seen: Seen = seen) -> PasswordState:
        return (await ask_keystone(SERVICE, seen, tries.keystone, world)).login

    assert await login() is DIFFERS
    await tries.keystone.set_password(tries.user.id, "secret")
    tries.now += 599
    assert await login() is DIFFERS
    tries.now += 1
    # A password that the service does not use yet is not tried.
    assert await login(replace(seen, unused=True)) is DIFFERS
    assert await login() is WORKS
