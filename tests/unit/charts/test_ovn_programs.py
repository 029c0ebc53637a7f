"""What the programs in OVN's pods decide."""

import importlib
import ipaddress
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILES = Path(__file__).parents[3] / "charts" / "ovn" / "files"
SET = "ovsdbserver-nb"
STATUS = """\
a3f1
Name: OVN_Northbound
Cluster ID: 81c8 (81c8f9fd-356a-473a-95de-7adc38b334e3)
Server ID: df10 (df10b059-586a-4f15-9900-a51a1d7c9aae)
Address: tcp:ovsdbserver-nb-0.x:6643
Status: cluster member
Role: leader
Term: 2
Leader: self
Vote: self

Last Election started 4034 ms ago, reason: timeout
Election timer: 10000
Log: [2, 22]
Entries not yet committed: 0
Connections: ->ca56 <-ca56
Servers:
    df10 (df10 at tcp:ovsdbserver-nb-0.x:6643) (self) next_index=18 match_index=22
    ca56 (ca56 at tcp:ovsdbserver-nb-1.x:6643) next_index=23 match_index=22 last msg 155 ms ago
    a318 (a318 at tcp:ovsdbserver-nb-2.x:6643)
"""


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    # RabbitMQ's programs have a module of the same name.
    names = ("cluster", "chassis", "programs", "kubernetes", "controller", "tunnels", "bridges", "controller_process")
    monkeypatch.syspath_prepend(str(FILES))
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def cluster(programs: dict[str, ModuleType]) -> Any:
    return programs["cluster"]


@pytest.fixture
def chassis(programs: dict[str, ModuleType]) -> Any:
    return programs["chassis"]


def agreed(cluster: Any, data: dict[str, str]) -> Any:
    return cluster.parse_agreement(data, SET)


def record(server: str = "", of: str = "") -> str:
    return f'{{"server": "{server}", "cluster": "{of}", "state": "x"}}'


BLANK = {f"{SET}-1": record(), f"{SET}-2": record()}


@pytest.mark.parametrize(
    ("number", "file", "data", "waited", "start"),
    [
        pytest.param(0, None, BLANK, 0, "Create", id="the-first-makes-the-cluster-when-nobody-has-data"),
        pytest.param(0, None, {f"{SET}-1": record()}, 0, "Wait", id="the-first-waits-for-one-that-says-nothing"),
        pytest.param(0, None, {f"{SET}-1": record()}, 61, "Create", id="not-for-ever-if-a-majority-has-no-data"),
        pytest.param(0, None, {}, 3600, "Wait", id="for-ever-if-the-majority-says-nothing"),
        pytest.param(0, None, {f"{SET}-1": record("s", "c"), f"{SET}-2": record()}, 0, "Wait", id="another-has-data"),
        pytest.param(0, None, {"cluster": "c"}, 0, "Join", id="the-first-joins-a-cluster-that-there-was"),
        pytest.param(1, None, {}, 3600, "Wait", id="another-never-makes-one"),
        pytest.param(1, None, {"cluster": "c"}, 0, "Join", id="another-joins"),
        pytest.param(1, ("s", ""), {"cluster": "c"}, 0, "Join aside", id="one-that-had-not-joined-yet-begins-anew"),
        pytest.param(1, ("s", "c"), {"cluster": "c"}, 0, "Serve", id="data-of-the-cluster-go-on"),
        pytest.param(0, ("s", "c"), {}, 0, "Serve", id="data-go-on-where-the-agreement-was-lost"),
        pytest.param(1, ("s", "old"), {"cluster": "c"}, 0, "Join aside", id="data-of-a-former-cluster-are-put-aside"),
        pytest.param(2, ("s", "c"), {"cluster": "c", "removed": "a,s"}, 0, "Join aside", id="one-that-was-removed"),
        pytest.param(2, ("s", "c"), {"cluster": "c", "force": f"{SET}-2"}, 31, "Create kept", id="forced-with-data"),
        pytest.param(2, ("s", "c"), {"cluster": "c", "force": f"{SET}-2"}, 29, "Wait", id="forced-others-may-object"),
        pytest.param(0, None, {"cluster": "c", "force": f"{SET}-0"}, 31, "Create", id="forced-without-data"),
        pytest.param(
            0,
            ("new", ""),
            {"cluster": "c", "force": f"{SET}-0", f"{SET}-2": record("s", "c")},
            3600,
            "Wait",
            id="forced-without-data-while-another-has-them",
        ),
        pytest.param(1, ("s", "c"), {"cluster": "c", "force": f"{SET}-2"}, 0, "Serve", id="another-is-forced"),
        pytest.param(0, ("", "", True), {"cluster": "c"}, 0, "Wait", id="a-backup-stays-where-there-was-a-cluster"),
        pytest.param(0, ("", "", True), {f"{SET}-2": record("s", "c")}, 0, "Wait", id="or-where-another-has-data"),
        pytest.param(0, ("", "", True), {"cluster": "c", "force": f"{SET}-0"}, 31, "Create kept", id="a-forced-backup"),
        pytest.param(0, ("", "", True), BLANK, 0, "Create kept", id="a-backup-where-nothing-was"),
    ],
)
def test_how_a_member_starts(
    cluster: Any, number: int, file: tuple[Any, ...] | None, data: dict[str, str], waited: float, start: str
) -> None:
    found = cluster.begin(
        f"{SET}-{number}", SET, cluster.File(*file) if file else None, agreed(cluster, data), 3, waited
    )
    more = " kept" if getattr(found, "kept", False) else " aside" if getattr(found, "aside", False) else ""
    assert f"{type(found).__name__}{more}" == start


def test_the_only_member_makes_its_cluster_at_once(cluster: Any) -> None:
    assert cluster.begin(f"{SET}-0", SET, None, cluster.Agreement(), 1, 0) == cluster.Create()


def test_nobody_makes_a_cluster_while_the_number_of_members_is_unknown(cluster: Any) -> None:
    assert isinstance(cluster.begin(f"{SET}-0", SET, None, cluster.Agreement(), 0, 3600), cluster.Wait)


def test_what_a_server_says_is_read(cluster: Any) -> None:
    status = cluster.parse_status(STATUS)
    assert (status.is_member, status.leads, status.is_led) == (True, True, True)
    assert (status.timer, status.index) == (10000, 22)
    assert [(one.server, one.is_self, one.silence) for one in status.servers] == [
        ("df10", True, None),
        ("ca56", False, 155),
        ("a318", False, None),
    ]
    assert cluster.parse_status("") == cluster.Status()


ADDRESSES = {f"{SET}-{number}": f"tcp:{SET}-{number}.x:6643" for number in range(3)}


@pytest.mark.parametrize(
    ("data", "replicas", "removed"),
    [
        pytest.param({f"{SET}-1": record("ca56-full")}, 3, [], id="a-healthy-cluster-keeps-all"),
        pytest.param({f"{SET}-1": record("new")}, 3, ["ca56"], id="the-former-self-of-one-that-joins-anew"),
        pytest.param({f"{SET}-1": record()}, 3, [], id="one-without-a-file-yet"),
        pytest.param({}, 2, ["a318"], id="a-silent-one-that-shall-not-be-there"),
        pytest.param({}, 1, ["a318"], id="but-not-one-that-still-speaks"),
        pytest.param({}, None, [], id="nobody-while-the-number-is-unknown"),
        pytest.param({}, 0, ["a318"], id="the-first-stays-when-all-stop"),
    ],
)
def test_whom_the_leader_removes(cluster: Any, data: dict[str, str], replicas: int | None, removed: list[str]) -> None:
    status = cluster.parse_status(STATUS)
    assert [one.server for one in cluster.stale(status, agreed(cluster, data), ADDRESSES, replicas)] == removed


def test_a_removed_server_is_remembered_by_its_whole_id(cluster: Any) -> None:
    known = agreed(cluster, {f"{SET}-2": record("a318-and-more")})
    assert cluster.full_id("a318", ADDRESSES[f"{SET}-2"], known, ADDRESSES) == "a318-and-more"
    assert cluster.full_id("ffff", ADDRESSES[f"{SET}-2"], known, ADDRESSES) == "ffff"
    assert cluster.remember(("a",), "b") == "a,b"
    assert cluster.remember(("a",), "a") == "a"
    many = tuple(map(str, range(cluster.REMEMBERED)))
    assert cluster.remember(many, "b").split(",") == [*many[1:], "b"]
    assert set(cluster.remember(many, "0").split(",")) == set(many)


@pytest.mark.parametrize(
    ("data", "leads", "found"),
    [
        pytest.param({f"{SET}-2": record("ffff-full", "c")}, True, ["ffff-full"], id="one-that-was-removed"),
        pytest.param({f"{SET}-2": record("ffff-full", "c")}, False, [], id="only-the-leader-knows"),
        pytest.param({f"{SET}-2": record("ffff-full", "c"), "removed": "ffff-full"}, True, [], id="it-was-told"),
        pytest.param({f"{SET}-2": record("ffff-full")}, True, [], id="one-that-joins"),
        pytest.param({f"{SET}-2": record("ffff-full", "old")}, True, [], id="one-of-another-cluster"),
        pytest.param({f"{SET}-2": record("a318-full", "c")}, True, [], id="a-member"),
    ],
)
def test_a_server_that_the_cluster_does_not_know_starts_over(
    cluster: Any, data: dict[str, str], leads: bool, found: list[str]
) -> None:
    status = cluster.parse_status(STATUS if leads else STATUS.replace("Role: leader", "Role: follower"))
    assert cluster.unknown(status, agreed(cluster, {"cluster": "c", **data})) == found


@pytest.mark.parametrize(
    ("present", "wanted", "following"), [(1000, 16000, 2000), (8000, 10000, 10000), (9000, 50, 50)]
)
def test_the_election_timer_at_most_doubles(cluster: Any, present: int, wanted: int, following: int) -> None:
    assert cluster.next_timer(present, wanted) == following


def test_versions_of_schemas_are_compared_by_number(cluster: Any) -> None:
    assert cluster.is_newer("7.11.0", "7.3.0")
    assert not cluster.is_newer("7.3.0", "7.3.0")
    assert not cluster.is_newer("7.3.0", "7.11.0")


def test_what_cannot_be_read_of_the_agreement_is_as_if_it_were_not_there(cluster: Any) -> None:
    found = agreed(cluster, {f"{SET}-0": "rubbish", "ovsdbserver-sb-0": record("s", "c")})
    assert found.records == {f"{SET}-0": cluster.Record()}


SETTINGS = {"externalIds": {"ovn-bridge": "br-int", "ovn-remote": "tcp:10.0.0.1:6642", "empty": ""}, "networks": {}}


def test_a_node_always_has_the_same_id(chassis: Any) -> None:
    assert chassis.system_id("node-1") == chassis.system_id("node-1") != chassis.system_id("node-2")


def test_what_a_node_tells(chassis: Any) -> None:
    networks = {"datacentre": "eth1", "lab": "eth2", "wan": "eth3"}
    found = chassis.external_ids({**SETTINGS, "networks": networks}, "node-1", "192.0.2.5", "netdev")
    assert found == {
        "ovn-bridge": "br-int",
        "ovn-remote": "tcp:10.0.0.1:6642",
        "system-id": chassis.system_id("node-1"),
        "hostname": "node-1",
        "ovn-encap-ip": "192.0.2.5",
        "ovn-bridge-mappings": "datacentre:br-datacentre,lab:br-lab,wan:br-wan",
        "ovn-bridge-datapath-type": "netdev",
        "ovn-ofctrl-wait-before-clear": "8000",
    }


def test_only_what_differs_is_set_and_what_others_set_stays(chassis: Any) -> None:
    assert chassis.changes({"a": "1", "theirs": "x"}, {"a": "1", "b": ""}) == {}
    assert chassis.changes({"a": "1"}, {"a": "2", "b": "3"}) == {"a": "2", "b": "3"}


def test_a_bridge_goes_with_its_network_however_many_there_are(chassis: Any) -> None:
    marked = {"br-a": "a", "br-b": "b", "br-c": "c"}
    assert chassis.surplus(marked, {"a": "eth1"}) == ["br-b", "br-c"]


SETTLED = {"desiredNumberScheduled": 2, "numberReady": 2, "updatedNumberScheduled": 2, "observedGeneration": 3}


@pytest.mark.parametrize(
    ("status", "settled"),
    [
        pytest.param({}, True, id="all-are-there"),
        pytest.param({"numberReady": 1}, False, id="one-is-not-ready"),
        pytest.param({"updatedNumberScheduled": 1}, False, id="one-is-replaced"),
        pytest.param({"numberMisscheduled": 1}, False, id="one-is-about-to-end"),
        pytest.param({"observedGeneration": 2}, False, id="another-selector-was-not-seen-yet"),
        pytest.param({"desiredNumberScheduled": 0, "numberReady": 0}, False, id="none"),
    ],
)
def test_nobody_is_taken_for_gone_before_all_are_there(chassis: Any, status: dict[str, int], settled: bool) -> None:
    assert chassis.is_settled({"metadata": {"generation": 3}, "status": {**SETTLED, **status}}) is settled


def test_a_node_without_a_pod_is_deselected(chassis: Any) -> None:
    assert chassis.deselected({"a": "{}", "b": "{}"}, {"a", "c"}) == ["b"]


def test_the_chassis_of_a_deselected_node_is_removed(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    controller = programs["controller"]
    daemon_set = {"metadata": {"generation": 3}, "status": SETTLED, "spec": {"selector": {"matchLabels": {"a": "b"}}}}
    pods = {"items": [{"spec": {"nodeName": name}} for name in ("one", "two")]}
    state = {"metadata": {"resourceVersion": "1"}, "data": {"one": "{}", "two": "{}", "three": "{}"}}
    asked: list[Any] = []

    def call(method: str, path: str, body: Any = None) -> Any:
        asked.append((method, path.rpartition("/")[-1], body))
        return daemon_set if "daemonsets" in path else pods if "pods" in path else state

    settings = tmp_path / "settings.json"
    settings.write_text('{"externalIds": {"ovn-remote": "tcp:10.96.0.2:6642"}}')
    (tmp_path / "namespace").write_text("openstack")
    words = {"NODE_NAME": "one", "NODE_IP": "192.0.2.1", "STATE": "chassis", "DAEMON_SET": "ovn", "SETTINGS": settings}
    for name, value in words.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(programs["kubernetes"], "ACCOUNT", tmp_path)
    monkeypatch.setattr(programs["kubernetes"], "call", call)
    monkeypatch.setattr(controller, "run", lambda *command: asked.append(command))
    controller.Node().forget()
    id_ = controller.chassis.system_id("three")
    assert ("GET", "pods?labelSelector=a%3Db", None) in asked
    assert ("ovn-sbctl", "--timeout=10", "--db=tcp:10.96.0.2:6642", "--if-exists", "chassis-del", id_) in asked
    assert asked[-1] == ("PATCH", "chassis", {"data": {"three": None}})


FAKES = ("nova-cell1-fake-compute-0", "nova-cell2-fake-compute-0")


def test_a_fake_host_is_a_chassis_of_its_own_without_tunnels_and_no_gateway(chassis: Any) -> None:
    found = chassis.fake_ids(FAKES)
    names = [chassis.system_id(host) for host in FAKES]
    assert [found[f"hostname-{name}"] for name in names] == list(FAKES)
    for word in ("ovn-bridge", "ovn-encap-ip", "ovn-transport-zones"):
        assert len({found[f"{word}-{name}"] for name in names}) == 2
    for name in names:
        # Linux allows 15 characters.
        assert len(found[f"ovn-bridge-{name}"]) == 15
        assert ipaddress.ip_address(found[f"ovn-encap-ip-{name}"]).is_loopback
        assert "gw" not in found[f"ovn-cms-options-{name}"]


def test_all_that_a_fake_host_said_of_itself_goes_with_it(chassis: Any) -> None:
    present = chassis.fake_ids(FAKES) | {"hostname": "node-1", "ovn-bridge": "br-int"}
    left = {name: value for name, value in present.items() if name not in chassis.left(present, FAKES[1])}
    assert left == chassis.fake_ids(FAKES[:1]) | {"hostname": "node-1", "ovn-bridge": "br-int"}


class Map:
    """The ConfigMap of the members, in memory."""

    def __init__(self, **data: str) -> None:
        self.data: dict[str, str] = data

    def read(self) -> dict[str, str]:
        return self.data

    def write(self, changes: dict[str, str | None]) -> None:
        self.data |= {key: value for key, value in changes.items() if value is not None}


def test_a_member_that_joins_is_not_taken_for_its_former_self(monkeypatch: pytest.MonkeyPatch) -> None:
    # A pod that is deleted by force ends a moment after its successor began: it says last that it has no majority.
    monkeypatch.syspath_prepend(str(FILES))
    member = importlib.import_module("member")
    try:
        new = object.__new__(member.Member)
        said = {"server": "old", "cluster": "c1", "state": "has no majority", "index": 9}
        new.pod, new.stateful_set, new.said, new.ending = f"{SET}-0", SET, "joins the cluster", False
        new.state, new.file, new.path = Map(cluster="c1"), member.cluster.File("new"), Path("/nowhere")

        class Joining:
            """A server that is a member at the second look; the former self speaks before that."""

            process = types.SimpleNamespace(poll=lambda: None)
            looks = 0

            def status(self) -> Any:
                self.looks += 1
                new.state.data[new.pod] = json.dumps(said) if self.looks == 1 else new.state.data[new.pod]
                return member.cluster.Status(status="cluster member" if self.looks > 1 else "joining cluster")

        new.server = Joining()
        monkeypatch.setattr(member.kubernetes, "replicas", lambda _: 3)
        monkeypatch.setattr(member, "PAUSE", 0)
        new.wait_until_joined()
        record = new.agreed.records[new.pod]
        assert (record.server, record.state, record.index) == ("new", "joins the cluster", 0)
    finally:
        for name in ("member", "cluster", "database", "kubernetes", "programs"):
            sys.modules.pop(name, None)
