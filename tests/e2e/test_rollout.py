"""A bad value never takes a good pod away: refused at the door, and where it slips by, the old pod serves on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cloud import Cloud
from tests.e2e.waiting import eventually

SOON = "[token]\nexpiration = soon\n"
# The operator reads no file that only a start of the user's own brings into place: the pod itself finds the value.
BESIDE = {
    "defaultConfigOverwrite": {"mine.conf": SOON},
    "kollaConfig": {"config_files": [{"source": "mine.conf", "dest": "/etc/keystone/keystone.conf.d/99-mine.conf"}]},
}


def change(cloud: Cloud, **spec: Any) -> str:
    """Change Keystone in the control plane; return what the server says to that."""
    patch = json.dumps({"spec": {"keystone": {"template": spec}}})
    arguments = ("openstackcontrolplane", "openstack", "--type=merge", f"--patch={patch}", "--dry-run=server")
    return cloud.kubectl("patch", *arguments)


def condition(cloud: Cloud) -> dict[str, str]:
    status = json.loads(cloud.kubectl("get", "keystoneapi", "keystone", "--output=json"))["status"]
    return next(entry for entry in status["conditions"] if entry["type"] == "DeploymentReady")


def pods_of(cloud: Cloud) -> list[str]:
    labels = "--selector=app.kubernetes.io/instance=keystone,app.kubernetes.io/component=api"
    return cloud.kubectl("get", "pods", labels, "--output=name").split()


def test_a_value_that_keystone_cannot_read_is_refused_with_its_line(cloud: Cloud) -> None:
    with pytest.raises(AssertionError, match=r"line 2: \[token\] expiration must be a whole number"):
        change(cloud, customServiceConfig=SOON)


def correct(cloud: Cloud) -> None:
    """Take the bad value back, and wait until the status says that all is well."""
    cloud.ask(keystone={"template": {"defaultConfigOverwrite": None, "kollaConfig": None}})
    cloud.settle()


@pytest.fixture
def corrected(cloud: Cloud) -> Iterator[None]:
    """Begin with a Keystone that is at rest, and leave it so whatever happens: a failure must not bring others."""
    cloud.settle()
    # A pod of the rollout before this one may take its time to go.
    eventually(lambda: len(pods_of(cloud)) == 1, lambda: str(pods_of(cloud)))
    yield
    correct(cloud)


@pytest.mark.usefixtures("corrected")
def test_a_value_that_only_the_pod_finds_leaves_the_old_pod_at_work(cloud: Cloud) -> None:
    before = pods_of(cloud)
    cloud.ask(keystone={"template": BESIDE})
    served, why = "Deployment keystone serves with 1 of 1 pods", "[token] expiration is not of type Integer"

    def is_said() -> bool:
        said = condition(cloud)
        message = said.get("message", "")
        return said.get("reason") == "RolloutStuck" and served in message and why in message

    eventually(is_said, lambda: f"the rollout is said to be stuck, and why: {condition(cloud)}")
    assert "soon" not in condition(cloud).get("message", "")
    assert set(before) <= set(pods_of(cloud))
    assert cloud.is_valid(cloud.token())
    # A good pod that has to start again meanwhile, on another node or after a crash, reads what it read before.
    cloud.kubectl("delete", *before, "--wait=false")

    def serves_again() -> bool:
        return set(before).isdisjoint(pods_of(cloud)) and served in condition(cloud).get("message", "")

    eventually(serves_again, lambda: f"it serves again: {pods_of(cloud)}, {condition(cloud)}")
    assert cloud.is_valid(cloud.token())
    correct(cloud)
    assert condition(cloud)["status"] == "True"
    assert cloud.is_valid(cloud.token())
