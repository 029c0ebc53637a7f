"""The machines of a cloud that `stackwright up` deploys: what they become, and what is waited for."""

from pathlib import Path

import click
import pytest

from stackwright.cli import clouds, machines
from stackwright.cli.commands.up import SERVERS
from stackwright.kube.errors import ConfigError
from stackwright.local.images import building

ROOT = Path(__file__).parents[3]
CLOUD = clouds.read(ROOT / SERVERS, "openstack", example=True)


def test_machines_are_of_the_role_of_the_cloud() -> None:
    fleet = machines.gather("mine", 2, CLOUD)
    assert fleet.names == ("compute-0", "compute-1")
    assert fleet.resource == ("OpenStackDataPlaneRole", "edpm-compute")
    with pytest.raises(click.UsageError, match="has 0 resources"):
        machines.gather("mine", 2, machines.leave_out(CLOUD, fleet))


def test_a_role_that_is_not_valid_is_named(tmp_path: Path) -> None:
    path = tmp_path / "role.yaml"
    path.write_text(
        "{apiVersion: dataplane.openstack.org/v1beta1, kind: OpenStackDataPlaneRole, metadata: {name: edpm},"
        " spec: {services: 3}}"
    )
    with pytest.raises(ConfigError, match=r"OpenStackDataPlaneRole edpm in .* is not valid: .*services"):
        machines.gather("mine", 1, clouds.read(path, "openstack"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [b", "role.yaml is not YAML (line 1).", id="no-yaml"),
        pytest.param("a: 1\na: 2", "role.yaml, line 2: a is there twice.", id="a-key-twice"),
        pytest.param("a: !!int b", "role.yaml is not YAML (line 1).", id="no-number"),
        pytest.param("[" * 2000 + "]" * 2000, "role.yaml, line 1: it is nested deeper", id="deep"),
        pytest.param("kind: [a]\nmetadata: {name: b}", "role.yaml, document 1 has no apiVersion.", id="no-version"),
    ],
)
def test_a_cloud_that_cannot_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "role.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        clouds.read(path, "openstack")
    assert said in str(raised.value)


def test_the_services_that_a_role_asks_for_are_waited_for() -> None:
    found = machines.gather("mine", 2, CLOUD).resources
    kinds = ("OpenStackDataPlaneNode", "NovaExternalCompute", "OVNMetadataAgent")
    assert sorted(found) == sorted((kind, name) for name in ("compute-0", "compute-1") for kind in kinds)


def test_machines_run_images_that_are_built_on_request() -> None:
    assert machines.components() == {"compute", "ovn"}
    # The other one is among those that pods run.
    assert machines.images_beside(building.catalogue()) == ["compute"]
