"""`stackwright validate`: its pod, what it makes of the lines that the pod tells, and what it says of bad input."""

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner

from stackwright.cli.commands import validate
from stackwright.cli.validation import manifests, report, results, running
from stackwright.cli.validation.manifests import Login, Request
from stackwright.cli.validation.results import Findings
from stackwright.foresight.tree import Branch, State
from stackwright.kube.builtin import Pod
from stackwright.kube.resource import ObjectMeta
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec, KeystoneAPIStatus

LOGIN = Login("openstack-config", "openstack-config-secret", "default", "http://keystone-internal:5000/v3")


def told(*lines: dict[str, Any]) -> Findings:
    found = Findings()
    for line in lines:
        found.take(json.dumps(line).encode())
    return found


def ran(name: str, status: str, **more: Any) -> dict[str, Any]:
    return {"test": name, "status": status, "seconds": 1.5, **more}


def test_the_pod_is_allowed_by_the_restricted_profile() -> None:
    spec = manifests.pod("openstack", "tempest:1", LOGIN, Request())["spec"]
    container = spec["containers"][0]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert {next(iter(set(volume) - {"name"})) for volume in spec["volumes"]} <= {"projected", "emptyDir", "secret"}


def test_the_password_comes_by_a_mounted_secret_alone() -> None:
    spec = manifests.pod("openstack", "tempest:1", LOGIN, Request())["spec"]
    assert "env" not in spec["containers"][0]
    assert {"secret": {"name": "openstack-config-secret"}} in spec["volumes"][0]["projected"]["sources"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param(Request(), [], id="smoke-is-what-the-image-does-by-itself"),
        pytest.param(
            Request(("tempest.api.compute", "tempest.api.network"), exclude="negative"),
            ["--select=tempest.api.compute", "--select=tempest.api.network", "--exclude=negative"],
            id="several-selections",
        ),
        pytest.param(
            Request(login=False, workers=3, external_network="outside", settings={"image.http_image": "http://x/y"}),
            ["--workers=3", "--external-network=outside", "--no-login", "--set=image.http_image=http://x/y"],
            id="how-it-is-tried",
        ),
        pytest.param(Request(list_only=True), ["--list"], id="only-names"),
    ],
)
def test_the_arguments_say_what_is_asked_for(asked: Request, words: list[str]) -> None:
    first = ["--cloud=default", "--interface=internal", "--auth-url=http://keystone-internal:5000/v3"]
    assert manifests.arguments(LOGIN, asked) == [*first, *words]


def test_authorities_of_keystone_are_trusted() -> None:
    login = Login("c", "s", "default", "https://keystone:5000/v3", authorities="bundle")
    pod = manifests.pod("openstack", "tempest:1", login, Request())
    assert {"name": "authorities", "secret": {"secretName": "bundle"}} in pod["spec"]["volumes"]
    assert "--ca-file=/etc/authorities/tls-ca-bundle.pem" in pod["spec"]["containers"][0]["args"]


def test_the_policy_lets_out_and_nobody_in_and_goes_with_the_pod() -> None:
    pod = Pod(metadata=ObjectMeta(name=manifests.NAME, namespace="openstack", uid="u-1"))
    policy = manifests.policy(pod)
    assert policy["spec"]["egress"] == [{}]
    assert "Ingress" in policy["spec"]["policyTypes"]
    assert "ingress" not in policy["spec"]
    assert policy["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= manifests.LABELS.items()


def test_failures_are_listed_by_name_with_their_reason_and_the_summary_is_last() -> None:
    found = told(
        {"selected": 3, "leftOut": {"They need servers that really run.": 12}},
        ran("tempest.b", "failed", reason="Timed out", trace="Traceback"),
        ran("tempest.a", "passed"),
        ran("tempest.c", "skipped", reason="Cinder is required"),
        {"done": {"missing": 0}},
    )
    assert report.lines(found, 62) == [
        "failed     tempest.b",
        "           Timed out",
        "left out     12  They need servers that really run.",
        "3 tests: 1 passed, 1 failed, 1 skipped, in 1 min 2 s.",
    ]
    assert "skipped       1  Cinder is required" in report.lines(found, 62, skipped=True)
    assert not found.succeeded


def test_a_test_without_a_result_is_no_success() -> None:
    found = told({"selected": 2}, ran("tempest.a", "passed"), {"missing": ["tempest.b"]}, {"done": {"missing": 1}})
    assert not found.succeeded
    assert "no result  tempest.b" in report.lines(found, 1)
    assert report.lines(found, 1)[-1] == "2 tests: 1 passed, 0 failed, 0 skipped, 1 without a result, in 1 s."


def test_a_run_that_was_cut_off_is_no_success() -> None:
    assert not told({"selected": 2}, ran("tempest.a", "passed")).succeeded
    assert told(ran("tempest.a", "passed"), {"done": {"missing": 0}}).succeeded


def test_lines_that_are_not_ours_are_no_results() -> None:
    found = Findings()
    assert found.take(b"/opt/x.py:1: UserWarning: old") is None
    assert found.take(b'{"other": 1}') is None
    assert not found.results


def test_machines_get_the_traces_too() -> None:
    found = told(ran("tempest.b", "failed", reason="no", trace="Traceback"), {"done": {"missing": 0}})
    made = results.as_json(found, 2.04)
    assert made["tests"][0]["trace"] == "Traceback"
    assert (made["failed"], made["seconds"]) == (1, 2.0)


def test_progress_has_what_failed_so_far() -> None:
    found = told({"selected": 40}, ran("tempest.a", "failed"), ran("tempest.b", "passed"))
    assert report.progress(found, 5) == "Tests: 2 of 40, 5 s so far, 1 failed"


def node(kind: str, state: State, message: str = "") -> Branch:
    return Branch(kind, "openstack", "core.openstack.org/v1beta1", state, message=message)


def test_a_cloud_that_is_not_ready_says_why() -> None:
    waiting = node("OpenStackControlPlane", State.WAITING, "Keystone waits for its database.")
    with pytest.raises(validate.NotReady, match=r"Keystone waits for its database\.") as raised:
        validate.require_ready([waiting], "openstack")
    assert raised.value.exit_code == 3
    with pytest.raises(validate.NotReady, match="no cloud in namespace elsewhere"):
        validate.require_ready([], "elsewhere")


def test_what_is_not_the_control_plane_does_not_hold_it_up() -> None:
    ready, other = node("OpenStackControlPlane", State.READY), node("OpenStackDataPlaneNode", State.ERROR, "no ssh")
    validate.require_ready([ready, other], "openstack")
    # A Keystone of its own is a cloud, too.
    with pytest.raises(validate.NotReady, match="no ssh"):
        validate.require_ready([other], "openstack")


@pytest.mark.parametrize(("interface", "url"), [("internal", "http://in:5000/v3"), ("public", "https://out/v3")])
def test_the_login_is_at_the_endpoint_that_is_asked_for(interface: str, url: str) -> None:
    endpoints = {"internal": "http://in:5000", "public": "https://out/v3/"}
    spec, status = (
        KeystoneAPISpec(secret="osp-secret", databaseInstance="openstack"),
        KeystoneAPIStatus(apiEndpoints=endpoints),
    )
    keystone = KeystoneAPI(metadata=ObjectMeta(name="keystone"), spec=spec, status=status)
    login = validate.login_at(keystone, interface)
    assert (login.auth_url, login.interface) == (url, interface)


def waiting_pod(reason: str, message: str = "") -> Pod:
    state = {"waiting": {"reason": reason, "message": message}}
    return Pod(status={"containerStatuses": [{"name": "tempest", "state": state}]})


def test_an_image_that_is_missing_is_named_with_what_to_do() -> None:
    state, message = running.trouble(waiting_pod("ErrImagePull", "not found"))
    assert state in running.STUCK
    said = running.stuck(state, message, "registry.example.com/tempest:1")
    assert "registry.example.com/tempest:1" in said
    assert "stackwright image build tempest" in said


def test_a_pod_that_fits_nowhere_says_so() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Insufficient memory"}
    assert running.trouble(Pod(status={"conditions": [condition]})) == ("Unschedulable", "Insufficient memory")
    assert running.trouble(Pod()) == ("", "")


def test_how_a_pod_ended_is_told() -> None:
    over = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    assert running.ended(Pod(status={"containerStatuses": [{"state": over}]})) == "OOMKilled, exit code 137"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["tempest.api("], "is not a regular expression", id="a-pattern-that-is-none"),
        pytest.param(["--exclude", "*"], "is not a regular expression", id="an-exclusion-that-is-none"),
        pytest.param(["--set", "image"], "write SECTION.OPTION=VALUE", id="an-option-without-a-value"),
        pytest.param(["--workers", "0"], "0 is not in the range", id="nobody-works"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_asked(words: list[str], said: str) -> None:
    result = CliRunner().invoke(validate.validate, words)
    assert result.exit_code == 2
    assert said in result.output


def test_settings_keep_their_equal_signs() -> None:
    kind = validate.Setting()
    assert kind.convert("image.http_image=http://x/?a=b", None, None) == ("image.http_image", "http://x/?a=b")
    with pytest.raises(click.BadParameter):
        kind.convert("nothing", None, None)
