"""`stackwright check` on a real API server: what it finds before anything is deployed, and that it changes nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.kube.builtin import ConfigMap, PersistentVolumeClaim, Pod, Secret, Service
from stackwright.kube.client import Client
from stackwright.kube.resource import Resource
from stackwright.local.apiserver.server import ApiServer, Shared
from tests.functional.commands import Done, command
from tests.functional.watching import eventually
from tests.functional.workloads import make_class

PLANE = services.control_plane()


pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture
def kubeconfig(apiserver: Shared) -> Path:
    return apiserver.kubeconfig


Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a cloud into a file, and return its path."""

    def written(*further: Any, **spec: Any) -> str:
        said = {"secret": "osp-secret", "storageClass": "nowhere", "keystone": {}, **spec}
        plane = {"apiVersion": PLANE.kind.api_version, "kind": PLANE.kind.name, "metadata": {"name": "openstack"}}
        path = tmp_path / "cloud.yaml"
        path.write_text(yaml.safe_dump_all([{**plane, "spec": said}, *further]))
        return str(path)

    return written


def messages(done: Done, level: str) -> list[str]:
    return [one["message"] for one in json.loads(done.stdout)["findings"] if one["level"] == level]


async def test_all_that_would_go_wrong_is_said_at_once(
    client: Client, namespace: str, kubeconfig: Path, write: Write
) -> None:
    await client.create(
        Service, {"metadata": {"name": "memcached", "namespace": namespace}, "spec": {"ports": [{"port": 1}]}}
    )
    done = await command(kubeconfig, namespace, "check", "-f", write(), "-o", "json")
    assert done.exit_code == 1
    problems = "\n".join(messages(done, "Problem"))
    assert "StorageClass nowhere, which Galera openstack needs, does not exist" in problems
    assert "Secret osp-secret does not exist; it needs the keys AdminPassword" in problems
    assert "Service memcached, which Memcached memcached would create, exists already" in problems
    well = "\n".join(messages(done, "OK"))
    assert "kinds are installed, in this version" in well
    assert "OpenStackControlPlane openstack: the server would accept it." in well


async def test_nothing_is_changed(client: Client, namespace: str, kubeconfig: Path, write: Write) -> None:
    # Kubernetes makes it in each namespace, some time.
    await eventually(client, ConfigMap, "kube-root-ca.crt", namespace, lambda _: True)
    before = await _everything(client, namespace)
    await command(kubeconfig, namespace, "check", "-f", write(passwordPolicy="Generate"))
    assert await _everything(client, namespace) == before


async def _everything(client: Client, namespace: str) -> set[tuple[str, str, str]]:
    kinds: tuple[type[Resource], ...] = (Pod, Service, Secret, ConfigMap, PersistentVolumeClaim, *services.kinds())
    return {
        (kind.kind.name, item.metadata.name, item.metadata.resourceVersion)
        for kind in kinds
        for item in await client.list(kind, namespace)
    }


async def test_what_is_well_is_said_too(client: Client, namespace: str, kubeconfig: Path, write: Write) -> None:
    disks = await make_class(client)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "osp-secret"},
        "stringData": {"AdminPassword": "never-printed"},
    }
    done = await command(kubeconfig, namespace, "check", "-f", write(secret, storageClass=disks))
    assert f"StorageClass {disks} exists, for Galera openstack." in done.stdout
    assert "Secret osp-secret has all keys that the services need." in done.stdout
    assert "objects are free, or belong to them already." in done.stdout
    assert "never-printed" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param({"keystne": {}}, "there is no field spec.keystne", id="a-field-that-does-not-exist"),
        pytest.param({"keystone": {"template": {"replicas": "x"}}}, "Expected `int", id="a-wrong-type"),
        pytest.param(
            {"keystone": {"template": {"customServiceConfig": "[token]\nexpiration"}}},
            "line 2",
            id="a-snippet-that-cannot-be-read",
        ),
        pytest.param(
            {"dependencyPolicy": "Refuse"}, "needs Galera openstack, which was not asked for", id="an-unmet-need"
        ),
        pytest.param(
            {"galera": {"templates": {"openstack": {"replicas": 2}}}}, "use one or three", id="what-a-service-refuses"
        ),
    ],
)
async def test_a_file_with_a_mistake(
    namespace: str, kubeconfig: Path, write: Write, spec: dict[str, Any], said: str
) -> None:
    done = await command(kubeconfig, namespace, "check", "-f", write(**spec))
    assert done.exit_code == 1
    assert any(said in line for line in done.stdout.splitlines() if line.startswith("Problem")), done.stdout


async def test_another_control_plane_is_found_and_without_a_file_that_one_is_checked(
    client: Client, namespace: str, kubeconfig: Path, write: Write
) -> None:
    spec = {"secret": "osp-secret", "storageClass": "elsewhere", "keystone": {}}
    await client.apply(
        PLANE, {"metadata": {"name": "first", "namespace": namespace}, "spec": spec}, field_manager="user"
    )
    other = await command(kubeconfig, namespace, "check", "-f", write())
    assert f"Namespace {namespace} has OpenStackControlPlane first already" in other.stdout
    done = await command(kubeconfig, namespace, "check")
    assert done.exit_code == 1
    assert "StorageClass elsewhere, which Galera openstack needs" in done.stdout, done.stdout
    assert "already, and can have one" not in done.stdout


async def test_without_a_file_and_without_a_cloud_there_is_nothing_to_check(namespace: str, kubeconfig: Path) -> None:
    done = await command(kubeconfig, namespace, "check")
    assert done.exit_code == 1
    assert "has no OpenStackControlPlane; name a file with -f" in done.stderr


async def test_a_cluster_without_our_kinds(fresh_apiserver: ApiServer, write: Write) -> None:
    done = await command(fresh_apiserver.kubeconfig, "nowhere", "check", "-f", write(), "-o", "json")
    assert done.exit_code == 1
    problems = "\n".join(messages(done, "Problem"))
    assert "The cluster knows none of our kinds; install them" in problems
    assert "No operator runs" in problems
    assert any("Namespace nowhere does not exist" in one for one in messages(done, "Warning"))
    assert any("the server is not asked" in one for one in messages(done, "Not checked"))
