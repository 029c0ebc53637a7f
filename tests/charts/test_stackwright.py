"""The chart of the operators: what it grants, what it calls things, and what goes with it."""

from typing import Any

import pytest
import yaml

from stackwright.controllers import operator, permissions
from stackwright.kube.crd.generate import manifest
from tests.charts.conftest import CHARTS, VALUES, Helm, Refuse, Render
from tests.charts.test_charts import INSTALLED

ONE = ("--set", "namespaces=null", "--set", "services=null")
SERVICES = [chart for chart in INSTALLED if chart.name != "stackwright"]


@pytest.mark.parametrize("chart", [pytest.param(chart, id=chart.name) for chart in SERVICES])
def test_the_operators_may_apply_the_roles_of_each_service(helm: Helm, chart: Any) -> None:
    granted, _ = permissions.everything()
    values = VALUES / f"{chart.name}.yaml"
    printed = helm("template", "test", chart, *(["--values", str(values)] if values.exists() else []))
    roles = [body for body in yaml.safe_load_all(printed) if body and body["kind"] == "Role"]
    for rule in (rule for role in roles for rule in role["rules"]):
        assert permissions.covers(granted, rule), rule


def test_nothing_is_held_only_to_be_handed_on_without_a_chart_that_does(helm: Helm) -> None:
    used = set()
    for chart in SERVICES:
        printed = helm("template", "test", chart, "--values", VALUES / f"{chart.name}.yaml")
        roles = [body for body in yaml.safe_load_all(printed) if body and body["kind"] == "Role"]
        for rule in (rule for role in roles for rule in role["rules"]):
            used |= {(g, r, v) for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
    assert {(*place, verb) for place, verbs in permissions.HANDED_ON.items() for verb in verbs} <= used


def test_names_are_those_that_the_operator_knows(render: Render) -> None:
    objects = render("stackwright", "--namespace", "system")
    for namespace in ("default", "kube-public"):
        lease = operator.lease_of(("keystone", "core"), namespace)
        assert ("Lease", lease) in objects
        webhook = f"stackwright-webhook-{namespace}"
        assert ("Service", webhook) in objects
        assert ("Secret", webhook) in objects
        assert ("ValidatingWebhookConfiguration", f"{webhook}.system") in objects
        arguments = container(objects, f"stackwright-operator-{namespace}")["args"]
        assert f"--namespace={namespace}" in arguments
        assert f"--webhook-service={webhook}" in arguments
        assert "--services=keystone,core" in arguments


def container(objects: dict[tuple[str, str], Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = objects["Deployment", name]["spec"]["template"]["spec"]["containers"][0]
    return found


def test_one_operator_for_all_namespaces_has_its_rights_everywhere(render: Render) -> None:
    objects = render("stackwright", "--namespace", "system", *ONE)
    assert ("Lease", operator.lease_of((), "")) in objects
    rules = objects["ClusterRole", "system-stackwright-operator"]["rules"]
    inside, outside = permissions.everything()
    for rule in (*permissions.rules(inside), *permissions.rules(outside)):
        assert rule in rules
    assert {name for kind, name in objects if kind == "Role"} == {"stackwright-operator-self"}


def test_operators_of_some_namespaces_have_rights_there_alone(render: Render) -> None:
    objects = render("stackwright", "--namespace", "system")
    _, outside = permissions.everything()
    resources = {
        resource
        for rule in objects["ClusterRole", "system-stackwright-operator"]["rules"]
        for resource in rule["resources"]
    }
    assert resources == {resource for _, resource in outside} | {
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    }


def test_nothing_is_granted_by_a_wildcard(render: Render) -> None:
    for (kind, name), body in render("stackwright", *ONE).items():
        for rule in body.get("rules", ()) if kind in ("Role", "ClusterRole") else ():
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"]), name


def test_without_webhooks_nothing_of_them_is_there(render: Render) -> None:
    objects = render("stackwright", *ONE, "--set", "webhooks=false")
    assert not [kind for kind, _ in objects if kind in ("Service", "Secret") or "Webhook" in kind]
    assert "--webhooks=off" in container(objects, "stackwright-operator")["args"]


def test_the_image_manifest_is_what_the_values_say_and_a_change_of_it_rolls_the_operators(render: Render) -> None:
    before = render("stackwright", *ONE)
    after = render("stackwright", *ONE, "--set", "images.components.keystone.reference=registry.example/keystone:2")
    told = yaml.safe_load(after["ConfigMap", "stackwright-images"]["data"]["images.yaml"])
    assert told["components"]["keystone"] == {"reference": "registry.example/keystone:2"}
    assert told["components"]["mariadb"]["sudo"] is True
    assert hash_of(before) != hash_of(after)


def hash_of(objects: dict[tuple[str, str], Any]) -> str:
    template = objects["Deployment", "stackwright-operator"]["spec"]["template"]
    return str(template["metadata"]["annotations"]["openstack.org/images-hash"])


def test_it_owns_nothing_that_a_cloud_consists_of(render: Render) -> None:
    kinds = {kind for kind, _ in render("stackwright")}
    assert not [kind for kind in kinds if kind in {body["spec"]["names"]["kind"] for body in definitions()}]
    # Definitions are not templates: helm never deletes them, and with them all clouds.
    assert "CustomResourceDefinition" not in kinds


def definitions() -> list[dict[str, Any]]:
    from stackwright import services

    return [manifest(kind) for kind in services.kinds()]


def test_the_definitions_of_all_kinds_are_in_it() -> None:
    there = {path.stem for path in (CHARTS / "stackwright" / "crds").glob("*.yaml")}
    assert there == {body["metadata"]["name"] for body in definitions()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--set", "image="), "image: name the operators' image", id="no-image"),
        pytest.param(("--set", "replicas=-1"), "replicas", id="less-than-none"),
        pytest.param(("--set", "services={Keystone}"), "services", id="a-kind-in-place-of-a-service"),
        pytest.param(("--set", "webhook=false"), "webhook", id="a-misspelt-value"),
    ],
)
def test_wrong_values_are_refused(refuse: Refuse, arguments: tuple[str, ...], said: str) -> None:
    assert said in refuse("stackwright", *arguments)
