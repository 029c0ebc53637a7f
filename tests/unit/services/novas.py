"""What the tests of Nova's folder share: facts, and resources of each kind."""

from dataclasses import fields, replace
from typing import Any

import msgspec

from stackwright.blueprint.children import Later
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.needs.outside_broker import OutsideFacts
from stackwright.blueprint.service import Service
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.child import Child
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.outside_compute import CellFacts
from stackwright.services.nova.parent import ParentFacts
from stackwright.services.nova.service import SERVICES
from tests.functional.crds.samples import LEAST

BY_KIND: dict[str, Service[Any, Any]] = {service.kind.kind.name: service for service in SERVICES}
IDENTITY = IdentityFacts("http://keystone:5000", "http://public:5000", "regionOne", "nova", "secret word")
BROKER = BrokerFacts("rabbit://user:hop@rabbitmq:5672/", secret="nova", server="rabbitmq")
API_DATABASE = DatabaseFacts("openstack.svc", 3306, "nova_api", "nova_api", "p@ss")
CELL0 = DatabaseFacts("openstack.svc", 3306, "nova_cell0", "nova_cell0", "p@ss")
CELL1 = DatabaseFacts("openstack-cell1.svc", 3306, "nova_cell1", "nova_cell1", "p@ss")

FACTS = NovaFacts(
    name="nova-x",
    namespace="openstack",
    image="registry.example/openstack:1",
    endpoints=Endpoints(public="http://public:1", internal="http://10.0.0.1:30775"),
    identity=IDENTITY,
    messaging=BROKER,
    notifications=BROKER,
    cache=CacheFacts(("memcached-0:11211",)),
    api_database=API_DATABASE,
    database=CELL0,
    shared_secret="between-us",
)
# The cluster keeps all of it to itself.
CELL_FACTS = CellFacts(
    **{entry.name: getattr(FACTS, entry.name) for entry in fields(NovaFacts)},
    outside_messaging=OutsideFacts(why="RabbitMq rabbitmq has no address outside of the cluster"),
)
# Both cells have what they need, and nothing is done yet.
PARENT = ParentFacts(
    name="nova",
    namespace="openstack",
    image="registry.example/openstack:1",
    passwords={"metadataSecret": "between-us"},
    identity=IDENTITY,
    api_database=API_DATABASE,
    messaging=BROKER,
    cell_databases={"cell0": CELL0, "cell1": CELL1},
    cell_brokers={"cell1": replace(BROKER, transport_url="rabbit://cell1:hop@rabbitmq-cell1:5672/")},
)


def made(kind: str, name: str = "nova-x", **spec: Any) -> Any:
    body = {"metadata": {"name": name, "namespace": "openstack"}, "spec": {**LEAST[kind], **spec}}
    return msgspec.convert(body, BY_KIND[kind].kind)


def nova(status: dict[str, Any] | None = None, **spec: Any) -> Nova:
    body = {"metadata": {"name": "nova", "namespace": "openstack"}, "spec": {**LEAST["Nova"], **spec}}
    return msgspec.convert({**body, "status": status or {}}, Nova)


def children_of(resource: Nova, facts: ParentFacts) -> list[Child | Wait]:
    """Return what Nova stands for, and what it waits for, whatever its children come after."""
    assert NOVA.children is not None
    return [item.child if isinstance(item, Later) else item for item in NOVA.children(resource, facts)]


def nobody(kind: type[Any], name: str, **_: str) -> Any:
    return None
