"""A port of the nodes belongs to the first who asks for it, whether or not its Service is there yet."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import structs
from stackwright.controllers import doors
from stackwright.controllers.ownership import check, taken
from stackwright.controllers.service import Environment
from stackwright.controllers.service.decide import Seen, decide
from stackwright.kube.builtin import Service
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import ObjectMeta, OwnerReference, R, Resource
from tests.surroundings import listing
from tests.unit.controllers.ownership.making import changed, made, seen

PORT = 30123
NOW = datetime(2026, 11, 16, tzinfo=UTC)


def exposed(port: int = PORT, **others: int) -> JsonObject:
    specs = {name: {"type": "NodePort", "nodePort": each} for name, each in {"public": port, **others}.items()}
    return {"override": {"service": {name: {"spec": spec} for name, spec in specs.items()}}}


def owned_by(owner: str) -> OwnerReference:
    kind, _, name = owner.partition("/")
    return OwnerReference(apiVersion="v1", kind=kind, name=name, uid="1", controller=True)


def with_port(owner: str = "", name: str = "web", namespace: str = "cloud", **spec: Any) -> Service:
    metadata = ObjectMeta(name=name, namespace=namespace, ownerReferences=(owned_by(owner),) if owner else ())
    return Service(metadata=metadata, spec={"ports": [{"port": 80, "nodePort": PORT}], **spec})


def refused(new: Any, *there: Resource, old: Any = None) -> list[str]:
    return [f"{error.field}: {error.message}" for error in check(old, new, listing(*there)).errors]


def said(resource: Any, *there: Resource) -> list[str]:
    return [str(each) for each in taken(resource, listing(resource, *there))]


def nothing(kind: type[R], name: str, **_: str) -> R | None:
    """See nothing."""
    return None


FIELD = "spec.override.service[public].spec.nodePort"
FIRST = made("PlacementAPI", "placement", exposed())
LATER = {"creationTimestamp": "2026-11-15T00:00:01Z"}
NEUTRON = made("NeutronAPI", "neutron", exposed(), **LATER)
BY_HAND = "Service web; use another, or leave it out"


def test_a_port_belongs_to_the_first_who_asks_before_any_service_is_there() -> None:
    sentence = f"{FIELD}: node port {PORT} belongs to PlacementAPI placement; use another, or leave it out"
    assert refused(NEUTRON, FIRST) == [sentence]
    assert said(NEUTRON, FIRST) == [sentence]
    assert said(FIRST, NEUTRON) == []
    assert refused(made("NeutronAPI", "neutron", exposed(PORT + 1)), FIRST) == []


def test_a_service_that_asks_second_does_nothing() -> None:
    blueprint = services.blueprint_of(type(NEUTRON))
    assert blueprint is not None
    world = Seen(nothing, NOW, known=listing(FIRST, NEUTRON))
    with pytest.raises(Blocked, match="belongs to PlacementAPI placement"):
        decide(blueprint, NEUTRON, world, Environment({}, Path()))


def test_a_cluster_has_a_port_once_in_whatever_namespace() -> None:
    elsewhere = made("NeutronAPI", "neutron", exposed(), namespace="there", **LATER)
    assert said(FIRST, elsewhere) == []
    assert "PlacementAPI placement in the namespace cloud;" in refused(elsewhere, FIRST)[0]
    assert "PlacementAPI placement in the namespace cloud;" in said(elsewhere, FIRST)[0]
    # What else has the name of somebody's object there is nobody's rival.
    assert refused(made("PlacementAPI", "placement", namespace="there"), FIRST) == []


@pytest.mark.parametrize(
    ("there", "named"),
    [
        pytest.param(with_port(), "Service web;", id="a-strangers"),
        pytest.param(with_port("KeystoneAPI/another"), "Service web of KeystoneAPI another;", id="another-resources"),
        pytest.param(with_port(namespace="far"), "Service web in the namespace far;", id="in-another-namespace"),
        pytest.param(
            with_port("PlacementAPI/placement", namespace="far"), "in the namespace far;", id="of-a-namesake-there"
        ),
        pytest.param(with_port("PlacementAPI/placement"), "", id="its-own"),
        pytest.param(with_port(name="placement-public"), "", id="left-by-its-release"),
        pytest.param(with_port(ports=[{"port": 80, "nodePort": PORT + 1}]), "", id="with-another-port"),
        pytest.param(with_port(ports=[], healthCheckNodePort=PORT), "Service web;", id="for-health-checks"),
        pytest.param(with_port(ports=None), "", id="without-ports"),
    ],
)
def test_a_port_that_a_service_has_is_taken(there: Service, named: str) -> None:
    for told in (refused(FIRST, there), said(FIRST, there)):
        assert len(told) == bool(named)
        assert all(f"node port {PORT} belongs to " in each and named in each for each in told)


def test_who_has_the_service_keeps_the_port_however_young() -> None:
    older, younger = changed(seen(FIRST)), NEUTRON
    has = with_port("NeutronAPI/neutron")
    assert said(younger, older, has) == []
    assert said(older, younger, has) != []
    assert said(seen(older, refused=True), seen(younger), has) != []


def test_a_port_that_a_resource_has_already_is_not_asked_about_at_the_door() -> None:
    assert refused(FIRST, with_port(), NEUTRON, old=FIRST) == []
    assert refused(FIRST, with_port(), old=made("PlacementAPI", "placement")) != []


def test_one_port_is_for_one_service() -> None:
    twice = made("PlacementAPI", "placement", exposed(PORT, internal=PORT))
    (sentence,) = refused(twice)
    assert sentence.startswith("spec.override.service[internal].spec.nodePort: ")
    assert f"is what {FIELD} asks for too; use another" in sentence


def test_what_a_resource_hands_down_is_one_port() -> None:
    nova = made("Nova", "nova", {"apiServiceTemplate": exposed(), "cellTemplates": {"cell0": {}}})
    api = made("NovaAPI", "nova-api", exposed(), ownerReferences=(owned_by("Nova/nova"),), **LATER)
    own = with_port("NovaAPI/nova-api")
    for one, other in ((nova, api), (api, nova)):
        for service in (own, made("Topology", "none")):
            assert said(one, other, service) == []
            assert refused(one, other, service) == []
    placement = made("PlacementAPI", "placement", exposed(), **LATER)
    assert "belongs to Nova" in said(placement, nova, api)[0]


def test_what_is_handed_down_further_is_one_port_too() -> None:
    spec = {"type": "NodePort", "nodePort": PORT}
    template = {"noVNCProxyServiceTemplate": {"override": {"service": {"spec": spec}}}}
    nova = made("Nova", "nova", {"cellTemplates": {"cell0": {}, "cell1": template}})
    cell = made("NovaCell", "nova-cell1", template, ownerReferences=(owned_by("Nova/nova"),), **LATER)
    owner = owned_by("NovaCell/nova-cell1")
    override = template["noVNCProxyServiceTemplate"]
    proxy = made("NovaNoVNCProxy", "nova-cell1-novncproxy", override, ownerReferences=(owner,), **LATER)
    line = (nova, cell, proxy)
    for service in (with_port("NovaNoVNCProxy/nova-cell1-novncproxy"), made("Topology", "none")):
        for each in line:
            others = [other for other in line if other is not each]
            assert said(each, *others, service) == []
            assert refused(each, *others, service) == []
    # A proxy of somebody's own is no part of it.
    by_hand = made("NovaNoVNCProxy", "mine", override, **LATER)
    assert "belongs to Nova" in said(by_hand, *line)[0]


def test_each_field_with_a_port_is_claimed() -> None:
    spec = {"type": "NodePort", "ports": [{"port": 5671, "nodePort": PORT}], "healthCheckNodePort": PORT + 1}
    broker = made("RabbitMq", "rabbitmq", {"override": {"service": {"spec": spec}}})
    assert "spec.override.service.spec.ports[0].nodePort" in said(broker, with_port())[0]
    assert "healthCheckNodePort" in said(broker, with_port(ports=[], healthCheckNodePort=PORT + 1))[0]


def test_a_spec_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    whole = structs.fields

    def noting(path: str, value: object) -> Iterator[structs.Field]:
        looked.append(path)
        return whole(path, value)

    monkeypatch.setattr(structs, "fields", noting)
    resource = made("PlacementAPI", "searched", exposed())
    for _ in range(3):
        # In each pass its status is another one.
        taken(seen(resource), listing())
    assert len(looked) == 2


# In the umbrella.


def umbrella(*there: Resource, **sections: JsonObject) -> dict[str, str]:
    body = {
        "metadata": {"name": "cloud", "namespace": "cloud"},
        "spec": {"secret": "s", "storageClass": "local", **sections},
    }
    found = doors.check(None, msgspec.convert(body, services.control_plane()), listing(*there))
    return {error.field: error.message for error in found.errors}


IN_KEYSTONE = "spec.keystone.template.override.service[public].spec.nodePort"
IN_PLACEMENT = "spec.placement.template.override.service[public].spec.nodePort"


def test_two_templates_do_not_share_a_port() -> None:
    there = umbrella(keystone={"template": exposed()}, placement={"template": exposed()})
    assert there == {IN_PLACEMENT: f"node port {PORT} is what {IN_KEYSTONE} asks for too; use another, or leave it out"}


def test_a_template_does_not_take_the_port_of_another_resource() -> None:
    sentence = f"node port {PORT} belongs to NeutronAPI mine; use another, or leave it out"
    mine = made("NeutronAPI", "mine", exposed())
    assert umbrella(mine, keystone={"template": exposed()}) == {IN_KEYSTONE: sentence}
    assert "Service web;" in umbrella(with_port(), keystone={"template": exposed()})[IN_KEYSTONE]


def test_a_template_keeps_the_port_of_its_own_resource() -> None:
    present: CustomResource = made("KeystoneAPI", "keystone", exposed())
    own = with_port("KeystoneAPI/keystone")
    # A rival that was refused is no reason to refuse who was there first.
    rival = seen(made("NeutronAPI", "mine", exposed(), **LATER), refused=True)
    assert umbrella(present, own, rival, keystone={"template": exposed()}) == {}
    assert umbrella(own, keystone={"template": exposed()}) == {}
