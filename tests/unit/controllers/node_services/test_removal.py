"""A service on a node that is being deleted: what keeps it, what stops it, and what is forgotten."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stackwright.adapters.identity import Credentials
from stackwright.api.annotations import MACHINE_LOST
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneRole
from stackwright.api.node_sections import VolumeMounts
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import Call
from stackwright.blueprint.dataplane.schedule import Backoff
from stackwright.blueprint.providers import Sight
from stackwright.controllers.node_services.removal import (
    NODE_GOES,
    Leaving,
    Left,
    decide_removal,
    find_needing,
    name_occupants,
    observe_removal,
    prepare_removal,
)
from stackwright.controllers.node_services.signs import Address
from stackwright.controllers.node_services.steps import Begin, Drop, Tell
from stackwright.kube.plan import Plan, Wait
from stackwright.kube.resource import Condition, Key, OwnerReference
from tests.unit.controllers.node_services.deploying import after, begin, seen
from tests.unit.controllers.node_services.place import (
    AGENT,
    AROUND,
    COMPUTE,
    LOST,
    PRIVATE_KEY,
    Api,
    agent,
    asking,
    compute,
    inventory,
    made,
    node,
    placement,
    secret,
    seeing,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
ADDRESS = Address("http://nova.example", "http://keystone.example", Credentials("admin", "p"))
RESOURCE = compute(sshKeySecretName="key")
GOING = msgspec.structs.replace(
    node(), metadata=msgspec.structs.replace(node().metadata, deletionTimestamp="2026-11-16T12:00:00Z")
)
WAY = inventory("one", ansible_host="192.0.2.1", ansible_port=2222, rack=2)
BUSY = "Node 192.0.2.1:22 is in the run x"
DEPLOYED = {"name": COMPUTE.name, "run": "compute-nova-1"}
ROW = {"id": "u1", "binary": "nova-compute", "host": "one", "state": "up", "status": "enabled"}


def leaving(*rows: dict[str, Any], resource: NodeServiceResource = RESOURCE, **further: Any) -> Leaving:
    prepared = prepare_removal(COMPUTE, resource, seeing(WAY), AROUND)
    seen = Leaving(NOW, prepared, begun=True, answer={"services": list(rows)}, occupants=(), address=ADDRESS)
    return replace(seen, **further)


def owned(run: OpenStackAnsibleEE, uid: str = RESOURCE.metadata.uid) -> OpenStackAnsibleEE:
    owner = OwnerReference(apiVersion="v1", kind=RESOURCE.kind.name, name="one", uid=uid, controller=True)
    return msgspec.structs.replace(run, metadata=msgspec.structs.replace(run.metadata, ownerReferences=(owner,)))


def calls(plan: Plan) -> list[tuple[str, str]]:
    return [(step.call.method, step.call.path) for step in plan.steps if isinstance(step, Tell)]


def test_one_that_never_ran_goes_at_once() -> None:
    assert decide_removal(COMPUTE, RESOURCE, leaving(begun=False, answer="no answer")) == Plan()


async def test_one_that_waits_for_its_first_run_has_not_begun() -> None:
    """Its node may have the address of another machine, which nobody may touch."""
    there = (node(cell="nova-cell1"), WAY)
    planned = after(RESOURCE, seen(RESOURCE, *there))
    assert planned.status.deployment is not None
    assert planned.status.deployment.inputHash
    silent = Api(os_services="no answer", servers="no answer", os_migrations="no answer")
    assert decide_removal(COMPUTE, planned, await observe_removal(COMPUTE, planned, asking(silent, WAY))) == Plan()
    run = owned(begin(COMPUTE, planned, *there))
    begun = after(planned, seen(planned, *there, runs=(run,)))
    assert decide_removal(COMPUTE, begun, await observe_removal(COMPUTE, begun, asking(silent, WAY))).waits


async def test_one_whose_run_is_being_created_stays_until_the_run_is_seen() -> None:
    """The run has other resources, too, so it would go on, and install the service on a machine that nobody knows."""
    there = (node(cell="nova-cell1"), WAY)
    planned = after(RESOURCE, seen(RESOURCE, *there))
    run = begin(COMPUTE, planned, *there)
    world = asking(Api(os_services="no answer", servers="no answer", os_migrations="no answer"), WAY)
    made_yet = list[OpenStackAnsibleEE]()

    async def find(*_: Any) -> OpenStackAnsibleEE | None:
        return next(iter(made_yet), None)

    world.context.client = SimpleNamespace(find=find)
    key = Key("openstack", run.metadata.name)
    with world.memory.shared.claim(key, (RESOURCE.metadata.uid,)):
        (wait,) = decide_removal(COMPUTE, planned, await observe_removal(COMPUTE, planned, world)).waits
        assert (wait.reason, wait.after) == ("Stopping", 5.0)
    made_yet.append(owned(run))
    (wait,) = decide_removal(COMPUTE, planned, await observe_removal(COMPUTE, planned, world)).waits
    assert wait.reason == "NotAsked"
    # It was never created after all.
    made_yet.clear()
    assert decide_removal(COMPUTE, planned, await observe_removal(COMPUTE, planned, world)) == Plan()


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


def test_it_is_not_stopped_by_a_run_that_the_garbage_collector_would_delete() -> None:
    metadata = msgspec.structs.replace(RESOURCE.metadata, finalizers=("foregroundDeletion", "openstack.org/x"))
    plan = decide_removal(
        COMPUTE, msgspec.structs.replace(RESOURCE, metadata=metadata), leaving({**ROW, "status": "disabled"})
    )
    assert not plan.steps
    assert [(wait.reason, wait.after) for wait in plan.waits] == [("Stopping", 5.0)]


def test_it_is_stopped_and_then_forgotten() -> None:
    down = {**ROW, "status": "disabled"}
    (step,) = decide_removal(COMPUTE, RESOURCE, leaving(down)).steps
    assert isinstance(step, Begin)
    bodies = [body for kind, body in step.objects if kind is OpenStackAnsibleEE]
    run = owned(msgspec.convert(bodies[0], OpenStackAnsibleEE))
    assert (run.spec.playbook, run.spec.service) == ("stackwright.edpm.nova", "nova-external-compute-removal")
    (wait,) = decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(run,))).waits
    assert wait.reason == "Stopping"
    status = {"finishedAt": "2026-11-16T11:59:55Z", "hosts": [{"host": "one", "state": "Ok"}]}
    done = owned(made(OpenStackAnsibleEE, run.metadata.name, spec=msgspec.to_builtins(run.spec), status=status))
    assert calls(decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(done,)))) == [("DELETE", "/v2.1/os-services/u1")]
    assert decide_removal(COMPUTE, RESOURCE, leaving(runs=(done,))) == Plan()
    # That of an earlier resource of the same name has stopped what ran then.
    earlier = owned(done, "earlier")
    assert isinstance(decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(earlier,))).steps[0], Begin)
    status["hosts"] = [{"host": "one", "state": "Unreachable", "message": "No route to host"}]
    dead = owned(made(OpenStackAnsibleEE, run.metadata.name, spec=msgspec.to_builtins(run.spec), status=status))
    (wait,) = decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(dead,))).waits
    assert f"No route to host. If the machine is lost, annotate this with {MACHINE_LOST}=true" in wait.message


@pytest.mark.parametrize(
    ("severity", "reason", "words"),
    [
        pytest.param("Info", "Stopping", f"waits: {BUSY}", id="it-waits"),
        pytest.param("Error", "NodeBusy", f": {BUSY}", id="somebody-has-to-act"),
    ],
)
def test_it_says_what_the_run_waits_for_that_stops_it(severity: str, reason: str, words: str) -> None:
    down = {**ROW, "status": "disabled"}
    (step,) = decide_removal(COMPUTE, RESOURCE, leaving(down)).steps
    assert isinstance(step, Begin)
    (body,) = (body for kind, body in step.objects if kind is OpenStackAnsibleEE)
    run = owned(msgspec.convert(body, OpenStackAnsibleEE))
    (wait,) = decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(run,))).waits
    assert (wait.reason, wait.message) == ("Stopping", "Ansible stops the service on the machine")
    said = Condition(type="Ready", status="False", severity=severity, reason="NodeBusy", message=BUSY)
    waiting = msgspec.structs.replace(run, status=msgspec.structs.replace(run.status, conditions=(said,)))
    (wait,) = decide_removal(COMPUTE, RESOURCE, leaving(down, runs=(waiting,))).waits
    assert (wait.reason, words in wait.message) == (reason, True)


def test_it_says_which_run_has_the_machine_before_it_is_stopped() -> None:
    body = {"metadata": {"name": "theirs"}, "spec": {"playbook": "p", "nodes": [{"name": "one"}]}}
    theirs = msgspec.convert(body, OpenStackAnsibleEE)
    (wait,) = decide_removal(COMPUTE, RESOURCE, leaving({**ROW, "status": "disabled"}, runs=(theirs,))).waits
    assert (wait.reason, "until OpenStackAnsibleEE theirs, which has the node" in wait.message) == ("Stopping", True)


def test_a_machine_that_is_lost_is_not_waited_for_but_its_servers_are() -> None:
    lost = made(type(RESOURCE), "one", {MACHINE_LOST: "true"}, spec=msgspec.to_builtins(RESOURCE.spec))
    down = {**ROW, "status": "disabled", "state": "down"}
    assert calls(decide_removal(COMPUTE, lost, leaving(down))) == [("DELETE", "/v2.1/os-services/u1")]
    assert decide_removal(COMPUTE, lost, leaving(down, occupants=("web",))).waits


def test_what_placement_still_has_goes_and_nobody_who_can_be_asked_is_a_no() -> None:
    lost = made(type(RESOURCE), "one", {MACHINE_LOST: "true"}, spec=msgspec.to_builtins(RESOURCE.spec))
    assert decide_removal(COMPUTE, lost, leaving()) == Plan()
    other = Address("http://placement.example", "http://keystone.example", Credentials("admin", "p"))
    left = Left(other, Call("DELETE", "/resource_providers/p1"))
    (step,) = decide_removal(COMPUTE, lost, leaving(trace=left)).steps
    assert isinstance(step, Tell)
    assert (step.address, step.call.path) == (other, "/resource_providers/p1")
    # Nova comes first: it refuses as long as there are servers.
    assert calls(decide_removal(COMPUTE, lost, leaving({**ROW, "status": "disabled"}, trace=left))) == [
        ("DELETE", "/v2.1/os-services/u1")
    ]
    (wait,) = decide_removal(COMPUTE, lost, leaving(trace=Left(why="does not answer"))).waits
    assert (wait.reason, "does not answer" in wait.message) == ("NotAsked", True)


def test_nova_says_which_provider_is_that_of_a_host() -> None:
    trace = COMPUTE.removal.trace
    assert trace is not None
    listed = [{"id": "p1", "service": {"host": "one"}}, {"id": "p2", "service": {"host": "two"}}]
    assert trace.identify({"hypervisors": listed}, "two") == "p2"
    assert trace.identify({"hypervisors": listed}, "three") == ""
    assert trace.identify({}, "one") == ""


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


PROXY = {"name": "ANSIBLE_SSH_COMMON_ARGS", "value": "-o ProxyJump=bastion"}
VOLUME = {"name": "ssh", "configMap": {"name": "ssh-config"}}
MOUNTS = {"volumes": [VOLUME], "mounts": [{"name": "ssh", "mountPath": "/etc/ssh/ssh_config.d"}]}
PROXIED = made(
    OpenStackDataPlaneRole,
    "compute",
    spec={"nodeTemplate": {"ansibleSSHPrivateKeySecret": "key", "extraMounts": [MOUNTS]}, "env": [PROXY]},
)


def surroundings(there: Sight, *runs: OpenStackAnsibleEE) -> tuple[list[str], list[str]]:
    """Return what the pod that stops a service has: variables of its environment, and places of volumes."""
    found = prepare_removal(COMPUTE, RESOURCE, there, AROUND, runs)
    assert not isinstance(found, Wait)
    machine = found[1].machine
    return [each.value for each in machine.env], [m.mountPath for each in machine.extra_mounts for m in each.mounts]


def test_a_machine_is_reached_for_its_removal_as_it_was_before() -> None:
    wanted = (["-o ProxyJump=bastion"], ["/etc/ssh/ssh_config.d"])
    assert surroundings(seeing(WAY, PROXIED)) == wanted
    # The role may be gone, and the node, and what wrote the files of the service.
    run = owned(begin(COMPUTE, RESOURCE, PROXIED))
    files = {"volumes": [VOLUME], "mounts": [{"name": "ssh", "mountPath": "/var/lib/openstack/configs/ovn"}]}
    mounts = msgspec.convert([MOUNTS, files], tuple[VolumeMounts, ...])
    run = msgspec.structs.replace(run, spec=msgspec.structs.replace(run.spec, extraMounts=mounts))
    assert surroundings(seeing(WAY, without=("compute",)), run) == wanted
    assert surroundings(seeing(WAY, without=("compute", "one")), run) == wanted
    assert surroundings(seeing(WAY, without=("compute",))) == ([], [])


def test_a_dead_machine_leaves_no_more_runs_than_are_needed_to_wait_for_longer_each_time() -> None:
    down, now = {**ROW, "status": "disabled"}, NOW
    runs: list[OpenStackAnsibleEE] = []
    pauses: list[float] = []
    for _ in range(12):
        seen = replace(leaving(down, runs=tuple(runs)), now=now)
        plan = decide_removal(COMPUTE, RESOURCE, seen)
        (body,) = (
            body
            for step in plan.steps
            if isinstance(step, Begin)
            for kind, body in step.objects
            if kind is OpenStackAnsibleEE
        )
        dropped = {step.run.metadata.name for step in plan.steps if isinstance(step, Drop)}
        runs = [run for run in runs if run.metadata.name not in dropped]
        status = {
            "finishedAt": now.isoformat(),
            "hosts": [{"host": "one", "state": "Unreachable"}],
            "jobStatus": "Failed",
        }
        run = msgspec.convert(body, OpenStackAnsibleEE)
        assert run.metadata.name not in {each.metadata.name for each in runs}
        runs.append(owned(made(OpenStackAnsibleEE, run.metadata.name, spec=body["spec"], status=status)))
        (wait,) = decide_removal(COMPUTE, RESOURCE, replace(leaving(down, runs=tuple(runs)), now=now)).waits
        assert wait.after is not None
        pauses.append(wait.after)
        now += timedelta(seconds=wait.after)
    assert pauses == [15, 30, 60, 120, 240, 480, *[600] * 6]
    assert len(runs) == Backoff().steps + 1


def test_it_is_not_stopped_with_a_key_that_nobody_can_use() -> None:
    locked = PRIVATE_KEY.replace("OPENSSH PRIVATE", "ENCRYPTED PRIVATE")
    found = prepare_removal(COMPUTE, RESOURCE, seeing(WAY, secret("key", **{"ssh-privatekey": locked})), AROUND)
    assert isinstance(found, Wait)
    assert ("it has a passphrase" in found.message, MACHINE_LOST in found.message) == (True, True)


@pytest.mark.parametrize(
    ("there", "goes"),
    [
        pytest.param(seeing(WAY), None, id="the-node-stays"),
        pytest.param(seeing(WAY, GOING), True, id="the-node-is-being-deleted"),
        pytest.param(seeing(WAY, without=("one",)), True, id="the-node-is-gone"),
    ],
)
def test_a_playbook_knows_whether_the_node_goes_too(there: Sight, goes: bool | None) -> None:
    found = prepare_removal(COMPUTE, RESOURCE, there, AROUND)
    assert not isinstance(found, Wait)
    assert found[1].variables.plain.get(NODE_GOES) is goes


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


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        pytest.param({"servers": [{"name": "web"}, {"id": "u2"}]}, ("web", "u2"), id="by-name-or-id"),
        pytest.param({"servers": [{}]}, ("one without a name",), id="one-without-a-name-is-one"),
        pytest.param({"servers": []}, (), id="none"),
        pytest.param({}, None, id="nothing-said"),
        pytest.param({"servers": None}, None, id="nothing-said-of-them"),
        pytest.param({"versions": []}, None, id="somebody-else-answers"),
        pytest.param({"servers": ["web"]}, None, id="another-form"),
    ],
)
def test_only_a_list_of_servers_says_what_is_there(answer: dict[str, Any], names: tuple[str, ...] | None) -> None:
    assert name_occupants(answer, "servers") == names


def test_servers_that_move_from_or_to_a_machine_are_on_it() -> None:
    (_, question) = COMPUTE.removal.occupants
    moving = [{"status": status, "instance_uuid": "u1"} for status in ("confirmed", "finished", "completed", "done")]
    # A resize that is finished waits for its user, who may want the server back.
    assert name_occupants({"migrations": moving}, question.key, question.name) == ("a migration of server u1",)


@pytest.mark.parametrize(
    ("port", "names"),
    [
        pytest.param(
            {"id": "p", "device_owner": "compute:nova", "device_id": "u1"}, ("port p of server u1",), id="one"
        ),
        pytest.param({"id": "p", "device_owner": "compute:"}, ("port p of server unknown",), id="of-an-unknown-server"),
        pytest.param({"id": "p", "device_owner": "network:router_gateway"}, (), id="a-gateway-moves"),
        pytest.param({"id": "p", "device_owner": None}, (), id="a-port-of-nobody"),
    ],
)
def test_servers_of_a_compute_that_no_resource_speaks_of_keep_the_switch_below_them(
    port: dict[str, Any], names: tuple[str, ...]
) -> None:
    (question,) = AGENT.removal.occupants
    assert (question.path, question.query) == ("/v2.0/ports", {"binding:host_id": "{host}"})
    assert name_occupants({"ports": [port]}, question.key, question.name) == names


ROWS = {"services": [{**ROW, "status": "disabled"}]}


@pytest.mark.parametrize(
    ("services", "servers", "migrations", "words"),
    [
        pytest.param(ROWS, {"servers": []}, {"migrations": []}, "", id="empty"),
        pytest.param(LOST, {"servers": []}, {"migrations": []}, "does not reach the database of its cell", id="cell"),
        pytest.param(ROWS, {"servers": [{"name": "web"}]}, {"migrations": []}, "machine: web", id="servers"),
        pytest.param(ROWS, {"servers": []}, "it fell over", "it fell over", id="the-second-question-is-not-answered"),
        pytest.param(ROWS, {"versions": []}, {"migrations": []}, "did not say", id="another-api"),
        pytest.param({"versions": []}, {"servers": []}, {"migrations": []}, "did not say", id="another-api-at-once"),
        pytest.param(
            ROWS,
            {"servers": []},
            {"migrations": [{"status": "finished", "instance_uuid": "u1"}]},
            "a migration of server u1",
            id="a-resize-that-waits-for-its-user",
        ),
    ],
)
async def test_nothing_is_stopped_before_all_questions_are_answered(
    services: Any, servers: Any, migrations: Any, words: str
) -> None:
    applied = made(type(RESOURCE), "one", spec=msgspec.to_builtins(RESOURCE.spec), status={"deployment": DEPLOYED})
    api = Api(os_services=services, servers=servers, os_migrations=migrations)
    plan = decide_removal(COMPUTE, applied, await observe_removal(COMPUTE, applied, asking(api, WAY)))
    assert [isinstance(step, Begin) for step in plan.steps] == ([] if words else [True])
    assert words in "; ".join(wait.message for wait in plan.waits)
    assert bool(plan.waits) == bool(words)


PROVIDER = {"uuid": "p1", "name": "one"}
USED = {"allocations": {"u1": {"resources": {"VCPU": 1}}}}


@pytest.mark.parametrize(
    ("known", "said", "reason", "words"),
    [
        pytest.param("p1", {}, "", "", id="placement-says-so-too"),
        pytest.param("p1", {"allocations": USED}, "InUse", "migration u1, which has an allocation", id="in-use"),
        pytest.param("", {"allocations": USED}, "InUse", "u1, which has an allocation", id="named-like-the-host"),
        pytest.param("old", {"allocations": USED}, "InUse", "u1, which has an allocation", id="back-with-another-id"),
        pytest.param(
            "",
            {
                "allocations": USED,
                "resource_providers": {"resource_providers": [{"uuid": "p1", "name": "another"}]},
                "detail": {"hypervisors": [{"id": "p1", "service": {"host": "one"}}]},
            },
            "InUse",
            "u1, which has an allocation",
            id="with-another-name-that-nova-knows",
        ),
        pytest.param("", {"resource_providers": {"resource_providers": []}}, "", "", id="never-had-a-provider"),
        pytest.param("p1", {"resource_providers": "no answer"}, "NotAsked", "no answer", id="the-list-fails"),
        pytest.param("p1", {"allocations": "no answer"}, "NotAsked", "no answer", id="the-question-fails"),
        pytest.param("p1", {"allocations": {"versions": []}}, "NotAsked", "did not say", id="somebody-else-answers"),
        pytest.param("", {"detail": "no answer"}, "NotAsked", "no answer", id="nova-does-not-say-which"),
    ],
)
async def test_an_empty_list_of_nova_is_not_believed_alone(
    known: str, said: dict[str, Any], reason: str, words: str
) -> None:
    """With [api] max_limit = 0 Nova lists no servers, no migrations and no hypervisors, whatever there is."""
    status = {"deployment": DEPLOYED, "traceID": known}
    applied = made(type(RESOURCE), "one", spec=msgspec.to_builtins(RESOURCE.spec), status=status)
    empty: dict[str, Any] = {
        "servers": {"servers": []},
        "os_migrations": {"migrations": []},
        "detail": {"hypervisors": []},
    }
    others = {"resource_providers": {"resource_providers": [PROVIDER]}, "allocations": {"allocations": {}}}
    api = Api(os_services=ROWS, **{**empty, **others, **said})
    seen = await observe_removal(COMPUTE, applied, asking(api, WAY, placement()))
    plan = decide_removal(COMPUTE, applied, seen)
    assert [isinstance(step, Begin) for step in plan.steps] == ([] if reason else [True])
    assert [wait.reason for wait in plan.waits] == ([reason] if reason else [])
    assert words in "; ".join(wait.message for wait in plan.waits)


@pytest.mark.parametrize(("annotations", "occupied"), [({MACHINE_LOST: "true"}, False), ({}, True)])
async def test_servers_that_were_evacuated_from_a_lost_machine_do_not_hold_it(
    annotations: dict[str, str], occupied: bool
) -> None:
    """They keep their allocations of it until its compute comes back, and it never does."""
    status = {"deployment": DEPLOYED, "traceID": "p1"}
    applied = made(type(RESOURCE), "one", annotations, spec=msgspec.to_builtins(RESOURCE.spec), status=status)
    api = Api(
        os_services=ROWS,
        servers={"servers": []},
        os_migrations={"migrations": []},
        resource_providers={"resource_providers": [PROVIDER]},
        allocations=USED,
    )
    seen = await observe_removal(COMPUTE, applied, asking(api, WAY, placement()))
    assert bool(seen.occupants) is occupied


async def test_a_placement_that_does_not_serve_yet_is_a_no() -> None:
    applied = made(type(RESOURCE), "one", spec=msgspec.to_builtins(RESOURCE.spec), status={"deployment": DEPLOYED})
    api = Api(os_services=ROWS, servers={"servers": []}, os_migrations={"migrations": []})
    seen = await observe_removal(COMPUTE, applied, asking(api, WAY, placement("")))
    (wait,) = decide_removal(COMPUTE, applied, seen).waits
    assert (wait.reason, "No PlacementAPI serves yet" in wait.message) == ("NotAsked", True)
