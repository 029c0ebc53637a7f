"""Removes from Keystone what was made for resources that are gone, one KeystoneAPI at a time.

It looks at the level: at what is noted and nobody stands for. So it does not matter whether somebody was there when
the resource went. What was made goes first, its note after it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.identity import Keystone
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers.identity import registration
from stackwright.controllers.identity.access import Access, Registered, access_of
from stackwright.controllers.identity.ledger import Hands, Ledger
from stackwright.controllers.identity.registration import (
    Made,
    Registration,
    known,
    made_endpoint,
    made_service,
    made_user,
)
from stackwright.controllers.identity.world import Keystones
from stackwright.controllers.looking import Interests, Looker
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.controller import Context, Result
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.resource import Key
from stackwright.services.keystone.kinds import KeystoneAPI

KINDS: dict[str, type[Registered]] = {kind.kind.name: kind for kind in (KeystoneService, KeystoneEndpoint)}

# Seconds after which a resource that another one has in hand is looked at again.
BUSY_SECONDS = 1.0
# Seconds after which what only a person can mend is tried again: nobody tells us when it was.
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
            # The cache may be behind: who was made anew under the same name takes over what there is.
            if await self.context.client.find(KINDS[noted.kind], noted.key.name, noted.key.namespace) is None:
                await self._remove(found, noted, others)
        return True

    async def _remove(self, found: ConfigMap, noted: Registration, others: tuple[Registered, ...]) -> None:
        kept = tuple(one for one in noted.made if is_stood_for(one, noted.keystone, others))
        leaving = [one for one in noted.made if one not in kept]
        keystone = self.keystones.client(self.access)
        try:
            async with keystone.connected():
                removed = await self._delete(leaving, keystone)
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

    async def _delete(self, leaving: list[Made], keystone: Keystone) -> list[str]:
        """Delete what is there of what was made; return it in words."""
        removed = []
        for one in known(leaving, await _present(leaving, keystone)):
            if not one.id or one == Made(what="user", name=(self.access.credentials.user,), id=one.id):
                continue
            match one.what:
                case "service":
                    await keystone.delete_service(one.id)
                case "user":
                    await keystone.delete_user(one.id)
                case "endpoint":
                    await keystone.delete_endpoint(one.id)
            removed.append(f"{one.what} {one.name[-1]}")
        return removed


async def _present(made: list[Made], keystone: Keystone) -> list[Made]:
    """Return what Keystone has, as far as it matters for what was made."""
    present: list[Made] = []
    if any(one.what == "service" for one in made):
        present.extend(map(made_service, await keystone.services()))
    if any(one.what == "endpoint" for one in made):
        present.extend(map(made_endpoint, await keystone.endpoints()))
    for name in sorted({one.name[0] for one in made if one.what == "user"}):
        user = await keystone.find_user(name)
        present.extend([made_user(user)] if user is not None else [])
    return present


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
            return made.name == (spec.serviceUser,)
        case KeystoneEndpoint(spec=spec, status=status), Made(what="endpoint", name=(service, _, interface)):
            return interface in spec.endpoints and service == status.serviceID
    return False


async def sweep(key: Key, context: Context, interests: Interests, keystones: Keystones, hands: Hands) -> Result | None:
    """Remove from one Keystone what was made for resources that are gone."""
    interests.forget(key)
    keystone = context.store(KeystoneAPI).get(key)
    if keystone is None:
        # The notes stay: who makes it anew finds its catalog again, with all that is in it.
        return None
    look = Looker(interests, key, context)
    resources = tuple(one for kind in KINDS.values() for one in look.all(kind))
    there = {(one.kind.name, one.key) for one in resources}
    notes = [note for note in look.all(ConfigMap) if registration.is_of(note, key.name)]
    abandoned = [note for note in notes if (subject := registration.subject(note))[0] in KINDS and subject not in there]
    access = access_of(keystone, look) if abandoned else None
    if not isinstance(access, Access):
        # Whoever is waited for was looked at, and so wakes us.
        return None
    return await _sweep(abandoned, resources, Sweep(context, keystones, hands, keystone, access))


async def _sweep(abandoned: Iterable[ConfigMap], resources: tuple[Registered, ...], one: Sweep) -> Result | None:
    """Take one note after the other; one that a person must mend does not hold up the others."""
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
