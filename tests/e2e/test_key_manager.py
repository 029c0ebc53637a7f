"""Barbican in the cloud, with its worker and the broker between them, asked by the real client."""

import base64
import json
from typing import Any

import pytest

from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.clusters import PATIENCE
from tests.e2e.waiting import eventually

STORED = "SELECT cypher_text FROM barbican.encrypted_data"
PAYLOAD = "the tea is in the second cupboard"


def payload(cloud: Cloud, secret: str) -> str:
    return str(cloud.openstack("secret", "get", "--payload", secret)["Payload"])


@pytest.fixture(scope="module")
def secret(cloud: Cloud) -> str:
    """A secret that somebody stored."""
    return str(cloud.openstack("secret", "store", "--name", "tea", "--payload", PAYLOAD)["Secret href"])


def test_a_secret_comes_back_and_is_not_in_the_database_as_it_is(cloud: Cloud, secret: str) -> None:
    assert payload(cloud, secret) == PAYLOAD
    root = clouds.secret(cloud.kubectl, "openstack-mariadb-root", "DatabasePassword")
    client = f"MYSQL_PWD='{root}' mariadb -h 127.0.0.1 -uroot -N"
    rows = cloud.kubectl.inside("openstack-galera-0", "sh", "-c", f"{client} -e '{STORED}'")
    assert rows.strip()
    assert PAYLOAD not in rows
    assert base64.b64encode(PAYLOAD.encode()).decode() not in rows


def test_the_catalog_has_what_the_resource_says(cloud: Cloud) -> None:
    listed = cloud.openstack("endpoint", "list", "--service", "key-manager")
    said = json.loads(cloud.kubectl("get", "barbican", "barbican", "--output=json"))["status"]["apiEndpoints"]
    assert {entry["Interface"]: entry["URL"] for entry in listed} == said


def test_a_worker_generates_the_key_that_was_ordered(cloud: Cloud) -> None:
    order = cloud.openstack(
        *("secret", "order", "create", "key", "--name", "kettle", "--algorithm", "aes", "--bit-length", "256"),
        *("--mode", "cbc", "--payload-content-type", "application/octet-stream"),
    )["Order href"]

    def state() -> dict[str, Any]:
        return dict(cloud.openstack("secret", "order", "get", order))

    eventually(lambda: state()["Status"] == "ACTIVE", "the order is carried out")
    assert state()["Secret href"].startswith("http")
    log = cloud.kubectl("logs", "deployment/barbican-worker", "--container=worker", "--tail=-1")
    assert order.rpartition("/")[2] in log


def test_secrets_are_read_again_after_all_pods_were_restarted(cloud: Cloud, secret: str) -> None:
    cloud.act("barbican", "restart", "e2e-restart")
    cloud.ready("Barbican", "barbican", "key-manager")
    for name in ("barbican", "barbican-worker"):
        cloud.kubectl("rollout", "status", f"deployment/{name}", f"--timeout={PATIENCE}")
    assert payload(cloud, secret) == PAYLOAD


def test_rows_are_cleaned_when_somebody_asks(cloud: Cloud) -> None:
    cloud.act("barbican", "clean-database", "e2e-clean")
    actions = json.loads(cloud.kubectl("get", "barbican", "barbican", "--output=json"))["status"]["actions"]
    assert {(action["name"], action["state"]) for action in actions} >= {("clean-database", "Succeeded")}
