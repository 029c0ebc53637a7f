"""What upstream's webhooks of Nova refuse is refused here at the same paths, in the same words, and alone."""

from typing import Any

import msgspec
import pytest

from stackwright.api.base import CustomResource
from stackwright.controllers import admission
from stackwright.kube.admission.checks import Objections, refusal
from tests.functional.crds.samples import KINDS
from tests.nova_admission import CASES, LEAST, Case, bus, cells
from tests.surroundings import nothing_known


def made(kind: type[CustomResource], spec: dict[str, Any]) -> CustomResource:
    body = {"metadata": {"name": "nova", "namespace": "openstack"}, "spec": spec}
    return msgspec.convert(body, kind)


def asked(name: str, spec: dict[str, Any], stored: dict[str, Any] | None = None) -> Objections:
    kind = KINDS[name]
    (webhook,) = admission.webhooks((kind,), nothing_known)
    assert webhook.validate is not None
    return webhook.validate(None if stored is None else made(kind, stored), made(kind, spec))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_refused_in_upstreams_words(case: Case) -> None:
    found = asked(case.kind, case.spec, case.stored)
    causes = [error.cause for error in found.errors]
    assert {(cause.field, cause.message) for cause in causes} == set(case.refused)
    assert len(causes) == len(case.refused)
    assert {cause.reason for cause in causes} == {case.reason}
    if len(case.refused) == 1:
        ((path, words),) = case.refused
        message = refusal(KINDS[case.kind].kind, "nova", found.errors)["message"]
        assert f"is invalid: {path}: {words}" in message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_stored_already_may_change_elsewhere(case: Case) -> None:
    changed = {**case.spec, "nodeSelector": {"kubernetes.io/os": "linux"}}
    found = asked(case.kind, changed, case.spec)
    assert found.errors == ()


@pytest.mark.parametrize("kind", LEAST)
def test_the_least_of_upstreams_tests_is_taken(kind: str) -> None:
    assert asked(kind, LEAST[kind]).errors == ()


def test_what_is_ours_is_told_once_upstreams_is_mended() -> None:
    unreadable = {"defaultConfigOverwrite": {"policy.yaml": "custom policy"}}
    (found,) = asked("NovaAPI", {**LEAST["NovaAPI"], **unreadable}).errors
    assert found.field == "spec.defaultConfigOverwrite[policy.yaml]"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"apiMessageBusInstance": "one"},
            'field "spec.apiMessageBusInstance" is deprecated, please use "spec.messagingBus.cluster" instead',
        ),
        (
            {"apiMessageBusInstance": "one", **bus("one")},
            'both "spec.apiMessageBusInstance" and "spec.messagingBus.cluster" are set with the same value. Please '
            'migrate to using only "spec.messagingBus.cluster" and clear "spec.apiMessageBusInstance"',
        ),
        (
            cells(cell1={"cellMessageBusInstance": "one"}),
            'field "spec.cellTemplates[cell1].cellMessageBusInstance" is deprecated, please use '
            '"spec.cellTemplates[cell1].messagingBus.cluster" instead',
        ),
    ],
    ids=["alone", "twice", "of-a-cell"],
)
def test_an_older_field_is_taken_with_a_warning(said: dict[str, Any], words: str) -> None:
    found = asked("Nova", {**LEAST["Nova"], **said})
    assert found.errors == ()
    assert words in found.warnings


def test_an_older_field_may_be_cleared() -> None:
    old = {"secret": "s", "apiMessageBusInstance": "one", "cellTemplates": {"cell0": {}}}
    both = {**old, **bus("one")}
    assert asked("Nova", both, old).errors == ()
    assert asked("Nova", {**both, "apiMessageBusInstance": ""}, both).errors == ()
