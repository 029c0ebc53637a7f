"""Files with policies: what oslo.policy can read, and where it cannot."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.blueprint import policy_files
from stackwright.blueprint.refusals import problems
from stackwright.blueprint.text_lengths import LONGEST
from stackwright.controllers.admission import CHECKS
from stackwright.kube.admission.checks import Objections
from stackwright.kube.resource import R
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from stackwright.services.nova.kinds.nova import Nova
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

BROKEN = {"defaultConfigOverwrite": {"policy.yaml": "{{{ not yaml"}}
NO_RULE = 'a rule is not a string; put it in quotes, and write "" for what everybody may do'
NO_NAME = "a name is not a string; put it in quotes"
NO_MAPPING = "is not a mapping of names to rules"


def nobody(kind: type[R], name: str, **_: str) -> R | None:
    """Look into empty caches."""


def made(kind: type[CustomResource], spec: Any) -> CustomResource:
    body = {"metadata": {"name": "one", "namespace": "here"}, "spec": {**LEAST[kind.kind.name], **spec}}
    return msgspec.convert(body, kind)


def refused(resource: CustomResource) -> dict[str, str]:
    found = sum((check(None, resource, nothing_known) for check in CHECKS), Objections())
    return {error.field: error.cause.message.removeprefix("Invalid value: ") for error in found.errors}


def test_policies_that_are_not_yaml_are_refused_at_the_door_and_in_the_reconcile() -> None:
    resource = made(KeystoneAPI, BROKEN)
    told = ("spec.defaultConfigOverwrite[policy.yaml]", "is not YAML (line 1, column 13)")
    assert refused(resource) == dict([told])
    assert told in problems(SERVICE, resource, nobody, None)


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        pytest.param(
            Nova,
            {"apiServiceTemplate": BROKEN},
            "spec.apiServiceTemplate.defaultConfigOverwrite[policy.yaml]",
            id="in-a-template",
        ),
        pytest.param(
            services.control_plane(),
            {"keystone": {"template": BROKEN}},
            "spec.keystone.template.defaultConfigOverwrite[policy.yaml]",
            id="in-the-umbrella",
        ),
        pytest.param(
            KeystoneAPI,
            {"defaultConfigOverwrite": {"my-policy.json": "{"}},
            "spec.defaultConfigOverwrite[my-policy.json]",
            id="by-another-name",
        ),
    ],
)
def test_policies_are_found_wherever_they_are(kind: type[CustomResource], spec: Any, field: str) -> None:
    assert list(refused(made(kind, spec))) == [field]


def test_only_policies_are_read_as_such() -> None:
    assert refused(made(KeystoneAPI, {"defaultConfigOverwrite": {"policy.txt": "{{{ not yaml"}})) == {}


def test_policies_that_are_too_long_are_refused_for_that_alone() -> None:
    long = {"defaultConfigOverwrite": {"policy.yaml": "{" * (LONGEST + 1)}}
    ((field, sentence),) = refused(made(KeystoneAPI, long)).items()
    assert (field, "bytes" in sentence) == ("spec.defaultConfigOverwrite[policy.yaml]", True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("# nothing yet\n", id="a-comment"),
        pytest.param("---\n", id="an-empty-document"),
        pytest.param("{}", id="no-rules"),
        pytest.param("a:b: role:admin\n'c': \"\"\nd: '@'\n", id="strings-with-and-without-quotes"),
        pytest.param("a: >-\n  role:admin and\n  role:reader\n", id="a-folded-string"),
        pytest.param("a: !!str 1\n", id="a-string-by-its-tag"),
        pytest.param("a: &admin role:admin\nb: *admin\n", id="a-reference-to-a-string"),
        pytest.param("a: []\nb:\n- role:admin\n- - role:reader\n  - user_id:1\n", id="the-older-syntax"),
        pytest.param('{\n  "a": [["role:admin", "user_id:1"], "role:reader"]\n}', id="json"),
    ],
)
def test_what_the_service_reads_is_taken(text: str) -> None:
    assert policy_files.problem(text) == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("a: role:b\n c: role:d\n", "is not YAML (line 2, column 3)", id="indented"),
        pytest.param('"a": "b"\n"c": "d', "is not YAML (line 2, column 8)", id="a-quote-is-missing"),
        pytest.param("é: x\nb: @\n", "is not YAML (line 2, column 4)", id="a-reserved-character"),
        pytest.param(
            "é: x\nb: \x01",
            "is not YAML: it has a character that YAML does not allow (line 2, column 4)",
            id="a-control-character",
        ),
        pytest.param("- a: role:b\n", f"line 1, column 1: {NO_MAPPING}", id="a-list"),
        pytest.param("role:admin\n", f"line 1, column 1: {NO_MAPPING}", id="a-string"),
        pytest.param(
            "a: b\n---\nc: d\n", "line 2, column 1: a second document begins; there may be only one", id="two"
        ),
        pytest.param("a: role:b\n1: role:c\n", f"line 2, column 1: {NO_NAME}", id="a-number-as-name"),
        pytest.param("? [a]\n: b\n", f"line 1, column 3: {NO_NAME}", id="a-list-as-name"),
        pytest.param("a: true\n", f"line 1, column 4: {NO_RULE}", id="a-truth"),
        pytest.param('{"a": 1}', f"line 1, column 7: {NO_RULE}", id="a-number-in-json"),
        pytest.param("a:\n", f"line 1, column 3: {NO_RULE}", id="nothing-as-rule"),
        pytest.param("a: b\nc: {d: e}\n", f"line 2, column 4: {NO_RULE}", id="a-mapping-as-rule"),
        pytest.param("a: [[[b]]]\n", f"line 1, column 6: {NO_RULE}", id="too-deep"),
        pytest.param("a: !!python/name:os.system x\n", f"line 1, column 4: {NO_RULE}", id="a-foreign-tag"),
        pytest.param("a: *b\n", f"line 1, column 4: {NO_RULE}", id="a-reference-to-nothing"),
        pytest.param("a: &a [*a]\n", f"line 1, column 8: {NO_RULE}", id="a-reference-to-itself"),
    ],
)
def test_what_the_service_cannot_read_is_told_with_its_place(text: str, sentence: str) -> None:
    assert policy_files.problem(text) == sentence


@pytest.mark.parametrize("text", ["[" * LONGEST, "{" * LONGEST, "a: " + "[" * LONGEST, "- " * (LONGEST // 2)])
def test_a_deep_text_is_not_read_to_its_end(text: str) -> None:
    assert policy_files.problem(text)


def test_references_are_not_expanded() -> None:
    doubled = "".join(f"a{depth}: &a{depth} [*a{depth - 1}, *a{depth - 1}]\n" for depth in range(1, 60))
    assert policy_files.problem(f"a0: &a0 role:b\n{doubled}").startswith("line 3, column 10:")
