"""Which resource owns a schema or a user: the server keeps a mark for each that names its owner. Pure.

Two Galera resources may lead to the same server, and nothing in the cluster tells us. Comparing the claims of resources
is therefore not enough: a schema or a user that another resource has marked is left alone, and never dropped.

The two Galeras may even be in two clusters, in which resources have equal names. A mark therefore contains the uid of
the Galera too. On an external server, a mark with another Galera's uid belongs to somebody else, unless our status
knows that uid as our own earlier Galera. On a server that we deploy, the name is enough, because the volumes may
outlive their Galera.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from stackwright.adapters.mariadb_marks import UNMARKED, Mark, Thing, way_out
from stackwright.api.mariadb import GALERA_KEY, MariaDBAccount, MariaDBDatabase
from stackwright.controllers import ownership
from stackwright.kube.errors import Blocked

Marking: TypeAlias = MariaDBDatabase | MariaDBAccount


@dataclass(frozen=True)
class Holding:
    """The mark of a schema or a user, as a pass saw it. `mark` is None if the server keeps no marks for us.

    `gone` says that the owner belongs to the namespace of the resource, and no longer exists there. `galera` is the uid
    of the Galera through which the pass reads; if it is `external`, others may use its server too.
    """

    mark: Mark | None = UNMARKED
    gone: bool = False
    galera: str = ""
    external: bool = False

    @property
    def has_no_owner_left(self) -> bool:
        """Whether the owner is known to be gone; we cannot know this of an owner in another cluster."""
        galera = self.mark.galera if self.mark is not None else ""
        return self.gone and (galera == self.galera or not (galera or self.external))


# A thing that nobody has marked yet, and a thing on a server that keeps no marks.
FREE, UNKEPT = Holding(), Holding(mark=None)


def owner_of(resource: Marking) -> str:
    """Return the name that a mark has for a resource."""
    return f"{resource.metadata.namespace}/{resource.metadata.name}"


def _is_own(resource: Marking, holding: Holding) -> bool:
    """Return whether the mark is this resource's, and not that of another resource with the same name."""
    mark = holding.mark
    if mark is None or mark.owner != owner_of(resource):
        return False
    return not holding.external or mark.galera in ("", holding.galera, resource.status.hash.get(GALERA_KEY, ""))


def is_anothers(resource: Marking, holding: Holding) -> bool:
    """Return whether another resource owns the thing."""
    owner = holding.mark.owner if holding.mark is not None else ""
    return bool(owner) and not _is_own(resource, holding) and not holding.has_no_owner_left


def refusal(resource: Marking, thing: Thing, holding: Holding, path: str, condition: str) -> Blocked:
    """Return the error for a thing that another resource owns; its message says how to resolve the conflict."""
    owner = holding.mark.owner if holding.mark is not None else ""
    namespace, _, name = owner.partition("/")
    cluster = (
        " (in another cluster, or with a Galera that has since been deleted)" if owner == owner_of(resource) else ""
    )
    message = (
        f"{path}: {thing.sort} {thing.name} on this server belongs to {resource.kind.name} {name} in namespace "
        f"{namespace}{cluster}, which uses this Galera or another one for the same server; use another name. If that "
        f"resource is gone for good, run on the server: {way_out(thing)}"
    )
    return Blocked(message, reason=ownership.TAKEN, condition=condition)


def adopted(resource: Marking, holding: Holding, *, known: bool) -> Mark | None:
    """Return the mark to set on a thing that exists; None if there is none to set.

    `known` says that the status of the resource names the thing: then a version that had no marks yet created it.
    """
    mark = holding.mark
    if mark is None or mark.fixed:
        return None
    if _is_own(resource, holding):
        return replace(mark, galera=holding.galera) if mark.galera != holding.galera else None
    made = known and not mark.owner and not _has_lost_mark(resource)
    return Mark(owner_of(resource), made, mark.identity, holding.galera)


def _has_lost_mark(resource: Marking) -> bool:
    """Return whether a schema had a mark. Where it has none now, nobody knows any more who made it."""
    return isinstance(resource, MariaDBDatabase) and GALERA_KEY in resource.status.hash


def may_drop(resource: Marking, holding: Holding, *, known: bool) -> bool:
    """Return whether a thing is dropped with its resource: only if, by its mark, that resource created it."""
    mark = holding.mark
    if mark is None:
        # Others may use an external server too: data does not go on a guess.
        return not (isinstance(resource, MariaDBDatabase) and (holding.external or _has_lost_mark(resource)))
    return (mark.made and _is_own(resource, holding)) if mark.owner else known and not _has_lost_mark(resource)


def noted(resource: Marking, holding: Holding) -> dict[str, str]:
    """Return what the status keeps of the mark: it recognizes the mark even if the Galera is created again."""
    mark = holding.mark
    return {GALERA_KEY: mark.galera} if mark is not None and mark.galera and _is_own(resource, holding) else {}
