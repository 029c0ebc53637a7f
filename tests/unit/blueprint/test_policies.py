"""Which pods may talk to which, as it follows from what services say that they need."""

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.api.exposure import RoutedOverride
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs import Login
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.network import Listen, Network
from stackwright.blueprint.policies import Surroundings, pod_labels, rules, values
from stackwright.blueprint.service import Component, Endpoint, Service

AROUND = Surroundings(operators="system", api_server=(443, 6443))
DNS = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}
API_SERVER = {"ports": [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]}
OPERATORS = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "system"}},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "stackwright"}},
}


def tcp(*ports: int) -> list[JsonObject]:
    return [{"port": port, "protocol": "TCP"} for port in ports]


def pods(**labels: str) -> JsonObject:
    return {"podSelector": {"matchLabels": {f"app.kubernetes.io/{name}": value for name, value in labels.items()}}}


def blueprint(name: str) -> Service[Any, Any]:
    return next(service for service in services.blueprints() if service.name == name)


def resource(service: Service[Any, Any], name: str, spec: JsonObject | None = None) -> Any:
    body = {"metadata": {"name": name, "namespace": "cloud"}, "spec": spec or {}}
    return msgspec.convert(body, service.kind)


DATABASE = DatabaseFacts("openstack.cloud.svc", 3306, "s", "u", "secret-of-the-database")
CACHE = CacheFacts(("memcached-0.memcached.cloud.svc:11211",))
IDENTITY = IdentityFacts(
    "http://keystone-internal.cloud.svc:5000", "http://10.0.0.1:30500", "RegionOne", "u", "secret-of-the-user"
)


@dataclass(frozen=True)
class AllFacts(Facts):
    """The facts of a service that needs everything."""

    database: DatabaseFacts = DATABASE
    cache: CacheFacts = CACHE
    notifications: BrokerFacts | None = None
    identity: IdentityFacts = IDENTITY
    messaging: BrokerFacts | None = None


def facts(name: str, **changes: Any) -> AllFacts:
    return replace(AllFacts(name=name, namespace="cloud", image="i"), **changes)


KEYSTONE = blueprint("keystone")
SAID = {"secret": "s", "databaseInstance": "openstack", "memcachedInstance": "memcached"}
URL = "rabbit://u:hidden@rabbit-0.rabbit.cloud.svc:5672,u:hidden@rabbit-1.rabbit.cloud.svc:5672/vhost"
BUS = {**SAID, "notificationsBus": {"cluster": "rabbit"}}


def egress(spec: JsonObject = SAID, **changes: Any) -> list[JsonObject]:
    found: list[JsonObject] = rules(
        KEYSTONE, resource(KEYSTONE, "keystone", spec), facts("keystone", **changes), AROUND
    )["egress"]
    return found


def test_a_service_reaches_what_it_needs_and_nothing_else() -> None:
    assert egress() == [
        DNS,
        {"to": [pods(name="mariadb", instance="openstack")], "ports": tcp(3306)},
        {"to": [pods(name="memcached", instance="memcached")], "ports": tcp(11211)},
        API_SERVER,
    ]


def test_a_broker_is_reached_where_one_is_named() -> None:
    way = {"to": [pods(name="rabbitmq", instance="rabbit")], "ports": tcp(5672)}
    assert way in egress(BUS, notifications=BrokerFacts(URL))
    assert way not in egress()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"database": DatabaseFacts("db.example.org", 3307, "s", "u", "p")}, id="by-its-own-name"),
        pytest.param({"database": DatabaseFacts("db.other.svc", 3307, "s", "u", "p")}, id="in-another-namespace"),
        pytest.param({"database": DatabaseFacts("10.1.2.3", 3307, "s", "u", "p")}, id="by-its-address"),
    ],
)
def test_what_runs_elsewhere_is_reached_by_its_port(changes: dict[str, Any]) -> None:
    found = egress(**changes)
    assert {"ports": tcp(3307)} in found
    assert {"to": [pods(name="mariadb", instance="openstack")], "ports": tcp(3306)} not in found


@pytest.mark.parametrize(
    ("url", "ways"),
    [
        pytest.param(
            "http://keystone-internal.cloud.svc:5000",
            [{"to": [pods(name="keystone", instance="keystone")], "ports": tcp(5000)}],
            id="here",
        ),
        pytest.param(
            "http://10.0.0.1:30500",
            [{"to": [pods(name="keystone", instance="keystone")]}, {"ports": tcp(30500)}],
            id="here-by-a-node-port",
        ),
        pytest.param(
            "https://keystone.example.org/v3",
            [{"to": [pods(name="keystone", instance="keystone")]}, {"ports": tcp(443)}],
            id="elsewhere",
        ),
    ],
)
def test_a_service_reaches_its_keystone(url: str, ways: list[JsonObject]) -> None:
    identity = replace(IDENTITY, url=url)
    teapot = _teapot(Login())
    found = rules(teapot, _named("keystone"), facts("teapot", identity=identity), AROUND)["egress"]
    assert found == [DNS, *ways]


@dataclass(frozen=True)
class _Spec:
    keystoneInstance: str = "keystone"


@dataclass(frozen=True)
class _Metadata:
    name: str = "teapot"


@dataclass(frozen=True)
class _Resource:
    spec: _Spec = _Spec()
    metadata: _Metadata = _Metadata()


def _named(keystone: str) -> Any:
    return _Resource(_Spec(keystoneInstance=keystone))


def _teapot(*needs: Any, endpoints: tuple[Endpoint, ...] = (), components: tuple[str, ...] = ("api",)) -> Any:
    parts = tuple(Component[Any, Any](name) for name in components)
    return Service[Any, Any](
        name="teapot", kind=Any, facts=Facts, user="t", needs=needs, endpoints=endpoints, components=parts
    )


def test_a_need_is_a_label_of_the_pods() -> None:
    assert pod_labels(KEYSTONE, resource(KEYSTONE, "keystone", BUS)) == {
        "database.needs.openstack.org/openstack": "true",
        "cache.needs.openstack.org/memcached": "true",
        "broker.needs.openstack.org/rabbit": "true",
    }
    assert pod_labels(_teapot(Login()), _named("keystone")) == {}, "an API is open to all"


def test_an_api_is_open_to_users_and_its_jobs_to_nobody() -> None:
    found = rules(KEYSTONE, resource(KEYSTONE, "keystone", SAID), facts("keystone"), AROUND)
    assert found["ingress"] == {"api": [{"ports": tcp(5000)}]}


def test_only_pods_that_wait_for_jobs_ask_the_cluster() -> None:
    said = {"secret": "s", "keystoneAuthURL": IDENTITY.url, "cellName": "cell1", "cellDatabaseSecret": "d"}
    conductor = blueprint("nova-conductor")
    assert conductor.jobs_of(resource(conductor, "it", said))
    found = rules(conductor, resource(conductor, "it", said), facts("it"), AROUND)
    assert API_SERVER not in found["egress"]
    assert API_SERVER in egress()


@pytest.mark.parametrize(
    ("service", "port"),
    [pytest.param("nova-api", 8774, id="api"), pytest.param("nova-novncproxy", 6080, id="proxy")],
)
def test_a_service_whose_pods_are_all_alike_is_open_as_a_whole(service: str, port: int) -> None:
    said = {"secret": "s", "keystoneAuthURL": IDENTITY.url, "cellName": "cell1", "cellDatabaseSecret": "d"}
    found = rules(blueprint(service), resource(blueprint(service), "it", said), facts("it"), AROUND)
    assert found["ingress"] == {"*": [{"ports": tcp(port)}]}


@pytest.mark.parametrize(
    ("override", "rule"),
    [
        pytest.param({}, {"from": [{"podSelector": {}}], "ports": tcp(9)}, id="for-the-namespace"),
        pytest.param({"spec": {"type": "ClusterIP"}}, {"from": [{"podSelector": {}}], "ports": tcp(9)}, id="said-so"),
        pytest.param({"spec": {"type": "LoadBalancer"}}, {"ports": tcp(9)}, id="by-a-load-balancer"),
        pytest.param({"endpointURL": "http://elsewhere:9"}, {"ports": tcp(9)}, id="by-a-url-of-the-users"),
    ],
)
def test_an_internal_api_of_its_own_is_for_the_namespace_unless_the_user_leads_others_to_it(
    override: JsonObject, rule: JsonObject
) -> None:
    overrides = {"internal": msgspec.convert(override, RoutedOverride)} if override else {}
    endpoint = Endpoint(port=9, public="outer", internal="inner", override=overrides)
    teapot = _teapot(endpoints=(endpoint,), components=("outer", "inner"))
    found = rules(teapot, _named("keystone"), facts("teapot"), AROUND)
    assert found == {"egress": [], "ingress": {"outer": [{"ports": tcp(9)}], "inner": [rule]}}


@pytest.mark.parametrize(
    ("service", "name", "need", "port"),
    [
        pytest.param("mariadb", "openstack", "database", 3306, id="a-database"),
        pytest.param("memcached", "memcached", "cache", 11211, id="a-cache"),
        pytest.param("rabbitmq", "rabbit", "broker", 5672, id="a-broker"),
    ],
)
def test_who_provides_lets_in_who_needs_it_and_the_operators(service: str, name: str, need: str, port: int) -> None:
    provider = blueprint(service)
    found = rules(provider, resource(provider, name), facts(name), AROUND)["ingress"]["server"]
    clients = {"podSelector": {"matchLabels": {f"{need}.needs.openstack.org/{name}": "true"}}}
    assert {"from": [clients, OPERATORS], "ports": tcp(port)} in found


def test_nodes_of_one_cluster_talk_to_each_other_and_ask_kubernetes() -> None:
    rabbitmq = blueprint("rabbitmq")
    found = rules(rabbitmq, resource(rabbitmq, "rabbit"), facts("rabbit"), AROUND)
    assert found["egress"] == [DNS, {"to": [pods(name="rabbitmq", instance="rabbit")]}, API_SERVER]
    assert {"from": [pods(name="rabbitmq", instance="rabbit", component="server")]} in found["ingress"]["server"]
    # Users and virtual hosts are the operators' matter.
    assert {"from": [OPERATORS], "ports": tcp(15672)} in found["ingress"]["server"]


def test_a_cache_talks_to_nobody() -> None:
    memcached = blueprint("memcached")
    assert rules(memcached, resource(memcached, "memcached"), facts("memcached"), AROUND)["egress"] == []


@pytest.mark.parametrize(
    ("spec", "around"),
    [
        pytest.param({}, Surroundings(), id="the-operator-is-no-pod"),
        pytest.param({"override": {"service": {"spec": {"type": "LoadBalancer"}}}}, AROUND, id="the-user-exposes-it"),
    ],
)
def test_what_must_be_reached_by_others_than_pods_is_open(spec: JsonObject, around: Surroundings) -> None:
    rabbitmq = blueprint("rabbitmq")
    found = rules(rabbitmq, resource(rabbitmq, "rabbit", spec), facts("rabbit"), around)
    assert {"ports": tcp(5672)} in found["ingress"]["server"]


def test_what_only_operators_ask_for_stays_closed_if_the_user_exposes_the_rest() -> None:
    rabbitmq = blueprint("rabbitmq")
    spec = {"override": {"service": {"spec": {"type": "NodePort"}}}}
    found = rules(rabbitmq, resource(rabbitmq, "rabbit", spec), facts("rabbit"), AROUND)["ingress"]["server"]
    (management,) = [rule for rule in found if rule.get("ports") == tcp(15672)]
    assert management["from"]


def test_switched_off_the_labels_stay_so_that_no_pod_restarts_when_it_is_switched_on() -> None:
    found = values(KEYSTONE, resource(KEYSTONE, "keystone", SAID), facts("keystone"), None)
    assert found.keys() == {"podLabels"}


def test_no_secret_is_in_it() -> None:
    found = values(
        KEYSTONE, resource(KEYSTONE, "keystone", BUS), facts("keystone", notifications=BrokerFacts(URL)), AROUND
    )
    text = msgspec.json.encode(found).decode()
    assert "secret-of" not in text
    assert "hidden" not in text


def test_the_label_that_pods_carry_is_the_one_that_who_provides_looks_for() -> None:
    labels = pod_labels(KEYSTONE, resource(KEYSTONE, "keystone", BUS))
    for service, name in (("mariadb", "openstack"), ("memcached", "memcached"), ("rabbitmq", "rabbit")):
        provider = blueprint(service)
        found = rules(provider, resource(provider, name), facts(name), AROUND)["ingress"]["server"]
        wanted = [peer["podSelector"]["matchLabels"] for rule in found for peer in rule["from"]]
        assert any(set(each.items()) <= set(labels.items()) for each in wanted), service


def test_a_name_server_is_open_to_anybody_and_asks_the_servers_that_the_user_names() -> None:
    listens = (Listen(5353, by="anybody", protocol="UDP"), Listen(5353, by="anybody"))
    serving = replace(blueprint("memcached"), network=Network(listens=listens, resolves=lambda _: (53, 5300)))
    found = rules(serving, resource(serving, "names"), facts("names"), AROUND)
    both = [{"port": port, "protocol": protocol} for port in (53, 5300) for protocol in ("UDP", "TCP")]
    assert found == {
        "egress": [{"ports": both}],
        "ingress": {"server": [{"ports": [{"port": 5353, "protocol": "UDP"}]}, {"ports": tcp(5353)}]},
    }
