"""OVN under load: leaders and volumes are lost, members come and go; no port is lost, and none is half made."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.chaos.load import Load, Request, Send, repeat
from tests.e2e import cloud as clouds
from tests.e2e import network_check
from tests.e2e.cloud import Cloud
from tests.e2e.waiting import eventually

MANIFEST = Path(__file__).parent / "networks.yaml"
DATABASES = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}
# How many ports are made before a fault, and after it.
BEFORE = 20
AFTERWARDS = 40
# Of so many ports that are made, one is kept.
KEPT = 4
# A single process serves Neutron's API here.
CLIENTS = 2
# For how many seconds nothing may be lost or wait before it is believed that all is well.
WELL = 10.0
PATIENCE = 300.0

Tell = Callable[[str], None]


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """A cloud with Neutron, and databases of three members."""
    with clouds.raised(cluster, MANIFEST) as made:
        made.with_client()
        yield made


@pytest.fixture(scope="module")
def network(cloud: Cloud) -> str:
    """A network without a subnet: its ports are made quickly."""
    return str(cloud.openstack("network", "create", "inside")["id"])


def ports(cloud: Cloud, network: str) -> Callable[[list[str]], Callable[[Send], None]]:
    """Return what makes a visit: a port is made, and removed again unless it is to be kept."""
    url = cloud.kubectl.get("neutronapi/neutron", "{.status.apiEndpoints.public}")
    headers = {"X-Auth-Token": cloud.token(), "Content-Type": "application/json"}
    body = json.dumps({"port": {"network_id": network, "name": "probe"}}).encode()

    def with_list(kept: list[str]) -> Callable[[Send], None]:
        count = 0

        def visit(send: Send) -> None:
            nonlocal count
            made = send("made", Request(f"{url}/v2.0/ports", headers, body, status=201))
            if made.trouble:
                return
            found = json.loads(made.body)["port"]["id"]
            count += 1
            if count % KEPT == 0:
                kept.append(found)
                return
            send("removed", Request(f"{url}/v2.0/ports/{found}", headers, status=204, method="DELETE"))

        return visit

    return with_list


def member(cloud: Cloud, kind: str, number: int, *command: str) -> str:
    return cloud.kubectl("exec", f"ovsdbserver-{kind}-{number}", "--", *command)


def leader(cloud: Cloud, kind: str) -> int:
    """Return the number of the member that leads."""
    found: list[int] = []

    def one_leads() -> bool:
        found[:] = [number for number in range(3) if "Role: leader" in state(cloud, kind, number)]
        return len(found) == 1

    eventually(one_leads, lambda: f"leaders of {kind}: {found}")
    return found[0]


def state(cloud: Cloud, kind: str, number: int) -> str:
    return member(cloud, kind, number, "ovs-appctl", "-t", "/run/ovn/db.ctl", "cluster/status", DATABASES[kind])


def killed(cloud: Cloud, pod: str) -> None:
    cloud.kubectl("delete", f"pod/{pod}", "--grace-period=0", "--force")


def leader_killed(kind: str) -> Callable[[Cloud], None]:
    def fault(cloud: Cloud) -> None:
        killed(cloud, f"ovsdbserver-{kind}-{leader(cloud, kind)}")

    return fault


def volume_lost(kind: str) -> Callable[[Cloud], None]:
    """Return what takes the volume of member 0, which forms a cluster where there is none; here there is one."""

    def fault(cloud: Cloud) -> None:
        pod = f"ovsdbserver-{kind}-0"
        claim = cloud.kubectl.get(f"pod/{pod}", "{.spec.volumes[*].persistentVolumeClaim.claimName}")
        uid = cloud.kubectl.get(f"persistentvolumeclaim/{claim}", "{.metadata.uid}")
        cloud.kubectl("delete", f"persistentvolumeclaim/{claim}", "--wait=false")
        cloud.kubectl("delete", f"pod/{pod}")
        again = "{.metadata.uid}"
        eventually(
            lambda: (
                cloud.kubectl("get", f"persistentvolumeclaim/{claim}", "--ignore-not-found", f"-o=jsonpath={again}")
                not in {"", uid}
            ),
            "the member has another volume",
        )

    return fault


def northd_killed(cloud: Cloud) -> None:
    cloud.kubectl("delete", "pod", "--selector=app.kubernetes.io/component=northd", "--grace-period=0", "--force")


def scaled(cloud: Cloud) -> None:
    """Take two members of each database away, and give them back."""
    for count in (1, 3):
        wanted = {f"ovndbcluster-{kind}": {"replicas": count} for kind in DATABASES}
        cloud.ask(ovn={"template": {"ovnDBCluster": wanted}})
        expected = {f"{count} {count}"}
        eventually(lambda expected=expected: members(cloud) == expected, lambda: str(members(cloud)), PATIENCE)  # type: ignore[misc]  # the default is what the loop had
        cloud.settle()


def members(cloud: Cloud) -> set[str]:
    """Return how many members there are and should be, of all databases."""
    counts = "{.status.readyReplicas} {.spec.replicas}"
    return {cloud.kubectl.get(f"statefulset/ovsdbserver-{kind}", counts) for kind in DATABASES}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(leader_killed("nb"), id="leader-of-nb-killed"),
        pytest.param(leader_killed("sb"), id="leader-of-sb-killed"),
        pytest.param(northd_killed, id="northd-killed"),
        pytest.param(volume_lost("nb"), id="volume-of-nb-lost"),
        pytest.param(volume_lost("sb"), id="volume-of-sb-lost"),
        pytest.param(scaled, id="three-to-one-to-three"),
    ],
)
def test_no_port_is_lost_and_none_is_half_made(
    cloud: Cloud, network: str, tell: Tell, request: pytest.FixtureRequest, fault: Callable[[Cloud], None]
) -> None:
    for kind in DATABASES:
        leader(cloud, kind)
    kept: list[str] = []
    with repeat(ports(cloud, network)(kept), CLIENTS) as seen:
        eventually(lambda: seen.names["made"] > BEFORE, "the load has begun", PATIENCE)
        began = time.monotonic()
        fault(cloud)
        eventually(lambda: seen.is_well(WELL), "ports are made again", PATIENCE)
        answered = seen.answered
        eventually(lambda: seen.answered > answered + AFTERWARDS, "enough ports after it", PATIENCE)
    tell(f"{request.node.callspec.id}: {seen.summary()}{_duration(seen, began)}")
    cloud.settle()
    agree(cloud, network, kept)


def _duration(seen: Load, began: float) -> str:
    return f"; the last {seen.last_loss - began:.0f} s after the fault" if seen.lost else ""


def agree(cloud: Cloud, network: str, kept: list[str]) -> None:
    """Assert that Neutron has every port that it acknowledged, that OVN has just those, and that both say the same."""
    listed: list[dict[str, Any]] = cloud.openstack("port", "list", "--network", network)
    known = {entry["ID"] for entry in listed if entry["Name"] == "probe"}
    assert set(kept) <= known
    ask = ("ovn-nbctl", "--no-leader-only", "--db=tcp:127.0.0.1:6641", "--bare", "--columns=name", "find")
    found = member(cloud, "nb", leader(cloud, "nb"), *ask, "Logical_Switch_Port", 'type=""').split()
    assert set(found) == known
    assert network_check.differences(cloud) == []
