"""What becomes of credentials: a service marks those that it uses, and older ones are deleted once nobody uses them.

A credential is in use as long as a pod of ours, a child resource or a machine outside may log in with it. Our own pods
carry the hash of the configuration that they started with; all others mark the Secret that gave it to them
(`blueprint/use.py`), or, if it names them, their own status.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.service import WorkloadStatus
from stackwright.blueprint import use
from stackwright.blueprint.needs.need import Retirement
from stackwright.blueprint.service import Export, Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers import needs, ownership
from stackwright.controllers.looks import Looker
from stackwright.controllers.service import act, labels
from stackwright.controllers.service.decide import Intent
from stackwright.kube.builtin import Job, Pod, Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import NotFound
from stackwright.kube.shapes.report import write
from stackwright.kube.shapes.states import state_of


async def mark(resource: CustomResource, marks: Iterable[tuple[str, dict[str, str]]], context: Context) -> None:
    """Set marks on Secrets of others; one that is gone is made again, and read again then."""
    for name, annotations in marks:
        with contextlib.suppress(NotFound):
            body = {"metadata": {"annotations": annotations}}
            await context.client.patch(Secret, name, resource.metadata.namespace, body)


async def begin(resource: CustomResource, used: Iterable[use.Used], look: Looker, context: Context) -> bool:
    """Mark what a service is about to use; return whether its status was written for that, and the pass is over."""
    entries = tuple(used)
    await mark(resource, use.begin(resource, entries, look), context)
    before = status_of(resource)
    status = note_use(resource, entries, before, look, settled=False)
    if status == before:
        return False
    await write(resource, status, context)
    return True


def note_use(
    resource: CustomResource, used: Iterable[use.Used], status: WorkloadStatus, look: Looker, *, settled: bool
) -> WorkloadStatus:
    """Return a status with what it says of the exports that name the resource."""
    return msgspec.structs.replace(status, hash={**status.hash, **use.notes(resource, used, look, settled=settled)})


async def settle(
    service: Service[Any, Any],
    resource: CustomResource,
    intent: Intent[Any],
    look: Looker,
    context: Context,
) -> None:
    """Mark the credentials that a service uses whose pods are all of the present, and delete older ones.

    What is written on other objects is what was read when this pass began: by now, they may be ahead of it.
    """
    marks = tuple(use.finish(resource, intent.used, look))
    retired = _retired(service, resource, intent.facts, look, context)
    if (marks or retired or intent.settled) and not is_read_by_others(_exports_of(service, resource, intent), look):
        await mark(resource, marks, context)
        for note in intent.settled:
            await act.note(note, context)
        for entry in retired:
            await act.retire(entry, resource, context)


def note_settled_use(
    service: Service[Any, Any], resource: CustomResource, intent: Intent[Any], status: WorkloadStatus, look: Looker
) -> WorkloadStatus:
    """Return a status that says which exports a service works with, whose pods are all of the present.

    What it hands on is used by its readers, so they have to be of the present as well. They are looked at only where it
    makes a difference: each further look would wake the service when one of a thousand machines has changed.
    """
    before = note_use(resource, intent.used, status, look, settled=False)
    after = note_use(resource, intent.used, status, look, settled=True)
    return before if after == before or is_read_by_others(_exports_of(service, resource, intent), look) else after


def _exports_of(service: Service[Any, Any], resource: CustomResource, intent: Intent[Any]) -> Iterable[Export]:
    return service.exports(resource, intent.facts) if service.exports else ()


def has_rolled(hashes: Mapping[str, str], pods: Iterable[Pod], jobs: Iterable[Job] = ()) -> bool:
    """Return whether all pods were started with the present configuration.

    That a Job is done may be known before the end of its last pod: each kind is watched by itself.
    """
    done = {job.metadata.uid for job in jobs if state_of(job).status == "True"}
    mine = tuple(pod for pod in pods if not any(owner.uid in done for owner in pod.metadata.ownerReferences))
    carried = {pod.metadata.annotations.get(labels.CONFIG_HASH, "") for pod in mine}
    # A Job's pod does not say with which configuration it started.
    working = any(
        labels.CONFIG_HASH not in pod.metadata.annotations and pod.status.get("phase") in ("Pending", "Running")
        for pod in mine
    )
    return not (carried - set(hashes.values()) - {""}) and not working


def is_read_by_others(exports: Iterable[Export], look: Looker) -> bool:
    """Return whether a reader of an export may still work with what it had before."""
    # The kinds that every service's controller watches.
    kinds = {kind.kind.name: kind for kind in ownership.claiming()}
    entries = tuple(exports)
    machines = {reader: found for reader, found in _machines(look) if use.noted(found)} if entries else {}
    for entry in entries:
        secret = look(Secret, entry.name)
        readers = use.readers_of(entry, secret)
        there = {reader: look(kinds[reader[0]], reader[1]) for reader in readers if reader[0] in kinds}
        if use.behind(entry, secret, {**machines, **there}):
            return True
    return False


def _machines(look: Looker) -> Iterator[tuple[use.Reader, CustomResource]]:
    """Yield the resources that say what was applied to machines outside of the cluster."""
    kinds: list[type[CustomResource]] = [OpenStackDataPlaneNode, *(each.kind for each in services.node_services())]
    for kind in kinds:
        yield from (((kind.kind.name, found.metadata.name), found) for found in look.all(kind))


def _retired(
    service: Service[Any, Any], resource: CustomResource, facts: Any, look: Looker, context: Context
) -> list[Retirement]:
    sight, namespace = needs.sight(look), resource.metadata.namespace
    known = [item for kind in needs.kinds_kept(service) for item in context.store(kind).list(namespace)]
    return [
        entry
        for need in service.needs_of(resource)
        for entry in need.retired(resource, need.fact_of(facts), sight, known)
    ]
