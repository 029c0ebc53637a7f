"""The rule of ownership: a thing that one resource owns is not taken by another that claims it too. Pure.

Which of two resources owns a thing that both claim is decided in this order:

1. the one that the thing is a part of, as the catalog entry of a Keystone is a part of that Keystone;
2. the one whose mark is on the thing, or which has made it by its own status;
3. the one that an operator has seen with its present spec and has not refused; one that was refused comes last;
4. the older one.

Both resources get the same answer, so one of them always continues, and the other one touches nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stackwright.api.annotations import GENERATED_FOR
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint.claims import NAME, Claim
from stackwright.blueprint.policies import INSTANCE
from stackwright.controllers.ownership import entries, made, ports, users
from stackwright.controllers.ownership.claims import (
    NAMES,
    Around,
    are_claims_unknown,
    claiming,
    claims,
    claims_of_another,
)
from stackwright.controllers.ownership.standing import TAKEN, is_refused
from stackwright.controllers.release import bodies
from stackwright.controllers.surroundings import Known
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.kube.builtin import Secret, StatefulSet
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import CustomResource, R, Resource, is_controlled
from stackwright.kube.shapes.belonging import MADE_FOR, maker_of, spoken

# The kinds of resources that services create for themselves, and that users may also create by hand.
_PARTS = frozenset({MariaDBDatabase, MariaDBAccount, TransportURL, KeystoneService, KeystoneEndpoint})
# What the operators think of a resource, the best first.
_ACCEPTED, _UNSEEN, _REFUSED = range(3)
# Sorts after every creation time.
_LATER = "~"


@dataclass(frozen=True)
class Taken:
    """A thing that a resource claims and another resource, the `rival`, owns; or a Service, if it is a port.

    `rival` is None if the owner no longer exists. `owner` is empty if a user made the thing. `also` is the other field
    where one resource asks for the same thing twice. `mark` is what says on the thing whose it is, unless that is the
    usual annotation. `uncertain` says that the rival may own it, which nobody knows.
    """

    claim: Claim
    owner: str
    rival: Resource | None = None
    also: str = ""
    mark: str = ""
    uncertain: bool = False

    @property
    def sentence(self) -> str:
        """What is wrong, and what to do about it."""
        if self.also:
            return f"{self.claim} is what {self.also} asks for too; {self.claim.advice}"
        if self.uncertain:
            return f"{self.claim} may belong to {self.owner}, whose check fails; try again once it is ready"
        if self.rival is not None:
            return f"{self.claim} belongs to {self.owner}; {self.claim.advice}"
        if not self.owner:
            return users.sentence(str(self.claim), self.claim.advice, release=self.claim.of not in _PARTS)
        return (
            f"{self.claim} was created for {self.owner} and is kept for it; {self.claim.advice}, or take the "
            f"{self.mark or f'annotation {_mark_of(self.claim)}'} off it to hand it over"
        )

    def __str__(self) -> str:
        return f"{self.claim.path}: {self.sentence}"


def taken(resource: CustomResource, known: Known) -> tuple[Taken, ...]:
    """Return what a resource claims but cannot have, because another one has the better right."""
    around = Around(known, resource.metadata.namespace)
    mine = claims(resource, around)
    found = (*_tell_once(_asked_twice(mine)), *_rivalled(resource, mine, around, newcomer=False))
    found += tuple(_on_services(resource, mine, found, around))
    if is_refused(resource) or not resource.status.observedGeneration:
        # One that was accepted already uses its volumes, whatever labels they have. Nor does it lose them by a refusal.
        found = found or tuple(_tell_once(_volumes_of_others(resource, mine, around)))
    return found or tuple(_kept_for_others(resource, mine, around))


def check(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    """Refuse claims on what another resource owns; on a change, only claims that are new are checked."""
    around = Around(known, new.metadata.namespace)
    before = {claim: claim.nodes for claim in claims(old, around)} if old is not None else {}
    mine = claims(new, around)
    fresh = [claim for claim in mine if before.get(claim) != claim.nodes]
    found = (*_tell_once(_asked_twice(mine)), *_rivalled(new, fresh, around, newcomer=True))
    found += tuple(_on_services(new, fresh, found, around))
    found = found or tuple(_tell_once(_volumes_of_others(new, fresh, around)))
    found = found or tuple(_kept_for_others(new, fresh, around))
    if old is None and type(new) not in _PARTS:
        found += tuple(_uncertain(new, fresh, around))
    if old is None and users.is_unmarked(new):
        found += tuple(_in_the_way(new, around))
    errors = tuple(FieldError(each.claim.path, each.sentence) for each in found)
    return Objections(errors, warnings=() if errors else tuple(entries.warn(fresh, around)))


def check_ports(new: CustomResource, known: Known) -> Iterator[FieldError]:
    """Yield the ports of nodes that are another's, of a resource that an umbrella would make.

    Ports that the resource asks for already are not asked about again: whose they are was decided there.
    """
    around = Around(known, new.metadata.namespace)
    present = around.named(type(new), new.metadata.name)
    before = ports.asked_by(present) if present is not None else ()
    fresh = [claim for claim in ports.asked_by(new) if claim not in before]
    found = tuple(_rivalled(new, fresh, around, newcomer=True))
    for each in (*found, *_on_services(new, fresh, found, around)):
        yield FieldError(each.claim.path, each.sentence)


def refusal(resource: CustomResource, context: Context, conditions: Mapping[str, str]) -> Blocked | None:
    """Return the error if something that a resource claims is taken, by what the caches say; None if nothing is.

    `conditions` has the condition that reports it, by the path of the field that names the thing.
    """
    found = taken(resource, caches(context))
    return blocked(found, conditions.get(found[0].claim.path, "")) if found else None


def blocked(found: Iterable[Taken], condition: str = "") -> Blocked | None:
    """Return the error that a reconcile raises for things that are taken; None if nothing is."""
    message = "; ".join(dict.fromkeys(map(str, found)))
    return Blocked(message, reason=TAKEN, condition=condition) if message else None


def caches(context: Context) -> Known:
    """Return a function that lists a namespace's objects from the caches; a kind without a cache has none."""

    def known(kind: type[R], namespace: str | None) -> list[R]:
        try:
            return context.store(kind).list(namespace)
        except LookupError:
            return []

    return known


def _asked_twice(mine: Iterable[Claim]) -> Iterator[Taken]:
    """Yield the things that two fields of one resource ask for: one account cannot be that of two schemas."""
    first: dict[Claim, Claim] = {}
    for claim in mine:
        other = first.setdefault(claim, claim)
        if claim.path not in (NAME, other.path) and claim.meets(other):
            yield Taken(claim, "", also=other.path)


def _rivalled(resource: CustomResource, mine: Iterable[Claim], around: Around, *, newcomer: bool) -> Iterator[Taken]:
    """Yield the things that others claim too with a better right, each thing once."""
    by_claim = {claim: claim for claim in mine}
    losses: dict[Claim, tuple[tuple[object, ...], Taken]] = {}
    for rival, shared in _rivals(resource, by_claim, around):
        right = _innate(shared), _right(rival, shared, around)
        ours = _innate(by_claim[claim] for claim in shared), _right(resource, shared, around, newcomer=newcomer)
        if right >= ours:
            continue
        owner = _name(rival, resource)
        for claim in shared:
            if claim not in losses or right < losses[claim][0]:
                losses[claim] = right, Taken(by_claim[claim], owner, rival)
    yield from _tell_once(found for _, found in losses.values())


def _uncertain(new: CustomResource, fresh: Iterable[Claim], around: Around) -> Iterator[Taken]:
    """Yield what another resource may own whose claims are not known; an object shows by its mark whose it is."""
    asked = {claim.path: claim for claim in fresh if claim.of is None and claim.sort not in NAMES}
    for kind in claiming() if asked else ():
        for other in around.all(kind):
            # One that no operator has seen yet owns nothing.
            seen = other.status.observedGeneration > 0 and not other.deleting
            if seen and not _is_same(other, new) and are_claims_unknown(other, around):
                owner = _name(other, new)
                yield from (Taken(claim, owner, other, uncertain=True) for claim in asked.values())
                return


def _innate(shared: Iterable[Claim]) -> int:
    """Return the right to things that are a part of the resource; it is compared first, the smallest is the best."""
    return -sum(claim.innate for claim in shared)


def _tell_once(found: Iterable[Taken]) -> Iterator[Taken]:
    """Yield one thing for each owner and field: the others follow from it."""
    seen: set[tuple[str, str]] = set()
    for each in found:
        if (each.claim.path, each.owner) not in seen:
            seen.add((each.claim.path, each.owner))
            yield each


def _rivals(
    resource: CustomResource, mine: dict[Claim, Claim], around: Around
) -> Iterator[tuple[CustomResource, list[Claim]]]:
    """Yield each other resource that claims the same things, and those things; its own parts are no rivals."""
    if not mine:
        return
    names = frozenset(claim.name for claim in mine)
    for kind in claiming():
        for other in around.all(kind):
            theirs = claims_of_another(other, around)
            if theirs.names.isdisjoint(names) or other.deleting or _is_same(other, resource):
                continue
            shared = _shared(mine, theirs)
            if any(map(ports.is_port, shared)) and ports.are_kin(resource, other, around):
                shared = [claim for claim in shared if not ports.is_port(claim)]
            if shared and not _is_part(other, mine) and not _is_part(resource, theirs):
                yield other, shared
    wide = {claim: claim for claim in mine if claim.everywhere}
    # Resources of one kind share a part of machines, and those of any kind the ports.
    for kind in claiming() if any(map(ports.is_port, wide)) else (type(resource),) if wide else ():
        for other, there in around.elsewhere(kind):
            theirs = claims_of_another(other, there)
            if not theirs.names.isdisjoint(names) and not other.deleting and (shared := _shared(wide, theirs)):
                yield other, shared


def _is_same(other: Resource, resource: Resource) -> bool:
    return (other.kind, other.key) == (resource.kind, resource.key)


def _shared(mine: Mapping[Claim, Claim], theirs: Iterable[Claim]) -> list[Claim]:
    return [claim for claim in theirs if claim in mine and claim.meets(mine[claim])]


def _name(rival: Resource, resource: Resource) -> str:
    """Return how a sentence about a resource names another one."""
    name, namespace = spoken(maker_of(rival)), rival.metadata.namespace
    return name if namespace == resource.metadata.namespace else f"{name} in the namespace {namespace}"


def _is_part(resource: Resource, of: Iterable[Claim]) -> bool:
    """Return whether a resource is one of the objects that another one creates or uses, by that one's claims."""
    return any(claim.of is type(resource) and claim.name == resource.metadata.name for claim in of)


def _right(
    resource: CustomResource, shared: list[Claim], around: Around, *, newcomer: bool = False
) -> tuple[int, int, str, str, str, str]:
    """Return a resource's right to things as a value to compare; the smallest is the best."""
    marked = sum(_is_marked(resource, claim, around, newcomer=newcomer) for claim in shared)
    name = resource.kind.name, resource.metadata.name, resource.metadata.namespace
    parents = [parent.metadata.creationTimestamp for parent in _parents(resource, around)]
    if newcomer:
        return -marked, _UNSEEN if parents else _REFUSED, min(parents, default=_LATER), *name
    since = min((resource.metadata.creationTimestamp, *parents))
    return -marked, _standing(resource), since, *name


def _parents(resource: CustomResource, around: Around) -> Iterator[CustomResource]:
    """Yield the services that a resource is a part of; it counts as being as old as they are."""
    if type(resource) not in _PARTS:
        return
    for kind in claiming():
        if kind in _PARTS:
            continue
        for other in around.all(kind):
            if not other.deleting and _is_part(resource, claims_of_another(other, around)):
                yield other


def _standing(resource: CustomResource) -> int:
    """Return whether a resource's present spec was accepted, has not been seen by an operator yet, or was refused.

    A refused resource stays refused until an operator has seen its change, or that of the one that owns the thing.
    """
    if is_refused(resource):
        return _REFUSED
    return _ACCEPTED if 0 < resource.metadata.generation <= resource.status.observedGeneration else _UNSEEN


def _is_marked(resource: CustomResource, claim: Claim, around: Around, *, newcomer: bool) -> bool:
    """Return whether a thing has the mark of a resource, is owned by it, or was made by it as its status says."""
    if ports.is_port(claim):
        holder = ports.holder(claim, around)
        return holder is not None and ports.is_of(holder, resource, around)
    if claim.of is None:
        return made.has_made(resource, claim, around, newcomer=newcomer)
    present = around.named(claim.of, claim.name)
    if present is None:
        return False
    return users.is_marked_for(present, resource) or is_controlled(present, resource)


def _kept_for_others(resource: CustomResource, mine: Iterable[Claim], around: Around) -> Iterator[Taken]:
    """Yield the things that are kept for a resource that no longer exists, or that does not ask for them any more."""
    for claim in mine:
        present = around.named(claim.of, claim.name) if claim.of is not None else None
        maker = users.maker_named_on(present) if present is not None else ""
        if maker not in ("", maker_of(resource)):
            yield Taken(claim, spoken(maker))
        elif present is not None and claim.owned and _is_in_the_way(present, resource, around):
            yield Taken(claim, "")


def _volumes_of_others(resource: CustomResource, mine: Iterable[Claim], around: Around) -> Iterator[Taken]:
    """Yield the volumes that pods of another release created, and that nothing says are the resource's."""
    for claim in mine:
        present = around.named(claim.of, claim.name) if claim.of is not None else None
        release = users.release_labelled_on(present) if present is not None else ""
        if present is None or not release or users.is_marked_for(present, resource):
            continue
        if not _has_pods_with(present, resource, around):
            yield Taken(claim, f"release {release}", mark=f"label {INSTANCE}")


def _has_pods_with(volume: Resource, resource: CustomResource, around: Around) -> bool:
    """Return whether a StatefulSet of the resource uses a volume."""
    return any(
        bodies.is_volume_of(volume.metadata.name, template, each.metadata.name)
        for each in around.all(StatefulSet)
        if is_controlled(each, resource)
        for template in bodies.items(each.spec, "volumeClaimTemplates")
    )


def _on_services(
    resource: CustomResource, mine: Iterable[Claim], found: Iterable[Taken], around: Around
) -> Iterator[Taken]:
    """Yield the ports that Services have which are not the resource's; those `found` are told already."""
    told = {each.claim for each in found}
    for claim in mine:
        if not ports.is_port(claim) or claim in told:
            continue
        present = ports.holder(claim, around)
        if present is not None and not ports.is_of(present, resource, around):
            yield Taken(claim, ports.describe(present, resource), present)


def _is_in_the_way(present: Resource, resource: CustomResource, around: Around) -> bool:
    """Return whether a user made an object that a resource would own, and has not handed it over."""
    handed = type(present) not in _PARTS and users.hands_over(resource, around.all(Secret))
    return users.is_a_users(present, resource) and not handed


def _in_the_way(new: CustomResource, around: Around) -> Iterator[Taken]:
    """Yield the claims of services that create and own an object of this kind and name."""
    for parent in _parents(new, around):
        for claim in claims_of_another(parent, around):
            if claim.owned and _is_part(new, (claim,)):
                yield Taken(claim, spoken(maker_of(parent)), parent)


def _mark_of(claim: Claim) -> str:
    return GENERATED_FOR if claim.sort == "Secret" else MADE_FOR
