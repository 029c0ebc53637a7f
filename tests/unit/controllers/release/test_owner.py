"""Whose a release is."""

import msgspec
import pytest

from stackwright.controllers.release.history import Revision
from stackwright.controllers.release.owner import (
    RELEASE_NAME,
    RELEASE_OWNER,
    Owner,
    named,
    who_owns,
    why_contested,
)
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import ObjectMeta, OwnerReference
from tests.unit.controllers.release.histories import THING, Thing, owned_by, revision

OURS = ConfigMap(metadata=ObjectMeta(name="small", ownerReferences=(owned_by("thing"),)))
NOBODYS = ConfigMap(metadata=ObjectMeta(name="small"))
HELMS = ConfigMap(metadata=ObjectMeta(name="small", annotations={RELEASE_NAME: "small"}))
ANOTHERS = ConfigMap(metadata=ObjectMeta(name="small", annotations={RELEASE_NAME: "large"}))
BY_HAND = revision(1, hand=True)
OTHERWISE = "---\nkind: ConfigMap\ndata: {a: b}\n"


def thing(said: str | None) -> Thing:
    annotations = {} if said is None else {RELEASE_OWNER: said}
    return msgspec.structs.replace(THING, metadata=msgspec.structs.replace(THING.metadata, annotations=annotations))


@pytest.mark.parametrize(
    ("said", "history", "objects", "owner"),
    [
        pytest.param(None, (), (), Owner.NOBODY, id="there-is-nothing"),
        pytest.param(None, (), (NOBODYS,), Owner.NOBODY, id="an-object-without-a-release"),
        pytest.param(None, (), (HELMS,), Owner.NOBODY, id="what-is-left-when-the-records-are-lost"),
        pytest.param(None, (), (ANOTHERS,), Owner.CONTESTED, id="an-object-of-another-release"),
        pytest.param(None, (revision(1),), (OURS,), Owner.OPERATOR, id="what-the-operator-made"),
        pytest.param(None, (revision(1),), (NOBODYS,), Owner.OPERATOR, id="given-back-and-not-touched"),
        pytest.param(None, (BY_HAND,), (HELMS,), Owner.CONTESTED, id="made-by-hand"),
        pytest.param(None, (BY_HAND,), (), Owner.CONTESTED, id="made-by-hand-by-another-chart"),
        pytest.param(None, (revision(1), revision(2, hand=True)), (OURS,), Owner.OPERATOR, id="upgraded-by-hand"),
        pytest.param(
            None,
            (revision(1), revision(2, hand=True, manifest=OTHERWISE)),
            (OURS,),
            Owner.CONTESTED,
            id="upgraded-by-hand-to-something-else",
        ),
        pytest.param(
            None,
            (revision(1), revision(2, "failed", hand=True, manifest=OTHERWISE)),
            (OURS,),
            Owner.OPERATOR,
            id="an-upgrade-by-hand-that-failed",
        ),
        pytest.param(
            None,
            (revision(1), revision(2, "pending-upgrade", hand=True, manifest=OTHERWISE)),
            (OURS,),
            Owner.OPERATOR,
            id="an-upgrade-by-hand-that-is-not-done",
        ),
        pytest.param(
            "operator",
            (revision(1), revision(2, hand=True, manifest=OTHERWISE)),
            (OURS,),
            Owner.OPERATOR,
            id="upgraded-by-hand-where-the-user-has-said-whose-it-is",
        ),
        pytest.param(
            None, (revision(1, "uninstalled", hand=True),), (), Owner.NOBODY, id="uninstalled-and-its-history-kept"
        ),
        pytest.param("operator", (BY_HAND,), (HELMS,), Owner.OPERATOR, id="taken-over"),
        pytest.param("operator", (), (ANOTHERS,), Owner.OPERATOR, id="taken-over-from-another-release"),
        pytest.param("helm", (revision(1),), (OURS,), Owner.HELM, id="given-back"),
        pytest.param("helm", (), (), Owner.HELM, id="given-before-it-was-there"),
        pytest.param("me", (revision(1),), (OURS,), Owner.CONTESTED, id="an-unknown-word"),
    ],
)
def test_whose_a_release_is(
    said: str | None, history: tuple[Revision, ...], objects: tuple[ConfigMap, ...], owner: Owner
) -> None:
    assert who_owns(thing(said), history, objects) is owner


@pytest.mark.parametrize(
    ("said", "history", "objects", "words"),
    [
        pytest.param("me", (), (), ("'me'", "write helm or operator"), id="an-unknown-word"),
        pytest.param(
            None,
            (BY_HAND,),
            (),
            ("stackwright take thing/small", "stackwright give thing/small", "deletes", "helm uninstall small -n here"),
            id="made-by-hand",
        ),
        pytest.param(
            None,
            (revision(1), revision(2, hand=True, manifest=OTHERWISE)),
            (),
            ("status.overridden", "stackwright take thing/small", "stackwright give thing/small"),
            id="upgraded-by-hand-to-something-else",
        ),
        pytest.param(
            None,
            (),
            (ANOTHERS, HELMS),
            ("ConfigMap small of release large;", "helm uninstall large -n here,", "stackwright take thing/small"),
            id="of-another-release",
        ),
    ],
)
def test_the_user_is_told_what_to_do(
    said: str | None, history: tuple[Revision, ...], objects: tuple[ConfigMap, ...], words: tuple[str, ...]
) -> None:
    sentence = why_contested(thing(said), history, objects)
    assert [word for word in (*words, RELEASE_OWNER) if word not in sentence] == []
    # `stackwright take` waits for it, and shows this part.
    assert named(history) in sentence.partition(";")[0]


def test_what_another_resource_keeps_is_neither_uninstalled_nor_taken() -> None:
    """It comes back when it is deleted, and has its owner already."""
    owner = OwnerReference(apiVersion="example.org/v1", kind="Pot", name="large", uid="pot", controller=True)
    metadata = msgspec.structs.replace(ANOTHERS.metadata, ownerReferences=(owner,))
    sentence = why_contested(thing(None), (), (ConfigMap(metadata=metadata),))
    assert "these belong to Pot large: give this resource another name, or delete those" in sentence
    assert "uninstall" not in sentence
    assert RELEASE_OWNER not in sentence
