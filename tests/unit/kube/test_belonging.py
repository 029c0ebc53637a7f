"""An object that is another's is not written; what was kept for a resource is its own again."""

import pytest

from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.errors import Retry
from stackwright.kube.resource import ObjectMeta, OwnerReference, Resource
from stackwright.kube.shapes.belonging import (
    MADE_BY_USER,
    MADE_FOR,
    is_forsaken,
    made_for,
    refuse_foreign,
    refuse_users,
)

PARENT = ConfigMap(metadata=ObjectMeta(name="parent", namespace="n", uid="1"))


def present(maker: str = "", *owners: OwnerReference) -> Secret:
    marks = {MADE_FOR: maker} if maker else {}
    return Secret(metadata=ObjectMeta(name="child", namespace="n", annotations=marks, ownerReferences=owners))


def owner(name: str, uid: str) -> OwnerReference:
    return OwnerReference(apiVersion="v1", kind="ConfigMap", name=name, uid=uid, controller=True)


@pytest.mark.parametrize(
    ("owners", "forsaken"),
    [
        pytest.param([], False, id="nobody-owns-it"),
        pytest.param([owner("parent", "1")], False, id="its-owner-is-there"),
        pytest.param([owner("parent", "of-a-backup")], True, id="another-one-has-the-name"),
        pytest.param([owner("gone", "of-a-backup")], True, id="its-owner-is-not-there"),
        pytest.param([owner("leaving", "2")], True, id="its-owner-goes"),
        pytest.param([owner("gone", "of-a-backup"), owner("parent", "1")], False, id="one-of-two-is-there"),
        pytest.param(
            [OwnerReference(apiVersion="example.com/v1", kind="ConfigMap", name="x", uid="3")],
            False,
            id="of-another-kind",
        ),
    ],
)
def test_what_has_no_owner_left_is_about_to_go(owners: list[OwnerReference], forsaken: bool) -> None:
    leaving = ConfigMap(metadata=ObjectMeta(name="leaving", uid="2", deletionTimestamp="2026-01-01T00:00:00Z"))
    assert is_forsaken(present("", *owners), ConfigMap, [PARENT, leaving]) is forsaken


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="nothing-is-there"),
        pytest.param(present(), id="a-user-made-it"),
        pytest.param(present("ConfigMap/parent"), id="it-was-kept-for-us"),
        pytest.param(present("", owner("parent", "1")), id="it-is-owned-by-us"),
    ],
)
def test_what_may_be_written(found: Resource | None) -> None:
    refuse_foreign("Secret child", found, PARENT)


@pytest.mark.parametrize(
    ("found", "reason", "words"),
    [
        pytest.param(present("ConfigMap/x"), "OwnedByAnother", "belongs to ConfigMap x", id="kept-for-another"),
        pytest.param(present("", owner("x", "2")), "OwnedByAnother", "belongs to ConfigMap x", id="anothers"),
        pytest.param(
            present("", owner("parent", "0")), "Replacing", "created again", id="of-one-of-our-name-that-is-gone"
        ),
    ],
)
def test_what_may_not(found: Resource, reason: str, words: str) -> None:
    with pytest.raises(Retry, match=words) as refused:
        refuse_foreign("Secret child", found, PARENT)
    assert refused.value.reason == reason


MARKED = Secret(metadata=ObjectMeta(name="child", namespace="n", annotations={"mark": "a digest"}))


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="nothing-is-there"),
        pytest.param(MARKED, id="we-applied-it-and-it-lost-its-owner"),
        pytest.param(present("ConfigMap/parent"), id="it-was-handed-over"),
        pytest.param(present("", owner("parent", "1")), id="it-is-owned-by-us"),
    ],
)
def test_what_may_be_written_where_users_are_spared(found: Resource | None) -> None:
    refuse_users("Secret child", found, PARENT, "mark")


def test_what_a_user_made_is_spared_and_can_be_handed_over() -> None:
    with pytest.raises(Retry, match="Secret child exists, was not created for ConfigMap parent") as refused:
        refuse_users("Secret child", present(), PARENT, "mark")
    assert refused.value.reason == MADE_BY_USER
    assert str(refused.value).endswith("set its annotation stackwright/made-for: ConfigMap/parent")


def test_what_is_made_for_a_parent() -> None:
    assert made_for(None, PARENT)
    assert made_for(present("ConfigMap/parent"), PARENT)
    assert not made_for(present(), PARENT)
    assert not made_for(present("ConfigMap/x"), PARENT)
