"""The names of a machine in its networks, and the servers that it asks for names."""

from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import DNSData, IPSetReservation
from stackwright.blueprint.dataplane.inheritance import inherit
from stackwright.blueprint.dataplane.inputs import Work, input_hash
from stackwright.blueprint.dataplane.names import Around, choose_servers, describe_dns_data, find_taken
from stackwright.blueprint.dataplane.variables import Variables
from stackwright.blueprint.providers import NameServer
from tests.unit.blueprint.addresses.networks import net_config
from tests.unit.blueprint.dataplane.addressed import NETWORKS, ROLE, Caches, node, told

SHARED = ["one.ctlplane.example.com", "one.internalapi.example.com"]


def named(**spec: Any) -> list[list[str]]:
    found = describe_dns_data(node(**spec), ROLE, Caches(net_config(), told()))
    assert found is not None
    assert found["metadata"] == {"name": "node"}
    assert [host["ip"] for host in found["spec"]["hosts"]] == ["192.168.122.100", "fd00:bbbb::10"]
    return [host["hostnames"] for host in found["spec"]["hosts"]]


@pytest.mark.parametrize(
    ("host", "ctlplane", "short"),
    [
        pytest.param("", ["node.ctlplane.example.com"], "node", id="the-node's-name"),
        pytest.param("edpm-0", ["edpm-0.ctlplane.example.com"], "edpm-0", id="a-short-name"),
        pytest.param(
            "edpm-0.example.org", ["edpm-0.example.org", "edpm-0.ctlplane.example.com"], "edpm-0", id="a-whole-name"
        ),
        pytest.param(
            "EDPM-0.Example.org", ["edpm-0.example.org", "edpm-0.ctlplane.example.com"], "edpm-0", id="letters"
        ),
        pytest.param("edpm-0.ctlplane.example.com", ["edpm-0.ctlplane.example.com"], "edpm-0", id="the-same-name"),
    ],
)
def test_a_machine_has_a_name_in_each_of_its_networks(host: str, ctlplane: list[str], short: str) -> None:
    assert named(hostName=host) == [ctlplane, [f"{short}.internalapi.example.com"]]


def test_a_machine_that_no_name_fits_has_none() -> None:
    assert describe_dns_data(node(hostName="a" * 64), ROLE, Caches(net_config(), told())) is None


def test_there_are_no_names_before_there_are_addresses() -> None:
    assert describe_dns_data(node(), ROLE, Caches(net_config(), told(ready=False))) is None
    assert describe_dns_data(node(), OpenStackDataPlaneRole(), Caches()) is None


def created(name: str, second: str, host: str, role: str = "compute") -> OpenStackDataPlaneNode:
    time = f"2026-11-16T00:00:{second}Z" if second else ""
    body = {
        "metadata": {"name": name, "namespace": "openstack", "creationTimestamp": time},
        "spec": {"role": role, "hostName": host},
    }
    return msgspec.convert(body, OpenStackDataPlaneNode)


@pytest.mark.parametrize(
    ("second", "host", "role", "taken"),
    [
        pytest.param("02", "one.example.org", "compute", SHARED, id="the-younger-one-has-none-of-the-older-ones-names"),
        pytest.param("", "one.example.org", "compute", SHARED, id="nor-has-one-that-is-being-created"),
        pytest.param("02", "one", "compute", SHARED, id="one-without-a-domain-is-no-exception"),
        pytest.param("02", "ONE.example.org", "compute", SHARED, id="whatever-the-case-of-its-letters"),
        pytest.param("00", "one.example.org", "compute", [], id="the-older-one-keeps-its-names"),
        pytest.param("02", "two.example.org", "compute", [], id="another-name"),
        pytest.param("02", "one.example.org", "inside", SHARED[1:], id="only-the-networks-that-both-are-in-count"),
    ],
)
def test_a_name_leads_to_one_machine(second: str, host: str, role: str, taken: list[str]) -> None:
    inside = msgspec.convert(
        {"metadata": {"name": "inside"}, "spec": {"nodeTemplate": {"networks": NETWORKS[1:]}}}, OpenStackDataPlaneRole
    )
    first = created("first", "01", "one.example.com")
    mine = created("mine", second, host, role)
    found = find_taken(mine, (mine, first), {"compute": ROLE, "inside": inside}, net_config())
    assert found == dict.fromkeys(taken, "first")
    assert find_taken(mine, (mine, first), {"compute": ROLE, "inside": inside}, None) == {}


def test_a_name_that_leads_to_an_older_node_is_taken_as_long_as_it_does() -> None:
    first, mine = created("first", "01", "one.example.com"), created("mine", "02", "one.example.org")
    names = ["one.example.com", *SHARED, "One.Ctlplane.before.example.com."]
    spec = {"hosts": [{"ip": "192.168.122.100", "hostnames": names}]}
    served = {"first": msgspec.convert({"metadata": {"name": "first"}, "spec": spec}, DNSData)}
    # Its role is gone, and its names are still served.
    found = find_taken(mine, (first,), {"compute": ROLE}, net_config(), Around(served=served))
    assert found == dict.fromkeys(SHARED, "first")
    lost = msgspec.structs.replace(first, spec=msgspec.structs.replace(first.spec, role="gone"))
    assert find_taken(mine, (lost,), {"compute": ROLE}, net_config(), Around(served=served)) == found
    assert find_taken(mine, (lost,), {"compute": ROLE}, net_config()) == {}
    # The domain is another one now, and neither this node's IPSet nor the other's names follow that yet.
    before = IPSetReservation(network="ctlplane", dnsDomain="ctlplane.before.example.com", serviceNetwork="ctlplane")
    found = find_taken(mine, (first,), {"compute": ROLE}, net_config(), Around((before,), served))
    assert set(found) == {*SHARED, "one.ctlplane.before.example.com"}


def test_names_that_are_taken_are_left_out_and_the_whole_name_stays() -> None:
    found = describe_dns_data(node(hostName="one.example.org"), ROLE, Caches(net_config(), told()), SHARED)
    assert found is not None
    assert found["spec"]["hosts"] == [{"ip": "192.168.122.100", "hostnames": ["one.example.org"]}]


def test_machines_ask_servers_that_know_their_names_and_can_be_reached() -> None:
    offers = (
        NameServer(("192.0.2.1",), "other"),
        NameServer((), "dnsdata"),
        NameServer(("192.0.2.2", "2001:db8::2"), "dnsdata"),
        NameServer(("192.0.2.2", "192.0.2.3", "192.0.2.4"), "dnsdata"),
    )
    # The machine's own server is the third that its resolver reads.
    assert choose_servers(offers) == ("192.0.2.2", "2001:db8::2")
    assert choose_servers(offers[:2]) == ()


@pytest.mark.parametrize(
    ("playbook", "differs"),
    [
        pytest.param("stackwright.edpm.configure_network", True, id="what-writes-them"),
        pytest.param("stackwright.edpm.install_os", False, id="what-does-not-read-them"),
        pytest.param("mine.playbooks.all", True, id="what-nobody-knows"),
    ],
)
def test_another_server_is_applied_only_by_what_names_it(playbook: str, differs: bool) -> None:
    machine, work = inherit(node(), ROLE), Work("a", "image", playbook=playbook)
    hashes = {
        input_hash(work, machine, Variables({"ctlplane_dns_nameservers": [server], "other": 1}), "key")
        for server in ("192.0.2.1", "192.0.2.2")
    }
    assert (len(hashes) == 2) == differs
