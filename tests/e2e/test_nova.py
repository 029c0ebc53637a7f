"""Nova in the cloud: what is declared runs, Placement knows of it, and servers can learn about themselves.

Cells that come and go, and pods that are killed, are tests/long/test_nova.py.
"""

import json
import urllib.request
from urllib.parse import urlsplit

from tests.e2e import cloud as clouds
from tests.e2e.cloud import NAMESPACE, Cloud
from tests.e2e.compute import COMPUTE, DECLARED, asked_for_metadata, fetched, hypervisors, services
from tests.e2e.waiting import eventually
from tests.e2e.workloads import load_balanced


def test_what_is_declared_runs_and_nothing_else(cloud: Cloud) -> None:
    # Other tests restart what Nova needs; a service that could not report for a minute is down until it does.
    eventually(lambda: services(cloud) == dict.fromkeys(DECLARED, "up"), lambda: str(services(cloud)))
    assert hypervisors(cloud) == {COMPUTE}


def test_a_compute_tells_placement_what_it_has(cloud: Cloud) -> None:
    providers = {entry["name"]: entry["uuid"] for entry in cloud.openstack("resource", "provider", "list")}
    found = cloud.openstack("resource", "provider", "inventory", "list", providers[COMPUTE])
    assert {"VCPU", "MEMORY_MB", "DISK_GB"} <= {entry["resource_class"] for entry in found}


def test_the_catalog_has_what_the_resource_says(cloud: Cloud) -> None:
    listed = cloud.openstack("endpoint", "list", "--service", "compute")
    said = json.loads(cloud.kubectl("get", "nova", "nova", "--output=json"))["status"]["apiEndpoints"]
    assert {entry["Interface"]: entry["URL"] for entry in listed} == {name: f"{url}/v2.1" for name, url in said.items()}
    assert set(said) == {"public", "internal"}


def test_metadata_answers_only_those_who_know_the_shared_secret(cloud: Cloud) -> None:
    place = f"http://nova-metadata-internal.{NAMESPACE}.svc:8775"
    shared = clouds.secret(cloud.kubectl, "nova", "MetadataSecret")
    assert fetched(cloud, f"{place}/")[0] == 200
    # Who knows it is heard: there is no such server.
    assert asked_for_metadata(cloud, place, shared) == [400, 403, 404]


def test_a_page_with_a_console_is_served_to_this_machine_by_a_load_balancer(cloud: Cloud) -> None:
    name = "nova-cell1-novncproxy"
    address = load_balanced(cloud.kubectl, f"{name}-public")
    url = cloud.kubectl.get(f"novanovncproxy/{name}", "{.status.apiEndpoints.public}")
    assert urlsplit(url).hostname == address
    with urllib.request.urlopen(f"{url}/vnc_lite.html", timeout=60) as answer:  # noqa: S310  our own cloud
        assert "noVNC" in answer.read().decode()
