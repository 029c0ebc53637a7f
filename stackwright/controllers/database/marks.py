"""Whose a schema or a user is, by the mark that it has on its server, and whether a resource may have it. Pure.

Two Galera resources may lead to one server without anybody knowing it here, so what other resources claim is not all
that counts: what another resource has marked is left alone, and never dropped.
"""

from dataclasses import dataclass

from stackwright.adapters.mariadb_marks import UNMARKED, Mark, Thing, way_out
from stackwright.controllers import ownership
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import CustomResource


@dataclass(frozen=True)
class Holding:
    """The mark of a thing as a pass saw it. `mark` is None where the server keeps none for us.

    `gone` says that the owner was in the namespace of the pass and is there no more.
    """

    mark: Mark | None = UNMARKED
    gone: bool = False


# What nobody has marked yet, and what nobody can mark.
FREE, UNKEPT = Holding(), Holding(mark=None)


def owner_of(resource: CustomResource) -> str:
    """Return how a mark names a resource."""
    return f"{resource.metadata.namespace}/{resource.metadata.name}"


def is_anothers(resource: CustomResource, holding: Holding) -> bool:
    """Return whether another resource has a thing."""
    owner = holding.mark.owner if holding.mark is not None else ""
    return owner not in ("", owner_of(resource)) and not holding.gone


def refusal(resource: CustomResource, thing: Thing, holding: Holding, path: str, condition: str) -> Blocked:
    """Return what to tell of a thing that another resource has, and the ways out."""
    namespace, _, name = holding.mark.owner.partition("/") if holding.mark is not None else ("", "", "")
    message = (
        f"{path}: {thing.sort} {thing.name} was made on this server by {resource.kind.name} {name} in namespace "
        f"{namespace}, which has it, by this Galera or by another one that leads to the same server; use another name. "
        f"If that resource is gone for good, run on the server: {way_out(thing)}"
    )
    return Blocked(message, reason=ownership.TAKEN, condition=condition)


def adopted(resource: CustomResource, holding: Holding, *, known: bool) -> Mark | None:
    """Return the mark to set on a thing that is there, None where none is.

    `known` says that the status of the resource tells of the thing: a version before there were marks made it.
    """
    mark = holding.mark
    if mark is None or mark.owner == owner_of(resource):
        return None
    return Mark(owner_of(resource), made=known and not mark.owner, identity=mark.identity)


def may_drop(resource: CustomResource, holding: Holding, *, known: bool) -> bool:
    """Return whether a thing goes with its resource: only what the resource itself has made, as far as marks tell."""
    mark = holding.mark
    if mark is None:
        return True
    return (mark.made and mark.owner == owner_of(resource)) if mark.owner else known
