"""What is kept of a service whose resource is refused: what was recorded last, and nothing of the refused spec. Pure.

A spec that cannot be must not freeze what runs by the one before it: what somebody deletes comes back as the newest
record of the release has it, and keys are turned when they are due. What is there is not changed: it may be newer than
the record. Jobs are deeds that were done, and are not done again.

A record is a Secret, and others than we may write Secrets. So it only counts where the status of the resource, which
only operators write, has noted it: nobody can have us create what we never rendered.
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

# Under which word a status notes the record of what was applied last.
RECORDED = "release"

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


class Refused(Exception):
    """A resource is refused, by `error`, before anything of its spec was applied."""

    def __init__(self, error: Blocked | Retry, seen: Seen) -> None:
        super().__init__(str(error))
        self.error = error
        self.seen = seen


@dataclass(frozen=True)
class Held:
    """Objects of the recorded release that are `lost`, those that are `there`, and the rings that are due."""

    lost: tuple[JsonObject, ...]
    there: tuple[JsonObject, ...]
    turns: tuple[Turn, ...]
    wake: float | None


def hold(service: Service[C, F], resource: C, seen: Seen) -> Held | None:
    """Return what to keep of a service that is refused; None where nothing is recorded that is provably its own."""
    metadata = resource.metadata
    history = release.history_of(seen.known(Secret, metadata.namespace), metadata.name)
    newest = history[-1] if history else None
    if newest is None or newest.owner != metadata.uid or newest.status != DEPLOYED or not newest.ours:
        return None
    if newest.content_digest != status_of(resource).hash.get(RECORDED):
        return None
    lost: list[JsonObject] = []
    there: list[JsonObject] = []
    # Where another one has the names of its objects, a lost one cannot be told from one that is the other's to make.
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
