"""Faults that a stored resource had already refuse no change of it."""

import msgspec
import pytest

from stackwright import services
from stackwright.controllers import admission
from stackwright.controllers.surroundings import Known
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec
from tests.surroundings import listing, nothing_known

BROKEN, WORSE = "[token]\noops\n", "[token]\nexpiration = 1\noops\n"


def checked(old: str | None, new: str) -> Objections:
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
    assert admission.ratchet(Objections((old,)), Objections((old, new), ("w",))) == Objections(
        (new,), ("w", "spec.a: Invalid value: is wrong")
    )


def test_a_value_out_of_range_is_refused_in_the_resource_and_in_the_umbrella() -> None:
    plane = services.control_plane()
    bad = {"trustFlushSchedule": "61 * * * *"}
    for kind, spec, field in (
        (KeystoneAPI, {"secret": "s", "databaseInstance": "db", **bad}, "spec.trustFlushSchedule"),
        (plane, {"secret": "s", "storageClass": "x", "keystone": {"template": bad}}, "spec.keystone.template"),
    ):
        (webhook,) = admission.webhooks((kind,), nothing_known)
        assert webhook.validate is not None
        found = webhook.validate(None, msgspec.convert({"metadata": {"name": "one"}, "spec": spec}, kind))
        assert [error.field.startswith(field) for error in found.errors] == [True]


def test_a_check_that_fails_refuses_the_object_by_itself_and_counts_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Objections:
        raise ValueError("no number")

    monkeypatch.setattr(admission, "CHECKS", (fail, *admission.CHECKS))
    found = checked(None, BROKEN)
    assert [error.field for error in found.errors] == ["", "spec.customServiceConfig"]
    assert "a check of the operator fails" in found.errors[0].message
    # What was stored with the fault can still be changed.
    assert checked("[token]\n", "[token]\nexpiration = 60\n").errors == ()


def test_a_check_that_others_make_fail_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_for_others(_: object, __: object, known: Known) -> Objections:
        if known(KeystoneAPI, None):
            raise ValueError("no number")
        return Objections(warnings=("alone",))

    monkeypatch.setattr(admission, "CHECKS", (fail_for_others,))
    (webhook,) = admission.webhooks((KeystoneAPI,), listing(keystone("")))
    assert webhook.validate is not None
    found = webhook.validate(None, keystone(""))
    assert found.errors == ()
    assert found.warnings[0] == "alone"
    assert "was not compared with other resources" in found.warnings[1]
