"""The chart of Nova: one chart for services of which none waits for a Job."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.blueprint import names
from stackwright.kube import documents
from tests.charts.conftest import CHARTS, Helm

WAITING = ("ServiceAccount", "ConfigMap", "Role", "RoleBinding")
PART = {"config": "nova-config-data", "hash": "abc"}


def rendered(helm: Helm, folder: Path, **values: Any) -> dict[tuple[str, str], Any]:
    """Render a release that has these values and no others."""
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump({"image": "localhost/openstack:test", **values}))
    printed = helm("template", "nova", CHARTS / "nova", "--values", path)
    return {(body["kind"], body["metadata"]["name"]): body for body in documents.read(printed)}


@pytest.mark.parametrize("component", ["api", "scheduler", "conductor", "metadata", "novncproxy", "compute"])
def test_a_service_that_waits_for_no_job_has_no_account_of_its_own(helm: Helm, tmp_path: Path, component: str) -> None:
    objects = rendered(helm, tmp_path, components={component: PART})
    assert not [kind for kind, _ in objects if kind in WAITING]
    (workload,) = (body for (kind, _), body in objects.items() if kind in ("Deployment", "StatefulSet"))
    pod = workload["spec"]["template"]["spec"]
    assert "serviceAccountName" not in pod
    assert pod["automountServiceAccountToken"] is False


def test_jobs_that_wait_for_no_other_have_no_account_of_their_own(helm: Helm, tmp_path: Path) -> None:
    purge = {**PART, "schedule": "0 0 * * *"}
    objects = rendered(helm, tmp_path, jobs={"db-sync": PART, "map-cell1": PART}, schedules={"db-purge": purge})
    jobs = {("Job", "nova-db-sync-abc"), ("Job", "nova-map-cell1-abc")}
    assert set(objects) == {*jobs, ("CronJob", "nova-db-purge")}
    assert not any("serviceAccountName" in objects[job]["spec"]["template"]["spec"] for job in jobs)


def test_one_policy_says_all_where_all_pods_are_alike(helm: Helm, tmp_path: Path) -> None:
    out, into = [{"ports": [{"port": 53, "protocol": "UDP"}]}], [{"ports": [{"port": 8774, "protocol": "TCP"}]}]
    policies = {"egress": out, "ingress": {"*": into}}
    objects = rendered(helm, tmp_path, components={"api": PART}, networkPolicies=policies)
    (found,) = (body["spec"] for (kind, _), body in objects.items() if kind == "NetworkPolicy")
    assert (found["egress"], found["ingress"]) == (out, into)
    assert found["policyTypes"] == ["Ingress", "Egress"]
    labels = objects["Deployment", "nova"]["spec"]["template"]["metadata"]["labels"]
    assert labels.items() >= found["podSelector"]["matchLabels"].items()


@pytest.mark.parametrize("length", [20, 43, 53])
def test_jobs_have_the_names_by_which_the_operator_finds_them(helm: Helm, tmp_path: Path, length: int) -> None:
    release, values = "n" * length, tmp_path / "values.yaml"
    job = {"config": "config", "hash": "0a1b2c3d4e"}
    jobs = {"db-sync": job, "online-data-migrations": job}
    schedules = {"db-purge": {"config": "config", "schedule": "@daily"}}
    actions = {"purge-database": {"job": "db-purge", "hash": "e4d3c2b1a0"}}
    asked = {"name": "nova-conductor", "image": "i", "jobs": jobs, "schedules": schedules, "actions": actions}
    values.write_text(yaml.safe_dump(asked))
    printed = helm("template", release, CHARTS / "nova", "--values", values)
    found = {(body["kind"], body["metadata"]["name"]) for body in documents.read(printed)}
    assert {name for kind, name in found if kind == "Job"} == {
        *(names.job(release, name, job["hash"]) for name in jobs),
        names.job(release, "action-purge-database", "e4d3c2b1a0"),
    }
    assert ("CronJob", names.cron_job(release, "db-purge")) in found


def test_the_nodes_of_an_action_are_instead_of_those_of_its_job(helm: Helm, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    for own, selected in ({"disk": "old"}, {"disk": "old"}), ({}, None), (None, {"zone": "a"}):
        job = {"config": "config", "hash": "0a1b2c3d4e", "nodeSelector": {"zone": "a"}}
        action = {"job": "db-sync", "hash": "e4d3c2b1a0", **({} if own is None else {"nodeSelector": own})}
        asked = {"name": "nova-conductor", "image": "i", "jobs": {"db-sync": job}}
        values.write_text(yaml.safe_dump({**asked, "actions": {"sync-database": action}}))
        printed = helm("template", "nova", CHARTS / "nova", "--values", values)
        found = {body["metadata"]["name"]: body for body in documents.read(printed) if body["kind"] == "Job"}
        pods = {name: body["spec"]["template"]["spec"] for name, body in found.items()}
        assert pods[names.job("nova", "action-sync-database", "e4d3c2b1a0")].get("nodeSelector") == selected
        assert pods[names.job("nova", "db-sync", "0a1b2c3d4e")]["nodeSelector"] == {"zone": "a"}
