"""What computes outside of the cluster are told: addresses that they can reach, and never names of the cluster."""

from dataclasses import replace
from typing import Any

import pytest

from stackwright.blueprint import ini, options
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.outside_broker import OutsideFacts
from stackwright.kube.plan import Wait
from stackwright.services.nova import metadata, outside_compute
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.service import SERVICES
from tests.unit.services.novas import CELL_FACTS, FACTS, IDENTITY, made, nobody

INSIDE = replace(
    IDENTITY, url="http://keystone-internal.openstack.svc:5000", public_url="http://keystone-public.openstack.svc:5000"
)
REACHED = replace(
    CELL_FACTS,
    name="nova-cell1",
    identity=replace(INSIDE, public_url="http://192.0.2.1:30500"),
    messaging=BrokerFacts("rabbit://nova:hop@rabbitmq-server-0.rabbitmq-nodes.openstack.svc:5672/cell1"),
    notifications=None,
    outside_messaging=OutsideFacts("rabbit://nova:hop@192.0.2.1:30672/cell1"),
    console={"public": "http://192.0.2.1:30680"},
)


def cell(**spec: Any) -> Any:
    return made("NovaCell", "nova-cell1", **spec)


def said(facts: outside_compute.CellFacts, **spec: Any) -> Any:
    (exported,) = outside_compute.exports(cell(**spec), facts)
    parsed = ini.parse(exported.content["01-nova.conf"])
    assert not isinstance(parsed, ini.Problem)
    return parsed


def told(facts: outside_compute.CellFacts, **spec: Any) -> str:
    assert CELL.tell is not None
    found = CELL.tell(cell(**spec), facts, nobody).findings
    assert all((finding.condition, finding.status) == (outside_compute.CONDITION, "True") for finding in found)
    return "".join(finding.message for finding in found)


def test_a_compute_outside_is_told_only_what_it_can_reach() -> None:
    (exported,) = outside_compute.exports(cell(), REACHED)
    assert (exported.name, exported.noted) == ("nova-cell1-compute-config", "cell1-compute-config")
    text = exported.content["01-nova.conf"]
    assert ".svc" not in text
    assert exported.content["rabbitmq_user_name"] == "nova"
    known = options.of(next(service for service in SERVICES if service.name == "nova-compute"))
    assert known is not None
    assert not options.check(known, text)
    found = said(REACHED)
    assert found["DEFAULT"]["transport_url"] == ("rabbit://nova:hop@192.0.2.1:30672/cell1",)
    assert found["DEFAULT"]["compute_driver"] == ("libvirt.LibvirtDriver",)
    assert found["vnc"]["novncproxy_base_url"] == ("http://192.0.2.1:30680/vnc_lite.html",)
    assert found["vnc"]["server_proxyclient_address"] == ("$my_ip",)
    assert not {"database", "api_database", "keystone_authtoken"} & set(found)
    assert told(REACHED) == ""


@pytest.mark.parametrize(
    ("internal", "interface"),
    [
        pytest.param("http://keystone-internal.openstack.svc:5000", "public", id="internal-urls-are-of-the-cluster"),
        pytest.param("http://192.0.2.9:5000", "internal", id="internal-urls-lead-to-an-internal-network"),
    ],
)
def test_others_are_found_by_the_interface_that_leads_out(internal: str, interface: str) -> None:
    found = said(replace(REACHED, identity=replace(REACHED.identity, url=internal)))
    url = internal if interface == "internal" else "http://192.0.2.1:30500"
    for section in ("placement", "neutron", "cinder", "service_user"):
        assert found[section]["auth_url"] == (url,)
    assert {found[section]["valid_interfaces"] for section in ("placement", "neutron", "glance")} == {(interface,)}
    assert found["cinder"]["catalog_info"] == (f"volumev3:cinderv3:{interface}URL",)
    assert found["barbican"]["barbican_endpoint_type"] == (interface,)
    assert found["barbican"]["auth_endpoint"] == (f"{url}/v3",)


UNREACHED = OutsideFacts(why="RabbitMq noise has no address")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param({"identity": INSIDE}, "override.service.public.spec.type of its KeystoneAPI", id="keystone"),
        pytest.param({"outside_messaging": UNREACHED}, "RabbitMq noise has no address", id="the-broker"),
        pytest.param({"outside_notifications": UNREACHED}, "RabbitMq noise has no address", id="notifications"),
    ],
)
def test_what_cannot_be_reached_is_not_written_and_the_condition_says_what_to_set(
    change: dict[str, Any], sentence: str
) -> None:
    facts = replace(REACHED, **change)
    assert not list(outside_compute.exports(cell(), facts))
    assert sentence in told(facts)
    # Nothing waits for it: a cell may have no computes outside.
    assert not list(outside_compute.waits(cell(), facts))


def test_notifications_go_where_a_machine_outside_reaches_them() -> None:
    facts = replace(
        REACHED,
        notifications=BrokerFacts("rabbit://n:n@noise.openstack.svc:5672/"),
        outside_notifications=OutsideFacts("rabbit://n:n@192.0.2.1:30673/"),
    )
    assert said(facts)["oslo_messaging_notifications"]["transport_url"] == ("rabbit://n:n@192.0.2.1:30673/",)


def test_a_cell_waits_for_the_address_of_its_consoles_if_it_has_any() -> None:
    facts = replace(REACHED, console={})
    assert not list(outside_compute.exports(cell(), facts))
    assert CELL.children is not None
    waits = [item for item in CELL.children(cell(), facts) if isinstance(item, Wait)]
    assert [wait.condition for wait in waits] == [outside_compute.CONDITION]
    without = {"noVNCProxyServiceTemplate": {"enabled": False}}
    assert said(facts, **without)["vnc"]["enabled"] == ("false",)


def test_consoles_that_no_browser_reaches_are_left_out_and_told() -> None:
    facts = replace(REACHED, console={"public": "http://nova-cell1-novncproxy-public.openstack.svc:6080"})
    assert "novncproxy_base_url" not in said(facts)["vnc"]
    assert "noVNCProxyServiceTemplate.override.service.spec.type" in told(facts)


def test_cell0_has_no_computes() -> None:
    assert not list(outside_compute.exports(cell(cellName="cell0"), REACHED))
    assert told(replace(REACHED, identity=INSIDE), cellName="cell0") == ""


def test_a_metadata_service_that_only_the_cluster_reaches_says_so_and_names_no_host() -> None:
    facts = replace(FACTS, endpoints=Endpoints(internal="http://nova-metadata-internal.openstack.svc:8775"))
    for exported in metadata.exports(made("NovaMetadata"), facts):
        text = exported.content["05-nova-metadata.conf"]
        assert ".svc" not in text
        parsed = ini.parse(text)
        assert not isinstance(parsed, ini.Problem)
        assert set(parsed["DEFAULT"]) == {"metadata_proxy_shared_secret"}
        assert text.startswith("# There is no nova_metadata_host")
    (finding,) = metadata.tell(made("NovaMetadata"), facts, nobody).findings
    assert (finding.status, finding.reason) == ("True", "NotReachable")
    assert not metadata.tell(made("NovaMetadata"), FACTS, nobody).findings
