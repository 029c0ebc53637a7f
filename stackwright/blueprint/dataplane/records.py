"""What runs came to on one node, by service. The records are in the node's status, and outlive the runs. Pure.

A run counts for those for whom it was made, and for nobody else: a service on a node may have the name of a service of
the node's role, and a node or a resource that was deleted and created again starts afresh, because nobody knows what
is on the machine now.
"""

from collections.abc import Container, Iterable, Mapping
from typing import TypeVar

import msgspec

from stackwright.api.ansibleee import NOT_BEGUN, HostResult, OpenStackAnsibleEE, RunNode
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import (
    OpenStackDataPlaneNode,
    OpenStackDataPlaneRole,
    RunningService,
    ServiceRecord,
    ServiceState,
)
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.use import ROLLING

N = TypeVar("N", bound=NodeServiceResource)

_ENDED: Mapping[str, ServiceState] = {
    "Ok": "Applied",
    "Failed": "Failed",
    "Unreachable": "Unreachable",
    # The pod was lost, or never got there: nobody knows how far it was.
    "Running": "Interrupted",
    "Unknown": "Interrupted",
}
# The highest number of a run that a user makes. Operators go on from there: the highest that can be would be the last.
HIGHEST_OF_USER = 1_000_000_000


def fold(
    before: Iterable[ServiceRecord], wanted: Mapping[str, str], node: str, runs: Iterable[OpenStackAnsibleEE]
) -> tuple[ServiceRecord, ...]:
    """Return the records of a node's services, in the order of `wanted`, which has their input hashes.

    A run counts once: its number is in the record. A hash that is empty is not known yet, and changes nothing.
    """
    known = {record.name: record for record in before}
    ended = (run for run in runs if run.ended_at(node) and node_of(run, node) is not None)
    for run in sorted(ended, key=lambda run: run.spec.sequence):
        service = run.spec.service
        record = known.get(service, ServiceRecord(name=service))
        if service in wanted and run.spec.sequence > record.sequence:
            known[service] = _with_run(record, run, node)
    return tuple(_wanted(known.get(name, ServiceRecord(name=name)), inputs) for name, inputs in wanted.items())


def find_lost(running: RunningService | None, names: Container[str]) -> RunningService | None:
    """Return what a status says is running, if its run is gone: somebody deleted it before it was recorded.

    `names` are the names of the runs that are there. A role asks for each of its nodes, so they are collected once.
    """
    return running if running is not None and running.run not in names else None


def names_of(runs: Iterable[OpenStackAnsibleEE]) -> frozenset[str]:
    """Return the names of runs."""
    return frozenset(run.metadata.name for run in runs)


def with_lost(records: Iterable[ServiceRecord], lost: RunningService | None) -> tuple[ServiceRecord, ...]:
    """Return the records of a node after a run was lost that may have changed the machine: nobody knows how far it was.

    One that only waited has changed nothing: the machine serves as before, and maxUnavailable counts it. To lose a run
    is no failure, so what is wanted is applied at once.
    """
    known = tuple(records)
    if lost is None or any(record.run == lost.run for record in known):
        return known
    before = next((record for record in known if record.name == lost.name), ServiceRecord(name=lost.name))
    after = msgspec.structs.replace(
        before,
        appliedHash=before.appliedHash if lost.waits else "",
        state="NotBegun" if lost.waits else "Interrupted",
        task=lost.task,
        message=f"OpenStackAnsibleEE {lost.run} was deleted before it had {'begun' if lost.waits else 'ended'}",
        failed=has_failed(before),
        run=lost.run,
        # The next run gets a number above all of the node's, so that it does not get the name of the one that is lost.
        sequence=max((record.sequence for record in known), default=0) + 1,
        exports=before.exports if lost.waits else dict.fromkeys(before.exports, ROLLING),
    )
    return (*(after if record is before else record for record in known), *(() if before in known else (after,)))


def is_for_node(run: OpenStackAnsibleEE, node: OpenStackDataPlaneNode) -> bool:
    """Return whether a run counts for a node: a role made it, or a user, and not for an earlier node of that name."""
    made_for_role = _is_of_role(run) or (not run.metadata.ownerReferences and is_numbered(run))
    return made_for_role and run.metadata.creationTimestamp >= node.metadata.creationTimestamp


def _is_of_role(run: OpenStackAnsibleEE) -> bool:
    # Of several owners, only the first is the controller; once it is gone, there is none.
    return any(owner.kind == OpenStackDataPlaneRole.kind.name for owner in run.metadata.ownerReferences)


def find_given_name(node: str, runs: Iterable[OpenStackAnsibleEE]) -> str:
    """Return the name by which the operator of a service gets to know a machine right now; "" if none does."""
    theirs = (run for run in runs if run.metadata.ownerReferences and not _is_of_role(run) and not run.ended_at(node))
    entries = (node_of(run, node) for run in theirs)
    return next((entry.inventory_name for entry in entries if entry is not None), "")


def is_numbered(run: OpenStackAnsibleEE) -> bool:
    """Return whether a run has a number among those of its nodes. One of a user's that is too high has none."""
    return bool(run.metadata.ownerReferences) or run.spec.sequence <= HIGHEST_OF_USER


def is_for_resource(run: OpenStackAnsibleEE, resource: CustomResource) -> bool:
    """Return whether a run was made for a resource, perhaps among others."""
    return any(owner.uid == resource.metadata.uid for owner in run.metadata.ownerReferences)


def with_begun(resource: N, runs: Iterable[OpenStackAnsibleEE]) -> N:
    """Return a resource whose status tells that it has begun, even if it did so a moment ago: its runs say so.

    A run says, too, what it calls the machine, whatever the node was renamed to since.
    """
    own = () if resource.has_begun else (run for run in runs if is_for_resource(run, resource))
    last = max(own, key=lambda run: run.spec.sequence, default=None)
    entry = node_of(last, resource.node_name) if last is not None else None
    if last is None or entry is None:
        return resource
    running = RunningService(name=last.spec.service, run=last.metadata.name)
    status = msgspec.structs.replace(resource.status, hostName=entry.inventory_name, running=running)
    return msgspec.structs.replace(resource, status=status)


def node_of(run: OpenStackAnsibleEE, name: str) -> RunNode | None:
    """Return what a run says of a node that it touches; None where it does not."""
    return next((entry for entry in run.spec.nodes if entry.name == name), None)


def is_recorded(run: OpenStackAnsibleEE, records: Iterable[ServiceRecord]) -> bool:
    """Return whether the records of a node have what a run came to."""
    return any(record.name == run.spec.service and record.sequence >= run.spec.sequence for record in records)


def find_running(node: str, runs: Iterable[OpenStackAnsibleEE]) -> RunningService | None:
    """Return what runs on a node right now; None if nothing does."""
    for run in runs:
        entry = node_of(run, node)
        if entry is not None and not run.ended_at(node):
            result = _result_of(run, entry)
            # A run has no status before its Job is made. From then on its pod may begin before anybody has seen it.
            waits = not run.status.jobStatus and not run.status.hosts
            return RunningService(name=run.spec.service, run=run.metadata.name, task=result.task, waits=waits)
    return None


def _with_run(record: ServiceRecord, run: OpenStackAnsibleEE, node: str) -> ServiceRecord:
    entry = node_of(run, node)
    assert entry is not None  # noqa: S101  asked by the only caller
    result = _result_of(run, entry)
    begun = run.status.jobStatus != NOT_BEGUN
    state: ServiceState = _ENDED[result.state] if begun else "NotBegun"
    applied = state == "Applied"
    # What a run left behind that did not get to its end, nobody knows: not even that it is as before. Where none began
    # to work, it is: the machine serves as well as it did, and maxUnavailable counts it.
    left = "" if begun else record.appliedHash
    return ServiceRecord(
        name=record.name,
        appliedHash=entry.inputHash if applied else left,
        inputHash=entry.inputHash,
        state=state,
        task="" if applied else result.task,
        message="" if applied else result.message,
        run=run.metadata.name,
        sequence=run.spec.sequence,
        failures=0 if applied else record.failures + 1,
        failed=state == "Failed" or (has_failed(record) and record.inputHash == entry.inputHash and not applied),
        finishedAt=run.ended_at(node),
        # Whoever knows what the inputs were made from says which contents the machine has now.
        exports=dict.fromkeys(record.exports, ROLLING) if begun else record.exports,
    )


def has_failed(record: ServiceRecord) -> bool:
    """Return whether a service failed as it was wanted last, while the machine answered.

    A later run that cannot reach the machine does not take that back: the change may have cut it off.
    """
    return record.failed or record.state == "Failed"


def _result_of(run: OpenStackAnsibleEE, entry: RunNode) -> HostResult:
    name = entry.inventory_name
    return next((each for each in run.status.hosts if each.host == name), HostResult(host=name))


def _wanted(record: ServiceRecord, inputs: str) -> ServiceRecord:
    """Return a record with the inputs that are wanted now; with others than those that failed it starts afresh."""
    if not inputs:
        return record
    if inputs not in (record.appliedHash, record.inputHash):
        record = msgspec.structs.replace(record, inputHash=inputs, state="Pending")
    elif inputs == record.appliedHash:
        # What was changed and changed back is as it was applied.
        record = msgspec.structs.replace(record, inputHash=inputs, state="Applied")
    else:
        return record
    return msgspec.structs.replace(record, task="", message="", failures=0, failed=False)
