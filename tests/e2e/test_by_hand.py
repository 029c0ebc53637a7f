"""The charts by hand, with no operator in the cluster; and releases that change hands without a pod noticing."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackwright.api.annotations import RELEASE_OWNER
from stackwright.local import journey
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.progress import Shown
from tests.e2e import hands
from tests.e2e.cloud import stackwright
from tests.e2e.conftest import NAME, Kubectl
from tests.e2e.hands import Hands

OPERATORS = "stackwright-system"
# What is installed by hand, as the operators would know it.
RESOURCES = """
apiVersion: mariadb.openstack.org/v1beta1
kind: Galera
metadata: {name: openstack}
spec: {storageClass: local, storageRequest: 1G}
---
apiVersion: memcached.openstack.org/v1beta1
kind: Memcached
metadata: {name: memcached}
spec: {}
---
apiVersion: keystone.openstack.org/v1beta1
kind: KeystoneAPI
metadata: {name: keystone}
spec: {secret: osp-secret, databaseInstance: openstack}
"""


@dataclass(frozen=True)
class Release:
    """A release that changes hands: its resource, its chart, and what runs its pods."""

    resource: str
    chart: str
    workload: str

    @property
    def name(self) -> str:
        return self.resource.partition("/")[2]


RELEASES = (
    Release("galera/openstack", "mariadb", "statefulset/openstack-galera"),
    Release("memcached/memcached", "memcached", "statefulset/memcached"),
    Release("keystoneapi/keystone", "keystone", "deployment/keystone"),
)


@pytest.fixture(scope="module")
def images(cluster: Cluster) -> None:
    """All images are in the cluster."""
    with Shown() as progress:
        journey.travel(NAME, ask=lambda _: "CI" in os.environ, progress=progress)


@pytest.fixture
def by_hand(kubectl: Kubectl, images: None, tmp_path: Path) -> Iterator[Hands]:
    """Hands in a namespace of their own, in a cluster without operators."""
    equipped = hands.equip(kubectl, tmp_path)
    gone = f"helm uninstall stackwright --namespace {OPERATORS} --ignore-not-found --wait"
    equipped.run(gone)
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    yield equipped
    equipped.run(gone)


def test_every_chart_installs_as_its_readme_shows(by_hand: Hands) -> None:
    # One node of RabbitMQ is enough here; three of them are in the ring of chaos.
    broker = {"kubectl create namespace $NAMESPACE\n": "", "server.replicas=3": "server.replicas=1"}
    with ThreadPoolExecutor() as pool:
        started = [
            pool.submit(by_hand.follow, "mariadb", 0),
            pool.submit(by_hand.follow, "memcached", 0),
            pool.submit(by_hand.follow, "rabbitmq", 0, broker),
        ]
        for each in started:
            each.result()
    by_hand.follow("keystone", 0)
    assert "project_id" in by_hand.follow("keystone", 1)
    path = r"{.items[*].metadata.labels.app\.kubernetes\.io/component}"
    assert {"db-create", "db-sync", "bootstrap"} <= set(by_hand.kubectl.get("jobs", path).split())
    for release in ("openstack", "memcached", "rabbitmq", "keystone"):
        assert by_hand.history(release) == [(1, "deployed")]


def test_a_release_changes_hands_and_no_pod_notices(by_hand: Hands, tmp_path: Path) -> None:
    kubectl = by_hand.kubectl
    resources = tmp_path / "resources.yaml"
    resources.write_text(RESOURCES)
    for release in RELEASES:
        by_hand.install(release.chart, release.name, resources)
    kubectl("rollout", "status", "deployment/keystone", "--timeout=180s")
    kubectl("wait", "jobs", "--all", "--for=condition=Complete", "--timeout=180s")
    before = by_hand.pods()
    assert len(before) == len(RELEASES)

    # What hands have made is left alone until somebody says whose it is.
    stackwright("up", "--yes", "--cloud", "none")
    kubectl("apply", "--filename=-", given=RESOURCES)
    kubectl.wait("galera/openstack", _because("ReleaseContested"))
    assert [by_hand.history(release.name) for release in RELEASES] == [[(1, "deployed")]] * len(RELEASES)

    hand_over(by_hand, "operator", "condition=Ready")
    assert all(owner_of(by_hand, release) for release in RELEASES)
    assert by_hand.pods() == before
    revisions = {release: by_hand.history(release.name)[-1][0] for release in RELEASES}

    hand_over(by_hand, "helm", _because("GivenToHelm"))
    assert not any(owner_of(by_hand, release) for release in RELEASES)
    for release in RELEASES:
        by_hand.run(f"helm upgrade {release.name} charts/{release.chart} --namespace $NAMESPACE --reuse-values")
        assert by_hand.history(release.name)[-1] == (revisions[release] + 1, "deployed")
    assert by_hand.pods() == before


def hand_over(by_hand: Hands, owner: str, condition: str) -> None:
    """Say whose the releases are by one annotation each, and wait until they are."""
    for release in RELEASES:
        by_hand.kubectl("annotate", release.resource, f"{RELEASE_OWNER}={owner}", "--overwrite")
    for release in RELEASES:
        by_hand.kubectl.wait(release.resource, condition)


def owner_of(by_hand: Hands, release: Release) -> str:
    return by_hand.kubectl.get(release.workload, "{.metadata.ownerReferences[*].kind}")


def _because(reason: str) -> str:
    return f"jsonpath={{.status.conditions[?(@.type=='Ready')].reason}}={reason}"
