"""The profile of a namespace follows from what its services declare, and from what their children can be."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.base import CustomResource
from stackwright.blueprint.service import Service
from stackwright.blueprint.workloads import Host
from stackwright.cli import clouds
from stackwright.foresight.pod_security import needed_profile
from tests.unit.foresight.families import COOK, SERVICES, TAVERN, tavern

EXAMPLES = Path(__file__).parents[3] / "examples"


def profile(service: Service[Any, Any], host: Host) -> tuple[str, tuple[str, ...]]:
    """Return what a namespace with a parent needs, whose own components or those of a child take this."""
    components = tuple(replace(component, host=host) for component in service.known_components)
    known: dict[type[CustomResource], Service[Any, Any]] = {
        **SERVICES,
        service.kind: replace(service, components=components),
    }
    return needed_profile((tavern(),), known.__getitem__)


@pytest.mark.parametrize("taker", [TAVERN, COOK], ids=["its-own-pods", "a-child-of-a-child"])
def test_what_is_taken_of_the_host_is_followed(taker: Service[Any, Any]) -> None:
    assert profile(taker, Host(pid=True)) == ("privileged", ("Tavern tavern",))
    assert profile(taker, Host(capabilities=("CHOWN",))) == ("baseline", ("Tavern tavern",))
    assert profile(taker, Host()) == ("restricted", ())


def test_the_profile_of_a_file_is_found_before_it_is_applied() -> None:
    cloud = clouds.read(EXAMPLES / "cloud" / "openstack.yaml", "openstack")
    # Its gateway is a switch of the node.
    assert clouds.profile_of(cloud) == "privileged"
    placement = clouds.read(EXAMPLES / "cloud" / "placement.yaml", "openstack")
    assert clouds.profile_of(placement) == "restricted"
    # What is wrong with it, the server says.
    broken = clouds.Cloud(({**cloud.manifests[-1], "spec": {"secret": 1}},), "openstack")
    assert clouds.profile_of(broken) == "restricted"
