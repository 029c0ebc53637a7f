"""Keystone under load: changes lose no request, and outages of what it needs heal by themselves."""

import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stackwright.local.cluster import status
from stackwright.local.cluster.lifecycle import Cluster
from tests.chaos.load import Load, load
from tests.e2e import cloud as clouds
from tests.e2e.cloud import NAMESPACE, OPERATORS, Cloud
from tests.e2e.clusters import NAME
from tests.e2e.waiting import eventually

MANIFEST = Path(__file__).parent / "cloud.yaml"
REQUESTS = 2000
# Requests that are answered after an outage, none lost, before it is over.
AFTERWARDS = 200
OUTAGE = 30.0
# For how many seconds nothing may be lost or wait before it is believed that all is well.
WELL = 10.0
PATIENCE = 300.0

Tell = Callable[[str], None]


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """A cloud with two Keystones, and a broker for what they notify."""
    with clouds.raised(cluster, MANIFEST) as made:
        made.kubectl("rollout", "status", "deployment/keystone", "--timeout=180s")
        yield made


def test_each_condition_turns_true_once(cloud: Cloud) -> None:
    assert ("TransportURL keystone-notifications", "Ready") in cloud.installation.history.states
    assert cloud.installation.history.restless() == {}


def patch(cloud: Cloud, template: object) -> None:
    body = json.dumps({"spec": {"keystone": {"template": template}}})
    cloud.kubectl("patch", "openstackcontrolplane/openstack", "--type=merge", f"--patch={body}")


def rolled(cloud: Cloud, before: str) -> None:
    """Wait until a change has reached all pods."""
    eventually(lambda: generation(cloud) != before, "the change reaches the Deployment")
    cloud.kubectl("rollout", "status", "deployment/keystone", "--timeout=230s")


def generation(cloud: Cloud) -> str:
    return cloud.kubectl.get("deployment/keystone", "{.metadata.generation}")


def reconfigured(cloud: Cloud) -> None:
    before = generation(cloud)
    patch(cloud, {"customServiceConfig": "[DEFAULT]\nmax_param_size = 65\n"})
    rolled(cloud, before)


def account_rotated(cloud: Cloud) -> None:
    before = generation(cloud)
    patch(cloud, {"databaseAccount": "keystone-2"})
    rolled(cloud, before)
    cloud.kubectl("wait", "--for=delete", "mariadbaccount/keystone", "--timeout=180s")


def password_changed(cloud: Cloud) -> None:
    """Change the password of the account; the server accepts the former one until no pod has it any more."""
    before = generation(cloud)
    body = json.dumps({"stringData": {"DatabasePassword": secrets.token_hex(16)}})
    cloud.kubectl("patch", "secret/keystone-db-secret", f"--patch={body}")
    rolled(cloud, before)
    users = "{.status.formerPasswordUsers}"
    eventually(lambda: not cloud.kubectl.get("mariadbaccount/keystone", users), "the new password alone is valid")


def keys_rotated(cloud: Cloud) -> None:
    cloud.stackwright("action", "run", "keystone", "rotate-keys", "--id", "under-load", "--timeout", "240s")


@pytest.mark.parametrize(
    "change",
    [reconfigured, password_changed, account_rotated, keys_rotated],
    ids=lambda change: change.__name__,
)
def test_a_change_loses_no_request(cloud: Cloud, tell: Tell, change: Callable[[Cloud], None]) -> None:
    with load(cloud.endpoint("public"), cloud.token()) as seen:
        eventually(lambda: seen.answered > 100, "the load has begun")
        began = time.monotonic()
        change(cloud)
        took = time.monotonic() - began
        eventually(lambda: seen.answered >= REQUESTS, "enough requests", 600.0)
    tell(f"{change.__name__}, in {took:.0f} s: {seen.summary()}")
    assert seen.lost == []


def pods_away(namespace: str, workload: str) -> Callable[[Cloud], None]:
    """Return what keeps the pods of a workload from running for a while, as a node that is lost would."""

    def stop(cloud: Cloud) -> None:
        kubectl = cloud.kubectl
        node = kubectl.get("nodes", "{.items[0].metadata.name}")
        kubectl("cordon", node)
        try:
            found = json.loads(kubectl("get", "--namespace", namespace, workload, "--output=json"))
            labels = ",".join(f"{key}={value}" for key, value in found["spec"]["selector"]["matchLabels"].items())
            kubectl("delete", "pods", "--namespace", namespace, f"--selector={labels}", "--grace-period=0", "--force")
            time.sleep(OUTAGE)
        finally:
            kubectl("uncordon", node)

    return stop


def api_server_away(cloud: Cloud) -> None:
    """Stop the API server: first it answers nobody, and then it is gone and has to be started again."""
    del cloud  # The outage is the whole cluster's.
    server = next(program.pid for program in status.read(NAME).programs if program.name == "kube-apiserver")
    os.kill(server, signal.SIGSTOP)
    time.sleep(OUTAGE)
    os.kill(server, signal.SIGKILL)
    eventually(lambda: status.read(NAME).ready, "the API server is back")


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(pods_away(NAMESPACE, "statefulset/openstack-galera"), id="mariadb"),
        pytest.param(pods_away(NAMESPACE, "statefulset/rabbitmq-server"), id="rabbitmq"),
        pytest.param(pods_away(NAMESPACE, "statefulset/memcached"), id="memcached"),
        pytest.param(pods_away(OPERATORS, "deployment/stackwright-operator"), id="operator"),
        pytest.param(api_server_away, id="api-server"),
    ],
)
def test_an_outage_heals_by_itself(
    cloud: Cloud, tell: Tell, request: pytest.FixtureRequest, stop: Callable[[Cloud], None]
) -> None:
    what = request.node.callspec.id
    with load(cloud.endpoint("public"), cloud.token()) as seen:
        eventually(lambda: seen.answered > 100, "the load has begun")
        stopped = time.monotonic()
        stop(cloud)
        eventually(lambda: seen.is_well(WELL), "all requests are answered again", PATIENCE)
        lost = len(seen.lost)
        answered = seen.answered
        eventually(lambda: seen.answered >= answered + AFTERWARDS, "enough requests after it", PATIENCE)
        assert len(seen.lost) == lost
    tell(f"{what} stopped for {OUTAGE:g} s: {seen.summary()}; {_duration(seen, stopped)}")
    for namespace, everything in ((OPERATORS, "deployments"), (NAMESPACE, "openstackcontrolplanes")):
        condition = "Available" if everything == "deployments" else "Ready"
        wait = ("wait", everything, "--all", f"--for=condition={condition}", "--timeout=180s")
        cloud.kubectl(*wait, "--namespace", namespace)


def test_who_writes_does_not_wait_for_a_broker_that_is_away(cloud: Cloud, tell: Tell) -> None:
    token = cloud.token()
    before = cloud.make_project(token, "before")
    stop = pods_away(NAMESPACE, "statefulset/rabbitmq-server")
    with ThreadPoolExecutor() as pool:
        outage = pool.submit(stop, cloud)
        time.sleep(OUTAGE / 3)
        # What changes something is notified, and that needs the broker.
        took = cloud.make_project(token, "meanwhile")
        assert not outage.done()
        outage.result()
    tell(f"a project made while RabbitMQ was away: {took:.1f} s, before it: {before:.1f} s")


def test_keystone_is_taken_out_and_comes_back_with_its_data(cloud: Cloud) -> None:
    token = cloud.token()
    cloud.make_project(token, "kitchen")
    # Its account may have been rotated.
    account = cloud.kubectl.get("keystoneapi/keystone", "{.spec.databaseAccount}")
    cloud.ask(keystone={"enabled": False})
    cloud.kubectl("wait", "--for=delete", "keystoneapi/keystone", "--timeout=60s")
    cloud.kubectl("wait", "--for=delete", "deployment/keystone", "--timeout=120s")
    # What it stood on holds data, and stays until somebody says that it is not wanted.
    cloud.kubectl.wait("galera/openstack", "condition=Ready")
    for kept in ("mariadbdatabase/keystone", f"mariadbaccount/{account}", "secret/keystone-fernet-keys"):
        cloud.kubectl("get", kept)
    cloud.ask(keystone={"enabled": True})
    cloud.kubectl("wait", "--for=create", "keystoneapi/keystone", "--timeout=60s")
    cloud.kubectl.wait("keystoneapi/keystone", "condition=Ready")
    cloud.reached()
    assert cloud.is_valid(token)
    cloud.with_client()
    assert "kitchen" in [entry["Name"] for entry in cloud.openstack("project", "list")]


def _duration(seen: Load, stopped: float) -> str:
    if not seen.lost:
        return "nobody noticed"
    return (
        f"requests failed from {seen.first_loss - stopped:.0f} s after the stop on, for "
        f"{seen.last_loss - seen.first_loss:.0f} s"
    )
