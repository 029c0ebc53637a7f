"""What is kept of a service whose resource is refused: its last recorded release, and nothing of the new spec. Pure.

An invalid spec must not stop us from looking after what runs by the previous spec. Deleted objects are created again
from the newest record of the release, and keys are rotated when they are due. Objects that exist are not changed,
because they may be newer than the record. Jobs have done their work and do not run again.

A record is a Secret, and we are not the only ones who write Secrets. A record therefore counts only if its digest is in
the status of the resource, which only operators write: nobody can make us create objects that we never rendered.
"""

from dataclasses import dataclass
from typing import TypeVar

from stackwright.adapters.helm.records import DEPLOYED
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers import ownership, release
from stackwright.controllers.service import labels, rings
from stackwright.controllers.service.decide import Seen
from stackwright.controllers.service.rings import Turn
from stackwright.kube.builtin import Job, Secret
from stackwright.kube.errors import Blocked, Retry

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


class Refused(Exception):
    """A resource was refused with `error`, before anything of its spec was applied."""

    def __init__(self, error: Blocked | Retry, seen: Seen) -> None:
        super().__init__(str(error))
        self.error = error
        self.seen = seen


@dataclass(frozen=True)
class Held:
    """Objects of the recorded release that are `lost`, those that are `there`, and the key rings that are due."""

    lost: tuple[JsonObject, ...]
    there: tuple[JsonObject, ...]
    turns: tuple[Turn, ...]
    wake: float | None


def hold(service: Service[C, F], resource: C, seen: Seen) -> Held | None:
    """Return what to keep of a refused service; None if it has no record that is provably its own."""
    metadata = resource.metadata
    history = release.history_of(seen.known(Secret, metadata.namespace), metadata.name)
    newest = history[-1] if history else None
    if newest is None or newest.owner != metadata.uid or newest.status != DEPLOYED or not newest.ours:
        return None
    if newest.content_digest != status_of(resource).hash.get(release.RECORDED):
        return None
    lost: list[JsonObject] = []
    there: list[JsonObject] = []
    # If another resource owns these names, a missing object may be one that the other has yet to create.
    named = any(each.claim.sort in ownership.NAMES for each in ownership.taken(resource, seen.known))
    for body in filter(release.is_known, newest.objects):
        of = release.type_of(body)
        if of is Job:
            continue
        placed = {**body, "metadata": {**body["metadata"], "namespace": metadata.namespace}}
        present = seen.look(of, body["metadata"]["name"])
        if present is None and not named:
            lost.append(placed)
        elif present is not None and labels.belongs(present, resource):
            there.append(placed)
    turns, wake = rings.overdue(service, resource, seen.look, seen.now)
    return Held(tuple(lost), tuple(there), turns, wake)
