"""Free-form parts of every kind: what Kubernetes would not take is refused at the door and by the reconcile."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.sections_to_come import SECTIONS_TO_COME
from stackwright.blueprint import refusals
from stackwright.controllers import doors
from stackwright.controllers.dataplane import data_planes, preparation
from stackwright.kube.plan import Wait
from stackwright.kube.resource import CustomResource, R
from stackwright.kube.shapes.composite import Child
from tests.free_form import Place, places
from tests.surroundings import nothing_known

# Free-form fields that become no part of an object of Kubernetes, by name, and what they are instead.
ELSEWHERE = {
    **dict.fromkeys(("ansibleVars", "extraVars"), "variables of Ansible, in the text of an inventory"),
    **dict.fromkeys(("networks", "baremetalSetTemplate"), "not used yet, and warned of"),
    **dict.fromkeys(("imageCache", "quotas", "pkcs11", "route", "tls"), "refused unless it says nothing"),
    **dict.fromkeys(("statefulSet", "secretBackend", "applicationCredential"), "has no effect, and warned of"),
    **{section.name: "a section to come" for section in SECTIONS_TO_COME},
}
PLACES = tuple(places())
EMBEDDED = tuple(place for place in PLACES if place.part is not None)


def nothing(kind: type[R], name: str, *, namespace: str = "") -> R | None:
    return None


def decided(resource: CustomResource) -> Iterable[str]:
    """Yield the paths that a reconcile refuses, in a resource or in those that it makes."""
    blueprint = services.blueprint_of(type(resource))
    if blueprint is not None:
        yield from (path for path, _ in refusals.problems(blueprint, resource, nothing, None))
    elif isinstance(resource, OpenStackDataPlane):
        for child in data_planes.data_planes.children(resource, False):  # type: ignore[union-attr]  # it awaits nothing
            assert isinstance(child, Child)
            made_of_it = msgspec.convert(child.body, child.of)
            assert isinstance(made_of_it, CustomResource)
            yield from decided(made_of_it)
    else:
        wait = preparation.refuse_values(resource)
        yield from wait.message.split() if wait is not None else ()


def test_every_free_form_field_says_what_it_becomes() -> None:
    unknown = {place.field for place in PLACES if place.part is None} - set(ELSEWHERE)
    assert unknown == set(), "mark it with embedded(...), or say above what it becomes instead"
    assert {place.field for place in EMBEDDED}.isdisjoint(ELSEWHERE)
    parts = {place.part.__name__ for place in EMBEDDED if place.part is not None}
    assert parts == {"Affinity", "DnsConfig", "ServiceSpec", "Toleration", "ValueSource", "Volume"}


NONSENSE = {"nonsense": {"deep": ["x"]}}
# What an umbrella makes are resources of the other kinds.
DECIDED = tuple(place for place in EMBEDDED if not issubclass(place.kind, OpenStackControlPlane))


@pytest.mark.parametrize("place", EMBEDDED, ids=str)
def test_an_unknown_key_is_refused_at_the_door(place: Place) -> None:
    found = doors.check(None, place.resource(NONSENSE), nothing_known).errors
    assert f"{place.path}.nonsense" in [error.field for error in found]


@pytest.mark.parametrize("place", DECIDED, ids=str)
def test_an_unknown_key_is_refused_by_the_reconcile(place: Place) -> None:
    # In a resource that another one makes, the path is shorter.
    below = [path.removeprefix("spec").removesuffix(":") for path in decided(place.resource(NONSENSE)) if "." in path]
    assert any(f"{place.path}.nonsense".endswith(path) for path in below)


@pytest.mark.parametrize("place", EMBEDDED, ids=str)
def test_what_is_empty_is_not_refused(place: Place) -> None:
    fields = [error.field for error in doors.check(None, place.resource({}), nothing_known).errors]
    assert not [field for field in fields if field.startswith(place.path)]


def made(kind: type[R], spec: dict[str, Any]) -> R:
    return msgspec.convert({"metadata": {"name": "one", "namespace": "here"}, "spec": spec}, kind)


BAD = [{"name": "A", "valueFrom": {"secret": {"name": "x"}}}]


def test_a_role_with_bad_values_has_no_work_to_do() -> None:
    found = preparation.find_works(made(OpenStackDataPlaneRole, {"env": BAD}), nothing, "image:1")
    assert isinstance(found, Wait)
    assert found.reason == "InvalidInput"
    assert "OpenStackDataPlaneRole one: spec.env[0].valueFrom.secret: is not a field" in found.message


def test_a_node_with_bad_values_is_not_prepared() -> None:
    role = made(OpenStackDataPlaneRole, {"preProvisioned": True, "nodeTemplate": {"ansibleSSHPrivateKeySecret": "k"}})
    node = made(OpenStackDataPlaneNode, {"role": "one", "node": {"extraMounts": [{"volumes": [{"name": "A B"}]}]}})
    found = preparation.prepare(node, role, (), nothing)
    assert isinstance(found, Wait)
    assert "spec.node.extraMounts[0].volumes[0].name" in found.message


def test_what_is_written_well_is_not_refused() -> None:
    run = made(
        OpenStackAnsibleEE,
        {
            "playbook": "a.b.c",
            "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": None}}}],
            "dnsConfig": {"nameservers": ["10.0.0.1"], "searches": ["example.org"], "options": [{"name": "ndots"}]},
            "extraMounts": [
                {
                    "volumes": [{"name": "a", "nfs": {"server": "n", "path": "/"}}, {"name": "b"}],
                    "mounts": [{"name": "a", "mountPath": "/a"}],
                }
            ],
        },
    )
    assert preparation.refuse_values(run) is None
