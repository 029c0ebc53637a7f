"""Removes from Keystone what was made for resources that are gone, one KeystoneAPI at a time.

It looks at the level: at what is noted and nobody stands for. So it does not matter whether somebody was there when
the resource went. What was made goes first, its note after it. A note deletes nothing that does not carry the mark of
its resource in Keystone: that thing stays, and an event says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.identity import Endpoint, Keystone, Service, User
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.name_folding import fold_name
from stackwright.blueprint.needs.catalog_entry import claim_entry, claim_user
from stackwright.controllers import ownership
from stackwright.controllers.identity import registration
from stackwright.controllers.identity.access import Access, Registered, access_of
from stackwright.controllers.identity.ledger import Hands, Ledger
from stackwright.controllers.identity.marks import Made, Owner, Thing, as_noted, owner, read_mark
from stackwright.controllers.identity.own_entry import own_entry
from stackwright.controllers.identity.registration import Registration, works_as
from stackwright.controllers.identity.world import Keystones
from stackwright.controllers.looks import Interests, Looker
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.controller import Context, Result
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.resource import Key
from stackwright.services.keystone.kinds import KeystoneAPI

KINDS: dict[str, type[Registered]] = {kind.kind.name: kind for kind in (KeystoneService, KeystoneEndpoint)}

# Seconds after which a resource that another pass is working on is checked again.
BUSY_SECONDS = 1.0
# Seconds after which a problem that only a person can fix is tried again, because we do not hear of the fix.
BLOCKED_SECONDS = 60.0


@dataclass(frozen=True)
class Sweep:
    """What one pass over a KeystoneAPI works with."""

    context: Context
    keystones: Keystones
    hands: Hands
    keystone: KeystoneAPI
    access: Access

    async def __call__(self, found: ConfigMap, others: tuple[Registered, ...]) -> bool:
        """Remove what a note tells of and nobody stands for; return False when its resource is in hand elsewhere."""
        noted = registration.read(found)
        lock = self.hands.of(noted.kind, noted.key)
        if lock.locked():
            return False
        async with lock:
            # The cache may be behind: a new resource of the same name takes over what exists.
            if await self.context.client.find(KINDS[noted.kind], noted.key.name, noted.key.namespace) is None:
                await self._remove(found, noted, others)
        return True

    async def _remove(self, found: ConfigMap, noted: Registration, others: tuple[Registered, ...]) -> None:
        claimed = self._claimed()
        kept = tuple(
            one
            for one in noted.made
            if is_stood_for(one, noted.keystone, others) or claim_on(one, noted.keystone) in claimed
        )
        leaving = [one for one in noted.made if one not in kept]
        try:
            keystone = self.keystones.client(self.access)
            async with keystone.connected():
                # Another cloud may have got an endpoint of a service a moment ago: that is not deleted any more.
                keystone.forget()
                shared = await self._shared(noted, keystone)
                proven, unproven = sort_out(noted, leaving, await _present(leaving, keystone), self.access.cloud)
                removed = await self._delete([one for one in proven if one.id not in shared], keystone)
        except AdapterError as error:
            raise self.access.explain(error) from error
        ledger = Ledger(self.context)
        if not kept:
            await ledger.erase(found)
        elif leaving:
            await ledger.rewrite(found, replace(noted, made=kept))
        if removed:
            message = f"{noted} is gone; what was created for it is deleted from Keystone: {', '.join(removed)}"
            self.context.events.event(self.keystone, "Normal", "Unregistered", message)
        for one in proven:
            if endpoint := shared.get(one.id):
                message = (
                    f"{noted} is gone, and {_spoken(one)} stays in Keystone, because an endpoint in {endpoint.region} "
                    f"that is not of this cloud belongs to it: {endpoint.url}; delete it by hand when nobody needs it"
                )
                self.context.events.event(self.keystone, "Warning", "LeftInKeystone", message)
        if unproven:
            message = (
                f"{noted} is gone, and its note names {', '.join(map(_spoken, unproven))} in Keystone, but nothing "
                "there says that it was created for that resource: it stays; delete it by hand where nobody needs it"
            )
            self.context.events.event(self.keystone, "Warning", "LeftInKeystone", message)

    async def _shared(self, noted: Registration, keystone: Keystone) -> dict[str, Endpoint]:
        """Return the services that others use, by an endpoint of theirs, which would go with the service."""
        if not any(one.what == "service" for one in noted.made):
            return {}
        notes, access = Ledger(self.context).around(noted), self.access
        who = owner(noted.kind, noted.key, access.cloud, notes, external=access.external)
        return {one.service_id: one for one in await keystone.endpoints() if is_of_others(one, who, access.region)}

    def _claimed(self) -> frozenset[Claim]:
        """Return what the resources of the namespace make; `_delete` protects Keystone's own things."""
        around = ownership.Around(ownership.caches(self.context), self.keystone.metadata.namespace)
        others = (one for kind in ownership.claiming() if kind is not KeystoneAPI for one in around.all(kind))
        return frozenset(claim for one in others if not one.deleting for claim in ownership.claims(one, around))

    async def _delete(self, leaving: list[Thing], keystone: Keystone) -> list[str]:
        """Delete what was made, but never what is Keystone's own; return it in words."""
        administrator = await keystone.find_user(self.access.credentials.user)
        own = own_entry(await keystone.services())
        removed = []
        for one in leaving:
            match one:
                case Service() if own is None or one.id != own.id:
                    await keystone.delete_service(one.id)
                case User() if not is_administrator(one, administrator, self.access):
                    await keystone.delete_user(one.id)
                case Endpoint() if own is None or one.service_id != own.id:
                    await keystone.delete_endpoint(one.id)
                case _:
                    continue
            removed.append(_spoken(one))
        return removed


def is_of_others(endpoint: Endpoint, who: Owner, region: str) -> bool:
    """Return whether an endpoint is not of this cloud: by its mark, or by its region where it has none."""
    if endpoint.made_for or endpoint.id in who.ids:
        return who.is_anothers(endpoint)
    return endpoint.region != region


def is_administrator(user: User, administrator: User | None, access: Access) -> bool:
    """Return whether a user is our own: by its id, or by a name that Keystone considers equal."""
    if administrator is not None and administrator.id == user.id:
        return True
    return fold_name(user.name) == fold_name(access.credentials.user)


async def _present(made: list[Made], keystone: Keystone) -> list[Thing]:
    """Return what Keystone has, as far as it matters for what was made."""
    present: list[Thing] = []
    if any(one.what == "service" for one in made):
        present.extend(await keystone.services())
    if any(one.what == "endpoint" for one in made):
        present.extend(await keystone.endpoints())
    for name in sorted({one.name[0] for one in made if one.what == "user"}):
        user = await keystone.find_user(name)
        present.extend([user] if user is not None else [])
    return present


def sort_out(
    noted: Registration, leaving: Iterable[Made], present: Iterable[Thing], cloud: str = ""
) -> tuple[list[Thing], list[Thing]]:
    """Return what exists of what is noted: things that are marked as made for the resource, and things that are not."""
    leaving = tuple(leaving)
    there = [thing for thing in present if any(_is(one, as_noted(thing)) for one in leaving)]
    proven = [one for one in there if is_proven(one, noted, cloud)]
    return proven, [one for one in there if one not in proven]


def is_proven(thing: Thing, noted: Registration, cloud: str = "") -> bool:
    """Return whether a thing carries the mark of the resource; users of older operators are described by its name.

    A mark of an older operator does not name the cloud: then the id in the note says that it is ours.
    """
    if isinstance(thing, User) and not thing.made_for:
        return noted.kind == KeystoneService.kind.name and thing.description == works_as(noted.key.name)
    mark = read_mark(thing.made_for)
    if mark is None or mark.adopted or (mark.kind, mark.key) != (noted.kind, noted.key):
        return False
    if mark.cloud:
        return mark.cloud in (noted.cloud, cloud)
    return not noted.cloud or any(one.id == thing.id for one in noted.made)


def _is(noted: Made, there: Made) -> bool:
    """Return whether a note means a thing: the id agrees, and of the name what never changes."""
    if noted.what != there.what or (noted.id and noted.id != there.id):
        return False
    match noted.what:
        case "user":
            return noted.name == there.name
        case "service":
            # Its type may be changed.
            return noted.name[-1] == there.name[-1] if noted.id else noted.name == there.name
    # Older operators did not note the region of an endpoint.
    return (noted.name[0], noted.name[-1]) == (there.name[0], there.name[-1])


def _spoken(thing: Thing) -> str:
    made = as_noted(thing)
    return f"{made.what} {made.name[-1]}"


def claim_on(made: Made, keystone: str) -> Claim | None:
    """Return what a resource that makes the same thing claims; endpoints are claimed by the names of resources."""
    scope = f"{KeystoneAPI.kind.name} {keystone}"
    match made:
        case Made(what="service", name=(of_type, name)):
            return claim_entry(of_type, name, scope)
        case Made(what="user", name=(name,)):
            return claim_user(name, scope, ())
    return None


def is_stood_for(made: Made, keystone: str, resources: Iterable[Registered]) -> bool:
    """Return whether a resource that is there asks for what was made for another one."""
    return any(
        _asks(one, made)
        for one in resources
        if not one.deleting and (one.status.keystoneInstance or one.spec.keystoneInstance or keystone) == keystone
    )


def _asks(resource: Registered, made: Made) -> bool:
    match resource, made:
        case KeystoneService(spec=spec, status=status), Made(what="service"):
            return made.name == (spec.serviceType, spec.serviceName) or made.id == (status.serviceID or None)
        case KeystoneService(spec=spec), Made(what="user"):
            return len(made.name) == 1 and fold_name(made.name[0]) == fold_name(spec.serviceUser)
        case KeystoneEndpoint(spec=spec, status=status), Made(what="endpoint", name=(service, _, interface)):
            return interface in spec.endpoints and service == status.serviceID
    return False


async def sweep(key: Key, context: Context, interests: Interests, keystones: Keystones, hands: Hands) -> Result | None:
    """Remove from one Keystone what was made for resources that are gone."""
    interests.forget(key)
    keystone = context.store(KeystoneAPI).get(key)
    if keystone is None:
        # The notes stay: if the Keystone is created again, its catalog and everything in it are found.
        return None
    look = Looker(interests, key, context)
    resources = tuple(one for kind in KINDS.values() for one in look.all(kind))
    there = {(one.kind.name, one.key) for one in resources}
    notes = [note for note in look.all(ConfigMap) if registration.is_of(note, key.name)]
    abandoned = [note for note in notes if (subject := registration.subject(note))[0] in KINDS and subject not in there]
    access = access_of(keystone, look) if abandoned else None
    if not isinstance(access, Access) or access.bootstrapping:
        # Whoever is waited for was looked at, and so wakes us. That bootstrap has to set a password is no problem.
        return None
    return await _sweep(abandoned, resources, Sweep(context, keystones, hands, keystone, access))


async def _sweep(abandoned: Iterable[ConfigMap], resources: tuple[Registered, ...], one: Sweep) -> Result | None:
    """Take one note after the other; one that only a person can fix does not hold up the others."""
    delays = []
    for note in abandoned:
        try:
            if not await one(note, resources):
                delays.append(BUSY_SECONDS)
        except (Blocked, Retry) as error:
            kind, subject = registration.subject(note)
            message = (
                f"What was created for {kind} {subject.name}, which is gone, cannot be deleted from Keystone: {error}"
            )
            one.context.events.event(one.keystone, "Warning", "CannotUnregister", message)
            if isinstance(error, Retry):
                raise
            delays.append(BLOCKED_SECONDS)
    return Result(after=min(delays)) if delays else None
