"""What a data plane makes of its entries, and which it refuses."""

from collections.abc import Iterable
from typing import Any

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import (
    DEPLOYMENT_READY,
    OpenStackDataPlane,
    OpenStackDataPlaneNodeSpec,
    OpenStackDataPlaneRoleSpec,
    OpenStackDataPlaneSpec,
)
from stackwright.controllers.dataplane.data_planes import data_planes
from stackwright.kube.errors import Blocked


def data_plane(role: str, node: str) -> OpenStackDataPlane:
    spec = OpenStackDataPlaneSpec(
        roles={role: OpenStackDataPlaneRoleSpec()}, nodes={node: OpenStackDataPlaneNodeSpec(role=role)}
    )
    return OpenStackDataPlane(metadata=ObjectMeta(name="edpm"), spec=spec)


def made_of(resource: OpenStackDataPlane) -> list[Any]:
    found = data_planes.children(resource, False)
    assert isinstance(found, Iterable)
    return list(found)


@pytest.mark.parametrize(
    ("role", "node", "field"),
    [
        pytest.param("compute", "", "spec.nodes", id="empty"),
        pytest.param("compute", "Node", "spec.nodes", id="capital"),
        pytest.param("compute", "a/b", "spec.nodes", id="slash"),
        pytest.param("compute", "a" * 254, "spec.nodes", id="long"),
        pytest.param("", "node", "spec.roles", id="role"),
    ],
)
def test_a_name_that_no_resource_can_have_is_refused(role: str, node: str, field: str) -> None:
    with pytest.raises(Blocked, match=rf"^{field}: .*1 to 253 lower case letters") as refused:
        made_of(data_plane(role, node))
    assert (refused.value.reason, refused.value.condition) == ("InvalidInput", DEPLOYMENT_READY)


def test_each_entry_becomes_a_resource_of_its_name() -> None:
    made = made_of(data_plane("compute", "edpm-compute-0"))
    assert [str(child) for child in made] == [
        "OpenStackDataPlaneRole compute",
        "OpenStackDataPlaneNode edpm-compute-0",
    ]
