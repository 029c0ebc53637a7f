"""Nova in the cloud: what is declared runs, cells come and go, and servers can learn about themselves."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e.cloud import NAMESPACE, Cloud
from tests.e2e.waiting import eventually

CELL2 = {
    "cellDatabaseInstance": "openstack",
    "cellDatabaseAccount": "nova-cell2",
    "messagingBus": {"cluster": "rabbitmq", "user": "nova-cell2", "vhost": "cell2"},
    "noVNCProxyServiceTemplate": {"enabled": False},
    "novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}},
}
DECLARED = {
    ("nova-scheduler", "nova-scheduler-0"),
    ("nova-conductor", "nova-cell0-conductor-0"),
    ("nova-conductor", "nova-cell1-conductor-0"),
    ("nova-compute", "nova-cell1-fake-compute-0"),
}
IN_CELL2 = {("nova-conductor", "nova-cell2-conductor-0"), ("nova-compute", "nova-cell2-fake-compute-0")}


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud that the documentation brings up."""
    with clouds.raised(cluster, ROOT / "examples" / "cloud" / "nova.yaml") as made:
        made.with_client()
        yield made


def services(cloud: Cloud) -> dict[tuple[str, str], str]:
    """Return the state of each service that the compute API lists, by its program and host."""
    listed = cloud.openstack("compute", "service", "list")
    return {(entry["Binary"], entry["Host"]): entry["State"] for entry in listed}


def hypervisors(cloud: Cloud) -> set[str]:
    """Return the hosts that servers can be scheduled to."""
    return {entry["Hypervisor Hostname"] for entry in cloud.openstack("hypervisor", "list")}


def pods(cloud: Cloud, start: str) -> dict[str, str]:
    """Return the pods whose names start like this, each with its uid and its restarts."""
    path = '{range .items[*]}{.metadata.name} {.metadata.uid}{.status.containerStatuses[*].restartCount}{"\\n"}{end}'
    lines = cloud.kubectl("get", "pods", f"--output=jsonpath={path}").splitlines()
    return dict(line.split(" ") for line in lines if line.startswith(start))


def fetched(cloud: Cloud, url: str, **headers: str) -> tuple[int, str]:
    """Return code and text of a page, asked for by the client's pod."""
    script = (
        "import json, sys, urllib.request, urllib.error\n"
        f"request = urllib.request.Request({url!r}, headers={headers!r})\n"
        "try:\n"
        "    answer = urllib.request.urlopen(request, timeout=60)\n"
        "except urllib.error.HTTPError as error:\n"
        "    answer = error\n"
        "print(json.dumps([answer.status, answer.read().decode()]))\n"
    )
    code, text = json.loads(cloud.kubectl.inside("client", "python3", "-c", script))
    return int(code), str(text)


def test_each_condition_turned_true_once(cloud: Cloud) -> None:
    history = cloud.installation.history
    assert {"Nova", "NovaCell", "NovaAPI", "NovaConductor", "NovaCompute"} <= {
        name.split()[0] for name, _ in history.states
    }
    assert history.restless() == {}


def test_what_is_declared_runs_and_nothing_else(cloud: Cloud) -> None:
    assert services(cloud) == dict.fromkeys(DECLARED, "up")
    assert hypervisors(cloud) == {"nova-cell1-fake-compute-0"}
    # A compute tells Placement what it has.
    providers = {entry["name"] for entry in cloud.openstack("resource", "provider", "list")}
    assert "nova-cell1-fake-compute-0" in providers


def test_the_catalog_has_what_the_resource_says(cloud: Cloud) -> None:
    listed = cloud.openstack("endpoint", "list", "--service", "compute")
    said = json.loads(cloud.kubectl("get", "nova", "nova", "--output=json"))["status"]["apiEndpoints"]
    assert {entry["Interface"]: entry["URL"] for entry in listed} == {name: f"{url}/v2.1" for name, url in said.items()}
    assert set(said) == {"public", "internal"}


def test_metadata_answers_only_those_who_know_the_shared_secret(cloud: Cloud) -> None:
    place = f"http://nova-metadata-internal.{NAMESPACE}.svc:8775"
    shared = clouds.secret(cloud.kubectl, "nova", "MetadataSecret")
    server, project = "11111111-2222-3333-4444-555555555555", "66666666666666666666666666666666"
    signature = hmac.new(shared.encode(), server.encode(), hashlib.sha256).hexdigest()
    asked = {"X-Instance-ID": server, "X-Tenant-ID": project, "X-Forwarded-For": "10.0.0.1"}

    def answer(**more: str) -> int:
        return fetched(cloud, f"{place}/openstack/latest/meta_data.json", **asked, **more)[0]

    assert fetched(cloud, f"{place}/")[0] == 200
    assert answer() == 400
    assert answer(**{"X-Instance-ID-Signature": "0" * 64}) == 403
    # Who knows it is heard: there is no such server.
    assert answer(**{"X-Instance-ID-Signature": signature}) == 404


def test_a_page_with_a_console_is_served(cloud: Cloud) -> None:
    url = cloud.kubectl.get("service/nova-cell1-novncproxy-public", "{.spec.clusterIP}:{.spec.ports[0].port}")
    code, text = fetched(cloud, f"http://{url}/vnc_lite.html")
    assert code == 200
    assert "noVNC" in text


def test_any_pod_that_is_killed_comes_back(cloud: Cloud) -> None:
    killed = set(pods(cloud, "nova-"))
    names = [name for name in killed if "-map-" not in name and "-sync-" not in name and "-discover-" not in name]
    cloud.kubectl("delete", "pod", "--grace-period=0", "--force", *names)
    cloud.settle()
    # Nova believes for a minute that a service is up which is not, so it is asked for what it does.
    eventually(lambda: services(cloud) == dict.fromkeys(DECLARED, "up"), lambda: str(services(cloud)))
    assert hypervisors(cloud) == {"nova-cell1-fake-compute-0"}


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
    assert hypervisors(cloud) == {"nova-cell1-fake-compute-0"}
    # Its schema stays.
    cloud.kubectl("get", "mariadbdatabase", "nova-cell2")
    assert pods(cloud, "nova-cell1") == untouched
