"""Placement in a cloud that runs: added by a section, asked by the real client, and made by Jobs as well."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e import leaking
from tests.e2e.cloud import Cloud, eventually

NODE_PORT = {"override": {"service": {"public": {"spec": {"type": "NodePort"}}}}}


@pytest.fixture(scope="module", autouse=True)
def section(cloud: Cloud) -> Iterator[None]:
    """A section more; afterwards the cloud is as it was."""
    cloud.ask(placement={"enabled": True, "template": NODE_PORT})
    cloud.ready("PlacementAPI", "placement", "placement")
    yield
    cloud.ask(placement={"enabled": False})
    cloud.kubectl("wait", "--for=delete", "placementapi/placement", "--timeout=60s")
    eventually(lambda: cloud.catalog() == ["identity"], "Placement is out of the catalog")


def test_resources_are_counted(cloud: Cloud) -> None:
    made = cloud.openstack("resource", "provider", "create", "shelf")
    inventory = ("--resource", "MEMORY_MB=4096", "--resource", "VCPU=8")
    cloud.openstack("resource", "provider", "inventory", "set", made["uuid"], *inventory)
    found = cloud.openstack("resource", "provider", "inventory", "list", made["uuid"])
    assert {entry["resource_class"]: entry["total"] for entry in found} == {"MEMORY_MB": 4096, "VCPU": 8}
    assert [entry["name"] for entry in cloud.openstack("resource", "provider", "list")] == ["shelf"]


def test_the_catalog_has_what_the_resource_says(cloud: Cloud) -> None:
    assert cloud.catalog() == ["identity", "placement"]
    listed = cloud.openstack("endpoint", "list", "--service", "placement")
    said = json.loads(cloud.kubectl("get", "placementapi", "placement", "--output=json"))["status"]["apiEndpoints"]
    assert {entry["Interface"]: entry["URL"] for entry in listed} == said
    for url in said.values():
        script = f"import urllib.request; print(urllib.request.urlopen('{url}').status)"
        assert cloud.kubectl.inside("client", "python3", "-c", script).strip() == "200"


def test_another_password_reaches_keystone_and_the_pods(cloud: Cloud) -> None:
    def generation() -> int:
        return int(cloud.kubectl.get("deployment/placement", "{.metadata.generation}"))

    before = generation()
    patch = json.dumps({"stringData": {"PlacementPassword": "another-of-the-users"}})
    cloud.kubectl("patch", "secret", "osp-secret", "--type=merge", f"--patch={patch}")
    eventually(lambda: generation() > before, "the pods are rolled")
    cloud.ready("PlacementAPI", "placement", "placement")
    cloud.kubectl("rollout", "status", "deployment/placement", "--timeout=120s")
    assert [entry["name"] for entry in cloud.openstack("resource", "provider", "list")] == ["shelf"]


def test_data_is_migrated_when_somebody_asks(cloud: Cloud) -> None:
    cloud.stackwright("action", "run", "placement", "migrate-data", "--id", "e2e", "--timeout", "120s")
    actions = json.loads(cloud.kubectl("get", "placementapi", "placement", "--output=json"))["status"]["actions"]
    assert [(action["name"], action["state"]) for action in actions] == [("migrate-data", "Succeeded")]


def test_the_same_by_jobs_of_the_chart_finds_its_data_again(cloud: Cloud) -> None:
    cloud.ask(placement={"enabled": False})
    cloud.kubectl("wait", "--for=delete", "placementapi/placement", "--timeout=60s")
    eventually(lambda: cloud.catalog() == ["identity"], "Placement is out of the catalog")
    cloud.ask(placement={"enabled": True, "template": {**NODE_PORT, "provisioning": "Job"}})
    cloud.ready("PlacementAPI", "placement", "placement")
    jobs = json.loads(cloud.kubectl("get", "jobs", "--selector=app.kubernetes.io/instance=placement", "--output=json"))
    done = {job["metadata"]["labels"]["app.kubernetes.io/component"]: job["status"] for job in jobs["items"]}
    assert {name: status.get("succeeded") for name, status in done.items()} == {
        "db-create": 1,
        "db-sync": 1,
        "identity-create": 1,
    }
    assert cloud.kubectl("get", "keystoneservices,keystoneendpoints", "--output=name") == ""
    assert [entry["name"] for entry in cloud.openstack("resource", "provider", "list")] == ["shelf"]
    log = cloud.kubectl("logs", "--selector=app.kubernetes.io/component=identity-create", "--tail=-1")
    assert "Service placement, user placement and both endpoints are there" in log
    assert "another-of-the-users" not in log
    # Nobody takes back what a Job has made in Keystone; the next test's catalog is its own.
    cloud.kubectl("exec", "client", "--", "openstack", "service", "delete", "placement")


def test_no_secret_is_told_to_anybody(cloud: Cloud) -> None:
    assert leaking.found_beside(cloud, "keystone", "placement") == []
