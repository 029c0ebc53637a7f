"""What becomes of credentials: a service marks those that it works with, and those of before go when nobody does.

A credential is in use as long as a pod of ours, a child resource or a machine outside may log in with it. Our own pods
carry the hash of the configuration that they started with; all others mark the Secret that gave it to them
(`blueprint/use.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from stackwright import services
from stackwright.blueprint import use
from stackwright.blueprint.needs.need import Retirement
from stackwright.blueprint.service import Export, Service
from stackwright.controllers import needs
from stackwright.controllers.looking import Looker
from stackwright.controllers.service import act, labels
from stackwright.kube.builtin import Pod, Secret
from stackwright.kube.controller import Context


async def settle(
    service: Service[Any, Any], resource: Any, facts: Any, pods: Iterable[Pod], look: Looker, context: Context
) -> None:
    """Mark what the service works with, and let go what it worked with before; nothing while pods are older."""
    if not has_rolled(resource.status.hash, pods):
        return
    sight = needs.sight(look)
    used = [secret for need in service.needs_of(resource) for secret in need.used(resource, sight)]
    for secret, annotations in use.marks(resource, used):
        body = {"metadata": {"annotations": annotations}}
        await context.client.patch(Secret, secret.metadata.name, secret.metadata.namespace, body)
    retired = _retired(service, resource, facts, look, context)
    if retired and not is_read_by_others(service.exports(resource, facts) if service.exports else (), look):
        for entry in retired:
            await act.retire(entry, resource, context)


def has_rolled(hashes: Mapping[str, str], pods: Iterable[Pod]) -> bool:
    """Return whether all pods were started with the present configuration."""
    mine = tuple(pods)
    carried = {pod.metadata.annotations.get(labels.CONFIG_HASH, "") for pod in mine}
    # A Job's pod does not say with which configuration it started.
    working = any(
        labels.CONFIG_HASH not in pod.metadata.annotations and pod.status.get("phase") in ("Pending", "Running")
        for pod in mine
    )
    return not (carried - set(hashes.values()) - {""}) and not working


def is_read_by_others(exports: Iterable[Export], look: Looker) -> bool:
    """Return whether a reader of an export may still work with what it had before."""
    kinds = {kind.kind.name: kind for kind in services.kinds()}
    for entry in exports:
        secret = look(Secret, entry.name)
        readers = use.readers_of(entry, secret)
        there = {reader: look(kinds[reader[0]], reader[1]) is not None for reader in readers if reader[0] in kinds}
        if use.behind(entry, secret, there):
            return True
    return False


def _retired(service: Service[Any, Any], resource: Any, facts: Any, look: Looker, context: Context) -> list[Retirement]:
    sight, namespace = needs.sight(look), resource.metadata.namespace
    known = [item for kind in needs.kinds_kept(service) for item in context.store(kind).list(namespace)]
    return [
        entry
        for need in service.needs_of(resource)
        for entry in need.retired(resource, need.fact_of(facts), sight, known)
    ]
