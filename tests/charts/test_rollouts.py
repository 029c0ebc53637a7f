"""How the Deployments of every service roll: a new pod is there before an old one goes, and shows that it works."""

from typing import Any

import pytest

from tests.charts.conftest import VALUES, Render

STATELESS = ("barbican", "dnsmasq", "glance", "keystone", "neutron", "nova", "placement")
# A volume to which several nodes write holds nobody.
SHARED = "glance-wide"
STARTED = "/tmp/stackwright-started"


def deployments(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: body["spec"] for (kind, name), body in objects.items() if kind == "Deployment"}


@pytest.mark.parametrize("chart", STATELESS)
def test_no_old_pod_goes_before_a_new_one_is_ready(render: Render, chart: str) -> None:
    found = deployments(render(chart))
    assert found
    for name, spec in found.items():
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        assert spec["strategy"] == rolling, name
        # A surge never waits for a volume that the old pod holds elsewhere: pods of one volume go to one node.
        pod = spec["template"]["spec"]
        claims = {volume.get("persistentVolumeClaim", {}).get("claimName") for volume in pod["volumes"]} - {
            None,
            SHARED,
        }
        if claims:
            assert "requiredDuringSchedulingIgnoredDuringExecution" in pod["affinity"]["podAffinity"], name


@pytest.mark.parametrize("chart", STATELESS)
def test_every_api_is_probed_from_its_start(render: Render, chart: str) -> None:
    found = deployments(render(chart))
    assert found
    for name, spec in found.items():
        (container,) = spec["template"]["spec"]["containers"]
        if "ports" in container:
            assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys(), name
            # All patience is in the startup probe: a pod that waits for its database is not killed at once.
            startup = container["startupProbe"]
            assert startup["periodSeconds"] * startup["failureThreshold"] >= 60, name


@pytest.mark.parametrize("chart", STATELESS)
def test_a_pod_that_clients_reach_serves_until_the_services_have_forgotten_it(render: Render, chart: str) -> None:
    objects = render(chart)
    selectors = [body["spec"]["selector"] for (kind, _), body in objects.items() if kind == "Service"]
    asked = 0
    for name, spec in deployments(objects).items():
        template = spec["template"]
        if any(selector.items() <= template["metadata"]["labels"].items() for selector in selectors):
            asked += 1
            (container,) = template["spec"]["containers"]
            drain = container["lifecycle"]["preStop"]["sleep"]["seconds"]
            assert 0 < drain < template["spec"]["terminationGracePeriodSeconds"], name
    assert asked


def test_no_other_chart_has_deployments(render: Render) -> None:
    others = {path.stem for path in VALUES.glob("*.yaml")} - {*STATELESS, "stackwright"}
    assert others
    assert {chart: names for chart in others if (names := list(deployments(render(chart))))} == {}


def test_a_worker_counts_from_when_it_has_read_its_configuration(render: Render) -> None:
    said = deployments(render("barbican", "--set", f"components.worker.started={STARTED}"))["barbican-worker"]
    (container,) = said["template"]["spec"]["containers"]
    assert container["startupProbe"]["exec"]["command"] == ["test", "-e", STARTED]
    silent = deployments(render("barbican"))["barbican-worker"]
    assert "startupProbe" not in silent["template"]["spec"]["containers"][0]
