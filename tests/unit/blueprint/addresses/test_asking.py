"""Which addresses that are asked for are kept back from others."""

from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.network import IPSet
from stackwright.blueprint.addresses.asking import list_asked, list_kept_back
from tests.unit.blueprint.addresses.networks import ip_set, net_config

WANTED = "192.168.122.102"
ASKED = {"name": "ctlplane", "fixedIP": WANTED}
GONE = "2026-01-01T00:00:00Z"


def told(address: str, network: str = "ctlplane") -> dict[str, Any]:
    return {"reservations": [{"network": network, "subnet": "subnet1", "address": address}]}


def going(found: IPSet) -> IPSet:
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, deletionTimestamp=GONE))


def node(*networks: dict[str, str], **metadata: str) -> OpenStackDataPlaneNode:
    asked = [{"subnetName": "subnet1", **each} for each in networks]
    body = {"metadata": {"name": "node", "namespace": "openstack", **metadata}}
    return msgspec.convert({**body, "spec": {"role": "compute", "node": {"networks": asked}}}, OpenStackDataPlaneNode)


@pytest.mark.parametrize(
    ("ip_sets", "nodes", "kept"),
    [
        pytest.param([ip_set(ASKED)], [], True, id="it-has-none-yet"),
        pytest.param([ip_set(ASKED, status=told(WANTED))], [], True, id="it-has-this-one"),
        pytest.param([ip_set(ASKED, status=told("fd00:bbbb::10", "InternalApi"))], [], True, id="of-another-network"),
        pytest.param([ip_set(ASKED, status=told("192.168.122.100"))], [], False, id="it-has-another-one"),
        pytest.param([ip_set({**ASKED, "name": "internalapi"})], [], False, id="it-lies-in-another-subnet"),
        pytest.param([ip_set({**ASKED, "subnetName": "none"})], [], False, id="there-is-no-such-subnet"),
        pytest.param([going(ip_set(ASKED))], [], False, id="it-goes"),
        pytest.param([], [node(ASKED)], True, id="a-node"),
        pytest.param([ip_set()], [node(ASKED)], True, id="a-node-whose-ip-set-has-none-yet"),
        pytest.param([ip_set(status=told("192.168.122.100"))], [node(ASKED)], False, id="a-node-that-has-another-one"),
        pytest.param([going(ip_set(status=told("192.168.122.100")))], [node(ASKED)], True, id="its-ip-set-goes"),
        pytest.param([], [node(ASKED, deletionTimestamp=GONE)], False, id="a-node-that-goes"),
    ],
)
def test_only_what_can_come_true_is_kept_back(
    ip_sets: list[IPSet], nodes: list[OpenStackDataPlaneNode], kept: bool
) -> None:
    assert list_asked(ip_sets, nodes, net_config().spec) == (frozenset({WANTED}) if kept else frozenset())


@pytest.mark.parametrize(
    ("before", "after", "freed"),
    [
        pytest.param(ip_set(ASKED), ip_set(ASKED, status=told("192.168.122.100")), True, id="it-got-another-one"),
        # A thousand IPSets that get what they ask for wake nobody.
        pytest.param(ip_set(ASKED), ip_set(ASKED, status=told(WANTED)), False, id="it-got-what-it-asked-for"),
        pytest.param(ip_set(ASKED), going(ip_set(ASKED)), True, id="it-goes"),
        pytest.param(node(ASKED), node(), True, id="a-node-that-asks-no-more"),
    ],
)
def test_an_address_that_cannot_come_true_any_more_is_let_go_of(before: Any, after: Any, freed: bool) -> None:
    assert (list_kept_back(before) <= list_kept_back(after)) is not freed
