"""What a Galera says of its servers, as they tell it through their ConfigMap."""

import json
from base64 import b64encode
from hashlib import pbkdf2_hmac
from typing import Any

import msgspec
import pytest

from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import Resource
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.service import tell

PODS = tuple(f"db-galera-{number}" for number in range(3))
SYNCED = {"state": "Synced", "members": PODS}


def told(
    *records: dict[str, Any] | None, replicas: int = 3, password: str = "", **more: str
) -> list[tuple[str, str, str]]:
    said = {pod: json.dumps(record) for pod, record in zip(PODS, records, strict=False) if record is not None}
    agreed = ConfigMap(data={"active": PODS[0], "formed": PODS[0], **said, **more})
    body = {
        "metadata": {"name": "db", "namespace": "cloud"},
        "spec": {"storageClass": "local", "storageRequest": "1G", "replicas": replicas},
    }

    secret = Secret(data={"DatabasePassword": b64encode(password.encode()).decode()})

    def look(kind: type[Resource], name: str, **_: str) -> Any:
        if (kind, name) == (Secret, "db-mariadb-root"):
            return secret if password else None
        return agreed if (kind, name) == (ConfigMap, "db-galera-state") else None

    found = tell(msgspec.convert(body, Galera), None, look).findings
    assert all((finding.condition, finding.status) == ("DeploymentReady", "False") for finding in found)
    return [(finding.reason, finding.message, finding.severity) for finding in found]


def test_servers_that_serve_say_nothing() -> None:
    assert told(SYNCED, SYNCED, SYNCED) == []
    assert told({"state": "Synced", "members": PODS[:1]}, replicas=1) == []


def test_servers_of_which_nobody_knows_yet_say_nothing() -> None:
    assert told(None, None, None) == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("Recovering", "is not running and looks for the last transaction in its data"),
        ("Stopped", "is not running and waits for the cluster"),
        ("Bootstrapping", "forms the cluster"),
        ("Joining", "joins the cluster"),
        ("Disconnected", "has lost the other nodes"),
        ("Leaving", "leaves the cluster"),
    ],
)
def test_a_server_that_was_killed_is_named_until_it_is_back(state: str, words: str) -> None:
    assert told(SYNCED, {"state": state}, SYNCED) == [("ServerNotReady", f"db-galera-1 {words}", "Warning")]
    assert told({"state": state}, replicas=1) == [("ServerNotReady", f"db-galera-0 {words}", "Warning")]


def test_a_cluster_that_was_never_there_is_only_waited_for() -> None:
    waiting = ("ServerNotReady", "db-galera-0 forms the cluster", "Info")
    assert told({"state": "Bootstrapping"}, replicas=1, formed="") == [waiting]


def test_a_server_that_the_others_have_lost_is_named_whatever_it_said_last() -> None:
    without = {"state": "Synced", "members": [PODS[0], PODS[2]]}
    assert told(without, SYNCED, without) == [
        ("ServerNotReady", "db-galera-1 is not seen by the other nodes", "Warning")
    ]


def test_a_server_that_should_not_be_there_any_more_says_nothing() -> None:
    assert told({"state": "Synced", "members": PODS[:1]}, {"state": "Stopped"}, replicas=1) == []


def test_a_server_without_its_own_tables_is_named_with_what_to_do() -> None:
    broken = {**SYNCED, "broken": "Table 'mysql.db' doesn't exist"}
    ((reason, message, severity),) = told(SYNCED, broken, SYNCED)
    assert (reason, severity) == ("SystemTablesBroken", "Error")
    assert message.startswith("db-galera-1 cannot read the server's own tables: Table 'mysql.db' doesn't exist; delete")
    ((_, message, _),) = told({**broken, "members": PODS[:1]}, replicas=1)
    assert "restore them from a backup" in message
    ((_, message, _),) = told(broken, broken, broken)
    assert message.startswith("db-galera-0 and db-galera-1 and db-galera-2 cannot read the server's own tables: Table")


def test_a_recovery_that_is_blocked_is_told_beside_it() -> None:
    reasons = [reason for reason, *_ in told({"state": "Stopped"}, SYNCED, SYNCED, blocked="Nobody knows")]
    assert reasons == ["RecoveryBlocked", "ServerNotReady"]


@pytest.mark.parametrize(
    ("state", "formed", "told_too"),
    [
        pytest.param("Stopped", PODS[0], True, id="nobody-does-anything"),
        pytest.param("Recovering", PODS[0], False, id="one-still-looks"),
        pytest.param("Synced", PODS[0], False, id="there-is-a-cluster"),
        pytest.param("Stopped", "", False, id="there-never-was-a-cluster"),
    ],
)
def test_what_nodes_wait_for_that_have_all_stopped_is_told(state: str, formed: str, told_too: bool) -> None:
    stopped = {"state": "Stopped"}
    ((reason, message, _),) = told(stopped, stopped, {"state": state}, formed=formed, waiting="Waits for db-galera-0")
    assert reason == "ServerNotReady"
    assert message.endswith("; Waits for db-galera-0") is told_too


ROOT = {**SYNCED, "life": "a1b2c3d4", "root": pbkdf2_hmac("sha256", b"before", b"a1b2c3d4", 100_000).hex()}


def test_a_server_that_has_not_taken_a_new_root_password_says_so() -> None:
    ((reason, message, severity),) = told(ROOT, SYNCED, SYNCED, password="after")
    assert (reason, severity) == ("RootPasswordPending", "Warning")
    assert "has not taken root's new password from Secret db-mariadb-root yet" in message
    assert told(ROOT, SYNCED, SYNCED, password="before") == []


@pytest.mark.parametrize(
    ("record", "password", "more"),
    [
        pytest.param(SYNCED, "after", {}, id="the-node-has-not-said-which"),
        pytest.param(ROOT, "", {}, id="there-is-no-secret"),
        pytest.param(ROOT, "after\n", {}, id="a-secret-that-nobody-can-log-in-with"),
        pytest.param(ROOT, "after", {"active": PODS[1]}, id="a-node-that-clients-do-not-use"),
        pytest.param(ROOT, "after", {"active": ""}, id="no-node-is-used"),
        pytest.param({**ROOT, "root": 1}, "after", {}, id="what-is-no-record"),
    ],
)
def test_nobody_doubts_a_password_of_which_nothing_is_known(
    record: dict[str, Any], password: str, more: dict[str, Any]
) -> None:
    assert told(record, SYNCED, SYNCED, password=password, **more) == []
