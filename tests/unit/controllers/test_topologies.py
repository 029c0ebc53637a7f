"""Where pods run by a Topology: which component takes which, what is waited for, and what cannot be deleted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.api.topology import Topology
from stackwright.blueprint import topology_namespaces, topology_values, values
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.service import Service
from stackwright.controllers import topologies
from stackwright.controllers.service.decide import Intent, Seen, decide
from stackwright.controllers.service.environment import Environment
from stackwright.kube.plan import Ends
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from stackwright.services.nova.kinds.nova import NovaSpec
from stackwright.services.nova.kinds.services import NovaConductorSpec
from stackwright.services.nova.templates import spec_of
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.services.rabbitmq.service import SERVICE as RABBITMQ
from tests.functional.crds.samples import KINDS, LEAST
from tests.surroundings import listing

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ENVIRONMENT = Environment({"memcached": ComponentImage("memcached:1", sudo=False, ours=True)}, Path("charts"))
ZONES: JsonObject = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
}
SPREAD: JsonObject = {"topologySpreadConstraints": [ZONES]}
NEAR: JsonObject = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
}
# What drops the chart's own rule and says nothing itself.
NOTHING: JsonObject = {"podAntiAffinity": {}}
RUNNING = [service for service in services.blueprints() if service.known_components]


def made(kind: type[Any], name: str, spec: JsonObject, **metadata: Any) -> Any:
    return msgspec.convert({"metadata": {"name": name, "namespace": "openstack", **metadata}, "spec": spec}, kind)


def topology(name: str = "spread", spec: JsonObject | None = None) -> Topology:
    found: Topology = made(Topology, name, SPREAD if spec is None else spec)
    return found


def refers(name: str = "spread", **further: Any) -> JsonObject:
    return {"topologyRef": {"name": name}, **further}


def decided(resource: Any, *there: Topology) -> Intent[Any]:
    def look(kind: type[Any], name: str, **_: str) -> Any:
        return next((each for each in there if isinstance(each, kind) and each.metadata.name == name), None)

    return decide(MEMCACHED, resource, Seen(look, NOW), ENVIRONMENT)


@pytest.mark.parametrize(
    ("said", "placed"),
    [
        pytest.param(SPREAD, {**SPREAD, "affinity": NOTHING}, id="constraints-drop-our-own-rule"),
        pytest.param({"affinity": NEAR}, {"affinity": NEAR}, id="affinity"),
        pytest.param({**SPREAD, "affinity": NEAR}, {**SPREAD, "affinity": NEAR}, id="both"),
        pytest.param({}, {"affinity": NOTHING}, id="a-topology-that-says-nothing"),
        pytest.param(
            {"topologySpreadConstraints": [{**ZONES, "labelSelector": {}}]},
            {"topologySpreadConstraints": [{**ZONES, "labelSelector": {}}], "affinity": NOTHING},
            id="one-that-counts-all-pods",
        ),
    ],
)
def test_what_a_topology_says_is_in_the_values(said: JsonObject, placed: JsonObject) -> None:
    cache = made(Memcached, "memcached", refers())
    plain = decided(made(Memcached, "memcached", {})).values
    found = decided(cache, topology(spec=said)).values
    assert plain is not None
    assert found is not None
    assert found["components"]["server"] == {**plain["components"]["server"], **placed}
    assert not plain["components"]["server"].keys() & {"affinity", "topologySpreadConstraints"}


def test_one_that_is_missing_is_waited_for_by_its_name() -> None:
    cache = made(Memcached, "memcached", refers())
    intent = decided(cache, topology("another"))
    assert intent.values is None
    wait = next(wait for wait in intent.waits if wait.reason == "TopologyMissing")
    assert (wait.condition, wait.ends) == ("TopologyReady", Ends.BY_USER)
    assert wait.message.startswith("Topology spread, which spec.topologyRef names, does not exist; create it")


def test_only_who_refers_to_one_reports_on_it() -> None:
    assert "TopologyReady" not in made(Memcached, "memcached", {}).declared_conditions()
    assert "TopologyReady" not in made(Memcached, "memcached", refers("")).declared_conditions()
    assert "TopologyReady" in made(Memcached, "memcached", refers()).declared_conditions()


@pytest.mark.parametrize("service", [pytest.param(service, id=service.name) for service in RUNNING])
def test_every_component_of_every_service_takes_that_of_the_whole(service: Service[Any, Any]) -> None:
    resource = made(service.kind, "sample", {**LEAST[service.kind.kind.name], **refers()})
    assert {component.topology(resource) for component in service.components_of(resource)} == {"spread"}
    assert service.topologies_of(resource) == ("spread",)
    assert "TopologyReady" in resource.declared_conditions()
    assert "topologyRef" not in service.unread


@pytest.mark.parametrize(
    ("kind", "spec", "found"),
    [
        pytest.param(
            "Glance",
            refers(glanceAPIs={"a": {}, "b": refers("own")}, keystoneEndpoint="a"),
            {"a-external": "spread", "a-internal": "spread", "b-external": "own", "b-internal": "own"},
            id="an-api-of-glance",
        ),
        pytest.param(
            "Barbican",
            refers(barbicanWorker=refers("own"), barbicanKeystoneListener={}),
            {"api": "spread", "worker": "own", "keystone-listener": "spread"},
            id="a-component-of-barbican",
        ),
    ],
)
def test_a_component_that_names_one_itself_takes_that(kind: str, spec: JsonObject, found: dict[str, str]) -> None:
    service = services.blueprint_of(KINDS[kind])
    assert service is not None
    resource = made(service.kind, "sample", {**LEAST[kind], **spec})
    named = {component.name: component.topology(resource) for component in service.components_of(resource)}
    assert named == found


@pytest.mark.parametrize(("own", "found"), [(None, "spread"), ("own", "own")])
def test_nova_hands_its_own_to_services_that_name_none(own: str | None, found: str) -> None:
    whole = msgspec.convert({**LEAST["Nova"], **refers()}, NovaSpec)
    template = msgspec.convert(refers(own) if own else {}, type(whole.schedulerServiceTemplate))
    spec = spec_of(NovaConductorSpec, template, whole, **LEAST["NovaConductor"])
    assert spec.topologyRef is not None
    assert spec.topologyRef.name == found


def test_a_topology_goes_before_the_affinity_of_a_broker() -> None:
    broker = made(RabbitMq, "rabbitmq", refers(affinity={"nodeAffinity": {}}))
    facts = Facts(name="rabbitmq", namespace="openstack", image="rabbitmq:1", topologies={"spread": SPREAD})
    server = values.values(RABBITMQ, broker, facts)["components"]["server"]
    assert server["affinity"] == NOTHING
    assert server["topologySpreadConstraints"] == [ZONES]


@pytest.mark.parametrize(
    ("namespace", "refused"), [("", []), ("openstack", []), ("other", ["spec.topologyRef.namespace"])]
)
def test_a_topology_is_of_the_own_namespace(namespace: str, refused: list[str]) -> None:
    cache = made(Memcached, "memcached", {"topologyRef": {"name": "spread", "namespace": namespace}})
    assert [path for path, _ in topology_namespaces.problems(cache)] == refused


def test_one_that_somebody_refers_to_cannot_be_deleted() -> None:
    plane = services.control_plane()
    users = [
        made(Memcached, "memcached", refers()),
        made(Memcached, "going", refers(), deletionTimestamp="2026-11-16T12:00:00Z"),
        made(plane, "cloud", {**LEAST["OpenStackControlPlane"], "keystone": {"template": refers("deep")}}),
    ]
    known = listing(*users)
    why = topologies.hold(topology(), known)
    assert why == "it is in use by Memcached memcached; remove it from their topologyRef first"
    assert "OpenStackControlPlane cloud" in topologies.hold(topology("deep"), known)
    assert topologies.hold(topology("unused"), known) == ""


def test_what_a_parent_made_is_named_only_if_the_parent_refers_to_none() -> None:
    owner = {"apiVersion": "v1", "kind": "OpenStackControlPlane", "name": "cloud", "uid": "1", "controller": True}
    child = made(Memcached, "memcached", refers(), ownerReferences=[owner])
    parent = made(services.control_plane(), "cloud", {**LEAST["OpenStackControlPlane"], **refers()})
    assert "by OpenStackControlPlane cloud;" in topologies.hold(topology(), listing(child, parent))
    assert "by Memcached memcached;" in topologies.hold(topology(), listing(child))


def test_pods_that_share_a_volume_of_one_node_stay_there_whatever_a_topology_says() -> None:
    service = services.blueprint_of(KINDS["Glance"])
    assert service is not None
    resource = made(service.kind, "glance", {**LEAST["Glance"], **refers()})
    volume = {"volume": {"claim": "glance-default"}}
    components = {"default-external": volume, "default-internal": volume, "other": {"volume": {"claim": "another"}}}
    facts = Facts(name="glance", namespace="openstack", image="glance:1", topologies={"spread": {"affinity": NEAR}})
    found = topology_values.place(service, resource, facts, components)
    assert found.keys() == {"default-external", "default-internal"}
    for said in found.values():
        first, second = said["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (selected,) = first["labelSelector"]["matchExpressions"]
        assert (first["topologyKey"], selected["values"]) == (
            "kubernetes.io/hostname",
            ["default-external", "default-internal"],
        )
        assert [second] == NEAR["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
