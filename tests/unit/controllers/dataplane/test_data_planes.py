"""What a data plane makes of its entries, and which it refuses."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import (
    DEPLOYMENT_READY,
    OpenStackDataPlane,
    OpenStackDataPlaneNode,
    OpenStackDataPlaneNodeSpec,
    OpenStackDataPlaneRoleSpec,
    OpenStackDataPlaneSpec,
)
from stackwright.controllers.dataplane.data_planes import data_planes
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.resource import Key, Resource
from stackwright.kube.store import Store


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


async def test_a_node_that_a_user_made_is_neither_changed_nor_owned() -> None:
    there = OpenStackDataPlaneNode(
        metadata=ObjectMeta(name="one", namespace="openstack"), spec=OpenStackDataPlaneNodeSpec(role="compute")
    )
    resource = OpenStackDataPlane(
        metadata=ObjectMeta(name="edpm", namespace="openstack", uid="u"),
        spec=OpenStackDataPlaneSpec(nodes={"one": OpenStackDataPlaneNodeSpec(role="compute")}),
    )

    def store(kind: type[Resource]) -> Store[Any]:
        found: Store[Any] = Store()
        if isinstance(there, kind):
            found.put(there)
        return found

    # A client that has no verbs: whatever is written fails, and is not told as below.
    context: Any = SimpleNamespace(store=store, client=SimpleNamespace(field_manager="stackwright"))
    outcome = await data_planes.family.keep(resource, made_of(resource), context, prune=True)
    error = outcome.failed[OpenStackDataPlaneNode.kind, Key("openstack", "one")]
    assert isinstance(error, Retry)
    assert str(error).startswith("OpenStackDataPlaneNode one exists, was not created for OpenStackDataPlane edpm")
    (finding,) = outcome.findings(context)
    assert (finding.condition, finding.severity, finding.reason) == (DEPLOYMENT_READY, "Error", "MadeByUser")
