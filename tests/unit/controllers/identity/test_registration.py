"""The note of what was made in Keystone: what becomes of it, and how it is written."""

import msgspec
import pytest

from stackwright.controllers.identity.marks import Made
from stackwright.controllers.identity.registration import LABEL, Registration, is_of, known, read, together
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import JsonObject, Key


def service(identity: str = "", name: str = "glance") -> Made:
    return Made(what="service", name=("image", name), id=identity)


def user(identity: str = "", name: str = "glance") -> Made:
    return Made(what="user", name=(name,), id=identity)


@pytest.mark.parametrize(
    ("made", "present", "left"),
    [
        pytest.param([service("s1")], [service("s1"), service("s2")], [service("s1")], id="what-is-there-stays"),
        pytest.param([service("s1")], [service("s2")], [], id="another-of-the-same-name-is-not-ours"),
        pytest.param([service("s1")], [service("s1", "renamed")], [service("s1")], id="the-id-says-what-is-ours"),
        pytest.param([service()], [service("s2"), service("s1")], [service("s1")], id="what-came-to-be-gets-its-id"),
        pytest.param([service()], [user("u1")], [service()], id="what-may-still-come-to-be-stays"),
        pytest.param([service(), service("s1")], [service("s1")], [service("s1")], id="each-is-there-once"),
        pytest.param([user("x")], [service("x")], [], id="a-user-is-no-service"),
    ],
)
def test_what_is_known_of_what_was_made(made: list[Made], present: list[Made], left: list[Made]) -> None:
    assert known(made, present) == tuple(left)


def test_the_same_things_are_always_written_in_the_same_way() -> None:
    assert together([user("u1")], [service("s1")]) == together([service("s1"), user("u1"), user("u1")])


NOTED = Registration("KeystoneService", Key("cloud", "glance"), "keystone", (service("s1"), user()))


def written(noted: Registration = NOTED, **data: str) -> ConfigMap:
    body: JsonObject = noted.body()
    return msgspec.convert({**body, "data": {**body["data"], **data}}, ConfigMap)


def test_what_is_written_is_read() -> None:
    assert written().metadata.name == "keystone.keystoneservice.glance"
    assert written().metadata.labels == {LABEL: "KeystoneService"}
    assert written().metadata.ownerReferences == ()
    assert read(written()) == NOTED
    assert is_of(written(), "keystone")
    assert not is_of(written(), "another")


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(written(made="["), id="no-json"),
        pytest.param(written(made='[{"what": "domain", "name": ["x"]}]'), id="of-no-sort-that-we-make"),
        pytest.param(written(made='[{"what": "user", "name": []}]'), id="of-no-name"),
        pytest.param(written(resource="placement"), id="of-another-resource"),
        pytest.param(written(keystoneInstance="another"), id="of-another-keystone"),
    ],
)
def test_what_somebody_else_wrote_is_refused(changed: ConfigMap) -> None:
    with pytest.raises(Blocked, match=r"ConfigMap keystone\.keystoneservice\.glance does not contain its record"):
        read(changed)


def test_long_names_give_names_that_can_be_and_differ() -> None:
    names = {
        Registration("KeystoneService", Key("cloud", "a" * 252 + letter), "keystone").name for letter in ("a", "b")
    }
    assert len(names) == 2
    assert {len(name) for name in names} == {253}
