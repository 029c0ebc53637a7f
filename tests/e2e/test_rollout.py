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


def has_any(cloud: Cloud, labels: str, pods: list[str]) -> bool:
    return not set(pods).isdisjoint(cloud.kubectl("get", "pods", labels, "--output=name").split())


def test_a_value_that_keystone_cannot_read_is_refused_with_its_line(cloud: Cloud) -> None:
    with pytest.raises(AssertionError, match=r"line 2: \[token\] expiration must be a whole number"):
        change(cloud, customServiceConfig=SOON)


@pytest.fixture
def corrected(cloud: Cloud) -> Iterator[None]:
    """Take the bad value back whatever happens: one test that fails should not be the end of all that follow."""
    yield
    cloud.ask(keystone={"template": {"defaultConfigOverwrite": None, "kollaConfig": None}})


@pytest.mark.usefixtures("corrected")
def test_a_value_that_only_the_pod_finds_leaves_the_old_pod_at_work(cloud: Cloud) -> None:
    labels = "--selector=app.kubernetes.io/instance=keystone,app.kubernetes.io/component=api"
    before = cloud.kubectl("get", "pods", labels, "--output=name").split()
    cloud.ask(keystone={"template": BESIDE})
    eventually(lambda: condition(cloud).get("reason") == "RolloutStuck", "the rollout is said to be stuck")
    said = condition(cloud)["message"]
    assert "Deployment keystone serves with 1 of 1 pods" in said
    assert "[token] expiration is not of type Integer" in said
    assert "soon" not in said
    assert set(before) <= set(cloud.kubectl("get", "pods", labels, "--output=name").split())
    assert cloud.is_valid(cloud.token())
    # A good pod that has to start again meanwhile, on another node or after a crash, reads what it read before.
    cloud.kubectl("delete", *before, "--wait=false")
    served = "Deployment keystone serves with 1 of 1 pods"
    eventually(lambda: not has_any(cloud, labels, before) and served in condition(cloud)["message"], "it serves again")
    assert cloud.is_valid(cloud.token())
    cloud.ask(keystone={"template": {"defaultConfigOverwrite": None, "kollaConfig": None}})
    eventually(lambda: condition(cloud).get("status") == "True", "it goes on with the value taken back")
    assert cloud.is_valid(cloud.token())
