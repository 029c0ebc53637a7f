"""The operators of single services: which are wanted, what is done about each, and what the umbrella says of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stackwright.api.base import JsonObject
from stackwright.controllers.controlplane import service_operators
from stackwright.controllers.controlplane.controller import Facts, children, tell
from stackwright.controllers.controlplane.service_operators import (
    DIGEST,
    ServiceOperator,
    ServiceOperators,
    Situation,
    Start,
    Stop,
    decide,
    is_wanted,
    read_prepared,
)
from stackwright.kube.builtin import Deployment
from stackwright.kube.conditions import Finding
from stackwright.kube.errors import Blocked, ConfigError
from stackwright.kube.resource import Key
from tests.unit.controllers.controlplane.umbrellas import facts, resource, umbrella

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "operator-core", "uid": ""}
ASKED = Situation(asked=True)


def manifest(word: str, image: str = "operator:1") -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"operator-{word}", "ownerReferences": [OWNER]},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "operator", "image": image}]}}},
    }


KNOWN = ServiceOperators("system", "operator-core", {"keystone": manifest("keystone"), "mariadb": manifest("mariadb")})
KEY = Key("system", "operator-keystone")


def deployment(name: str, **metadata: Any) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "system", "uid": name, **metadata}}


CORE = msgspec.convert(deployment("operator-core"), Deployment)


def applied(body: JsonObject, **status: Any) -> ServiceOperator:
    """The Deployment as the server has it after a start."""
    return msgspec.convert({**body, "status": status}, ServiceOperator)


def started(situation: Situation = ASKED, known: ServiceOperators = KNOWN) -> JsonObject:
    step = decide(known, KEY, CORE, None, situation)
    assert isinstance(step, Start)
    return step.body


@pytest.mark.parametrize(
    ("situation", "present", "wanted"),
    [
        pytest.param(Situation(), False, False, id="nothing-to-do"),
        pytest.param(ASKED, False, True, id="a-control-plane-asks-for-the-service"),
        pytest.param(
            Situation(beside=True, anywhere=True), False, True, id="resources-are-left-beside-a-control-plane"
        ),
        pytest.param(Situation(anywhere=True), True, True, id="the-control-plane-is-gone-and-its-resources-are-not"),
        pytest.param(Situation(anywhere=True), False, False, id="resources-of-a-namespace-that-has-its-own-operators"),
        pytest.param(Situation(), True, False, id="nothing-is-left"),
    ],
)
def test_an_operator_is_there_while_it_has_work(situation: Situation, present: bool, wanted: bool) -> None:
    assert is_wanted(situation, present=present) is wanted


def test_what_is_started_goes_with_who_starts_it() -> None:
    body = started()
    assert body["metadata"]["namespace"] == "system"
    assert body["metadata"]["ownerReferences"] == [{**OWNER, "uid": "operator-core"}]
    assert body["metadata"]["annotations"][DIGEST]
    assert body["spec"] == manifest("keystone")["spec"]


def test_what_was_started_is_left_alone() -> None:
    assert decide(KNOWN, KEY, CORE, applied(started()), ASKED) is None


@pytest.mark.parametrize(
    "present",
    [
        pytest.param(
            applied(started(known=replace(KNOWN, manifests={"keystone": manifest("keystone", "operator:0")}))),
            id="an-older-chart",
        ),
        pytest.param(applied({**started(), "spec": {"replicas": 0}}), id="somebody-scaled-it"),
        pytest.param(msgspec.convert(deployment("operator-keystone"), ServiceOperator), id="somebody-made-it"),
    ],
)
def test_what_differs_is_brought_to_what_the_chart_prepared(present: ServiceOperator) -> None:
    assert isinstance(decide(KNOWN, KEY, CORE, present, ASKED), Start)


def test_what_has_nothing_to_do_is_stopped_once() -> None:
    present = applied(started())
    assert decide(KNOWN, KEY, CORE, present, Situation()) == Stop(present)
    going = msgspec.structs.replace(
        present, metadata=msgspec.structs.replace(present.metadata, deletionTimestamp="2026-11-15T00:00:00Z")
    )
    assert decide(KNOWN, KEY, CORE, going, Situation()) is None
    assert decide(KNOWN, KEY, CORE, None, Situation()) is None


def test_the_operator_of_a_service_that_there_is_no_more_is_stopped_and_other_deployments_are_not() -> None:
    body = started()
    key = Key("system", "operator-teapot")
    left = applied({**body, "metadata": {**body["metadata"], "name": "operator-teapot"}})
    assert decide(KNOWN, key, CORE, left, Situation()) == Stop(left)
    other = msgspec.convert(deployment("coffee"), ServiceOperator)
    assert decide(KNOWN, Key("system", "coffee"), CORE, other, Situation()) is None


class TestPrepared:
    def write(self, folder: Path, name: str, body: object) -> None:
        (folder / name).write_text(yaml.safe_dump(body))

    def test_each_file_is_the_operator_of_a_service(self, tmp_path: Path) -> None:
        for word in ("keystone", "mariadb"):
            self.write(tmp_path, f"{word}.yaml", manifest(word))
        assert read_prepared(tmp_path, "system") == KNOWN

    def test_a_folder_without_any_is_one_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"install the chart with .*operatorMode=perService"):
            read_prepared(tmp_path, "system")

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param({"kind": "Job", **{k: v for k, v in manifest("a").items() if k != "kind"}}, id="another-kind"),
            pytest.param({"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"a": 1}}, id="without-an-owner"),
            pytest.param(["a"], id="a-list"),
        ],
    )
    def test_what_is_no_deployment_is_named(self, tmp_path: Path, body: object) -> None:
        self.write(tmp_path, "a.yaml", body)
        with pytest.raises(ConfigError, match=r"a\.yaml .* Deployment with a name and an owner"):
            read_prepared(tmp_path, "system")


def per_service(*present: Any, **states: Finding) -> Facts:
    return replace(facts(*present), operators=states)


READY = Finding("", "True", "Ready", "")
WAITING = Finding("", "False", "Rollout", "0 of 1 replicas are available", "Info")
ALL = {"keystone": READY, "mariadb": READY, "memcached": READY}
PER_SERVICE: JsonObject = {"keystone": {}, "operatorMode": "perService"}


def found(seen: Facts, condition: str) -> list[Finding]:
    said = children(umbrella(PER_SERVICE), seen)
    return [item for item in said if isinstance(item, Finding) and item.condition == condition]


KEYSTONE = "OpenStackControlPlaneKeystoneAPIReady"


@pytest.mark.parametrize(
    ("mode", "seen", "message"),
    [
        pytest.param(
            "perService",
            facts(),
            "spec.operatorMode: the operators are installed so that one serves all services; set it to shared, or "
            "install their chart with --set operatorMode=perService",
            id="one-operator-is-installed",
        ),
        pytest.param(
            "shared",
            per_service(),
            "spec.operatorMode: the operators are installed so that each service has its own; set it to perService, or "
            "install their chart with --set operatorMode=shared",
            id="an-operator-for-each-is-installed",
        ),
    ],
)
def test_a_mode_that_is_not_installed_is_one_sentence(mode: str, seen: Facts, message: str) -> None:
    with pytest.raises(Blocked) as refused:
        list(children(umbrella({"keystone": {}, "operatorMode": mode}), seen))
    assert str(refused.value) == message
    assert (refused.value.reason, refused.value.condition) == ("OperatorModeMismatch", "InputReady")


def test_a_service_waits_for_its_operator() -> None:
    (finding,) = found(per_service(**{**ALL, "keystone": WAITING}), KEYSTONE)
    assert finding.reason == "OperatorNotReady"
    assert finding.message == "The operator of keystone is not ready: 0 of 1 replicas are available"
    (finding,) = found(per_service(), KEYSTONE)
    assert finding.message == "The operator of keystone is being started"


def test_a_service_that_runs_does_so_without_its_operator() -> None:
    assert found(per_service(resource("KeystoneAPI", "keystone", ready=True)), KEYSTONE) == []


def test_the_status_has_a_line_for_each_operator() -> None:
    told = tell(umbrella(PER_SERVICE), per_service(keystone=READY, mariadb=WAITING))
    assert [(each.service, each.ready, each.message) for each in told.operators] == [
        ("keystone", True, ""),
        ("mariadb", False, "0 of 1 replicas are available"),
        ("memcached", False, "it is being started"),
    ]
    assert tell(umbrella({"keystone": {}}), facts()).operators == ()


def test_states_are_those_of_the_deployments() -> None:
    ready = applied(started(), replicas=1, updatedReplicas=1, availableReplicas=1, observedGeneration=0)
    seen = service_operators.states(KNOWN, [ready, msgspec.convert(deployment("coffee"), ServiceOperator)])
    assert seen == {"keystone": READY}
