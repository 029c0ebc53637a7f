"""Which resource follows from what a node and its role ask for."""

import msgspec
import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.wishes import wish_of
from stackwright.controllers.node_services.creation import decide, deployed_by
from tests.unit.controllers.node_services.place import AGENT, COMPUTE, SERVICES, compute, node, role


@pytest.mark.parametrize(
    ("said", "by_role", "cell", "metadata"),
    [
        pytest.param({}, {}, "", "", id="nobody-asks"),
        pytest.param({}, {"cell": "nova-cell1"}, "nova-cell1", "true", id="the-role-asks"),
        pytest.param({"cell": "nova-cell2"}, {"cell": "nova-cell1"}, "nova-cell2", "true", id="node-over-role"),
        pytest.param({"cell": ""}, {"cell": "nova-cell1"}, "", "", id="a-node-takes-it-away"),
        pytest.param({"metadata": "true"}, {}, "", "true", id="an-agent-without-a-compute"),
        pytest.param({"cell": "c"}, {"metadata": "false"}, "c", "", id="a-compute-without-an-agent"),
        pytest.param({"metadata": "yes"}, {}, "", "", id="only-true-is-true"),
    ],
)
def test_a_node_asks_by_its_annotations(
    said: dict[str, str], by_role: dict[str, str], cell: str, metadata: str
) -> None:
    wishes = [wish_of(service, node(**said), role("compute", (), **by_role), SERVICES) for service in (COMPUTE, AGENT)]
    assert wishes == [cell, metadata]


@pytest.mark.parametrize(
    ("of", "by", "present", "bound", "mark"),
    [
        pytest.param(node(cell="c1"), role(), None, "c1", "", id="made"),
        pytest.param(node(), role(cell="c1"), None, "c1", "", id="made-by-the-role"),
        pytest.param(node(), role(), None, None, "", id="not-asked-for"),
        pytest.param(node(cell="c1"), role(), compute(""), "c1", "c1", id="one-that-was-there-is-adopted"),
        pytest.param(node(cell="c1", made="c1"), role(), None, None, "c1", id="deleted-and-not-made-again"),
        pytest.param(node(made="c1"), role(), None, None, "", id="the-mark-goes-with-the-annotation"),
        pytest.param(node(cell="c2", made="c1"), role(), compute("c1"), "c1", "c1", id="nothing-moves"),
        pytest.param(node(made="c1"), role(), compute("c1"), "c1", "c1", id="nothing-goes"),
    ],
)
def test_what_follows(
    of: OpenStackDataPlaneNode,
    by: OpenStackDataPlaneRole,
    present: NodeServiceResource | None,
    bound: str | None,
    mark: str,
) -> None:
    found = decide(COMPUTE, of, by, present, SERVICES)
    assert (found.body["spec"]["cellName"] if found.body is not None else None, found.mark) == (bound, mark)


def test_what_is_copied_and_what_is_not() -> None:
    found = decide(COMPUTE, node(cell="c1"), role(), None, SERVICES)
    assert found.body == {
        "metadata": {"name": "one"},
        "spec": {
            "dataplaneNodeName": "one",
            "cellName": "c1",
            "inventoryConfigMapName": "dataplanenode-one",
            "sshKeySecretName": "key",
            "networkAttachments": [],
            "deploy": True,
        },
    }


def test_a_node_says_what_is_deployed_on_it_once_that_has_begun() -> None:
    waiting = decide(COMPUTE, node(cell="c1"), role(), compute("c1"), SERVICES)
    assert not waiting.deploys
    begun = msgspec.structs.replace(
        compute("c1"),
        status=msgspec.convert({"deployment": {"name": COMPUTE.name, "run": "r"}}, type(compute().status)),
    )
    assert decide(COMPUTE, node(cell="c1"), role(), begun, SERVICES).deploys
    assert deployed_by(COMPUTE) == "dataplane.openstack.org/deployed-by-NovaExternalCompute"
