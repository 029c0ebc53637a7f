"""Faults that a stored resource had already refuse no change of it."""

from stackwright.controllers import admission
from stackwright.kube.admission.checks import FieldError, Findings
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec
from tests.known import nothing_known

BROKEN, WORSE = "[token]\noops\n", "[token]\nexpiration = 1\noops\n"


def checked(old: str | None, new: str) -> Findings:
    (webhook,) = admission.webhooks((KeystoneAPI,), nothing_known)
    assert webhook.validate is not None
    before, after = (None if text is None else keystone(text) for text in (old, new))
    assert after is not None
    return webhook.validate(before, after)


def keystone(snippet: str) -> KeystoneAPI:
    return KeystoneAPI(spec=KeystoneAPISpec(secret="s", databaseInstance="db", customServiceConfig=snippet))


def test_a_new_resource_is_refused_for_its_faults() -> None:
    assert [error.field for error in checked(None, BROKEN).errors] == ["spec.customServiceConfig"]


def test_a_change_that_leaves_a_fault_as_it_is_passes_with_a_warning() -> None:
    found = checked(BROKEN, BROKEN)
    assert found.errors == ()
    assert "spec.customServiceConfig" in found.warnings[0]
    assert "line 2" in found.warnings[0]


def test_a_change_that_brings_another_fault_is_refused() -> None:
    assert checked(BROKEN, WORSE).errors
    assert checked("[token]\n", BROKEN).errors


def test_each_fault_is_weighed_alone() -> None:
    old, new = FieldError("spec.a", "is wrong"), FieldError("spec.b", "is wrong")
    assert admission.ratchet(Findings((old,)), Findings((old, new), ("w",))) == Findings(
        (new,), ("w", "spec.a: Invalid value: is wrong")
    )
