"""Neutron's blueprint as plain functions: its configuration, its components, and what agents outside get."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.blueprint import configuration, ini, options, policies, tls, values
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs import NetworkDatabase, OutsideBroker
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.needs.network_database import NetworkDatabaseFacts
from stackwright.blueprint.needs.outside_broker import OutsideFacts
from stackwright.controllers.controlplane import passwords
from stackwright.kube.resource import R
from stackwright.services.neutron import agents
from stackwright.services.neutron.facts import NeutronFacts
from stackwright.services.neutron.kinds import NeutronAPI, NeutronAPISpec
from stackwright.services.neutron.section import SECTION
from stackwright.services.neutron.service import SERVICE
from tests.unit.controllers.controlplane.umbrellas import instances

INSIDE = "rabbit://user:hop@rabbitmq.openstack.svc:5672/"
REACHED = "rabbit://user:hop@192.0.2.7:30672/"
FACTS = NeutronFacts(
    name="neutron",
    namespace="openstack",
    image="registry.example/openstack:1",
    endpoints=Endpoints("http://public.example:9696", "http://neutron-internal.openstack.svc:9696"),
    database=DatabaseFacts("openstack.openstack.svc", 3306, "neutron", "neutron", "p@ss/word"),
    cache=CacheFacts(("memcached-0:11211",)),
    messaging=BrokerFacts(INSIDE, quorum_queues=True, secret="rabbitmq-transport-url-neutron-neutron-transport"),
    outside_messaging=OutsideFacts(REACHED),
    identity=IdentityFacts("http://keystone:5000", "http://public:5000", "regionOne", "neutron", "secret word"),
    northbound=NetworkDatabaseFacts(
        "tcp:10.96.1.2:6641,tcp:10.96.1.3:6641", "tcp:192.0.2.7:30641", "ovndbcluster-nb", "ovn"
    ),
    southbound=NetworkDatabaseFacts("tcp:10.96.2.2:6642", "tcp:192.0.2.7:30642", "ovndbcluster-sb", "ovn"),
)
CLOSED = replace(
    FACTS,
    outside_messaging=OutsideFacts(why="RabbitMq rabbitmq has no address outside of the cluster; set it"),
    northbound=NetworkDatabaseFacts("tcp:10.96.1.2:6641", "", "ovndbcluster-nb", "ovn"),
    southbound=NetworkDatabaseFacts("tcp:10.96.2.2:6642", "", "ovndbcluster-sb", "ovn"),
)
DAEMONS = {"rpc", "periodic-workers", "ovn-maintenance-worker"}


def neutron(**spec: Any) -> NeutronAPI:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return NeutronAPI(metadata=ObjectMeta(name="neutron"), spec=msgspec.convert(said, NeutronAPISpec))


def nobody(kind: type[R], name: str, **_: str) -> R | None:
    return None


def data(facts: NeutronFacts = FACTS, **spec: Any) -> dict[str, str]:
    return configuration.secret_data(SERVICE, neutron(**spec), facts)


def sections(key: str, facts: NeutronFacts = FACTS, **spec: Any) -> ini.Sections:
    parsed = ini.parse(data(facts, **spec)[key])
    assert not isinstance(parsed, ini.Problem)
    return parsed


def hashes(facts: NeutronFacts = FACTS, **spec: Any) -> dict[str, str]:
    components = values.values(SERVICE, neutron(**spec), facts)["components"]
    return {name: component["hash"] for name, component in components.items()}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_the_configuration_leads_to_the_schema_the_broker_and_the_databases_of_networks() -> None:
    found = sections("01-neutron.conf")
    assert found["DEFAULT"]["transport_url"] == (INSIDE,)
    assert found["DEFAULT"]["core_plugin"] == ("ml2",)
    assert found["DEFAULT"]["service_plugins"] == ("qos,ovn-router,trunk,segments,port_forwarding,log",)
    assert found["DEFAULT"]["dhcp_agent_notification"] == ("false",)
    assert found["database"]["connection"][0].startswith("mysql+pymysql://neutron:p%40ss%2Fword@openstack.")
    assert found["ovn"]["ovn_nb_connection"] == ("tcp:10.96.1.2:6641,tcp:10.96.1.3:6641",)
    assert found["ovn"]["ovn_sb_connection"] == ("tcp:10.96.2.2:6642",)
    assert found["ovn"]["ovn_metadata_enabled"] == ("true",)
    assert found["ml2"]["mechanism_drivers"] == ("ovn",)
    assert found["oslo_messaging_rabbit"]["rabbit_quorum_queue"] == ("true",)
    assert found["oslo_messaging_notifications"] == {"driver": ("noop",)}


def test_nova_is_told_of_ports_by_neutrons_own_user_at_the_internal_endpoint() -> None:
    found = sections("01-neutron.conf")
    for section in ("nova", "placement"):
        assert found[section]["endpoint_type"] == ("internal",)
        assert found[section]["region_name"] == ("regionOne",)
        assert (found[section]["username"], found[section]["password"]) == (("neutron",), ("secret word",))


def test_servers_are_not_told_the_name_server_of_the_pods() -> None:
    # By these Neutron announces none.
    assert sections("01-neutron.conf")["ovn"]["dns_servers"] == ("0.0.0.0,::",)


def test_notifications_go_to_a_broker_of_their_own_and_leave_the_queues_of_calls_as_they_are() -> None:
    bus = BrokerFacts("rabbit://news:paper@other.openstack.svc:5672/", quorum_queues=False)
    found = sections("01-neutron.conf", replace(FACTS, notifications=bus))
    assert found["oslo_messaging_notifications"]["transport_url"] == (bus.transport_url,)
    assert found["oslo_messaging_notifications"]["driver"] == ("messagingv2",)
    assert found["oslo_messaging_rabbit"]["rabbit_quorum_queue"] == ("true",)


def test_without_the_driver_there_is_neither_a_need_of_its_databases_nor_its_worker() -> None:
    said = {"ml2MechanismDrivers": ["sriovnicswitch"]}
    assert [need.role for need in SERVICE.needs_of(neutron()) if isinstance(need, NetworkDatabase)] == ["NB", "SB"]
    assert not [need for need in SERVICE.needs_of(neutron(**said)) if isinstance(need, NetworkDatabase)]
    facts = replace(FACTS, northbound=None, southbound=None)
    found = sections("01-neutron.conf", facts, **said)
    assert "ovn" not in found
    assert found["DEFAULT"]["service_plugins"] == ("qos,trunk,segments,port_forwarding,log",)
    assert found["DEFAULT"]["dhcp_agent_notification"] == ("true",)
    assert set(hashes(facts, **said)) == {"api", "rpc", "periodic-workers"}
    assert [export.name for export in agents.exports(neutron(**said), facts)] == [
        "neutron-sriov-agent-neutron-config",
        "neutron-dhcp-agent-neutron-config",
    ]
    assert list(agents.findings(facts)) == []


@pytest.mark.parametrize(
    ("snippet", "components"),
    [
        pytest.param("", {"api", *DAEMONS}, id="by-default"),
        pytest.param("[DEFAULT]\nrpc_workers = 2\n", {"api", *DAEMONS}, id="several-workers"),
        pytest.param("[DEFAULT]\nrpc_workers = 0\n", {"api", *DAEMONS} - {"rpc"}, id="no-agents"),
        pytest.param("[DEFAULT]\nrpc_workers = 0\nrpc_workers = 1\n", {"api", *DAEMONS}, id="the-last-one-counts"),
        pytest.param("[DEFAULT]\nrpc_workers = ²\n", {"api", *DAEMONS}, id="a-digit-that-is-no-number"),
        pytest.param(f"[DEFAULT]\nrpc_workers = {'9' * 5000}\n", {"api", *DAEMONS}, id="too-many-digits"),
    ],
)
def test_who_says_that_there_are_no_agents_gets_nothing_that_answers_them(snippet: str, components: set[str]) -> None:
    assert set(hashes(customServiceConfig=snippet)) == components


def test_each_part_starts_by_its_own_contract() -> None:
    contracts = {
        name.removesuffix(".json"): json.loads(text) for name, text in data().items() if name.endswith(".json")
    }
    assert {name: contract["command"].split()[0] for name, contract in contracts.items()} == {
        "api": "uwsgi",
        **dict.fromkeys(DAEMONS, "python3"),
        "db-sync": "neutron-db-manage",
        "networks-check": "neutron-ovn-db-sync-util",
        "networks-repair": "neutron-ovn-db-sync-util",
    }
    places = {name: {file["dest"] for file in contract["config_files"]} for name, contract in contracts.items()}
    # Without it, Neutron stops at its start.
    assert all("/etc/neutron/plugins/ml2/ml2_conf.ini" in files for files in places.values())
    assert all("/etc/neutron/daemon.py" in places[name] for name in DAEMONS)


def test_what_only_the_api_reads_rolls_the_api_alone() -> None:
    before = hashes()
    assert changed(before, hashes(apiTimeout=60)) == {"api"}
    assert changed(before, hashes(defaultConfigOverwrite={"policy.yaml": "get_network: '@'"})) == {"api"}
    assert changed(before, hashes(replace(FACTS, cache=CacheFacts(("other:11211",))))) == {"api"}
    moved = replace(FACTS.identity, public_url="http://elsewhere:5000")
    assert changed(before, hashes(replace(FACTS, identity=moved))) == {"api"}
    assert changed(before, hashes(customServiceConfig="[DEFAULT]\ndebug = true")) == {"api", *DAEMONS}


def test_another_address_outside_rolls_nothing() -> None:
    assert hashes(CLOSED) == hashes(replace(FACTS, northbound=CLOSED.northbound, southbound=CLOSED.southbound))


def test_the_api_and_what_agents_call_grow_and_the_others_are_there_once() -> None:
    def replicas(number: int) -> dict[str, int]:
        components = values.values(SERVICE, neutron(replicas=number), FACTS)["components"]
        return {name: component["replicas"] for name, component in components.items()}

    assert replicas(3) == {"api": 3, "rpc": 3, "periodic-workers": 1, "ovn-maintenance-worker": 1}
    assert set(replicas(0).values()) == {0}


def test_probes_and_the_start_of_the_api_are_not_those_of_the_others() -> None:
    own: dict[str, Any] = {"kollaConfig": {"command": "uwsgi --ini /etc/mine.ini"}}
    probes: dict[str, Any] = {"override": {"probes": {"livenessProbes": {"periodSeconds": 7}}}}
    components = values.values(SERVICE, neutron(**own, **probes), FACTS)["components"]
    assert "probes" in components["api"]
    assert not any("probes" in components[name] for name in DAEMONS)
    assert json.loads(data(**own)["api.json"])["command"] == "uwsgi --ini /etc/mine.ini"
    assert json.loads(data(**own)["rpc.json"])["command"] == "python3 /etc/neutron/daemon.py"


def test_agents_outside_get_addresses_that_they_reach() -> None:
    found = {export.name: export for export in agents.exports(neutron(), FACTS)}
    texts = {name: export.content for name, export in found.items()}
    assert set(texts) == {
        "neutron-ovn-metadata-agent-neutron-config",
        "neutron-ovn-agent-neutron-config",
        "neutron-sriov-agent-neutron-config",
        "neutron-dhcp-agent-neutron-config",
    }
    metadata = texts["neutron-ovn-metadata-agent-neutron-config"]["10-neutron-metadata.conf"]
    assert metadata == "[ovn]\novn_sb_connection = tcp:192.0.2.7:30642\n"
    agent = texts["neutron-ovn-agent-neutron-config"]["10-neutron-ovn.conf"]
    assert ini.parse(agent) == {
        "ovn": {"ovn_nb_connection": ("tcp:192.0.2.7:30641",), "ovn_sb_connection": ("tcp:192.0.2.7:30642",)}
    }
    for name in ("sriov", "dhcp"):
        text = texts[f"neutron-{name}-agent-neutron-config"][f"10-neutron-{name}.conf"]
        parsed = ini.parse(text)
        assert not isinstance(parsed, ini.Problem)
        assert parsed["DEFAULT"] == {"transport_url": (REACHED,)}
        assert parsed["oslo_messaging_rabbit"]["rabbit_quorum_queue"] == ("true",)
    assert all(export.noted == name for name, export in found.items())
    assert list(agents.findings(FACTS)) == []


def test_nothing_with_an_empty_connection_is_written_and_the_condition_says_what_to_set() -> None:
    assert list(agents.exports(neutron(), CLOSED)) == []
    (finding,) = agents.findings(CLOSED)
    assert (finding.condition, finding.status, finding.reason) == (
        "NeutronExternalConfigsReady",
        "True",
        "NotReachable",
    )
    for words in (
        "ovndbcluster-nb has no address",
        "ovndbcluster-sb has no address",
        "RabbitMq rabbitmq has no address",
    ):
        assert words in finding.message


def test_the_metadata_agent_needs_only_one_of_the_databases() -> None:
    facts = replace(FACTS, northbound=CLOSED.northbound)
    names = [export.name for export in agents.exports(neutron(), facts)]
    assert "neutron-ovn-metadata-agent-neutron-config" in names
    assert "neutron-ovn-agent-neutron-config" not in names
    (finding,) = agents.findings(facts)
    assert "ovndbcluster-nb" in finding.message
    assert "ovndbcluster-sb" not in finding.message
    assert "metadata" not in finding.message


def test_brokers_are_found_by_the_fields_of_today_and_of_before() -> None:
    def brokers(**spec: Any) -> list[str]:
        resource = neutron(**spec)
        needs = [need for need in SERVICE.needs_of(resource) if not isinstance(need, OutsideBroker)]
        return [need.provided_by(resource) for need in needs if need.word == "broker" and need.provided_by(resource)]

    assert brokers() == ["rabbitmq"]
    assert brokers(rabbitMqClusterName="older") == ["older"]
    assert brokers(messagingBus={"cluster": "newer"}, rabbitMqClusterName="older") == ["newer"]
    assert brokers(notificationsBusInstance="news") == ["rabbitmq", "news"]
    assert brokers(notificationsBus={"cluster": "paper"}) == ["rabbitmq", "paper"]


def test_a_certificate_for_the_databases_of_networks_is_refused() -> None:
    (problem,) = tls.problems(neutron(tls={"ovn": {"secretName": "cert-neutron-ovndbs"}}).spec)
    assert problem[0] == "spec.tls.ovn.secretName"


def test_options_that_neutron_does_not_have_are_named() -> None:
    image = ComponentImage("registry.example/openstack:1", ours=True)
    wrong = neutron(customServiceConfig="[ovn]\nenable_distributed_floating_ip = perhaps\n")
    (problem,) = options.problems(SERVICE, wrong, image)
    assert problem[0] == "spec.customServiceConfig"
    assert not list(options.problems(SERVICE, neutron(customServiceConfig="[ovn]\nbfd_mult = 5\n"), image))


def test_the_pods_reach_what_they_need_and_are_let_in_by_it() -> None:
    labels = policies.pod_labels(SERVICE, neutron(), FACTS)
    assert labels["network-database.needs.openstack.org/ovndbcluster-nb"] == "true"
    assert labels["network-database.needs.openstack.org/ovndbcluster-sb"] == "true"
    around = policies.Surroundings(operators="stackwright")
    rules = policies.rules(SERVICE, neutron(), FACTS, around)
    ports = {port["port"] for rule in rules["egress"] for port in rule.get("ports", ())}
    assert {3306, 5672, 11211, 6641, 6642, 8774, 8778} <= ports
    assert set(rules["ingress"]) == {"api"}


def test_the_umbrella_hands_down_what_the_template_leaves_out() -> None:
    (part,) = SECTION.parts
    whole = {"secret": "osp-secret", "messagingBus": {"cluster": "bus"}, "notificationsBus": {"cluster": "news"}}
    filled = part.fill({}, "neutron", whole)
    assert filled["secret"] == "osp-secret"
    assert filled["databaseInstance"] == "openstack"
    assert (filled["messagingBus"], filled["notificationsBus"]) == ({"cluster": "bus"}, {"cluster": "news"})
    assert "messagingBus" not in part.fill({"rabbitMqClusterName": "older"}, "neutron", whole)


def test_the_umbrella_brings_what_it_needs_and_makes_its_password() -> None:
    found = instances({"neutron": {}})
    assert set(found) == {
        "NeutronAPI neutron",
        "KeystoneAPI keystone",
        "Galera openstack",
        "RabbitMq rabbitmq",
        "Memcached memcached",
        "OVNDBCluster ovndbcluster-nb",
        "OVNDBCluster ovndbcluster-sb",
        "OVNNorthd ovnnorthd",
    }
    assert "NeutronPassword" in passwords.keys_of(found.values(), "osp-secret", made_up=True)
    own = {"neutron": {}, "ovn": {"template": {"ovnDBCluster": {"north": {"dbType": "NB"}, "south": {"dbType": "SB"}}}}}
    assert {name for name in instances(own) if name.startswith("OVNDB")} == {"OVNDBCluster north", "OVNDBCluster south"}
    other = instances({"neutron": {"template": {"ml2MechanismDrivers": ["sriovnicswitch"]}}})
    assert not [name for name in other if name.startswith("OVN")]
