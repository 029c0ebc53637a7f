"""Fixtures that all rings on real clusters share; each conftest.py imports the ones that its ring uses."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.errors import LocalError
from stackwright.local.images import building, loading
from stackwright.local.progress import Shown
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.clusters import NAME, Kubectl, bring_up, take_down


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The cluster of this run; what a killed run left of it is removed first."""
    if os.geteuid() != 0:
        pytest.skip("a cluster needs root")
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        try:
            take_down(NAME)
            brought = bring_up(NAME)
        except LocalError as error:
            pytest.skip(str(error))
    yield brought
    take_down(NAME)


@pytest.fixture(scope="session")
def kubectl_program() -> Path:
    return binaries.ensure(programs.CLUSTER)["kubectl"]


@pytest.fixture
def kubectl(cluster: Cluster, kubectl_program: Path) -> Iterator[Kubectl]:
    """kubectl in a fresh namespace, which is deleted afterwards."""
    name = f"test-{secrets.token_hex(3)}"
    kubectl = Kubectl(kubectl_program, cluster.layout.kubeconfig, name)
    kubectl("create", "namespace", name)
    yield kubectl
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def mariadb_image(cluster: Cluster) -> str:
    """The image of MariaDB, in the cluster."""
    with Shown() as progress:
        images = building.build(["mariadb"], building.catalogue(), ask=lambda _: True, progress=progress)
        loading.load(images, loading.node_of(NAME), progress=progress)
    return images[0].reference


@pytest.fixture(scope="session")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The one cloud of this run, with all services in it and a pod of the real client; a test leaves it as it was."""
    with clouds.raised(cluster, clouds.EVERYTHING) as made:
        made.with_client()
        yield made
