"""A node keeps its cell, whatever way somebody tries to change it, and gets no service twice."""

from collections.abc import Callable

import msgspec
import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import JsonObject
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.controllers.node_services import checks, fill_in
from stackwright.controllers.node_services.defaults import find_defaults, has_other_defaults
from stackwright.kube.admission.checks import Objections
from stackwright.kube.resource import CustomResource, R
from tests.unit.controllers.node_services.place import (
    CELL,
    COMPUTE,
    IMAGES,
    METADATA,
    SERVICES,
    cell,
    compute,
    made,
    node,
    role,
)

DEFAULT = "registry.example/compute:1"
ANNOTATION = f"metadata.annotations[{CELL}]"
GENERIC = made(OpenStackDataPlaneService, "nova", spec={"playbook": COMPUTE.playbook})
BY_ROLE = made(OpenStackDataPlaneService, "other", spec={"role": COMPUTE.roles[0]})


APPLIED = made(
    type(compute()), "one", spec={"cellName": "c1"}, status={"deployment": {"name": COMPUTE.name, "run": "r"}}
)
PLANNED = made(type(compute()), "one", spec={"cellName": "c1"}, status={"deployment": {"name": COMPUTE.name}})
RENAMED = made(
    type(compute()),
    "one",
    spec={"cellName": "c1"},
    status={"deployment": {"name": COMPUTE.name, "run": "r"}, "hostName": "one"},
)


def begun(whose: CustomResource) -> OpenStackAnsibleEE:
    """Return a run that began on the node `one` when that was the name of the machine, too."""
    owner = {"apiVersion": "v1", "kind": "X", "name": "one", "uid": whose.metadata.uid}
    metadata = {"name": "run", "namespace": "openstack", "ownerReferences": [owner]}
    spec = {"playbook": COMPUTE.playbook, "nodes": [{"name": "one", "host": "one"}]}
    return msgspec.convert({"metadata": metadata, "spec": spec}, OpenStackAnsibleEE)


def of_role(**spec: str) -> tuple[CustomResource, ...]:
    """Return a role with a service beside those that its nodes are asked to have."""
    return role(services=("part",)), made(OpenStackDataPlaneService, "part", spec=spec)


@pytest.mark.parametrize(
    ("asked", "spec"),
    [
        pytest.param(CELL, {"playbook": "stackwright.edpm.libvirt"}, id="libvirt"),
        pytest.param(CELL, {"role": "stackwright.edpm.edpm_libvirt"}, id="the-role-of-libvirt"),
        pytest.param(METADATA, {"playbook": "stackwright.edpm.ovn"}, id="ovn"),
        pytest.param(METADATA, {"role": "stackwright.edpm.edpm_ovn"}, id="the-role-of-ovn"),
        pytest.param(METADATA, {"role": "stackwright.edpm.edpm_ovs"}, id="the-role-of-open-vswitch"),
    ],
)
def test_a_part_of_a_service_is_not_deployed_beside_it(asked: str, spec: dict[str, str]) -> None:
    """Each would write the same units with its own image, and restart the network of servers."""
    new = node(**{"cell": "c1"} if asked == CELL else {"metadata": "true"})
    (found,) = check(None, new, *of_role(**spec))
    assert "would deploy the same" in found[1]
    assert check(None, node(), *of_role(**spec)) == []


PART = made(OpenStackDataPlaneService, "part", spec={"playbook": "stackwright.edpm.libvirt"})
CHANGED = made(OpenStackDataPlaneService, "part", {"note": "x"}, spec={"playbook": "stackwright.edpm.libvirt"})


@pytest.mark.parametrize(
    ("old", "new", "others"),
    [
        pytest.param(node(cell="c1"), node(cell="c1", metadata="true"), (role(services=("part",)), PART), id="node"),
        pytest.param(
            role(services=("part",)), role(services=("part", "more")), (node(cell="c1"), PART), id="role-by-its-node"
        ),
        pytest.param(
            role(services=("part",), cell="c1"), role(services=("part", "more"), cell="c1"), (PART,), id="role"
        ),
        pytest.param(PART, CHANGED, (node(cell="c1"), role(services=("part",))), id="service"),
    ],
)
def test_what_was_accepted_before_can_still_be_changed(
    old: CustomResource, new: CustomResource, others: tuple[CustomResource, ...]
) -> None:
    """After an upgrade, clouds that have both must still be able to pause a node."""
    found = ask(old, new, *others)
    assert found.errors == ()
    assert any("the same" in warning for warning in found.warnings)


def test_a_conflict_that_comes_with_a_change_is_refused_beside_another_that_was_there() -> None:
    more = made(OpenStackDataPlaneService, "more", spec={"playbook": COMPUTE.playbook})
    ((field, message),) = check(role(services=("part",)), role(services=("part", "more")), node(cell="c1"), PART, more)
    assert field == "spec.services"
    assert "OpenStackDataPlaneService more" in message
    moved = check(node(cell="c1"), node(cell="c1", role="other"), role(), role("other", services=("part",)), PART)
    assert [field for field, _ in moved] == ["spec.role"]
    asked = check(node(), node(cell="c1"), role(services=("part",)), PART)
    assert [field for field, _ in asked] == [ANNOTATION]


def renamed(host: str) -> OpenStackDataPlaneNode:
    spec = {"role": "compute", "ansibleHost": "one.example", "hostName": host}
    return made(OpenStackDataPlaneNode, "one", {CELL: "c1"}, spec=spec)


def ask(old: CustomResource | None, new: CustomResource, *others: CustomResource) -> Objections:
    def known(kind: type[R], namespace: str | None) -> list[R]:
        return [other for other in others if isinstance(other, kind) and other.metadata.namespace == namespace]

    return checks(SERVICES)[type(new)](old, new, known)


def check(old: CustomResource | None, new: CustomResource, *others: CustomResource) -> list[tuple[str, str]]:
    return [(error.field, error.message) for error in ask(old, new, *others).errors]


@pytest.mark.parametrize("of", [node, role])
@pytest.mark.parametrize(
    ("said", "others", "warning"),
    [
        pytest.param({"metadata": "true"}, (), "", id="yes"),
        pytest.param({"metadata": "false"}, (), "", id="no"),
        pytest.param({"metadata": "", "cell": ""}, (), "", id="not-what-the-role-says"),
        pytest.param(
            {"metadata": "maybe"},
            (),
            f'metadata.annotations[{METADATA}]: "maybe" means nothing, and counts as false; write true or false',
            id="neither-yes-nor-no",
        ),
        pytest.param({"cell": "nova-cell1"}, (cell(),), "", id="a-cell"),
        pytest.param(
            {"cell": "nova-cell1"},
            (),
            f"{ANNOTATION}: no NovaCell nova-cell1 in this namespace yet, and nodes wait for it",
            id="a-cell-that-may-come",
        ),
        pytest.param(
            {"cell": "cell1"},
            (cell(),),
            f"{ANNOTATION}: no NovaCell cell1 in this namespace yet, and nodes wait for it; there are nova-cell1",
            id="no-cell-but-others",
        ),
    ],
)
def test_an_odd_annotation_is_taken_with_a_warning(
    of: Callable[..., CustomResource], said: dict[str, str], others: tuple[CustomResource, ...], warning: str
) -> None:
    found = ask(None, of(**said), *others)
    assert found == Objections((), (warning,) if warning else ())


@pytest.mark.parametrize(
    ("old", "new", "others", "field", "words"),
    [
        pytest.param(node(cell="c1"), node(cell="c2"), (role(),), ANNOTATION, "bound to c1 and cannot", id="node"),
        pytest.param(role(cell="c1"), role(cell="c2"), (node(),), ANNOTATION, "node one is bound to c1", id="role"),
        pytest.param(
            node(role="a"),
            node(role="b"),
            (role("a", cell="c1"), role("b", cell="c2")),
            "spec.role",
            "bound to c1 and cannot change to c2",
            id="another-role",
        ),
        pytest.param(
            node(role="a"), node(role="b"), (role("a", cell="c1"), compute("c1")), "spec.role", "delete", id="no-role"
        ),
        pytest.param(
            None,
            made(OpenStackDataPlane, "p", spec={"nodes": {"one": {"role": "b"}}}),
            (node(role="a"), role("a", cell="c1"), role("b", cell="c2")),
            "spec.nodes[one].role",
            "cannot change to c2",
            id="through-the-data-plane",
        ),
        pytest.param(
            node(cell="c1"), node(), (role(), compute("c1")), ANNOTATION, "delete its NovaExternalCompute", id="unset"
        ),
        pytest.param(role(cell="c1"), role(), (node(), compute("c1")), ANNOTATION, "delete its", id="unset-by-role"),
        pytest.param(None, role(cell="c2"), (node(), compute("c1")), ANNOTATION, "bound to c1", id="a-new-role"),
        pytest.param(None, node(cell="c2"), (role(), compute("c1")), ANNOTATION, "bound to c1", id="a-new-node"),
        pytest.param(
            node(cell="c1"), renamed("other"), (role(), APPLIED), "spec.hostName", "must stay one, by which", id="name"
        ),
        pytest.param(
            node(cell="c1"),
            renamed("other"),
            (role(), PLANNED, begun(PLANNED)),
            "spec.hostName",
            "must stay one, by which",
            id="name-while-a-run-begins",
        ),
        pytest.param(
            None,
            made(OpenStackDataPlane, "p", spec={"nodes": {"one": {"role": "compute", "hostName": "other"}}}),
            (node(cell="c1"), role(), APPLIED),
            "spec.nodes[one].hostName",
            "must stay one",
            id="name-through-the-data-plane",
        ),
        pytest.param(None, node(cell="c1"), (role(services=("nova",)), GENERIC), ANNOTATION, "the same", id="twice"),
        pytest.param(
            None, role(services=("other",)), (node(cell="c1"), BY_ROLE), "spec.services", "the same", id="twice-by-role"
        ),
        pytest.param(
            None,
            GENERIC,
            (node(cell="c1"), role(services=("nova",))),
            "spec.playbook",
            "node one gets",
            id="late",
        ),
        pytest.param(
            None, compute(name="one", dataplaneNodeName="two"), (), "spec.dataplaneNodeName", "must be", id="its-name"
        ),
    ],
)
def test_what_is_refused(
    old: CustomResource | None, new: CustomResource, others: tuple[CustomResource, ...], field: str, words: str
) -> None:
    (found,) = check(old, new, *others)
    assert found[0] == field
    assert words in found[1]


@pytest.mark.parametrize(
    ("old", "new", "others"),
    [
        pytest.param(node(), node(cell="c1"), (role(),), id="unset-to-set"),
        pytest.param(role(), role(cell="c1"), (node(),), id="unset-to-set-by-role"),
        pytest.param(node(cell="c1"), node(), (role(),), id="set-to-unset-when-the-compute-is-gone"),
        pytest.param(role(cell="c1"), role(cell="c2"), (node(cell="c1"),), id="the-node-overrides-its-role"),
        pytest.param(role(cell="c1"), role(cell="c2"), (node(role="other"),), id="nodes-of-other-roles"),
        pytest.param(node(cell="c1"), node(), (role(cell="c1"), compute("c1")), id="the-role-says-the-same"),
        pytest.param(None, node(cell="c1"), (role(), compute("")), id="one-that-waits-to-be-adopted"),
        pytest.param(node(metadata="true"), node(), (role(),), id="an-agent-is-bound-to-nothing"),
        pytest.param(None, node(), (role(services=("nova",)), GENERIC), id="the-generic-way-alone"),
        pytest.param(node(cell="c1"), renamed("other"), (role(), compute("c1")), id="another-name-before-it-runs"),
        pytest.param(node(cell="c1"), renamed("one"), (role(), APPLIED), id="the-same-name-in-words"),
        pytest.param(node(cell="c1"), renamed("other"), (role(), PLANNED), id="another-name-before-a-run"),
        pytest.param(
            node(cell="c1"), renamed("other"), (role(), PLANNED, begun(node())), id="another-name-while-others-run"
        ),
        pytest.param(renamed("other"), renamed("one"), (role(), RENAMED), id="back-to-the-name-that-nova-knows"),
        pytest.param(
            renamed("other"), renamed("one"), (role(), PLANNED, begun(PLANNED)), id="back-to-the-name-of-the-run"
        ),
    ],
)
def test_what_is_allowed(old: CustomResource | None, new: CustomResource, others: tuple[CustomResource, ...]) -> None:
    assert check(old, new, *others) == []


def test_images_that_nobody_named_are_filled_in() -> None:
    fill = fill_in(SERVICES, IMAGES)[COMPUTE.kind]
    filled = fill({"spec": {"novaComputeContainerImage": "mine:1"}})
    assert filled["spec"] == {
        "novaComputeContainerImage": "mine:1",
        "novaLibvirtContainerImage": "registry.example/compute:1",
        "ansibleEEContainerImage": "registry.example/ansible-runner:1",
    }
    assert fill(filled) == filled


@pytest.mark.parametrize(
    ("entries", "image"),
    [
        pytest.param([{"f:cellName": {}}], DEFAULT, id="what-was-filled-in-is-managed-by-nobody"),
        pytest.param([{"f:cellName": {}}, {"f:novaComputeContainerImage": {}}], "former:1", id="what-somebody-named"),
        pytest.param([], "former:1", id="nobody-knows-who-named-it"),
    ],
)
def test_an_image_that_was_filled_in_follows_the_manifest(entries: list[JsonObject], image: str) -> None:
    body: JsonObject = {
        "metadata": {"managedFields": [{"manager": "m", "fieldsV1": {"f:spec": fields}} for fields in entries]},
        "spec": {"cellName": "c1", "novaComputeContainerImage": "former:1"},
    }
    fill = fill_in(SERVICES, IMAGES)[COMPUTE.kind]
    filled = fill(body)
    assert filled["spec"]["novaComputeContainerImage"] == image
    assert fill(filled) == filled
    defaults = find_defaults(COMPUTE, IMAGES)
    # It is written once for new defaults, and not again for an image that stays.
    assert has_other_defaults(msgspec.convert({"metadata": {}, "spec": body["spec"]}, COMPUTE.kind), defaults)
    assert not has_other_defaults(msgspec.convert({**filled, "metadata": noted(filled)}, COMPUTE.kind), defaults)


def noted(body: JsonObject) -> JsonObject:
    return {"annotations": body["metadata"]["annotations"]}


def test_without_a_manifest_nothing_is_filled_in() -> None:
    assert fill_in(SERVICES, {})[COMPUTE.kind]({"spec": {}}) == {"spec": {}}
