"""What each chart says of the network, and what the server says of its pods where a namespace enforces the profile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.kube import documents
from stackwright.kube.client import Client
from tests.charts.conftest import VALUES, Helm
from tests.charts.installing import INSTALLED, given
from tests.charts.judging import judge, restricted

SERVICES = [chart for chart in INSTALLED if chart.name != "stackwright"]
each_service = pytest.mark.parametrize("chart", [pytest.param(chart, id=chart.name) for chart in SERVICES])
each_chart = pytest.mark.parametrize("chart", [pytest.param(chart, id=chart.name) for chart in INSTALLED])

RULES: dict[str, dict[str, Any]] = {
    "podLabels": {"database.needs.openstack.org/openstack": "true"},
    "networkPolicies": {
        "egress": [{"ports": [{"port": 53, "protocol": "UDP"}]}],
        "ingress": {"api": [{"ports": [{"port": 80, "protocol": "TCP"}]}]},
    },
}


def rendered(helm: Helm, chart: Path, *arguments: str) -> list[dict[str, Any]]:
    printed = helm("template", "test", chart, *given(chart), *arguments)
    return documents.read(printed)


def closed(helm: Helm, chart: Path, folder: Path) -> list[dict[str, Any]]:
    values = folder / "rules.yaml"
    values.write_text(yaml.safe_dump(RULES))
    return rendered(helm, chart, "--values", str(values))


def templates(bodies: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The pods that workloads make, each with its labels and with the volumes that are claimed for it."""
    for body in bodies:
        spec = body.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            names = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", ())]
            claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
            pod = spec["template"]["spec"]
            yield {**spec["template"], "spec": {**pod, "volumes": [*pod.get("volumes", ()), *claims]}}


@each_service
def test_all_pods_of_a_release_are_closed_and_a_component_is_open_where_the_values_say_so(
    helm: Helm, chart: Path, tmp_path: Path
) -> None:
    bodies = closed(helm, chart, tmp_path)
    policies = {body["metadata"]["name"]: body["spec"] for body in bodies if body["kind"] == "NetworkPolicy"}
    everyone, opened = policies["test"], policies["test-api"]
    assert everyone["policyTypes"] == ["Ingress", "Egress"]
    assert everyone["egress"] == RULES["networkPolicies"]["egress"]
    assert "ingress" not in everyone
    assert opened["policyTypes"] == ["Ingress"]
    assert opened["ingress"] == RULES["networkPolicies"]["ingress"]["api"]
    assert opened["podSelector"]["matchLabels"].items() >= everyone["podSelector"]["matchLabels"].items()
    assert opened["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "api"
    pods = [template["metadata"]["labels"] for template in templates(bodies)]
    assert pods
    for labels in pods:
        assert labels.items() >= everyone["podSelector"]["matchLabels"].items()


@each_service
def test_all_pods_say_what_they_need_and_none_is_selected_by_it(helm: Helm, chart: Path, tmp_path: Path) -> None:
    bodies = closed(helm, chart, tmp_path)
    needs = RULES["podLabels"]
    for template in templates(bodies):
        assert template["metadata"]["labels"].items() >= needs.items()
    for body in bodies:
        selector = body.get("spec", {}).get("selector", {})
        if body["kind"] in ("Deployment", "StatefulSet", "Service"):
            assert not needs.keys() & (selector.get("matchLabels") or selector).keys(), "it could never be changed"


@each_service
def test_without_rules_nothing_is_closed(helm: Helm, chart: Path) -> None:
    bodies = rendered(helm, chart, "--set", "networkPolicies=null", "--set", "podLabels=null")
    assert not [body for body in bodies if body["kind"] == "NetworkPolicy"]


def pods_of(helm: Helm, chart: Path) -> list[dict[str, Any]]:
    """Every pod that a chart can lead to; the operators' chart also has those that it only prepares."""
    bodies = rendered(helm, chart)
    if chart.name == "stackwright":
        alone = ("--set", "services=null", "--set", "operatorMode=perService")
        for body in rendered(helm, chart, *alone):
            if body["kind"] == "Deployment":
                bodies.append(body)
            elif "keystone.yaml" in body.get("data", {}):
                bodies += [yaml.safe_load(text) for text in body["data"].values()]
    return list(templates(bodies))


def takes_host(chart: Path, template: dict[str, Any]) -> bool:
    """Return whether the blueprint of a chart says that these pods take something of the host."""
    path, component = chart / "blueprint.yaml", template["metadata"]["labels"]["app.kubernetes.io/component"]
    components = yaml.safe_load(path.read_text()).get("components", {}) if path.is_file() else {}
    return bool(components.get(component, {}).get("host"))


@each_chart
async def test_the_server_takes_every_pod_where_the_restricted_profile_is_enforced(
    client: Client, namespace: str, helm: Helm, chart: Path
) -> None:
    await restricted(client, namespace)
    pods = pods_of(helm, chart)
    assert pods
    for template in pods:
        name = template["spec"]["containers"][0]["name"]
        said = await judge(client, namespace, template)
        if takes_host(chart, template):
            # The operator says so before it deploys them.
            assert 'violates PodSecurity "restricted' in said, name
        else:
            assert said == "", name


async def test_the_server_refuses_what_needs_sudo(client: Client, namespace: str, helm: Helm) -> None:
    await restricted(client, namespace)
    (chart,) = (chart for chart in SERVICES if chart.name == "memcached")
    bodies = rendered(helm, chart, "--set", "sudo=true")
    (template,) = templates(bodies)
    assert 'violates PodSecurity "restricted' in await judge(client, namespace, template)


@each_chart
def test_every_container_asks_for_what_it_takes(helm: Helm, chart: Path) -> None:
    for template in pods_of(helm, chart):
        spec = template["spec"]
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), container["name"]


def test_every_chart_is_told_all_that_it_can_render() -> None:
    assert {chart.name for chart in INSTALLED} == {path.stem for path in VALUES.glob("*.yaml")}
