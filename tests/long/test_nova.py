"""A running Nova: its pods are killed, cells and conductors come and go, rows are purged, and a new image comes.

tests/e2e/test_nova.py has the rest.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from stackwright.local.cluster import images
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.services.nova.upgrade import PHASES
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.compute import COMPUTE, DECLARED, hypervisors, pods, services
from tests.e2e.waiting import eventually
from tests.long.cells import CELL2

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
    jobs = ("-map-", "-sync-", "-discover-", "-machines-", "-nodes-")
    names = [name for name in killed if not any(word in name for word in jobs)]
    cloud.kubectl("delete", "pod", "--grace-period=0", "--force", *names)
    cloud.settle()
    # Nova believes for a minute that a service is up which is not, so it is asked for what it does.
    eventually(lambda: services(cloud) == dict.fromkeys(DECLARED, "up"), lambda: str(services(cloud)))
    assert hypervisors(cloud) == {COMPUTE}


def test_conductors_that_are_too_many_leave_no_row_behind(cloud: Cloud) -> None:
    untouched = pods(cloud, "nova-cell1-fake") | pods(cloud, "nova-cell0")
    second = ("nova-conductor", "nova-cell1-conductor-1")
    scale(cloud, 2)
    eventually(lambda: services(cloud).get(second) == "up", lambda: str(services(cloud)))
    scale(cloud, 1)
    # Nova needs a minute to see that it is down.
    eventually(lambda: set(services(cloud)) == DECLARED, lambda: str(services(cloud)), patience=240)
    cloud.settle()
    assert pods(cloud, "nova-cell1-fake") | pods(cloud, "nova-cell0") == untouched


def scale(cloud: Cloud, conductors: int) -> None:
    template = {"conductorServiceTemplate": {"replicas": conductors}}
    cloud.ask(nova={"template": {"cellTemplates": {"cell1": template}}})


@pytest.mark.parametrize("cell", ["cell0", "cell1"])
def test_rows_are_archived_and_purged(cloud: Cloud, cell: str) -> None:
    """As the CronJob does it, but at once: nova-manage finds both databases, and says that it is done."""
    suspended = cloud.kubectl.get(f"cronjob/nova-{cell}-conductor-db-purge", "{.spec.suspend}")
    assert suspended == "false"
    cloud.stackwright("action", "run", f"novaconductor/nova-{cell}-conductor", "purge-database")


def test_a_new_image_goes_its_way_and_the_api_answers_all_the_time(cloud: Cloud, cluster: Cluster) -> None:
    """It is the same image under another name; so nothing but the way to it is tried."""
    present = cloud.kubectl.get("deployment/nova-api", "{.spec.template.spec.containers[0].image}")
    other = f"{present}-again"
    images._ctr(cluster.first.pid, "images", "tag", "--force", present, other)
    named = ("api", "scheduler", "conductor", "metadata", "novncproxy", "compute")
    cloud.ask(nova={"template": {f"{service}ContainerImageURL": other for service in named}})
    phases: list[str] = []

    def over() -> bool:
        assert services(cloud)
        phase = cloud.kubectl.get("nova/nova", "{.status.upgradePhase}")
        phases.extend([phase] if phase and phase not in phases[-1:] else [])
        return bool(phases) and not phase

    eventually(over, lambda: str(phases), patience=420)
    assert phases == [phase for phase in PHASES if phase in phases], "none comes again"
    cloud.settle()
    assert cloud.kubectl.get("deployment/nova-api", "{.spec.template.spec.containers[0].image}") == other
    assert cloud.kubectl.get("statefulset/nova-cell1-conductor", "{.spec.template.spec.containers[0].image}") == other
    eventually(lambda: services(cloud) == dict.fromkeys(DECLARED, "up"), lambda: str(services(cloud)))
    # The Jobs go when the upgrade is over.
    names = "--output=jsonpath={.items[*].involvedObject.name}"
    done = cloud.kubectl("get", "events", "--field-selector=reason=Completed", names).split()
    assert {"nova-migrate-cell0", "nova-migrate-cell1"} <= {name.rpartition("-")[0] for name in done}


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
