"""What a name server is told, and what it says of itself."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright.api.base import JsonObject
from stackwright.api.network import DNSData
from stackwright.blueprint import configuration, policies
from stackwright.blueprint.policies import Surroundings
from stackwright.blueprint.providers import NameServer
from stackwright.kube import builtin
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import ObjectMeta
from stackwright.services.dnsmasq import service
from stackwright.services.dnsmasq.kinds import DNSMasq, DNSMasqStatus
from stackwright.services.dnsmasq.service import SERVICE, DNSMasqFacts

EXAMPLE = Path(__file__).parents[3] / "charts" / "dnsmasq" / "example"


def dnsmasq(**spec: Any) -> DNSMasq:
    return msgspec.convert({"metadata": {"name": "dns", "namespace": "cloud"}, "spec": spec}, DNSMasq)


def data(name: str, *hosts: JsonObject, **spec: Any) -> DNSData:
    return msgspec.convert({"metadata": {"name": name}, "spec": {"hosts": hosts, **spec}}, DNSData)


def facts(*named: DNSData) -> DNSMasqFacts:
    found = {each.metadata.name: said for each in named if (said := service.read_names(each)) is not None}
    return DNSMasqFacts(name="dns", namespace="cloud", image="i", names=found)


def hosts(resource: DNSMasq, *named: DNSData) -> str:
    (config_map,) = service.resources(resource, facts(*named))
    assert isinstance(config_map, ConfigMap)
    assert config_map.metadata.name == "dns-hosts"
    return config_map.data["hosts"]


ONE = {"ip": "192.0.2.1", "hostnames": ["one.example.com", "one", "one.example.com"]}
TWO = {"ip": "2001:DB8::0002", "hostnames": ["two.example.com."]}


def test_the_names_of_all_dns_data_with_its_word_are_served_in_one_order() -> None:
    elsewhere = data("elsewhere", TWO, dnsDataLabelSelectorValue="edge")
    text = "192.0.2.1 one.example.com one\n2001:db8::2 two.example.com\n"
    assert hosts(dnsmasq(), data("a", ONE), data("b", TWO), elsewhere) == text
    assert hosts(dnsmasq(), elsewhere, data("b", TWO), data("a", ONE)) == text
    assert (
        hosts(dnsmasq(dnsDataLabelSelectorValue="edge"), data("a", ONE), elsewhere) == "2001:db8::2 two.example.com\n"
    )


def test_a_name_of_a_machine_leads_to_it_alone() -> None:
    owner = {"apiVersion": "v1", "kind": "OpenStackDataPlaneNode", "name": "one", "uid": "1", "controller": True}
    machine = msgspec.structs.replace(
        data("one", ONE), metadata=msgspec.convert({"name": "one", "ownerReferences": [owner]}, ObjectMeta)
    )
    elsewhere = data(
        "a", {"ip": "10.6.6.6", "hostnames": ["ONE.example.com", "two"]}, {"ip": "10.6.6.7", "hostnames": ["one"]}
    )
    assert hosts(dnsmasq(), elsewhere, machine) == "10.6.6.6 two\n192.0.2.1 one.example.com one\n"
    # A name that no operator keeps may lead to several addresses.
    assert hosts(dnsmasq(), elsewhere, data("one", ONE)).startswith("10.6.6.6 ONE.example.com two\n10.6.6.7 one\n")


def test_a_line_that_two_have_is_there_once_and_no_address_is_left_out() -> None:
    wrong = {"ip": "192.0.2.300", "hostnames": ["wrong.example.com"]}
    assert hosts(dnsmasq(), data("a", ONE), data("b", wrong, ONE)) == "192.0.2.1 one.example.com one\n"


def test_names_of_what_is_being_deleted_are_served_no_more() -> None:
    leaving = msgspec.structs.replace(
        data("a", ONE), metadata=ObjectMeta(name="a", deletionTimestamp="2026-01-01T00:00:00Z")
    )
    assert hosts(dnsmasq(), leaving) == ""


def many(name: str, addresses: int, net: str = "192.0.2") -> DNSData:
    """Return names that take about 16 kB for each address."""
    names = [f"{number:03}-{'x' * 49}.example.com" for number in range(250)]
    return data(name, *({"ip": f"{net}.{number}", "hostnames": names} for number in range(addresses)))


def test_one_that_is_huge_keeps_nobody_elses_names_out() -> None:
    assert hosts(dnsmasq(), many("a", 100), data("b", ONE)) == "192.0.2.1 one.example.com one\n"
    large, larger, last = many("a", 30), many("b", 40, "198.51.100"), data("c", TWO)
    text = hosts(dnsmasq(), large, larger, last)
    assert text == hosts(dnsmasq(), large, last)
    assert len(text) < service.LARGEST < len(hosts(dnsmasq(), large)) + len(hosts(dnsmasq(), larger))


def test_what_is_not_served_is_named() -> None:
    huge, found = facts(many("a", 100), data("b", ONE)), service.tell(dnsmasq(), facts(), lambda *_, **__: None)
    assert found.findings == ()
    found = service.tell(dnsmasq(), huge, lambda *_, **__: None)
    assert isinstance(found.status, DNSMasqStatus)
    assert found.status.leftOut == ("a",)
    (finding,) = found.findings
    assert (finding.condition, finding.status, finding.severity) == ("ServiceConfigReady", "True", "Warning")
    assert "those of DNSData a are not served" in finding.message
    before = msgspec.structs.replace(dnsmasq(), status=found.status)
    assert SERVICE.provides is not None
    assert SERVICE.provides.offer(before).left_out == ("a",)
    # The words go with what they were about.
    after = service.tell(before, facts(data("b", ONE)), lambda *_, **__: None)
    assert [(each.status, each.message) for each in after.findings] == [("True", "")]
    assert SERVICE.provides.offer(msgspec.structs.replace(before, status=after.status)).left_out == ()


def test_names_change_no_file_that_pods_read_at_their_start() -> None:
    assert service.files(dnsmasq(), facts(data("a", ONE))) == service.files(dnsmasq(), facts())


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        pytest.param([], ["local=/cloud.svc/"], id="services-that-are-not-there-are-no-question-for-others"),
        pytest.param([{"key": "local", "values": ["/a/"]}], ["local=/a/"], id="the-user-says-what-is-local"),
        pytest.param(
            [
                {"key": "server", "values": ["192.0.2.1", "192.0.2.9"]},
                {"key": "server", "values": ["/example.org/192.0.2.2"]},
                {"key": "srv-host", "values": ["_ldap._tcp.example.com", "ldap.example.com", "389"]},
                {"key": "no-negcache", "values": []},
            ],
            [
                "server=192.0.2.1",
                "server=192.0.2.9",
                "server=/example.org/192.0.2.2",
                "srv-host=_ldap._tcp.example.com,ldap.example.com,389",
                "no-negcache",
                "local=/cloud.svc/",
            ],
            id="options-in-their-order",
        ),
    ],
)
def test_options_are_lines_of_the_configuration(options: list[JsonObject], lines: list[str]) -> None:
    said = service.configure(dnsmasq(options=options)).splitlines()
    assert said[:2] == ["port=5353", "addn-hosts=/var/lib/dnsmasq/hosts"]
    assert said[-len(lines) :] == lines


def opened(**spec: Any) -> JsonObject:
    return policies.rules(SERVICE, dnsmasq(**spec), facts(), Surroundings(operators="system"))


def test_anybody_may_ask_and_only_named_servers_are_asked() -> None:
    ingress = {"*": [{"ports": [{"port": 5353, "protocol": protocol}]} for protocol in ("UDP", "TCP")]}
    assert opened() == {"egress": [], "ingress": ingress}
    servers = [{"key": "server", "values": ["192.0.2.1", "/example.org/192.0.2.2#5300"]}]
    (egress,) = opened(options=servers)["egress"]
    # `local` is another word for `server`; with nothing behind its domain it names none.
    assert opened(options=[{"key": "local", "values": ["/svc/"]}])["egress"] == []
    assert len(opened(options=[{"key": "local", "values": ["/corp/192.0.2.3"]}])["egress"]) == 1
    assert egress == {
        "ports": [{"port": port, "protocol": protocol} for port in (53, 5300) for protocol in ("UDP", "TCP")]
    }


LOAD_BALANCER: JsonObject = {"type": "LoadBalancer", "clusterIPs": ["10.96.0.53"]}


def told(spec: JsonObject, *ingress: JsonObject, ready: int = 1, offered: tuple[str, ...] = ()) -> Any:
    there = {
        "dnsmasq-dns": builtin.Service(spec=spec, status={"loadBalancer": {"ingress": ingress}}),
        "dns-server": builtin.Deployment(status={"readyReplicas": ready}),
    }
    before = msgspec.structs.replace(dnsmasq().status, dnsAddresses=offered)
    resource = msgspec.structs.replace(dnsmasq(), status=before)
    return service.tell(resource, facts(), lambda _, name, **__: there[name])  # type: ignore[arg-type]  # it is asked for these two


@pytest.mark.parametrize(
    ("spec", "ingress", "addresses", "pending"),
    [
        pytest.param(LOAD_BALANCER, {"ip": "192.0.2.53"}, ("192.0.2.53",), False, id="it-has-an-address"),
        pytest.param(LOAD_BALANCER, {}, (), True, id="the-load-balancer-gave-none-yet"),
        pytest.param(LOAD_BALANCER, {"hostname": "a.example"}, (), True, id="a-name-is-no-address-of-a-name-server"),
        pytest.param({"clusterIP": "10.96.0.53"}, {}, (), False, id="nobody-asked-for-one"),
    ],
)
def test_it_tells_its_addresses(spec: JsonObject, ingress: JsonObject, addresses: Any, pending: bool) -> None:
    found = told(spec, ingress)
    assert (found.status.dnsAddresses, found.status.dnsClusterAddresses) == (addresses, ("10.96.0.53",))
    assert [finding.condition for finding in found.findings] == (["CreateServiceReady"] if pending else [])
    assert SERVICE.provides is not None
    offering = msgspec.structs.replace(dnsmasq(), status=found.status)
    assert SERVICE.provides.offer(offering) == NameServer(addresses, "dnsdata")


@pytest.mark.parametrize(
    ("ready", "offered", "addresses"),
    [
        pytest.param(0, (), (), id="no-machine-is-told-of-a-server-that-never-answered"),
        pytest.param(1, (), ("192.0.2.53",), id="one-pod-is-enough"),
        pytest.param(0, ("192.0.2.53",), ("192.0.2.53",), id="pods-that-are-away-for-a-while-change-nothing"),
        pytest.param(0, ("192.0.2.52",), ("192.0.2.53",), id="nor-do-they-keep-an-address-that-is-wrong"),
    ],
)
def test_addresses_are_offered_once_a_pod_has_answered(
    ready: int, offered: tuple[str, ...], addresses: tuple[str, ...]
) -> None:
    found = told(LOAD_BALANCER, {"ip": "192.0.2.53"}, ready=ready, offered=offered)
    assert found.status.dnsAddresses == addresses
    assert found.findings == ()


def test_an_address_stays_while_a_load_balancer_is_silent() -> None:
    balanced = dnsmasq(override={"service": {"spec": {"type": "LoadBalancer"}}})
    for resource, addresses in ((balanced, ("192.0.2.53",)), (dnsmasq(), ())):
        before = msgspec.structs.replace(resource.status, dnsAddresses=("192.0.2.53",))
        found = service.tell(msgspec.structs.replace(resource, status=before), facts(), lambda *_, **__: None)
        assert getattr(found.status, "dnsAddresses", None) == addresses


def test_the_addresses_for_pods_stay_while_the_service_is_away() -> None:
    before = msgspec.structs.replace(dnsmasq().status, dnsClusterAddresses=("10.96.0.53",))
    resource = msgspec.structs.replace(dnsmasq(), status=before)
    found = service.tell(resource, facts(), lambda *_, **__: None)
    assert getattr(found.status, "dnsClusterAddresses", None) == ("10.96.0.53",)


def test_the_service_is_as_the_user_overrides_it() -> None:
    override = {"service": {"metadata": {"annotations": {"pool": "edge"}}, "spec": {"type": "LoadBalancer"}}}
    assert service.values(dnsmasq(override=override), facts()) == {
        "hosts": "dns-hosts",
        "services": {"internal": {"annotations": {"pool": "edge"}, "type": "LoadBalancer"}},
    }
    assert service.values(dnsmasq(), facts()) == {"hosts": "dns-hosts"}


def test_the_example_of_the_chart_is_what_the_operator_writes() -> None:
    here = msgspec.structs.replace(dnsmasq(), metadata=ObjectMeta(name="dns", namespace="charts-test"))
    written = configuration.secret_data(SERVICE, here, facts())
    assert {path.name: path.read_text() for path in EXAMPLE.iterdir()} == {
        name: text for name, text in written.items() if name != "serve_names.py"
    }
