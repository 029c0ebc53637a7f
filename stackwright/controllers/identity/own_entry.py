"""Keystone's own entry in its catalog, and its endpoints: bootstrap makes them, and this controller repairs them.

Without them nobody finds Keystone: a client asks the catalog where to go next. One that runs elsewhere is left alone.
Our endpoints get a mark, by which those of a former region are known: bootstrap makes new ones and leaves them.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.identity import Endpoint, Keystone, Service
from stackwright.api.annotations import PAUSED
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.needs.catalog_entry import is_own_type
from stackwright.blueprint.needs.login import IDENTITY
from stackwright.controllers import ownership
from stackwright.controllers.identity.access import Access, access_of
from stackwright.controllers.identity.marks import NOTHING, Owner, owner
from stackwright.controllers.identity.world import Keystones
from stackwright.controllers.looks import Interests, Looker
from stackwright.kube.controller import Context, Result
from stackwright.kube.errors import Retry
from stackwright.kube.resource import Key
from stackwright.kube.shapes import pausing
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import OWN_NAME


@dataclass(frozen=True)
class Repair:
    """One thing in the catalog to create, or to change if it has an id; with `gone` it is deleted.

    A repair without a message is one that nobody would wonder about.
    """

    thing: Service | Endpoint
    message: str
    gone: bool = False


def own_entry(services: tuple[Service, ...]) -> Service | None:
    """Return Keystone's own entry: of several entries of its type, the one with the name that bootstrap gives it."""
    return min(
        (entry for entry in services if is_own_type(entry.type)),
        key=lambda entry: (entry.name != OWN_NAME, entry.id),
        default=None,
    )


def decide(
    services: tuple[Service, ...], endpoints: tuple[Endpoint, ...], urls: dict[str, str], region: str, who: Owner
) -> tuple[Repair, ...]:
    """Return what brings Keystone's own entry to what it should be; the entry comes first, then its endpoints."""
    there = own_entry(services)
    if there is None:
        wanted = Service("", IDENTITY, OWN_NAME)
        return (Repair(wanted, "Keystone itself was not in the catalog and is created there again"),)
    wanted = replace(there, type=IDENTITY, name=OWN_NAME, enabled=True)
    if there != wanted:
        return (Repair(wanted, "Keystone's own entry was another in the catalog and is changed back"),)
    repairs = tuple(
        repair
        for interface in (PUBLIC, INTERNAL)
        if (url := urls.get(interface))
        for repair in _interface(Endpoint("", there.id, region, interface, url, made_for=who.mark), endpoints)
    )
    # Those of a former region stay until there are others.
    return repairs or tuple(_former(there, endpoints, region, who))


def _former(entry: Service, endpoints: tuple[Endpoint, ...], region: str, who: Owner) -> Iterator[Repair]:
    for one in endpoints:
        if one.service_id == entry.id and one.region != region and who.has(one):
            what = f"{one.interface} endpoint of Keystone itself in region {one.region}"
            yield Repair(one, f"The {what} is of before the region became {region}; {one.url} is deleted", gone=True)


def _interface(wanted: Endpoint, endpoints: tuple[Endpoint, ...]) -> Iterator[Repair]:
    place = (wanted.service_id, wanted.region, wanted.interface)
    found = [one for one in endpoints if (one.service_id, one.region, one.interface) == place]
    what = f"{wanted.interface} endpoint of Keystone itself"
    if not found:
        yield Repair(wanted, f"The {what} was not in the catalog and is created there again")
        return
    kept = min(found, key=lambda one: ((one.url, one.enabled) != (wanted.url, True), one.id))
    if kept != replace(kept, url=wanted.url, enabled=True):
        repaired = replace(kept, url=wanted.url, enabled=True, made_for=wanted.made_for)
        yield Repair(repaired, f"The {what} was {kept.url} or disabled in the catalog and becomes {wanted.url}")
    elif kept.made_for != wanted.made_for:
        yield Repair(replace(kept, made_for=wanted.made_for), "")
    for other in found:
        if other is not kept:
            yield Repair(other, f"The {what} was there more than once; {other.url} is deleted", gone=True)


async def keep_own_entry(
    key: Key, context: Context, interests: Interests, keystones: Keystones, every: float
) -> Result | None:
    """Look at a Keystone's own entry, mend it, and say when to look again."""
    interests.forget(key)
    keystone = context.store(KeystoneAPI).get(key)
    if keystone is None or keystone.spec.externalKeystoneAPI:
        return None
    access = access_of(keystone, Looker(interests, key, context), rolling=False)
    if not isinstance(access, Access) or ownership.is_refused(keystone):
        # Whoever is waited for was looked at, and so wakes us.
        return None
    if not pausing.is_paused(PAUSED, keystone):
        try:
            await _mend(keystone, access, keystones.client(access), context)
        except AdapterError as error:
            explained = access.explain(error)
            if isinstance(explained, Retry):
                raise explained from error
            message = f"Keystone's own entry in the catalog cannot be repaired: {explained}"
            context.events.event(keystone, "Warning", "CannotRepairCatalog", message)
    # Never all at once: the jitter spreads them over a fifth of the period.
    return Result(after=every * random.uniform(0.8, 1.0))  # noqa: S311  spreads load, guards nothing


async def _mend(keystone: KeystoneAPI, access: Access, client: Keystone, context: Context) -> None:
    who = owner(keystone.kind.name, keystone.key, access.cloud, NOTHING, external=False)
    async with client.connected():
        # The endpoints of a new entry are made in the second round.
        for _ in range(2):
            services, endpoints = await client.services(), await client.endpoints()
            for repair in decide(services, endpoints, keystone.status.apiEndpoints, access.region, who):
                await _take(repair, client)
                if repair.message:
                    context.events.event(keystone, "Warning", "CatalogRepaired", repair.message)


async def _take(repair: Repair, client: Keystone) -> None:
    match repair:
        case Repair(thing=Service(id="") as service):
            await client.create_service(service)
        case Repair(thing=Service() as service):
            await client.update_service(service)
        case Repair(thing=Endpoint() as endpoint, gone=True):
            await client.delete_endpoint(endpoint.id)
        case Repair(thing=Endpoint(id="") as endpoint):
            await client.create_endpoint(endpoint)
        case Repair(thing=Endpoint() as endpoint):
            await client.update_endpoint(endpoint)
