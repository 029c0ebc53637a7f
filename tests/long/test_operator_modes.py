"""One operator for all services, or one for each: the cloud changes from one to the other and back."""

from pathlib import Path

import pytest
import yaml

from tests.e2e import cloud as clouds
from tests.e2e.cloud import OPERATORS, Cloud

SERVICES = (
    "barbican",
    "core",
    "glance",
    "keystone",
    "mariadb",
    "memcached",
    "neutron",
    "nova",
    "ovn",
    "placement",
    "rabbitmq",
)
# Each is removed by the test, and only an operator of its service makes it again.
POLICIES = (
    "barbican",
    "glance",
    "keystone",
    "memcached",
    "neutron",
    "nova-api",
    "openstack",
    "ovndbcluster-nb",
    "placement",
    "rabbitmq",
)


def pods(cloud: Cloud) -> str:
    path = '{range .items[*]}{.metadata.name} {.metadata.uid}{"\\n"}{end}'
    return cloud.kubectl("get", "pods", f"--output=jsonpath={path}")


def operators(cloud: Cloud) -> list[str]:
    return cloud.kubectl("get", "deployments", f"--namespace={OPERATORS}", "--output=name").split()


@pytest.fixture
def per_service(tmp_path: Path) -> Path:
    """The manifest of the cloud, with an operator for each service."""
    (plane,) = yaml.safe_load_all(clouds.EVERYTHING.read_text(encoding="utf-8"))
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump({**plane, "spec": {**plane["spec"], "operatorMode": "perService"}}))
    return path


def test_operators_change_from_one_for_all_to_one_for_each_and_back(cloud: Cloud, per_service: Path) -> None:
    before = pods(cloud)
    cloud.stackwright("up", "--yes", "--cloud", str(per_service))
    assert operators(cloud) == [f"deployment.apps/stackwright-operator-{word}" for word in SERVICES]
    for one in operators(cloud):
        cloud.kubectl("wait", one, f"--namespace={OPERATORS}", "--for=condition=Available", "--timeout=60s")
    # Each of them works: what is taken away comes back.
    cloud.kubectl("delete", *(f"networkpolicy/{name}" for name in POLICIES))
    for name in POLICIES:
        cloud.kubectl("wait", "--for=create", f"networkpolicy/{name}", "--timeout=60s")
    assert pods(cloud) == before
    cloud.stackwright("up", "--yes", "--cloud", str(clouds.EVERYTHING))
    gone = ("deployment/stackwright-operator-core", f"--namespace={OPERATORS}", "--timeout=60s")
    cloud.kubectl("wait", "--for=delete", *gone)
    assert operators(cloud) == ["deployment.apps/stackwright-operator"]
    assert pods(cloud) == before
