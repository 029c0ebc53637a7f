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
from tests.documentation import blocks
from tests.e2e.cloud import OPERATORS
from tests.e2e.clusters import NAME, Kubectl
from tests.long import hands
from tests.long.hands import Hands

PAGES = blocks.run_in(__file__)
OPERATORS_README = "charts/stackwright/README.md"
# One node of RabbitMQ is enough here, in the namespace of the others; three of them are in the ring of chaos.
CREATED = "kubectl create namespace $NAMESPACE\n"
OTHERWISE = {CREATED: "", "server.replicas=3": "server.replicas=1"}
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


class Readmes:
    """The READMEs of charts, read by several at once; each goes on where he was."""

    def __init__(self, by_hand: Hands) -> None:
        self.by_hand = by_hand
        self.left = {page.split("/")[1]: list(found) for page, found in PAGES.items() if page != OPERATORS_README}

    def read(self, **how_many: int) -> dict[str, str]:
        """Run the next blocks of some READMEs, side by side; return what each printed."""
        with ThreadPoolExecutor() as pool:
            started = {chart: pool.submit(self._next, chart, count) for chart, count in how_many.items()}
        return {chart: each.result() for chart, each in started.items()}

    def _next(self, chart: str, count: int) -> str:
        steps, self.left[chart] = self.left[chart][:count], self.left[chart][count:]
        return self.by_hand.follow(steps, OTHERWISE if "create namespace" in steps[0].commands[0].text else {})


def test_every_chart_is_used_as_its_readme_shows(by_hand: Hands) -> None:
    readmes = Readmes(by_hand)
    readmes.read(mariadb=1, memcached=1, rabbitmq=1, dnsmasq=1)
    assert "project_id" in readmes.read(keystone=2)["keystone"]
    path = r"{.items[*].metadata.labels.app\.kubernetes\.io/component}"
    assert {"db-create", "db-sync", "bootstrap"} <= set(by_hand.kubectl.get("jobs", path).split())
    for release in ("openstack", "memcached", "rabbitmq", "keystone"):
        assert by_hand.history(release) == [(1, "deployed")]
    # Change and remove what nobody needs, while others install what needs the rest; nobody notices.
    said = readmes.read(placement=3, glance=5, barbican=4, keystone=2)
    assert "MEMORY_MB" in said["placement"]
    assert "active" in said["glance"]
    assert "Secret href" in said["barbican"]
    # All of Nova, on what is left.
    listed = readmes.read(nova=2)["nova"]
    assert {"nova-scheduler-0", "nova-cell0-conductor-0", "nova-cell1-conductor-0", "nova-cell1-fake-compute-0"} <= set(
        listed.split()
    )
    readmes.read(nova=1, placement=1)
    readmes.read(keystone=1, memcached=2, rabbitmq=1, dnsmasq=1)
    assert [chart for chart, rest in readmes.left.items() if rest] == []


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
    context = kubectl("config", "current-context").strip()
    by_hand.follow(PAGES[OPERATORS_README], {CREATED: "", "CONTEXT": context})
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
