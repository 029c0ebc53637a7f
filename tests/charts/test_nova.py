"""The chart of Nova: one chart for services of which few have to wait for anything."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.charts.conftest import CHARTS, Helm

WAITING = ("ServiceAccount", "ConfigMap", "Role", "RoleBinding")
PART = {"config": "nova-config-data", "hash": "abc"}


def rendered(helm: Helm, folder: Path, **values: Any) -> dict[tuple[str, str], Any]:
    """Render a release that has these values and no others."""
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump({"image": "localhost/openstack:test", **values}))
    printed = helm("template", "nova", CHARTS / "nova", "--values", path)
    return {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(printed) if body}


@pytest.mark.parametrize("component", ["api", "scheduler", "metadata", "novncproxy", "compute"])
def test_a_service_that_waits_for_nothing_has_no_account_of_its_own(helm: Helm, tmp_path: Path, component: str) -> None:
    objects = rendered(helm, tmp_path, components={component: PART})
    assert not [kind for kind, _ in objects if kind in WAITING]
    (workload,) = (body for (kind, _), body in objects.items() if kind in ("Deployment", "StatefulSet"))
    pod = workload["spec"]["template"]["spec"]
    assert "serviceAccountName" not in pod
    assert pod["automountServiceAccountToken"] is False


def test_a_job_that_waits_for_nothing_has_no_account_of_its_own(helm: Helm, tmp_path: Path) -> None:
    objects = rendered(helm, tmp_path, jobs={"map-cell1": PART})
    assert set(objects) == {("Job", "nova-map-cell1-abc")}
    assert "serviceAccountName" not in objects["Job", "nova-map-cell1-abc"]["spec"]["template"]["spec"]


def test_a_conductor_waits_with_an_account_that_sees_the_job_of_its_tables_alone(helm: Helm, tmp_path: Path) -> None:
    objects = rendered(helm, tmp_path, components={"conductor": PART}, jobs={"db-sync": PART})
    assert [kind for kind in WAITING if any(kind == other for other, _ in objects)] == list(WAITING)
    pod = objects["StatefulSet", "nova"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "nova"
    assert [container["name"] for container in pod["initContainers"]] == ["wait-for-db-sync"]
    assert objects["Role", "nova-wait"]["rules"][1]["resourceNames"] == ["nova-db-sync-abc"]
    assert "serviceAccountName" not in objects["Job", "nova-db-sync-abc"]["spec"]["template"]["spec"]


def test_one_policy_says_all_where_all_pods_are_alike(helm: Helm, tmp_path: Path) -> None:
    out, into = [{"ports": [{"port": 53, "protocol": "UDP"}]}], [{"ports": [{"port": 8774, "protocol": "TCP"}]}]
    policies = {"egress": out, "ingress": {"*": into}}
    objects = rendered(helm, tmp_path, components={"api": PART}, networkPolicies=policies)
    (found,) = (body["spec"] for (kind, _), body in objects.items() if kind == "NetworkPolicy")
    assert (found["egress"], found["ingress"]) == (out, into)
    assert found["policyTypes"] == ["Ingress", "Egress"]
    labels = objects["Deployment", "nova"]["spec"]["template"]["metadata"]["labels"]
    assert labels.items() >= found["podSelector"]["matchLabels"].items()
