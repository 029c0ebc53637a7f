"""What needs have in common: each is said in one place, may be there several times, and may be given as a Secret."""

import ast
import typing
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import ObjectMeta
from stackwright.api.service import RabbitMqConfig
from stackwright.blueprint import needs, policies
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs import (
    Api,
    Cache,
    CatalogEntry,
    Database,
    Each,
    Given,
    GivenEarlier,
    Messaging,
    Notifications,
    Password,
)
from stackwright.blueprint.needs.api import ApiFacts
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.given import GIVEN_BROKER, GIVEN_DATABASE, broker_secret, database_secret
from stackwright.blueprint.needs.need import WantedPassword
from stackwright.blueprint.network import ANYBODY, BY_OPERATORS
from stackwright.blueprint.service import Component, Service
from stackwright.controllers.needs import sight
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import Resource
from stackwright.services.mariadb.kinds import Galera, GaleraSpec
from stackwright.services.neutron.kinds import NeutronAPI, NeutronAPISpec
from stackwright.services.placement.kinds import PlacementAPI
from stackwright.services.rabbitmq.kinds import BrokerExternal, RabbitMq, RabbitMqSpec
from tests.unit.blueprint.resolving import Leaf, Spec, look_at, resolved, secret

ROOT = Path(__file__).parents[3] / "stackwright"
NEEDS = "stackwright.blueprint.needs"
FOLDER = ROOT / "blueprint" / "needs"
FILES = tuple(path for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "need"))
WORDS = tuple(name for name in needs.__all__ if name not in ("Each", "Need", "TYPES"))

DATABASE = DatabaseFacts("db.cloud.svc", 3306, "nova_cell1", "nova_cell1", "hush", "openstack")
GALERA = Galera(metadata=ObjectMeta(name="openstack"), spec=GaleraSpec(storageClass="local", storageRequest="1G"))
BROKER = BrokerFacts("rabbit://u:p@bus.cloud.svc:5672/", quorum_queues=True, secret="connections", server="rabbitmq")


def own_words(need: str) -> set[str]:
    """The texts that a need's file gives a name to: the word of its provider, keys of Secrets, names of Jobs."""
    found = set()
    for node in ast.parse((FOLDER / f"{need}.py").read_text()).body:
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            found |= {each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    # A condition is one of a kind, and belongs to no need.
    return {word for word in found if not word.endswith("Ready")}


@cache
def said() -> dict[str, set[str]]:
    """What each module below services imports, as module.name, and the texts that it has; the needs are not asked."""
    found: dict[str, set[str]] = {}
    floors = (
        path for floor in ("blueprint", "controllers", "foresight", "cli") for path in (ROOT / floor).rglob("*.py")
    )
    for path in (path for path in floors if not path.is_relative_to(FOLDER)):
        mine = found.setdefault(str(path.relative_to(ROOT)), set())
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.ImportFrom(module=module, names=names):
                    mine |= {f"{module}.{each.name}" for each in names}
                case ast.Constant(value=str(text)):
                    mine.add(text)
    return found


# Who has to do with one need alone. Settings in oslo's words are written from its facts, and a pod reads those of the
# broker and of its login again to ask whether they let the service in; the tables of an API wait for the Job that makes
# their schema, and a process has to start anew when that was lost. The kinds that stand for what a
# need makes have controllers of their own, and foresight and ownership know what these are of. Keystone is asked by
# whoever registers something. Questions that are asked of one need: the password of a service that runs elsewhere, the
# options in a user's Secrets, which kinds an API of another service is read from, and which changes wake a service that
# counts resources. Every service has the Topologies of its components.
ASKED = {
    "api": {"controllers/needs.py"},
    "broker": {
        "blueprint/oslo.py",
        "blueprint/pod/peers.py",
        "controllers/broker/secrets.py",
        "foresight/checks/imagined_cloud.py",
        "foresight/dependencies.py",
    },
    "cache": {"blueprint/oslo.py"},
    "catalog_entry": {
        "controllers/identity/endpoint.py",
        "controllers/identity/own_entry.py",
        "controllers/identity/service.py",
        "controllers/identity/sweeping.py",
        "controllers/ownership/claims.py",
        "controllers/ownership/entries.py",
    },
    "census": {"controllers/needs.py"},
    "database": {
        "blueprint/apis.py",
        "blueprint/configuration.py",
        "blueprint/oslo.py",
        "controllers/database/account.py",
        "controllers/ownership/claims.py",
        "foresight/dependencies.py",
    },
    "login": {
        "blueprint/configuration.py",
        "blueprint/oslo.py",
        "blueprint/placeholders.py",
        "blueprint/pod/peers.py",
        "controllers/identity/own_entry.py",
        "controllers/node_services/controllers.py",
        "controllers/node_services/signs.py",
        "controllers/ownership/claims.py",
        "foresight/dependencies.py",
    },
    "password": {"controllers/service/decide.py"},
    "snippets": {"controllers/service/refusals.py"},
    "topologies": {"blueprint/service.py"},
}


@pytest.mark.parametrize("need", sorted(path.stem for path in FILES))
def test_a_need_is_said_in_one_file(need: str) -> None:
    """Neither its classes nor its words are anywhere else, below the services that have it."""
    classes = {f"{NEEDS}.{name}" for name in WORDS if getattr(needs, name).__module__ == f"{NEEDS}.{need}"}
    mine = {*classes, *own_words(need), f"{NEEDS}.{need}"}
    found = {
        path for path, words in said().items() if mine & words or any(f"{NEEDS}.{need}." in word for word in words)
    }
    assert found == ASKED.get(need, set())


def test_a_port_is_open_to_the_pods_that_carry_the_label_of_a_need() -> None:
    """A word that no need has would close a port to everybody."""
    every = [need for service in services.blueprints() for need in service.needs]
    labelled = {need.word for need in every if isinstance(need, needs.Need) and need.labelled}
    listening = {listen.by for service in services.blueprints() for listen in service.network.listens}
    assert listening - {ANYBODY, BY_OPERATORS} <= labelled


@pytest.mark.parametrize(
    ("of", "fact", "content"),
    [
        pytest.param(GIVEN_DATABASE, DATABASE, database_secret(DATABASE), id="a-database"),
        pytest.param(GIVEN_BROKER, BROKER, broker_secret(BROKER), id="a-broker"),
    ],
)
def test_a_connection_is_given_as_a_secret_and_yields_the_same_fact(
    of: Any, fact: Any, content: dict[str, str]
) -> None:
    found = resolved(Given(name="connection", of=of), secret("connections", content))
    assert found.ready
    assert found.fact == fact


def test_a_secret_may_give_several_connections_each_with_a_prefix() -> None:
    content = {f"{before}-{key}": text for before in ("api", "cell") for key, text in database_secret(DATABASE).items()}
    content["cell-database"] = "nova_cell1"
    found = resolved(Given(name="cell", of=GIVEN_DATABASE, prefix="cell-"), secret("connections", content))
    assert found.fact.schema == "nova_cell1"


@pytest.mark.parametrize(
    ("there", "words"),
    [
        pytest.param((), ("Secret connections, which spec.secret names, does not exist", "hostname, port"), id="none"),
        pytest.param((secret("connections", {}),), ("no value under the key hostname",), id="empty"),
        pytest.param(
            (secret("connections", {**database_secret(DATABASE), "port": "hush"}),), ("the key port",), id="no-number"
        ),
    ],
)
def test_what_a_given_secret_lacks_is_named_and_nothing_of_it_is_shown(
    there: tuple[Secret, ...], words: tuple[str, ...]
) -> None:
    found = resolved(Given(name="database", of=GIVEN_DATABASE), *there)
    assert not found.ready
    assert all(word in found.waits[0].message for word in words)
    assert "hush" not in found.waits[0].message


@pytest.mark.parametrize(
    ("there", "found"),
    [
        pytest.param((secret("cell-database", database_secret(DATABASE)), GALERA), DATABASE, id="as-it-was-given"),
        pytest.param((secret("cell-database", database_secret(DATABASE)),), None, id="its-server-is-gone"),
        pytest.param((secret("cell-database", {}), GALERA), None, id="empty"),
        pytest.param((GALERA,), None, id="never-given"),
    ],
)
def test_what_was_given_to_a_child_is_read_as_long_as_it_is_there_and_nothing_waits(
    there: tuple[Resource, ...], found: DatabaseFacts | None
) -> None:
    need = GivenEarlier(name="cells", key="cell", of=GIVEN_DATABASE, named=lambda _: "cell-database")
    read = resolved(need, *there)
    assert (read.fact, read.ready, read.waits) == (found, found is not None, ())
    assert not list(need.used(Leaf(), sight(look_at(*there))))


@dataclass(frozen=True, kw_only=True)
class CellFacts(Facts):
    database: DatabaseFacts | None = None
    cells: dict[str, DatabaseFacts] = field(default_factory=dict)


def service(*asked: Any) -> Service[Any, Any]:
    return Service[Any, Any](
        name="nova", kind=Any, facts=CellFacts, user="nova", needs=asked, components=(Component("conductor"),)
    )


def test_the_firewall_opens_to_the_server_that_a_given_secret_names() -> None:
    of = service(Given(name="database", of=GIVEN_DATABASE))
    facts = CellFacts(name="nova", namespace="cloud", image="i", database=DATABASE)
    leaf: Any = Leaf()
    assert policies.pod_labels(of, leaf, facts) == {"database.needs.openstack.org/openstack": "true"}
    ways = policies.rules(of, leaf, facts, policies.Surroundings())["egress"]
    labels = {"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": "openstack"}
    ports = [{"port": 3306, "protocol": "TCP"}]
    assert {"to": [{"podSelector": {"matchLabels": labels}}], "ports": ports} in ways


def cell_databases(resource: Any) -> Any:
    return (
        Database(
            name="cells",
            key=cell,
            instance=f"cells.{cell}.database",
            account=f"cells.{cell}.account",
            database=partial(lambda cell, nova: f"{nova.metadata.name}-{cell}", cell),
        )
        for cell in resource.spec.cells
    )


def test_a_need_may_be_there_for_each_entry_of_a_map() -> None:
    cells = {name: {"database": f"db-{name}", "account": f"nova-{name}"} for name in ("cell0", "cell1")}
    nova: Any = Leaf(Spec(cells=cells))
    of = service(Each((Database,), cell_databases))
    assert of.need_types == {Database}
    asked = of.needs_of(nova)
    assert [need.provided_by(nova) for need in asked] == ["db-cell0", "db-cell1"]
    children = [child for need in asked for child in resolved(need, leaf=nova).children]
    assert [(child.of.kind.name, child.body["metadata"]["name"]) for child in children] == [
        ("MariaDBDatabase", "nova-cell0"),
        ("MariaDBAccount", "nova-cell0"),
        ("MariaDBDatabase", "nova-cell1"),
        ("MariaDBAccount", "nova-cell1"),
    ]
    assert children[0].body["spec"]["name"] == "nova_cell0"
    facts = CellFacts(name="nova", namespace="cloud", image="i", cells={"cell1": DATABASE})
    assert asked[1].fact_of(facts) == DATABASE
    assert asked[0].fact_of(facts) is None


CELL_PASSWORDS = Each((Password,), lambda nova: (Password("cellsPrefix", entry=cell) for cell in nova.spec.cells))


def test_a_password_may_stand_under_a_prefix_and_the_key_of_an_entry() -> None:
    nova: Any = Leaf(Spec(cells={"cell0": {}, "cell1": {}}))
    asked = service(CELL_PASSWORDS).needs_of(nova)
    there = secret("connections", {"MetadataCellsSecretcell0": "one", "MetadataCellsSecretcell1": "two"})

    assert [need.key for need in asked] == ["cellsPrefix.cell0", "cellsPrefix.cell1"]
    assert [resolved(need, there, leaf=nova).fact for need in asked] == ["one", "two"]
    assert [password for need in asked for password in need.passwords(nova)] == [
        WantedPassword("MetadataCellsSecretcell0"),
        WantedPassword("MetadataCellsSecretcell1"),
    ]
    missing = resolved(asked[1], secret("connections", {"MetadataCellsSecretcell0": "one"}), leaf=nova)
    assert "the key MetadataCellsSecretcell1" in missing.waits[0].message


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        pytest.param({"MetadataSecret": "all", "MetadataCellsSecretcell1": "own"}, "own", id="its-own"),
        pytest.param({"MetadataSecret": "all"}, "all", id="the-one-of-all"),
        pytest.param({"MetadataSecret": "all", "MetadataCellsSecretcell1": ""}, "all", id="an-empty-one-is-none"),
    ],
)
def test_an_entry_without_a_password_of_its_own_may_use_another(content: dict[str, str], fact: str) -> None:
    need = Password("cellsPrefix", entry="cell1", instead="metadata")
    assert resolved(need, secret("connections", content)).fact == fact
    assert "the key MetadataSecret" in resolved(need, secret("connections", {})).waits[0].message
    assert tuple(need.passwords(Leaf())) == (
        WantedPassword("MetadataCellsSecretcell1", optional=True),
        WantedPassword("MetadataSecret"),
    )


def placement(**status: Any) -> PlacementAPI:
    spec = {"secret": "s", "databaseInstance": "openstack"}
    body = {"metadata": {"name": "placement", "namespace": "cloud"}, "spec": spec, "status": status}
    return msgspec.convert(body, PlacementAPI)


def test_another_service_is_needed_by_its_type_in_the_catalog() -> None:
    need = Api(name="placement", type="placement", usual="placement")
    assert "PlacementAPI placement does not exist" in resolved(need).waits[0].message
    assert "does not say its endpoints yet" in resolved(need, placement()).waits[0].message
    urls = {"internal": "http://placement-internal.cloud.svc:8778", "public": "http://10.0.0.1:30778"}
    found = resolved(need, placement(apiEndpoints=urls))
    assert found.fact == ApiFacts(urls["internal"], urls["public"], "placement", "placement")
    assert need.places(found.fact) == (("placement-internal.cloud.svc", 8778),)


def test_every_service_that_is_in_the_catalog_can_be_needed_by_its_type() -> None:
    assert {"database", "cache", "broker", "identity", "image", "placement", "key-manager"} <= set(services.providers())


@pytest.mark.parametrize("service", [one for one in services.blueprints() if CatalogEntry in one.need_types])
def test_every_api_says_which_field_of_its_status_has_its_urls(service: Service[Any, Any]) -> None:
    (entry,) = (need for need in service.needs if isinstance(need, CatalogEntry))
    urls = {"public": "http://10.0.0.1:30000", "internal": "http://somewhere.cloud.svc:8000"}
    status = typing.get_type_hints(service.kind)["status"]
    assert entry.offer(SimpleNamespace(status=status(**{entry.urls: urls}))).urls == urls
    assert entry.offer(SimpleNamespace(status=status())).urls == {}


def test_a_cache_that_is_optional_may_be_left_out() -> None:
    found = resolved(Cache(instance="cells.cache", optional=True))
    assert (found.ready, found.fact, found.waits) == (True, None, ())
    assert not resolved(Cache(instance="cells.cache")).ready


def test_a_broker_is_asked_for_at_the_place_that_the_need_names() -> None:
    assert Messaging(bus="cells.cell1.bus").provided_by(Leaf()) == ""


ELSEWHERE = RabbitMqSpec(
    external=BrokerExternal(hostname="rabbit.example.org", managementURL="http://x", secret="root")
)


@pytest.mark.parametrize(
    ("bus", "broker", "user"),
    [
        pytest.param({}, None, "neutron-messaging", id="a-broker-that-is-not-there-yet"),
        pytest.param({}, RabbitMqSpec(), "neutron-messaging", id="a-broker-of-ours"),
        pytest.param({}, ELSEWHERE, "neutron-messaging-0b1c2d3e", id="a-broker-that-other-clouds-may-share"),
        pytest.param({"user": "nova"}, ELSEWHERE, "nova", id="a-user-that-is-named"),
    ],
)
@pytest.mark.parametrize(("need", "end"), [(Messaging(), "messaging"), (Notifications(), "notifications")])
def test_a_service_logs_in_to_its_broker_as_a_user_of_its_own(
    need: Any, end: str, bus: dict[str, str], broker: RabbitMqSpec | None, user: str
) -> None:
    """A TransportURL that names no user logs in as the broker's administrator."""
    config = RabbitMqConfig(cluster="rabbitmq", **bus)
    spec = NeutronAPISpec(
        databaseInstance="openstack", secret="osp-secret", messagingBus=config, notificationsBus=config
    )
    resource = NeutronAPI(metadata=ObjectMeta(name="neutron", namespace="cloud"), spec=spec)
    metadata = ObjectMeta(name="rabbitmq", namespace="cloud", uid="0b1c2d3e-1111-2222-3333-444444444444")
    there = () if broker is None else (RabbitMq(metadata=metadata, spec=broker),)
    (made,) = resolved(need, *there, leaf=resource).children
    assert made.body["spec"]["username"] == user.replace("messaging", end)
