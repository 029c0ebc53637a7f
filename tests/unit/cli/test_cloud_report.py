"""The tree as people and programs read it."""

import json
from datetime import UTC, datetime

import pytest

from stackwright.api.controlplane import OperatorState
from stackwright.api.service import ActionStatus
from stackwright.cli.printing import cloud_report
from stackwright.foresight.tree import Branch, Needed, Pods, State
from stackwright.kube.resource import Overridden

NOW = datetime(2026, 11, 15, 10, 5, 30, tzinfo=UTC)
SINCE = "2026-11-15T10:01:00Z"

SERVER = Branch("Deployment", "keystone", "apps/v1", State.WAITING, "", "has 1 of 2 pods ready", SINCE, Pods(1, 2))
KEYSTONE = Branch(
    "KeystoneAPI",
    "keystone",
    "keystone.openstack.org/v1beta1",
    State.WAITING,
    "Progressing",
    "Deployment keystone has 1 of 2 pods ready",
    SINCE,
    paused=True,
    release_owner="helm",
    overridden=(Overridden(resource="Deployment keystone", field=".spec.replicas", manager="kubectl"),),
    actions=(
        ActionStatus(name="restart", id="1", state="Succeeded", result="All pods were restarted"),
        ActionStatus(name="rotate-keys", id="2", state="Running"),
    ),
    children=(SERVER,),
)
GALERA = Branch(
    "Galera", "openstack", "mariadb.openstack.org/v1beta1", State.READY, "Ready", "Setup complete", SINCE,
    needed_by=("KeystoneAPI keystone",),
)  # fmt: skip
PLANE = Branch(
    "OpenStackControlPlane", "openstack", "core.openstack.org/v1beta1", State.ERROR, "", "somebody must act", "",
    children=(GALERA, KEYSTONE),
)  # fmt: skip


KEYSTONE_ALONE = Branch("KeystoneAPI", "keystone", "keystone.openstack.org/v1beta1", State.READY)


def test_a_daemon_set_without_a_node_says_so_although_it_is_ready() -> None:
    daemon = Branch("DaemonSet", "agent", "apps/v1", State.READY, "NoNodes", "runs on no node", SINCE, Pods(0, 0))
    assert cloud_report.lines((daemon,), NOW)[1].endswith("Ready  0 of 0  4 min 30 s  runs on no node")


def test_the_table_shows_state_pods_since_when_and_why() -> None:
    assert cloud_report.lines((PLANE,), NOW) == [
        "RESOURCE                         STATE    PODS    SINCE       WHY",
        "OpenStackControlPlane openstack  Error                        somebody must act",
        "├─ Galera openstack              Ready            4 min 30 s  here because KeystoneAPI keystone needs it",
        "└─ KeystoneAPI keystone          Waiting          4 min 30 s  paused; given to helm; Deployment keystone has "
        "1 of 2 pods ready",
        "   │                                                          overridden: Deployment keystone .spec.replicas, "
        "by kubectl; not asked for",
        "   │                                                          action rotate-keys 2: Running",
        "   └─ Deployment keystone        Waiting  1 of 2  4 min 30 s  has 1 of 2 pods ready",
    ]


DATABASE, CACHE = Needed("Galera", "openstack", State.WAITING, service=True), Needed("Memcached", "x", service=True)
SCHEMA = Needed("MariaDBDatabase", "keystone", State.READY)


def test_what_a_service_needs_stands_beside_it_while_all_is_well() -> None:
    needs = (Needed("Galera", "openstack", State.READY, service=True), SCHEMA)
    well = Branch("KeystoneAPI", "keystone", "keystone.openstack.org/v1beta1", State.READY, needs=needs)
    (_, line) = cloud_report.lines((well,), NOW)
    assert line.endswith("needs Galera openstack")


def test_the_operators_of_services_are_named_with_what_is_wrong() -> None:
    said = OperatorState(service="glance", message="Deployment stackwright-operator-glance has 0 of 1 pods ready")
    operators = (said, OperatorState(service="keystone", ready=True))
    plane = Branch("OpenStackControlPlane", "openstack", "v1", State.READY, operators=operators)
    (_, _, below) = cloud_report.lines((plane,), NOW)
    assert below.endswith("operators: glance (Deployment stackwright-operator-glance has 0 of 1 pods ready), keystone")


def test_why_a_resource_is_there_is_a_sentence() -> None:
    for needed_by, said in ((("A a",), "here because A a needs it"), (("A a", "B b"), "here because A a, B b need it")):
        (_, line) = cloud_report.lines((Branch("Galera", "x", "v1", State.READY, needed_by=needed_by),), NOW)
        assert line.endswith(said)


def test_what_holds_a_service_up_is_told_below_why() -> None:
    waits = Branch("KeystoneAPI", "keystone", "v1", State.WAITING, "", "it waits", needs=(DATABASE, CACHE, SCHEMA))
    (_, line, below) = cloud_report.lines((waits,), NOW)
    assert line.endswith("it waits")
    assert below.endswith("needs Galera openstack (Waiting), Memcached x (is not there)")


def test_who_watches_is_not_told_of_needs_again_and_again() -> None:
    assert cloud_report.describe((Branch("KeystoneAPI", "keystone", "v1", State.READY, needs=(DATABASE,)),)) == {
        ("KeystoneAPI", "keystone"): "Ready"
    }


def test_json_has_what_is_needed_as_data() -> None:
    node = Branch("KeystoneAPI", "keystone", "v1", State.WAITING, needs=(DATABASE, CACHE))
    (resource,) = json.loads(cloud_report.report("openstack", (node,)))["resources"]
    assert resource["needs"] == [
        {"kind": "Galera", "name": "openstack", "state": "Waiting", "service": True},
        {"kind": "Memcached", "name": "x", "service": True},
    ]


def test_json_has_the_documented_shape() -> None:
    report = json.loads(cloud_report.report("openstack", (PLANE,)))
    assert (report["namespace"], report["state"]) == ("openstack", "Error")
    keystone = report["resources"][0]["children"][1]
    assert keystone["releaseOwner"] == "helm"
    assert keystone["paused"] is True
    assert keystone["overridden"] == [
        {"resource": "Deployment keystone", "field": ".spec.replicas", "manager": "kubectl"}
    ]
    assert keystone["children"][0] == {
        "kind": "Deployment",
        "name": "keystone",
        "apiVersion": "apps/v1",
        "state": "Waiting",
        "message": "has 1 of 2 pods ready",
        "since": SINCE,
        "pods": {"ready": 1, "wanted": 2},
    }


def test_only_what_changed_is_told() -> None:
    done = Branch("Deployment", "keystone", "apps/v1", State.READY, "", "", "2026-11-15T10:05:00Z", Pods(2, 2))
    before, after = cloud_report.describe((SERVER, GALERA)), cloud_report.describe((done, KEYSTONE_ALONE))
    assert cloud_report.compare(before, after) == [
        "Deployment keystone: Ready (2 of 2)",
        "KeystoneAPI keystone: Ready",
        "Galera openstack: gone",
    ]


def test_time_that_passes_is_no_change() -> None:
    later = Branch("Deployment", "keystone", "apps/v1", State.WAITING, "", "has 1 of 2 pods ready", "", Pods(1, 2))
    assert cloud_report.compare(cloud_report.describe((SERVER,)), cloud_report.describe((later,))) == []


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_terminal_cuts_no_sentence(width: int) -> None:
    text = cloud_report.colour((PLANE,), NOW, width, "the server does not answer").plain
    words = " ".join(text.replace("│", " ").split())
    for sentence in ("given to helm; Deployment keystone has 1 of 2 pods ready", ".spec.replicas, by kubectl"):
        assert sentence in words
    assert words.endswith("the server does not answer")
    # What does not fit beside its resource is below it, within the terminal.
    below = [line for line in text.splitlines() if "Deployment keystone has" in line]
    assert all(len(line) <= width or "RESOURCE" in line for line in below)


def test_a_terminal_has_states_in_colour() -> None:
    text = cloud_report.colour((PLANE,), NOW, 120)
    assert {"bold red", "green", "yellow"} <= {str(span.style) for span in text.spans}
