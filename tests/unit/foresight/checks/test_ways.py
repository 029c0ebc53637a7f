"""Which ways are tried from nodes to the cloud, and what is said of them."""

from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import HostResult, OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import IPSet, NetConfig
from stackwright.api.node_sections import NodeSection
from stackwright.cli import node_ways
from stackwright.foresight.checks import ways
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.checks.ways import Trial
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import CustomResource, Resource
from stackwright.services.glance.kinds import Glance
from stackwright.services.neutron.kinds import NeutronAPI
from stackwright.services.placement.kinds import PlacementAPI
from tests.unit.controllers.node_services.place import EVERYTHING, READY, agent, compute, made, node, secret, unreached
from tests.unit.foresight.checks.samples import state

NOVA = """\
[DEFAULT]
transport_url = rabbit://u:p@192.0.2.5:30672,u:p@192.0.2.6:30672/?ssl=0
[placement]
auth_url = http://192.0.2.4:30500/v3
valid_interfaces = public
"""
REACHED = {"conditions": [{"type": "SetupReady", "status": "True", "reason": "Ready", "message": "Reached"}]}
WAYS = [
    "OVN's SB database at 192.0.2.9:6642",
    "the metadata service at 192.0.2.7:30775",
    "Keystone at 192.0.2.4:30500",
    "the broker of its cell at 192.0.2.5:30672",
    "the broker of its cell at 192.0.2.6:30672",
    "PlacementAPI placement at 192.0.2.8:30778",
    "Glance glance at images.example.org:443",
    "NeutronAPI neutron at 192.0.2.8:30696",
]


def api(kind: Any, name: str, url: str) -> Resource:
    spec = {"secret": "s", "databaseInstance": "openstack"}
    urls = {"internal": "http://inside.openstack.svc:80", "public": url}
    found: Resource = made(
        kind, name, spec=spec, status={**READY, "apiEndpoint" if kind is Glance else "apiEndpoints": urls}
    )
    return found


def reached(name: str = "one", **further: Any) -> OpenStackDataPlaneNode:
    there = node(name, cell="nova-cell1")
    return msgspec.structs.replace(
        there, status=msgspec.convert({**msgspec.to_builtins(there.status), **REACHED, **further}, type(there.status))
    )


def cluster(*others: Resource, without: str = "") -> ClusterState:
    metadata = "[DEFAULT]\nnova_metadata_host = 192.0.2.7\nnova_metadata_port = 30775\n"
    written = (
        reached(),
        secret("nova-cell1-compute-config", **{"01-nova.conf": NOVA}),
        secret("nova-metadata-compute-config", **{"05-nova-metadata.conf": metadata}),
        api(NeutronAPI, "neutron", "http://192.0.2.8:30696"),
        api(PlacementAPI, "placement", "http://192.0.2.8:30778/placement"),
        api(Glance, "glance", "https://images.example.org"),
    )
    there = {(each.kind, each.metadata.name): each for each in (*EVERYTHING, *written, *others)}
    every = [each for each in there.values() if each.metadata.name != without]
    return state(
        resources=tuple(each for each in every if isinstance(each, CustomResource)),
        secrets=tuple(each for each in every if isinstance(each, Secret)),
        configs=tuple(each for each in every if isinstance(each, ConfigMap)),
    )


def planned(*others: Resource) -> Trial:
    (trial,), untried = ways.plan(cluster(*others))
    assert untried == ()
    return trial


def test_a_node_that_becomes_a_compute_tries_all_that_its_services_need() -> None:
    trial = planned()
    assert (trial.node, sorted(map(str, trial.ways))) == ("one", sorted(WAYS))
    (said,) = [value for name, value in trial.variables.plain.items() if name == "stackwright_ways"]
    assert {"host": "192.0.2.9", "port": 6642} in said


def test_only_what_does_not_run_yet_is_tried() -> None:
    up = msgspec.convert(READY, type(compute().status))
    running = msgspec.structs.replace(compute(), status=up)
    assert sorted(map(str, planned(running).ways)) == sorted(WAYS[:2])
    both = cluster(running, msgspec.structs.replace(agent(), status=msgspec.convert(READY, type(agent().status))))
    assert ways.plan(both) == ((), ())


@pytest.mark.parametrize(
    ("others", "without", "words"),
    [
        pytest.param((), "nova-cell1-compute-config", "is not written yet", id="no-configuration"),
        pytest.param(unreached(), "", "set override.service", id="metadata-is-not-exposed"),
        pytest.param((), "compute", "its role compute does not exist", id="no-role"),
        pytest.param((node(cell="nova-cell1"),), "", "it was not reached yet", id="not-reached"),
    ],
)
def test_why_a_node_cannot_try_is_said(others: tuple[Resource, ...], without: str, words: str) -> None:
    trials, (said,) = ways.plan(cluster(*others, without=without))
    assert (trials, said.level) == ((), Level.UNKNOWN)
    assert words in said.message


def test_without_the_right_to_read_nothing_is_tried() -> None:
    trials, (said,) = ways.plan(_blind(cluster()))
    assert (trials, said.level) == ((), Level.UNKNOWN)
    assert "no right" in said.message


def _blind(found: ClusterState) -> ClusterState:
    return state(resources=found.resources, secrets=None, configs=None)


def judged(answer: HostResult | str, *others: Resource) -> list[CheckResult]:
    return list(ways.judge([planned(*others)], {"one": answer}))


def test_each_closed_way_is_a_problem_with_its_reason() -> None:
    trial = planned()
    keystone = next(number for number, way in enumerate(trial.ways) if way.name == "Keystone")
    image = next(number for number, way in enumerate(trial.ways) if way.name == "Glance glance")
    said = judged(HostResult(host="one", state="Failed", message=f"{keystone}:111 {image}:name"))
    assert sorted((each.level, each.message) for each in said) == [
        (
            Level.PROBLEM,
            "Node one does not reach Glance glance at images.example.org:443: "
            "the name is unknown there; see its DNS servers.",
        ),
        (Level.PROBLEM, "Node one does not reach Keystone at 192.0.2.4:30500: connection refused."),
    ]


@pytest.mark.parametrize(
    ("answer", "level", "words"),
    [
        pytest.param(HostResult(host="one", state="Ok"), Level.OK, "one: the ways to ", id="all-open"),
        pytest.param(
            HostResult(host="one", state="Unreachable", message="No route"),
            Level.PROBLEM,
            "Node one could not be reached: No route.",
            id="unreachable",
        ),
        pytest.param(
            HostResult(host="one", state="Failed", message="python3: not found"),
            Level.PROBLEM,
            "Node one could not try the ways to the cloud: python3: not found.",
            id="broken",
        ),
        pytest.param("no operator takes up the run", Level.UNKNOWN, "were not tried: no operator", id="not-tried"),
    ],
)
def test_how_a_trial_ended_is_said(answer: HostResult | str, level: Level, words: str) -> None:
    (said,) = judged(answer)
    assert said.level is level
    assert words in said.message


def test_a_run_is_made_that_no_role_takes_for_its_own() -> None:
    (kind, inventory), (of, run) = node_ways.describe("common", [planned()])
    assert (kind, of) == (Secret, OpenStackAnsibleEE)
    found = msgspec.convert(run, OpenStackAnsibleEE)
    assert (found.spec.service, found.spec.sequence, found.spec.sshKeySecretName) == ("ways", 0, "key")
    assert [each.name for each in found.spec.nodes] == ["one"]
    assert found.spec.inventorySecretName == inventory["metadata"]["name"]
    assert node_ways.describe("common", [planned()])[1][1]["metadata"]["name"] != run["metadata"]["name"]


def test_a_node_without_an_address_of_its_own_is_reached_by_the_one_that_it_was_given() -> None:
    there = reached()
    asks = msgspec.convert({"networks": [{"name": "ctlplane", "subnetName": "s"}]}, NodeSection)
    spec = msgspec.structs.replace(there.spec, ansibleHost="", node=asks)
    subnet = {"name": "s", "cidr": "192.0.2.0/24", "allocationRanges": [{"start": "192.0.2.50", "end": "192.0.2.60"}]}
    networks = made(
        NetConfig, "net", spec={"networks": [{"name": "ctlplane", "dnsDomain": "x.y", "subnets": [subnet]}]}
    )
    given = {"network": "ctlplane", "subnet": "s", "address": "192.0.2.50", "serviceNetwork": "ctlplane"}
    addresses = made(IPSet, "one", spec={"networks": []}, status={**READY, "reservations": [given]})
    template = {"ansibleSSHPrivateKeySecret": "key"}
    role = made(OpenStackDataPlaneRole, "compute", spec={"preProvisioned": True, "nodeTemplate": template})
    trial = planned(networks, addresses, msgspec.structs.replace(there, spec=spec), role)
    assert trial.machine.address == "192.0.2.50"
