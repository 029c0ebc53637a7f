"""`stackwright config import` on a real API server."""

from pathlib import Path

import pytest

from stackwright import services
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from tests.functional.commands import command
from tests.functional.definitions import defined

PLANE = services.control_plane()
NODES = (OpenStackDataPlaneRole, OpenStackDataPlaneNode, OpenStackDataPlaneService)


@pytest.fixture(autouse=True)
async def kinds(client: Client) -> None:
    await defined(client, [PLANE, *NODES])


@pytest.fixture
def kubeconfig(apiserver: Shared) -> Path:
    return apiserver.kubeconfig


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "keystone").mkdir()
    (tmp_path / "keystone" / "keystone.conf").write_text("[token]\nexpiration = 7200\n")
    (tmp_path / "keystone" / "config.json").write_text('{"command": "uwsgi --ini /etc/keystone/uwsgi.ini"}')
    (tmp_path / "keystone" / "logo.png").write_bytes(b"\x89PNG\xff")
    return tmp_path


async def make(client: Client, namespace: str) -> None:
    spec = {"secret": "osp-secret", "storageClass": "", "keystone": {"template": {"replicas": 2}}}
    await client.apply(PLANE, {"metadata": {"name": "cloud", "namespace": namespace}, "spec": spec})


async def test_what_would_change_is_shown_first(
    client: Client, namespace: str, kubeconfig: Path, directory: Path
) -> None:
    await make(client, namespace)
    shown = await command(kubeconfig, namespace, "config", "import", str(directory))
    assert (shown.exit_code, "+      expiration = 7200" in shown.stdout) == (0, True)
    assert "keystone/logo.png: it is not text" in shown.stderr
    assert "Nothing was changed" in shown.stderr
    found = await client.get(PLANE, "cloud", namespace)
    assert found.spec.keystone.template.kollaConfig is None  # type: ignore[attr-defined]  # the section is made at run time


async def test_a_directory_is_read_into_the_control_plane(
    client: Client, namespace: str, kubeconfig: Path, directory: Path
) -> None:
    await make(client, namespace)
    done = await command(kubeconfig, namespace, "config", "import", str(directory), "--yes")
    assert done.exit_code == 0, done.stderr
    found = await client.get(PLANE, "cloud", namespace)
    template = found.spec.keystone.template  # type: ignore[attr-defined]  # the section is made at run time
    assert (template.replicas, template.kollaConfig.command) == (2, "uwsgi --ini /etc/keystone/uwsgi.ini")
    assert "expiration = 7200" in template.customServiceConfig
    again = await command(kubeconfig, namespace, "config", "import", str(directory), "--yes")
    assert "nothing changes" in again.stdout


async def test_without_a_control_plane_it_says_so(
    client: Client, namespace: str, kubeconfig: Path, directory: Path
) -> None:
    done = await command(kubeconfig, namespace, "config", "import", str(directory))
    assert (done.exit_code, "create one, or use -f" in done.stderr) == (1, True)


NODE_SET = """\
apiVersion: dataplane.openstack.org/v1beta1
kind: OpenStackDataPlaneNodeSet
metadata: {name: edpm}
spec:
  services: [bootstrap, mine, libvirt, nova]
  nodeTemplate: {ansibleSSHPrivateKeySecret: key, networks: [{name: ctlplane, subnetName: subnet1}]}
  nodes:
    compute-0: {ansible: {ansibleHost: 192.0.2.1, ansibleVars: {a: {b: [1, "2"]}}}}
---
apiVersion: dataplane.openstack.org/v1beta1
kind: OpenStackDataPlaneService
metadata: {name: mine}
spec: {playbookContents: "- hosts: all"}
---
apiVersion: dataplane.openstack.org/v1beta1
kind: OpenStackDataPlaneDeployment
metadata: {name: go}
spec: {nodeSets: [edpm]}
"""


async def test_node_sets_become_roles_and_nodes(
    client: Client, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(NODE_SET)
    done = await command(kubeconfig, namespace, "config", "import", str(path), "--yes")
    assert done.exit_code == 0, done.stderr
    role = await client.get(OpenStackDataPlaneRole, "edpm", namespace)
    assert role.spec.services == ("install-os", "mine")
    assert role.metadata.annotations["nova.openstack.org/cell"] == "nova-cell1"
    assert role.spec.deployStrategy.deploy is None
    node = await client.get(OpenStackDataPlaneNode, "compute-0", namespace)
    assert (node.spec.ansibleHost, node.spec.node.ansibleVars) == ("192.0.2.1", {"a": {"b": [1, "2"]}})
    assert (await client.get(OpenStackDataPlaneService, "mine", namespace)).spec.playbookContents == "- hosts: all"
    again = await command(kubeconfig, namespace, "config", "import", str(path), "--yes")
    assert again.exit_code == 0, again.stderr
