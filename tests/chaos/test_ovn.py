"""OVN under load: leaders and volumes are lost, members come and go; no port is lost, and none is half made."""

import json
import shlex
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
# For how many seconds nobody decides what becomes of a cluster that lost its majority.
UNDECIDED = 45.0
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
    assert ports_of(cloud, leader(cloud, "nb")) == known
    assert network_check.differences(cloud) == []


# The members that lose their volumes at once. Member 0 is among them: it makes a cluster where there is none.
LOST = (0, 1)
SURVIVOR = 2


@pytest.mark.parametrize("kind", DATABASES)
def test_a_lost_majority_comes_back_by_the_documented_action_alone(cloud: Cloud, network: str, kind: str) -> None:
    for each in DATABASES:
        leader(cloud, each)
    kept = [made_port(cloud, network) for _ in range(KEPT)]
    # What a majority has, the last one may not have yet.
    eventually(lambda: set(kept) <= ports_of(cloud, SURVIVOR), "the one that stays has all ports")
    before = agreement(cloud, kind)["cluster"]
    majority_lost(cloud, kind)
    eventually(lambda: ready_of(cloud, kind)[0] == "MajorityLost", lambda: str(ready_of(cloud, kind)), PATIENCE)
    # Nobody makes another cluster by itself, not even members that are new and empty.
    time.sleep(UNDECIDED)
    reason, message = ready_of(cloud, kind)
    assert reason == "MajorityLost"
    assert clusters(cloud, kind) == {before}
    assert "Role: leader" not in state(cloud, kind, SURVIVOR)

    action = shlex.split(message[message.index("kubectl patch") :])
    assert json.loads(action[-1])["data"]["force"] == f"ovsdbserver-{kind}-{SURVIVOR}"
    cloud.kubectl(*action[1:])
    eventually(lambda: clusters(cloud, kind) not in ({before}, set()), "there is another cluster", PATIENCE)
    eventually(lambda: members(cloud) == {"3 3"}, lambda: str(members(cloud)), PATIENCE)
    # Who was connected before takes the new cluster for an old copy of the former one.
    cloud.act("neutron", "restart", f"after-{kind}")
    cloud.settle()
    assert len(clusters(cloud, kind)) == 1
    agree(cloud, network, [*kept, made_port(cloud, network)])


def made_port(cloud: Cloud, network: str) -> str:
    return str(cloud.openstack("port", "create", "--network", network, "probe")["id"])


def ports_of(cloud: Cloud, number: int) -> set[str]:
    """Return the ports that a member of NB has."""
    ask = ("ovn-nbctl", "--no-leader-only", "--db=tcp:127.0.0.1:6641", "--bare", "--columns=name", "find")
    return set(member(cloud, "nb", number, *ask, "Logical_Switch_Port", 'type=""').split())


def majority_lost(cloud: Cloud, kind: str) -> None:
    """Take the volumes of two members at once: one that came back meanwhile would have joined the others.

    Pods do not end at the same time, so the servers are halted first.
    """
    pods = [f"ovsdbserver-{kind}-{number}" for number in LOST]
    for number in LOST:
        member(cloud, kind, number, "sh", "-c", "kill -STOP $(cat /run/ovn/db.pid)")
    path = "{.spec.volumes[*].persistentVolumeClaim.claimName}"
    claims = [cloud.kubectl.get(f"pod/{pod}", path) for pod in pods]
    uids = {uid_of(cloud, claim) for claim in claims}
    cloud.kubectl("delete", "persistentvolumeclaim", *claims, "--wait=false")
    cloud.kubectl("delete", "pod", *pods, "--grace-period=0", "--force")
    eventually(
        lambda: not uids & {uid_of(cloud, claim) for claim in claims} and all(uid_of(cloud, claim) for claim in claims),
        "the members have other volumes",
        PATIENCE,
    )


def uid_of(cloud: Cloud, claim: str) -> str:
    return cloud.kubectl("get", f"persistentvolumeclaim/{claim}", "--ignore-not-found", "-o=jsonpath={.metadata.uid}")


def agreement(cloud: Cloud, kind: str) -> dict[str, str]:
    """Return what the members of a database agreed on, and what each says of itself."""
    said = json.loads(cloud.kubectl("get", "configmap", f"ovsdbserver-{kind}-state", "--output=json"))
    found: dict[str, str] = said["data"]
    return found


def clusters(cloud: Cloud, kind: str) -> set[str]:
    """Return the clusters that the members agreed on, or have data of."""
    said = agreement(cloud, kind)
    records = (json.loads(text) for name, text in said.items() if name.startswith(f"ovsdbserver-{kind}-"))
    return {said["cluster"], *(record["cluster"] for record in records)} - {""}


def ready_of(cloud: Cloud, kind: str) -> tuple[str, str]:
    """Return the reason and the message of a database that is not ready."""
    path = '{.status.conditions[?(@.type=="DeploymentReady")]'
    name = f"ovndbcluster/ovndbcluster-{kind}"
    return cloud.kubectl.get(name, f"{path}.reason}}"), cloud.kubectl.get(name, f"{path}.message}}")
