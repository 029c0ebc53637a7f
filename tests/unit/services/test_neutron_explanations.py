"""Why a port has no chassis, as `stackwright explain port/ID` says it."""

from typing import Any

import pytest

from stackwright.foresight import things
from stackwright.foresight.tree import State
from stackwright.services.neutron.explanations import explain_port

PORT = {
    "id": "p1",
    "network_id": "n1",
    "binding:host_id": "node-1",
    "binding:vif_type": "ovs",
    "status": "ACTIVE",
    "device_owner": "compute:nova",
}
FAILED = {**PORT, "binding:vif_type": "binding_failed", "status": "DOWN"}
OUTWARD = {**PORT, "device_owner": "network:router_gateway", "binding:host_id": "", "status": "DOWN"}
TENANT: dict[str, Any] = {"provider:network_type": "geneve", "provider:physical_network": None}
OUTSIDE = {"provider:network_type": "flat", "provider:physical_network": "datacentre"}


def agent(host: str = "node-1", *, alive: bool = True, mappings: str = "", gateway: bool = False) -> dict[str, Any]:
    sort = "OVN Controller Gateway agent" if gateway else "OVN Controller agent"
    return {"agent_type": sort, "host": host, "alive": alive, "configurations": {"bridge-mappings": mappings}}


METADATA = {"agent_type": "OVN Metadata agent", "host": "node-1", "alive": True, "configurations": {}}


@pytest.mark.parametrize(
    ("port", "network", "agents", "words", "well"),
    [
        pytest.param(PORT, TENANT, [agent()], "It is on the chassis of host node-1", True, id="bound"),
        pytest.param({**PORT, "binding:host_id": ""}, TENANT, [], "No server uses the port", True, id="unused"),
        pytest.param(FAILED, TENANT, [METADATA, agent("node-2")], "OVN knows node-2", False, id="no-such-chassis"),
        pytest.param(FAILED, TENANT, [], "OVN knows none at all", False, id="no-chassis-at-all"),
        pytest.param(FAILED, TENANT, [agent(alive=False)], "of host node-1 is down", False, id="agent-down"),
        pytest.param(
            FAILED,
            OUTSIDE,
            [agent(mappings="storage:br-storage")],
            "does not map the physical network datacentre; it maps storage",
            False,
            id="not-mapped",
        ),
        pytest.param(
            FAILED, OUTSIDE, [agent(mappings="datacentre:br-ex")], "Binding it to host node-1 failed", False, id="again"
        ),
        pytest.param(
            {**PORT, "status": "DOWN"}, TENANT, [agent()], "has not connected it yet", False, id="not-connected"
        ),
        pytest.param(OUTWARD, OUTSIDE, [agent()], "There is no gateway", False, id="no-gateway"),
        pytest.param(
            OUTWARD,
            OUTSIDE,
            [agent(gateway=True, mappings="storage:br-s")],
            "No gateway maps the physical network datacentre",
            False,
            id="gateway-without-the-network",
        ),
        pytest.param(
            OUTWARD,
            OUTSIDE,
            [agent(gateway=True, alive=False, mappings="datacentre:br-ex")],
            "are down: node-1",
            False,
            id="gateway-down",
        ),
        pytest.param(
            {**OUTWARD, "status": "ACTIVE"},
            OUTSIDE,
            [agent(gateway=True, mappings="datacentre:br-ex")],
            "It is on a gateway: node-1",
            True,
            id="on-a-gateway",
        ),
    ],
)
def test_why_a_port_has_no_chassis(port: Any, network: Any, agents: Any, words: str, well: bool) -> None:
    found = explain_port({"port": port, "network": network, "agents": agents})
    assert words in found.message
    assert found.well is well
    assert bool(found.to_do) is not well


async def test_what_a_service_names_is_read_in_order() -> None:
    asked: list[str] = []

    async def read(path: str) -> dict[str, Any]:
        asked.append(path)
        return {"port": FAILED, "network": OUTSIDE, "agents": []}

    found = things.find_thing("port/p1")
    assert found is not None
    reason = await things.explain(*found, read)
    assert asked == ["/v2.0/ports/p1", "/v2.0/networks/n1", "/v2.0/agents"]
    assert (reason.kind, reason.name, reason.state) == ("port", "p1", State.ERROR)


@pytest.mark.parametrize("word", ["neutron", "port", "port/", "galera/openstack"])
def test_other_words_mean_resources(word: str) -> None:
    assert things.find_thing(word) is None
