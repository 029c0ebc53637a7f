"""The machines of a cloud that `stackwright up` deploys: what they become, and what is waited for."""

from pathlib import Path

import click
import pytest

from stackwright.cli import clouds, machines
from stackwright.cli.commands.up import SERVERS
from stackwright.local.images import building

ROOT = Path(__file__).parents[3]
CLOUD = clouds.read(ROOT / SERVERS, "openstack", example=True)


def test_machines_are_of_the_role_of_the_cloud() -> None:
    fleet = machines.gather("mine", 2, CLOUD)
    assert fleet.names == ("compute-0", "compute-1")
    assert fleet.resource == ("OpenStackDataPlaneRole", "edpm-compute")
    with pytest.raises(click.UsageError, match="has 0 resources"):
        machines.gather("mine", 2, machines.leave_out(CLOUD, fleet))


def test_the_services_that_a_role_asks_for_are_waited_for() -> None:
    found = machines.gather("mine", 2, CLOUD).resources
    kinds = ("OpenStackDataPlaneNode", "NovaExternalCompute", "OVNMetadataAgent")
    assert sorted(found) == sorted((kind, name) for name in ("compute-0", "compute-1") for kind in kinds)


def test_machines_run_images_that_are_built_on_request() -> None:
    assert machines.components() == {"compute", "ovn"}
    # The other one is among those that pods run.
    assert machines.images_beside(building.catalogue()) == ["compute"]
