"""Keystone under load: changes lose no request, and outages of what it needs heal by themselves."""

import json
import time
from collections.abc import Callable

import pytest

from tests.chaos.load import Load, load
from tests.e2e.cloud import Cloud, eventually
from tests.e2e.clouds.conftest import cloud

__all__ = ["cloud"]

REQUESTS = 2000
OUTAGE = 30.0


@pytest.fixture(scope="module")
def keystone(cloud: Cloud) -> Cloud:
    """Keystone with two replicas."""
    patch(cloud, "openstackcontrolplane/openstack", {"keystone": {"template": {"replicas": 2}}})
    cloud.kubectl("rollout", "status", "deployment/keystone", "--timeout=180s")
    cloud.kubectl.wait("openstackcontrolplane/openstack", "condition=Ready")
    return cloud


def patch(cloud: Cloud, resource: str, spec: object) -> None:
    cloud.kubectl("patch", resource, "--type=merge", f"--patch={json.dumps({'spec': spec})}")


def rolled(cloud: Cloud, before: str) -> None:
    """Wait until a change has reached all pods."""
    eventually(lambda: generation(cloud) != before, "the change reaches the Deployment")
    cloud.kubectl("rollout", "status", "deployment/keystone", "--timeout=300s")


def generation(cloud: Cloud) -> str:
    return cloud.kubectl.get("deployment/keystone", "{.metadata.generation}")


def reconfigured(cloud: Cloud) -> None:
    before = generation(cloud)
    snippet = "[DEFAULT]\nmax_param_size = 65\n"
    patch(cloud, "openstackcontrolplane/openstack", {"keystone": {"template": {"customServiceConfig": snippet}}})
    rolled(cloud, before)


def account_rotated(cloud: Cloud) -> None:
    before = generation(cloud)
    patch(cloud, "openstackcontrolplane/openstack", {"keystone": {"template": {"databaseAccount": "keystone-2"}}})
    rolled(cloud, before)
    cloud.kubectl("wait", "--for=delete", "mariadbaccount/keystone", "--timeout=180s")


def keys_rotated(cloud: Cloud) -> None:
    cloud.stackwright("action", "run", "keystone", "rotate-keys", "--id", "under-load", "--timeout", "240s")


@pytest.mark.parametrize("change", [reconfigured, account_rotated, keys_rotated])
def test_a_change_loses_no_request(keystone: Cloud, change: Callable[[Cloud], None]) -> None:
    with load(keystone.endpoint("public"), keystone.token()) as seen:
        eventually(lambda: seen.answered > 100, "the load has begun")
        change(keystone)
        eventually(lambda: seen.answered >= REQUESTS, "enough requests", 600.0)
    print(f"{change.__name__}: {seen.summary()}")  # noqa: T201  what this ring measures
    assert seen.lost == []


@pytest.mark.parametrize(
    ("namespace", "workload"),
    [
        pytest.param("openstack", "statefulset/openstack-galera", id="mariadb"),
        pytest.param("openstack", "statefulset/memcached", id="memcached"),
        pytest.param("stackwright-system", "deployment/stackwright-operator", id="operator"),
    ],
)
def test_an_outage_heals_by_itself(keystone: Cloud, namespace: str, workload: str) -> None:
    with load(keystone.endpoint("public"), keystone.token()) as seen:
        eventually(lambda: seen.answered > 100, "the load has begun")
        stopped = time.monotonic()
        killed(keystone, namespace, workload)
        _answers_again(seen, keystone)
    lasted = max(0.0, seen.last_loss - stopped)
    print(f"{workload} away for {OUTAGE:g} s: {seen.summary()}; whole again after {lasted:.0f} s")  # noqa: T201  what this ring measures
    keystone.kubectl.wait("openstackcontrolplane/openstack", "condition=Ready")


def killed(cloud: Cloud, namespace: str, workload: str) -> None:
    """Keep the pods of a workload from running for a while, as a node that is lost would."""
    kubectl = cloud.kubectl
    node = kubectl.get("nodes", "{.items[0].metadata.name}")
    kubectl("cordon", node)
    try:
        selector = json.loads(kubectl("get", "--namespace", namespace, workload, "--output=json"))["spec"]["selector"]
        labels = ",".join(f"{key}={value}" for key, value in selector["matchLabels"].items())
        kubectl("delete", "pods", "--namespace", namespace, f"--selector={labels}", "--grace-period=0", "--force")
        time.sleep(OUTAGE)
    finally:
        kubectl("uncordon", node)


def _answers_again(seen: Load, cloud: Cloud) -> None:
    def quiet() -> bool:
        return time.monotonic() - max(seen.last_loss, seen.began) > 10.0

    eventually(quiet, "no request is lost any more", 300.0)
    cloud.kubectl.wait("galera/openstack", "condition=Ready")
