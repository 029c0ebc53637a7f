"""A service on a node that is being deleted: what keeps it, what stops it, and what is forgotten."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stackwright.adapters.identity import Credentials
from stackwright.api.annotations import MACHINE_LOST
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.node_service import NodeServiceResource
from stackwright.controllers.node_services.removal import (
    Leaving,
    decide_removal,
    find_needing,
    name_occupants,
    prepare_removal,
)
from stackwright.controllers.node_services.signs import Address
from stackwright.controllers.node_services.steps import Begin, Tell
from stackwright.kube.plan import Plan, Wait
from tests.unit.controllers.node_services.place import (
    AGENT,
    AROUND,
    COMPUTE,
    agent,
    compute,
    inventory,
    made,
    secret,
    seeing,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
ADDRESS = Address("http://nova.example", "http://keystone.example", Credentials("admin", "p"))
RESOURCE = compute(sshKeySecretName="key")
WAY = inventory("one", ansible_host="192.0.2.1", ansible_port=2222, rack=2)
ROW = {"id": "u1", "binary": "nova-compute", "host": "one", "state": "up", "status": "enabled"}


def leaving(*rows: dict[str, Any], resource: NodeServiceResource = RESOURCE, **further: Any) -> Leaving:
    prepared = prepare_removal(COMPUTE, resource, seeing(WAY), AROUND)
    seen = Leaving(NOW, prepared, begun=True, answer={"services": list(rows)}, occupants=(), address=ADDRESS)
    return replace(seen, **further)


def calls(plan: Plan) -> list[tuple[str, str]]:
    return [(step.call.method, step.call.path) for step in plan.steps if isinstance(step, Tell)]


def test_one_that_never_ran_goes_at_once() -> None:
    assert decide_removal(COMPUTE, RESOURCE, leaving(begun=False, answer="no answer")) == Plan()


@pytest.mark.parametrize(
    ("further", "reason", "words"),
    [
        pytest.param({"answer": "it does not answer"}, "NotAsked", "it does not answer", id="a-question-is-a-no"),
        pytest.param({"occupants": None}, "NotAsked", "did not say", id="half-an-answer-is-a-no"),
        pytest.param({"occupants": ("web", "db")}, "InUse", "web, db; migrate or delete them", id="servers"),
        pytest.param({"needed_by": "NovaExternalCompute one"}, "InUse", "NovaExternalCompute one is", id="needed"),
    ],
)
def test_what_keeps_it(further: dict[str, Any], reason: str, words: str) -> None:
    plan = decide_removal(COMPUTE, RESOURCE, leaving({**ROW, "status": "disabled"}, **further))
    assert not plan.steps
    (wait,) = plan.waits
    assert wait.reason == reason
    assert words in wait.message


def test_no_new_servers_come_while_it_has_some() -> None:
    plan = decide_removal(COMPUTE, RESOURCE, leaving(ROW, occupants=("web",)))
    assert calls(plan) == [("PUT", "/v2.1/os-services/u1")]
    assert plan.waits


def test_it_is_stopped_and_then_forgotten() -> None:
    down = {**ROW, "status": "disabled"}
    (step,) = decide_removal(COMPUTE, RESOURCE, leaving(down)).steps
    assert isinstance(step, Begin)
    bodies = [body for kind, body in step.objects if kind is OpenStackAnsibleEE]
    run = msgspec.convert(bodies[0], OpenStackAnsibleEE)
    assert (run.spec.playbook, run.spec.service) == ("stackwright.edpm.nova", "nova-external-compute-removal")
    (wait,) = decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(run,))).waits
    assert wait.reason == "Stopping"
    status = {"finishedAt": "2026-11-16T11:59:55Z", "hosts": [{"host": "one", "state": "Ok"}]}
    done = made(OpenStackAnsibleEE, run.metadata.name, spec=msgspec.to_builtins(run.spec), status=status)
    assert calls(decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(done,)))) == [("DELETE", "/v2.1/os-services/u1")]
    assert decide_removal(COMPUTE, RESOURCE, leaving(runs=(done,))) == Plan()
    status["hosts"] = [{"host": "one", "state": "Unreachable", "message": "No route to host"}]
    dead = made(OpenStackAnsibleEE, run.metadata.name, spec=msgspec.to_builtins(run.spec), status=status)
    (wait,) = decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(dead,))).waits
    assert f"No route to host. If the machine is lost, annotate this with {MACHINE_LOST}=true" in wait.message


def test_a_machine_that_is_lost_is_not_waited_for_but_its_servers_are() -> None:
    lost = made(type(RESOURCE), "one", {MACHINE_LOST: "true"}, spec=msgspec.to_builtins(RESOURCE.spec))
    down = {**ROW, "status": "disabled", "state": "down"}
    assert calls(decide_removal(COMPUTE, lost, leaving(down))) == [("DELETE", "/v2.1/os-services/u1")]
    assert decide_removal(COMPUTE, lost, leaving(down, occupants=("web",))).waits


def test_what_the_node_leaves_is_enough_to_stop_it() -> None:
    hidden = secret(
        "dataplanenode-one-secret", inventory='{"all": {"hosts": {"one": {"ansible_become_password": "s"}}}}'
    )
    found = prepare_removal(COMPUTE, RESOURCE, seeing(WAY, hidden, without=("compute", "nova-cell1")), AROUND)
    assert not isinstance(found, Wait)
    _, prepared = found
    assert (prepared.machine.address, prepared.machine.user, prepared.machine.port) == ("192.0.2.1", "root", 2222)
    assert prepared.variables.plain == {"rack": 2, "edpm_nova_state": "absent", "edpm_libvirt_state": "absent"}
    assert prepared.variables.secret == {"ansible_become_password": "s"}
    for missing in ("dataplanenode-one", "key"):
        without = prepare_removal(COMPUTE, RESOURCE, seeing(without=(missing,)), AROUND)
        assert isinstance(without, Wait)
        assert MACHINE_LOST in without.message


def test_an_agent_goes_after_what_it_serves() -> None:
    assert find_needing(AGENT, agent(), seeing(compute()), AROUND) == "NovaExternalCompute one"
    assert find_needing(AGENT, agent(), seeing(), AROUND) == ""
    assert find_needing(COMPUTE, compute(), seeing(agent()), AROUND) == ""


def test_neutron_forgets_the_agents_of_the_host_and_no_others() -> None:
    listed = [
        {"id": "a", "host": "one", "agent_type": "OVN Metadata agent"},
        {"id": "b", "host": "one", "agent_type": "OVN Controller agent"},
        {"id": "c", "host": "two", "agent_type": "OVN Metadata agent"},
        {"id": "d", "host": "one", "agent_type": "DHCP agent"},
    ]
    found = [call.path for call in AGENT.removal.forget({"agents": listed}, "one")]
    assert found == ["/v2.0/agents/a", "/v2.0/agents/b"]
    assert name_occupants({"servers": [{"name": "web"}, {"id": "u2"}], "servers_links": []}) == ("web", "u2")
    assert name_occupants({"servers": []}) == ()
    assert name_occupants({}) is None
