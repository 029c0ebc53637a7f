"""What runs came to on one node, by service. The records are in the node's status, and outlive the runs. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from stackwright.api.ansibleee import HostResult, OpenStackAnsibleEE, RunNode
from stackwright.api.dataplane import RunningService, ServiceRecord, ServiceState

_ENDED: Mapping[str, ServiceState] = {
    "Ok": "Applied",
    "Failed": "Failed",
    "Unreachable": "Unreachable",
    # The pod was lost, or never got there: nobody knows how far it was.
    "Running": "Interrupted",
    "Unknown": "Interrupted",
}


def fold(
    before: Iterable[ServiceRecord], wanted: Mapping[str, str], node: str, runs: Iterable[OpenStackAnsibleEE]
) -> tuple[ServiceRecord, ...]:
    """Return the records of a node's services, in the order of `wanted`, which has their input hashes.

    A run counts once: its number is in the record. A hash that is empty is not known yet, and changes nothing.
    """
    known = {record.name: record for record in before}
    ended = (run for run in runs if run.finished and node_of(run, node) is not None)
    for run in sorted(ended, key=lambda run: run.spec.sequence):
        service = run.spec.service
        record = known.get(service, ServiceRecord(name=service))
        if service in wanted and run.spec.sequence > record.sequence:
            known[service] = _with_run(record, run, node)
    return tuple(_wanted(known.get(name, ServiceRecord(name=name)), inputs) for name, inputs in wanted.items())


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
        if entry is not None and not run.finished:
            result = _result_of(run, entry)
            return RunningService(name=run.spec.service, run=run.metadata.name, task=result.task)
    return None


def _with_run(record: ServiceRecord, run: OpenStackAnsibleEE, node: str) -> ServiceRecord:
    entry = node_of(run, node)
    assert entry is not None  # noqa: S101  asked by the only caller
    result = _result_of(run, entry)
    state = _ENDED[result.state]
    applied = state == "Applied"
    return ServiceRecord(
        name=record.name,
        # What a run left behind that did not get to its end, nobody knows: not even that it is as before.
        appliedHash=entry.inputHash if applied else "",
        inputHash=entry.inputHash,
        state=state,
        task="" if applied else result.task,
        message="" if applied else result.message,
        run=run.metadata.name,
        sequence=run.spec.sequence,
        failures=0 if applied else record.failures + 1,
        finishedAt=run.status.finishedAt,
    )


def _result_of(run: OpenStackAnsibleEE, entry: RunNode) -> HostResult:
    name = entry.inventory_name
    return next((each for each in run.status.hosts if each.host == name), HostResult(host=name))


def _wanted(record: ServiceRecord, inputs: str) -> ServiceRecord:
    """Return a record with the inputs that are wanted now; with others than those that failed it starts afresh."""
    if not inputs:
        return record
    if inputs == record.appliedHash:
        # What was changed and changed back is as it was applied.
        return msgspec.structs.replace(record, inputHash=inputs, state="Applied", task="", message="", failures=0)
    if inputs == record.inputHash:
        return record
    return msgspec.structs.replace(record, inputHash=inputs, state="Pending", task="", message="", failures=0)
