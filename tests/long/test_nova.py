"""Cells of Nova come and go in a running cloud, and its pods are killed; tests/e2e/test_nova.py has the rest."""

from collections.abc import Iterator
from typing import Any

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.compute import COMPUTE, DECLARED, hypervisors, pods, services
from tests.e2e.waiting import eventually

CELL2 = {
    "cellDatabaseInstance": "openstack",
    "cellDatabaseAccount": "nova-cell2",
    "messagingBus": {"cluster": "rabbitmq", "user": "nova-cell2", "vhost": "cell2"},
    "noVNCProxyServiceTemplate": {"enabled": False},
    "novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}},
}
IN_CELL2 = {("nova-conductor", "nova-cell2-conductor-0"), ("nova-compute", "nova-cell2-fake-compute-0")}


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud that the documentation brings up."""
    with clouds.raised(cluster, ROOT / "examples" / "cloud" / "nova.yaml") as made:
        made.with_client()
        yield made


def test_each_condition_turned_true_once(cloud: Cloud) -> None:
    history = cloud.installation.history
    assert {"Nova", "NovaCell", "NovaAPI", "NovaConductor", "NovaCompute"} <= {
        name.split()[0] for name, _ in history.states
    }
    assert history.restless() == {}


def test_any_pod_that_is_killed_comes_back(cloud: Cloud) -> None:
    killed = set(pods(cloud, "nova-"))
    names = [name for name in killed if "-map-" not in name and "-sync-" not in name and "-discover-" not in name]
    cloud.kubectl("delete", "pod", "--grace-period=0", "--force", *names)
    cloud.settle()
    # Nova believes for a minute that a service is up which is not, so it is asked for what it does.
    eventually(lambda: services(cloud) == dict.fromkeys(DECLARED, "up"), lambda: str(services(cloud)))
    assert hypervisors(cloud) == {COMPUTE}


def ask(cloud: Cloud, cell2: dict[str, Any] | None) -> None:
    cloud.ask(nova={"template": {"cellTemplates": {"cell2": cell2}}})


def test_a_cell_comes_and_goes_while_the_others_stay(cloud: Cloud) -> None:
    untouched = pods(cloud, "nova-cell1")
    ask(cloud, CELL2)
    cloud.kubectl("wait", "--for=create", "novacell/nova-cell2", "--timeout=120s")
    cloud.kubectl.wait("novacell/nova-cell2", "condition=Ready")
    cloud.settle()
    eventually(lambda: services(cloud) == dict.fromkeys(DECLARED | IN_CELL2, "up"), lambda: str(services(cloud)))
    eventually(lambda: "nova-cell2-fake-compute-0" in hypervisors(cloud), "the compute of the new cell is mapped")
    assert pods(cloud, "nova-cell1") == untouched

    ask(cloud, None)
    # Its compute goes first, and Nova needs a minute to see that it is down.
    cloud.kubectl("wait", "--for=delete", "novacell/nova-cell2", "--timeout=420s")
    cloud.settle()
    eventually(lambda: set(services(cloud)) == DECLARED, lambda: str(services(cloud)))
    assert hypervisors(cloud) == {COMPUTE}
    # Its schema stays.
    cloud.kubectl("get", "mariadbdatabase", "nova-cell2")
    assert pods(cloud, "nova-cell1") == untouched
