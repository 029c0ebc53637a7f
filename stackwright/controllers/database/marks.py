"""Whose a schema or a user is, by the mark that it has on its server, and whether a resource may have it. Pure.

Two Galera resources may lead to one server without anybody knowing it here, so what other resources claim is not all
that counts: what another resource has marked is left alone, and never dropped.

The two may be of two clusters, with resources of equal names in them. So a mark tells of the Galera too: on an external
server, one of another Galera is another's, unless the status knows that Galera as our own of before. On a server that
we deploy, the name is enough: its volumes may outlive its Galera.
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
    """The mark of a thing as a pass saw it. `mark` is None where the server keeps none for us.

    `gone` says that the owner's name is one of the namespace of the pass, and that no resource has it there. `galera`
    is the uid of the Galera by which the pass looks; an `external` one leads to a server that others may use too.
    """

    mark: Mark | None = UNMARKED
    gone: bool = False
    galera: str = ""
    external: bool = False

    @property
    def has_no_owner_left(self) -> bool:
        """Whether the owner is gone; of the resources of another cluster nobody here knows that."""
        galera = self.mark.galera if self.mark is not None else ""
        return self.gone and (galera == self.galera or not (galera or self.external))


# What nobody has marked yet, and what nobody can mark.
FREE, UNKEPT = Holding(), Holding(mark=None)


def owner_of(resource: Marking) -> str:
    """Return how a mark names a resource."""
    return f"{resource.metadata.namespace}/{resource.metadata.name}"


def _is_own(resource: Marking, holding: Holding) -> bool:
    """Return whether the mark is that of this resource, and of no other one of its name."""
    mark = holding.mark
    if mark is None or mark.owner != owner_of(resource):
        return False
    return not holding.external or mark.galera in ("", holding.galera, resource.status.hash.get(GALERA_KEY, ""))


def is_anothers(resource: Marking, holding: Holding) -> bool:
    """Return whether another resource has a thing."""
    owner = holding.mark.owner if holding.mark is not None else ""
    return bool(owner) and not _is_own(resource, holding) and not holding.has_no_owner_left


def refusal(resource: Marking, thing: Thing, holding: Holding, path: str, condition: str) -> Blocked:
    """Return what to tell of a thing that another resource has, and the ways out."""
    owner = holding.mark.owner if holding.mark is not None else ""
    namespace, _, name = owner.partition("/")
    cluster = " of another cluster, or of a Galera that was deleted since" if owner == owner_of(resource) else ""
    message = (
        f"{path}: {thing.sort} {thing.name} was made on this server by {resource.kind.name} {name} in namespace "
        f"{namespace}{cluster}, which has it, by this Galera or by another one that leads to the same server; use "
        f"another name. If that resource is gone for good, run on the server: {way_out(thing)}"
    )
    return Blocked(message, reason=ownership.TAKEN, condition=condition)


def adopted(resource: Marking, holding: Holding, *, known: bool) -> Mark | None:
    """Return the mark to set on a thing that is there, None where none is.

    `known` says that the status of the resource tells of the thing: a version before there were marks made it.
    """
    mark = holding.mark
    if mark is None or mark.fixed:
        return None
    if _is_own(resource, holding):
        return replace(mark, galera=holding.galera) if mark.galera != holding.galera else None
    return Mark(owner_of(resource), known and not mark.owner, mark.identity, holding.galera)


def may_drop(resource: Marking, holding: Holding, *, known: bool) -> bool:
    """Return whether a thing goes with its resource: only what the resource itself has made, as far as marks tell."""
    mark = holding.mark
    if mark is None:
        return True
    return (mark.made and _is_own(resource, holding)) if mark.owner else known


def noted(resource: Marking, holding: Holding) -> dict[str, str]:
    """Return what the status keeps of the mark, so that the mark is known again when the Galera is made again."""
    mark = holding.mark
    return {GALERA_KEY: mark.galera} if mark is not None and mark.galera and _is_own(resource, holding) else {}
