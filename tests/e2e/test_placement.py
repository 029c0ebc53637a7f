"""Placement in the cloud, asked by the real client."""

import json

import pytest

from tests.e2e.cloud import Cloud
from tests.e2e.clusters import PATIENCE
from tests.e2e.waiting import eventually


@pytest.fixture(scope="module")
def cupboard(cloud: Cloud) -> str:
    """A resource provider that somebody made, by its id."""
    return str(cloud.openstack("resource", "provider", "create", "cupboard")["uuid"])


def providers(cloud: Cloud) -> list[str]:
    """Return the ids of all resource providers, as the client lists them."""
    return [entry["uuid"] for entry in cloud.openstack("resource", "provider", "list")]


def test_resources_are_counted(cloud: Cloud, cupboard: str) -> None:
    inventory = ("--resource", "MEMORY_MB=4096", "--resource", "VCPU=8")
    cloud.openstack("resource", "provider", "inventory", "set", cupboard, *inventory)
    found = cloud.openstack("resource", "provider", "inventory", "list", cupboard)
    assert {entry["resource_class"]: entry["total"] for entry in found} == {"MEMORY_MB": 4096, "VCPU": 8}
    assert cupboard in providers(cloud)


def test_the_catalog_has_what_the_resource_says(cloud: Cloud) -> None:
    listed = cloud.openstack("endpoint", "list", "--service", "placement")
    said = json.loads(cloud.kubectl("get", "placementapi", "placement", "--output=json"))["status"]["apiEndpoints"]
    assert {entry["Interface"]: entry["URL"] for entry in listed} == said
    for url in said.values():
        script = f"import urllib.request; print(urllib.request.urlopen('{url}').status)"
        assert cloud.kubectl.inside("client", "python3", "-c", script).strip() == "200"


def test_another_password_reaches_keystone_and_the_pods(cloud: Cloud, cupboard: str) -> None:
    def generation() -> int:
        return int(cloud.kubectl.get("deployment/placement", "{.metadata.generation}"))

    before = generation()
    patch = json.dumps({"stringData": {"PlacementPassword": "another-of-the-users"}})
    cloud.kubectl("patch", "secret", "osp-secret", "--type=merge", f"--patch={patch}")
    eventually(lambda: generation() > before, "the pods are rolled")
    cloud.kubectl("rollout", "status", "deployment/placement", f"--timeout={PATIENCE}")
    cloud.ready("PlacementAPI", "placement", "placement")

    def is_known() -> bool:
        try:
            return cupboard in providers(cloud)
        except AssertionError:
            # For a moment kube-proxy still leads to the pod that has the former password.
            return False

    eventually(is_known, "the new password works", 90.0)


def test_data_is_migrated_when_somebody_asks(cloud: Cloud) -> None:
    cloud.act("placement", "migrate-data", "e2e")
    actions = json.loads(cloud.kubectl("get", "placementapi", "placement", "--output=json"))["status"]["actions"]
    assert ("migrate-data", "e2e", "Succeeded") in [(one["name"], one["id"], one["state"]) for one in actions]
