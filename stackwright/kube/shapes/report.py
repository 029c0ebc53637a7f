"""The end of every pass: findings become conditions, and the status is written if anything changed.

A change that nobody waits for is written after a short pause (`kube/pace.py`).
"""

from collections.abc import Iterable

import msgspec

from stackwright.kube import clock, conditions
from stackwright.kube.conditions import READY, Finding
from stackwright.kube.controller import Context
from stackwright.kube.resource import CustomResource, Status
from stackwright.kube.status_writers import STATUS, find_others


async def report(
    resource: CustomResource, findings: Iterable[Finding], status: Status, context: Context, *, looked: bool = True
) -> Status:
    """Write the status of a resource, unless it is unchanged or still moving; return the new status.

    An event reports a change of `Ready`; for children of a parent, only if it turned wrong. Another one reports what a
    condition says that holds with a Warning, once for each time that it begins to say so.

    `looked=False` says that the pass failed before it knew what there is to do.
    """
    now, findings = clock.now(), tuple(findings)
    computed = conditions.compute(
        resource.declared_conditions(), findings, resource.status.conditions, clock.seconds(now), looked=looked
    )
    computed = context.pace.dated(resource, computed)
    new = msgspec.structs.replace(status, conditions=computed, observedGeneration=resource.metadata.generation)
    passing = conditions.is_passing(findings)
    if new == resource.status or context.pace.puts_off(resource, new, now, passing=passing):
        return new
    await write(resource, new, context)
    _tell(resource, new, context)
    _warn(resource, new, findings, context)
    return new


async def write(resource: CustomResource, status: Status, context: Context) -> CustomResource:
    """Write a status as it is, at once; return the resource with it.

    What others put into it beside that is taken out: readers would believe it.
    """
    content = msgspec.to_builtins(status)
    body = {
        "apiVersion": resource.kind.api_version,
        "kind": resource.kind.name,
        "metadata": {
            "name": resource.metadata.name,
            "namespace": resource.metadata.namespace,
            # Never write the status of a new resource of the same name. The uid does not prevent that: the server
            # ignores it in the status of a custom resource. It does check the version.
            "resourceVersion": resource.metadata.resourceVersion,
        },
        STATUS: content,
    }
    context.statuses.append(status)
    written = await context.client.apply(type(resource), body, subresource=STATUS)
    if written.status == status or not find_others(written.metadata, context.client.field_manager):
        return written
    # An apply leaves what somebody else added. Only that differs now, so that the patch makes no field its own.
    return await context.client.patch(
        type(resource),
        resource.metadata.name,
        resource.metadata.namespace,
        [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": written.metadata.resourceVersion},
            {"op": "replace", "path": f"/{STATUS}", "value": content},
        ],
        subresource=STATUS,
    )


def _tell(resource: CustomResource, new: Status, context: Context) -> None:
    before = conditions.find(resource.status.conditions, READY)
    after = conditions.find(new.conditions, READY)
    if after is None or (before is not None and (before.status, before.message) == (after.status, after.message)):
        return
    # That a part is there, its own condition says with the time; the news for people is that the whole is.
    if after.status == "True" and conditions.is_of_user(resource):
        context.events.event(resource, "Normal", after.reason, after.message)
    elif after.severity == "Error":
        context.events.event(resource, "Warning", after.reason, after.message)


def _warn(resource: CustomResource, new: Status, findings: Iterable[Finding], context: Context) -> None:
    """Note what holds and is not as the user may think; that it holds, `Ready` says, and so no other event tells it."""
    for finding in findings:
        before, after = (conditions.find(status.conditions, finding.condition) for status in (resource.status, new))
        if finding.status != "True" or finding.severity != "Warning" or after is None:
            continue
        is_said = (after.reason, after.message) == (finding.reason, finding.message)
        if is_said and (before is None or (before.reason, before.message) != (after.reason, after.message)):
            context.events.event(resource, "Warning", after.reason, after.message)
