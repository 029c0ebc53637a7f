"""What a service on a node waits for, what its runs come to, and when it is up."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, ServiceRecord
from stackwright.api.node_service import SERVICE_READY, NodeServiceResource
from stackwright.blueprint import use
from stackwright.blueprint.service import Export
from stackwright.controllers.node_services.deployment import decide, find_waits, observe, tell
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import Condition, Resource
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from tests.unit.controllers.node_services.deploying import after, begin, ended, seen, whole
from tests.unit.controllers.node_services.place import (
    COMPUTE,
    LOST,
    READY,
    Api,
    asking,
    cell,
    compute,
    made,
    seeing,
)


def reasons(resource: NodeServiceResource, *others: Resource, record: ServiceRecord | None = None) -> list[str]:
    known = record or ServiceRecord(name="nova-external-compute")
    waits = find_waits(COMPUTE, resource, known, whole(COMPUTE, resource, *others), seeing(*others))
    return [each.reason for each in waits]


def test_the_first_run_waits_for_the_cell_and_for_the_node() -> None:
    away = made(OpenStackDataPlaneNode, "one", {COMPUTE.annotation: "nova-cell1"}, spec={"role": "compute"})
    wait = Wait("NovaCellNotReady", "", "NovaCellReady")
    plan = decide(COMPUTE, compute(), seen(compute(), waits=(wait,)))
    assert [each.reason for each in plan.waits] == ["NovaCellNotReady"]
    unready = msgspec.structs.replace(cell(), status=type(cell().status)())
    assert reasons(compute(), away, unready) == ["NovaCellNotReady", "NodeNotReady"]
    # What was applied once does not wait for the cell any more.
    assert reasons(compute(), unready, record=ServiceRecord(name="nova-external-compute", appliedHash="x")) == []
    assert reasons(compute(deploy=False)) == ["DeployIsOff"]


def test_from_the_run_to_a_service_that_is_up() -> None:
    resource: NodeServiceResource = compute()
    first = begin(COMPUTE, resource)
    going = seen(resource, runs=(first,))
    assert [each.reason for each in decide(COMPUTE, resource, going).waits] == ["Deploying"]
    assert tell(COMPUTE, resource, going).phase == "Deploying"
    run = ended(first)
    done = seen(resource, runs=(run,), sign="Nova does not know it yet")
    resource = after(resource, done)
    assert resource.status.phase == "Starting"
    assert [each.reason for each in decide(COMPUTE, resource, done).waits] == ["NotUp"]
    up = seen(resource, runs=(run,), sign="")
    assert decide(COMPUTE, resource, up).waits == ()
    resource = after(resource, up)
    assert resource.status.phase == "Up"
    # What does not differ does not run; and what nobody can be asked stays as it was.
    silent = seen(resource, runs=(run,), unasked="does not answer")
    assert tell(COMPUTE, resource, silent).phase == "Up"
    assert [each.reason for each in decide(COMPUTE, compute(), silent).waits] == ["NotAsked"]
    changed = msgspec.structs.replace(resource, spec=compute(customServiceConfig="[DEFAULT]\n").spec)
    assert [each.reason for each in decide(COMPUTE, changed, seen(changed, runs=(run,))).waits] == ["Deploying"]


@pytest.mark.parametrize(
    ("status", "since", "ends"),
    [
        pytest.param("Unknown", "", Ends.PERHAPS_BY_USER, id="never-up-since-its-run"),
        pytest.param("True", "2026-11-16T12:00:00Z", Ends.BY_ITSELF, id="down-since-this-look"),
        pytest.param("False", "2026-11-16T12:08:00Z", Ends.BY_ITSELF, id="down-for-two-minutes"),
        pytest.param("False", "2026-11-16T12:06:00Z", Ends.PERHAPS_BY_USER, id="down-for-four-minutes"),
    ],
)
def test_a_service_that_stays_down_is_for_somebody_to_look_at(status: str, since: str, ends: Ends) -> None:
    """Its run ended at 11:59; it may have been up since."""
    resource: NodeServiceResource = compute()
    run = ended(begin(COMPUTE, resource))
    resource = after(resource, seen(resource, runs=(run,), sign=""))
    said = Condition(type=SERVICE_READY, status=status, reason="X", message="", lastTransitionTime=since)
    resource = msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, conditions=(said,)))
    late = datetime(2026, 11, 16, 12, 10, tzinfo=UTC)
    (wait,) = decide(COMPUTE, resource, seen(resource, runs=(run,), sign="Nova says that it is down", now=late)).waits
    assert (wait.reason, wait.ends, "the journal of one" in wait.message) == ("NotUp", ends, ends is not Ends.BY_ITSELF)


def test_it_is_marked_with_the_exports_that_were_applied_until_others_are() -> None:
    """What the cell gave before stays: a machine that is switched off comes back with it."""
    name = "nova-cell1-compute-config"

    def exported(text: str) -> Secret:
        said = use.secret_of(Export(name, {"01-nova.conf": text})).body
        return made(Secret, name, said["metadata"]["annotations"], data=said["data"])

    first, second = exported("[DEFAULT]\n"), exported("[DEFAULT]\ntransport_url = rabbit://other@rabbit\n")
    resource = compute()
    assert use.noted(after(resource, seen(resource, first))) == {}
    run = begin(COMPUTE, resource, first)
    assert use.noted(after(resource, seen(resource, first, runs=(run,)))) == {name: use.ROLLING}
    applied = after(resource, seen(resource, first, runs=(ended(run),)))
    assert use.noted(applied) == {name: first.metadata.annotations[use.CONTENT]}
    rotated = after(applied, seen(applied, second))
    assert use.noted(rotated) == use.noted(applied)
    assert rotated.status.deployment != applied.status.deployment
    failed = after(rotated, seen(rotated, second, runs=(ended(begin(COMPUTE, rotated, second), "Unreachable"),)))
    assert use.noted(failed) == {name: use.ROLLING}
    assert use.noted(after(failed, seen(failed, first))) == {name: use.ROLLING}


def test_a_run_that_somebody_deletes_in_its_middle_may_have_changed_the_machine() -> None:
    applied = after(compute(), seen(compute(), runs=(ended(begin(COMPUTE, compute())),)))
    changed = msgspec.structs.replace(applied, spec=compute(customServiceConfig="[DEFAULT]\n").spec)
    run = ended(begin(COMPUTE, changed))
    going = msgspec.structs.replace(run, status=type(run.status)(jobStatus="Running"))
    at_work = after(changed, seen(changed, runs=(going,)))
    assert at_work.status.running is not None
    back = msgspec.structs.replace(at_work, spec=applied.spec)
    stopped = after(back, seen(back))
    record = stopped.status.deployment
    assert record is not None
    assert (record.appliedHash, record.run, stopped.status.running) == ("", run.metadata.name, None)
    # Of the first run, too: the service may be there.
    first = msgspec.structs.replace(ended(begin(COMPUTE, compute())), status=type(run.status)())
    new = after(compute(), seen(compute(), runs=(first,)))
    assert after(new, seen(new)).has_begun


def test_it_is_not_deployed_on_a_node_that_is_paused() -> None:
    paused = made(
        OpenStackDataPlaneNode,
        "one",
        {COMPUTE.annotation: "nova-cell1", PAUSED: "true"},
        spec={"role": "compute", "ansibleHost": "one.example"},
        status=READY,
    )
    place = whole(COMPUTE, compute(), paused)
    (wait,) = find_waits(COMPUTE, compute(), ServiceRecord(name=COMPUTE.name), place, seeing(paused))
    assert (wait.reason, PAUSED in wait.message) == ("NodePaused", True)


def test_it_says_which_run_it_waits_for() -> None:
    theirs = msgspec.convert(
        {"metadata": {"name": "theirs"}, "spec": {"playbook": "p", "nodes": [{"name": "one"}]}}, OpenStackAnsibleEE
    )
    (wait,) = decide(COMPUTE, compute(), seen(compute(), runs=(theirs,))).waits
    assert (wait.reason, "OpenStackAnsibleEE theirs, which has the node" in wait.message) == ("Deploying", True)
    (wait,) = decide(COMPUTE, compute(), seen(compute())).waits
    assert "maxUnavailable" in wait.message


@pytest.mark.parametrize(("severity", "ends"), [("Error", Ends.BY_USER), ("Warning", Ends.PERHAPS_BY_USER)])
@pytest.mark.parametrize("whose", ["its-own", "of-a-user"])
def test_it_says_what_keeps_the_run_that_has_its_node(whose: str, severity: str, ends: Ends) -> None:
    resource = compute()
    run = begin(COMPUTE, resource)
    said = Condition(type="Ready", status="False", severity=severity, reason="FailedCreate", message="no pods")
    stuck = msgspec.structs.replace(run, status=msgspec.structs.replace(run.status, conditions=(said,)))
    if whose == "of-a-user":
        metadata = msgspec.structs.replace(stuck.metadata, ownerReferences=())
        stuck = msgspec.structs.replace(stuck, metadata=metadata)
    (wait,) = decide(COMPUTE, resource, seen(resource, runs=(stuck,))).waits
    assert (wait.reason, wait.ends) == ("FailedCreate", ends)
    assert wait.message == f"OpenStackAnsibleEE {run.metadata.name}: no pods"


@pytest.mark.parametrize(
    ("reason", "message", "words"),
    [
        pytest.param("NodeBusy", "Node 192.0.2.1:22 is in the run x", "waits: Node 192.0.2.1:22 is in", id="it-waits"),
        pytest.param("Running", "Its pod starts", "Ansible runs", id="it-runs"),
        pytest.param("Starting", "", "Ansible runs", id="it-does-not-say-anything"),
    ],
)
def test_it_says_what_its_run_waits_for(reason: str, message: str, words: str) -> None:
    resource = compute()
    run = begin(COMPUTE, resource)
    said = Condition(type="Ready", status="False", severity="Info", reason=reason, message=message)
    waiting = msgspec.structs.replace(run, status=msgspec.structs.replace(run.status, conditions=(said,)))
    (wait,) = decide(COMPUTE, resource, seen(resource, runs=(waiting,))).waits
    assert (wait.reason, wait.ends, words in wait.message) == ("Deploying", Ends.BY_ITSELF, True)


async def test_a_cell_whose_database_is_down_takes_no_readiness_away() -> None:
    resource: NodeServiceResource = compute()
    run = ended(begin(COMPUTE, resource))
    resource = after(resource, seen(resource, runs=(run,), sign="", identity="id-1"))
    unknown = await observe(COMPUTE, resource, asking(Api(os_services=LOST)))
    assert (unknown.sign, unknown.unasked) == (None, "Nova does not reach the database of its cell")
    # One that was not up yet does not become so, and says why.
    (wait,) = decide(COMPUTE, resource, unknown).waits
    assert (wait.reason, unknown.unasked in wait.message, wait.after) == ("NotAsked", True, 5.0)
    up = conditions_of(SERVICE_READY)
    was_up = msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, conditions=up))
    assert decide(COMPUTE, was_up, unknown).waits == ()
    told = tell(COMPUTE, was_up, unknown)
    assert (told.phase, told.serviceID) == ("Up", "id-1")
    down = {"services": [{"binary": "nova-compute", "host": "one", "id": "id-1", "state": "down"}]}
    (wait,) = decide(COMPUTE, was_up, await observe(COMPUTE, was_up, asking(Api(os_services=down)))).waits
    assert wait.reason == "NotUp"


def conditions_of(*types: str) -> tuple[Condition, ...]:
    return tuple(Condition(type=each, status="True", reason="Ready", message="Setup complete") for each in types)


async def test_a_run_that_never_began_is_told_as_such() -> None:
    resource: NodeServiceResource = compute()
    resource = after(resource, seen(resource, runs=(ended(begin(COMPUTE, resource)),), sign=""))
    applied = resource.status.deployment
    assert applied is not None
    changed = msgspec.structs.replace(resource, spec=compute(customServiceConfig="[DEFAULT]\nx = 1\n").spec)
    run = ended(begin(COMPUTE, changed), "Unknown", message="No pod began to work")
    stuck = msgspec.structs.replace(run, status=msgspec.structs.replace(run.status, jobStatus="NotBegun"))
    now = seen(changed, runs=(stuck,))
    told = tell(COMPUTE, changed, now).deployment
    assert told is not None
    # What was applied still serves.
    assert (told.state, told.appliedHash, told.failures) == ("NotBegun", applied.appliedHash, 1)
    (wait,) = decide(COMPUTE, changed, now).waits
    assert (wait.reason, "did not run, and is as before: No pod began to work" in wait.message) == ("NotBegun", True)


def test_a_failure_is_told_and_tried_again_after_a_while() -> None:
    resource: NodeServiceResource = compute()
    run = ended(begin(COMPUTE, resource), "Failed", task="Start libvirt", message="no such device")
    failed = seen(resource, runs=(run,))
    resource = after(resource, failed)
    assert resource.status.phase == "Deploying"
    (wait,) = decide(COMPUTE, resource, failed).waits
    assert "failed in task Start libvirt: no such device" in wait.message


def test_a_compute_is_ready_once_its_host_is_mapped() -> None:
    row = {"binary": "nova-compute", "host": "one", "state": "up", "id": "id-1"}
    assert COMPUTE.sign.identify({"services": [row, {**row, "host": "two", "id": "id-2"}]}, "one") == "id-1"
    assert COMPUTE.sign.identify({"services": []}, "one") == ""
    nova = made(Nova, "nova", spec={"secret": "s"}, status={"discoveredHosts": {"nova-cell1": {"one": "id-1"}}})
    assert [each.reason for each in COMPUTE.joins(compute(), "id-1", seeing())] == ["HostNotMapped"]
    # One that was deleted in Nova and came back is another one, and not mapped yet.
    assert [each.reason for each in COMPUTE.joins(compute(), "id-2", seeing(nova))] == ["HostNotMapped"]
    assert not [*COMPUTE.joins(compute(), "id-1", seeing(nova))]
    alone = made(NovaCell, "nova-cell1", spec={"cellName": "cell1", "secret": "s", "keystoneAuthURL": "http://k"})
    assert not [*COMPUTE.joins(compute(), "id-1", seeing(alone))]

    run = ended(begin(COMPUTE, compute()))
    wait = Wait("HostNotMapped", "", "ServiceReady")
    up = seen(compute(), runs=(run,), sign="", identity="id-1", joins=(wait,))
    assert decide(COMPUTE, compute(), up).waits == (wait,)
    told = after(compute(), up)
    assert (told.status.phase, told.status.serviceID) == ("Starting", "id-1")
    mapped = after(told, seen(told, runs=(run,), sign="", identity="id-1", trace="provider-1"))
    assert (mapped.status.phase, mapped.status.traceID) == ("Up", "provider-1")
    # If nobody can be asked, it is still the same.
    silent = tell(COMPUTE, mapped, seen(mapped, runs=(run,), unasked="does not answer"))
    assert (silent.serviceID, silent.traceID) == ("id-1", "provider-1")


async def test_a_run_that_only_the_cache_does_not_have_was_not_deleted() -> None:
    run = ended(begin(COMPUTE, compute()))
    going = msgspec.structs.replace(run, status=type(run.status)(jobStatus="Running"))
    at_work = after(compute(), seen(compute(), runs=(going,)))
    world = asking(Api())
    assert tell(COMPUTE, at_work, await observe(COMPUTE, at_work, world)).running is None

    async def find(*_: Any) -> OpenStackAnsibleEE:
        return going

    world.context.client = SimpleNamespace(find=find)
    status = tell(COMPUTE, at_work, await observe(COMPUTE, at_work, world))
    assert status.running is not None
    assert status.running.run == run.metadata.name
    assert status.deployment == at_work.status.deployment
