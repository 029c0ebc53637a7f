"""KeystoneEndpoint: the URLs of one service in the catalog, each interface once."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import msgspec

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.identity import Endpoint, Service
from stackwright.api.annotations import PAUSED
from stackwright.api.keystone import KeystoneEndpoint, KeystoneEndpointStatus, KeystoneService, RegisteredEndpoint
from stackwright.blueprint.needs.catalog_entry import is_own_type
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.identity.access import Access, find_keystone, not_ready
from stackwright.controllers.identity.marks import NOTHING, Made, Notes, Owner, made_endpoint, owner
from stackwright.controllers.identity.registration import known
from stackwright.controllers.identity.world import KeystoneStep, Note, World, noting
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Ends, Plan, Wait
from stackwright.kube.shapes.external import external

ENDPOINTS_READY = "KeystoneServiceOSEndpointsReady"


@dataclass(frozen=True)
class Seen:
    """What was read. `service` is the id of the service in Keystone, or what has to happen before there is one.

    `claims` says for interfaces of the same service which other resource asks for them; `foreign` that one of ours is
    another's. `taken` are endpoints that other resources registered; `made` is what is noted as made for this one,
    `notes` what else the notes say.
    """

    keystone: Access | Absent
    service: str | Wait = ""
    claims: dict[str, str] = field(default_factory=dict)
    foreign: Blocked | None = None
    taken: frozenset[str] = frozenset()
    made: tuple[Made, ...] = ()
    notes: Notes = NOTHING
    endpoints: tuple[Endpoint, ...] = ()

    def registered(self, resource: KeystoneEndpoint) -> set[str]:
        """Return the endpoints that were registered for the resource, or for one of its name before it.

        A note proves nothing without the mark in Keystone: anybody may have written it.
        """
        who = self.owner(resource)
        marked = {endpoint.id for endpoint in self.endpoints if who.has(endpoint)}
        noted = {one.id for one in self.made} & marked
        anothers = {endpoint.id for endpoint in self.endpoints if who.is_anothers(endpoint)}
        return (set(resource.status.endpointIDs.values()) | noted) - self.taken - anothers

    def owner(self, resource: KeystoneEndpoint) -> Owner:
        """Return the resource as the owner of things in its Keystone."""
        assert isinstance(self.keystone, Access)  # noqa: S101  without one nobody asks
        return owner(resource.kind.name, resource.key, self.keystone.cloud, self.notes, external=self.keystone.external)


@dataclass(frozen=True)
class CreateEndpoint(KeystoneStep):
    """Put an endpoint into the catalog."""

    endpoint: Endpoint


@dataclass(frozen=True)
class UpdateEndpoint(KeystoneStep):
    """Make an endpoint of the catalog as it should be."""

    endpoint: Endpoint


@dataclass(frozen=True)
class DeleteEndpoint(KeystoneStep):
    """Take an endpoint out of the catalog."""

    endpoint_id: str


async def observe(resource: KeystoneEndpoint, world: World) -> Seen:
    """Look for Keystone and the service, then for the endpoints."""
    seen = _inputs(resource, world)
    if isinstance(seen.keystone, Absent):
        return seen
    try:
        keystone = world.keystones.client(seen.keystone)
        async with keystone.connected():
            services, endpoints = await keystone.services(), await keystone.endpoints()
            return replace(seen, service=_not_own(resource, seen.service, services), endpoints=endpoints)
    except AdapterError as error:
        if not seen.keystone.ready:
            return replace(seen, keystone=Absent(not_ready(seen.keystone.name)))
        raise seen.keystone.explain(error) from error


def _inputs(resource: KeystoneEndpoint, world: World) -> Seen:
    """Read from the caches, everything before the first await, so that no change is missed."""
    look, name = world.looker(resource), resource.spec.serviceName
    everybody = [other for other in look.all(KeystoneEndpoint) if other.key != resource.key and not other.deleting]
    others = [other for other in everybody if other.spec.serviceName == name]
    keystone = find_keystone(resource, look)
    noted = world.ledger.of(resource, keystone.name) if isinstance(keystone, Access) else None
    return Seen(
        keystone,
        _service(name, look(KeystoneService, name)),
        claims={interface: other.metadata.name for other in others for interface in other.spec.endpoints},
        foreign=world.foreign(resource, dict.fromkeys(_paths(resource), ENDPOINTS_READY)),
        taken=frozenset(entry for other in everybody for entry in other.status.endpointIDs.values()),
        made=noted.made if noted is not None else (),
        notes=world.ledger.around(noted) if noted is not None else NOTHING,
    )


def _not_own(resource: KeystoneEndpoint, service: str | Wait, services: tuple[Service, ...]) -> str | Wait:
    """Return the service, unless it is Keystone's own entry, which an older status may still name."""
    if any(entry.id == service and is_own_type(entry.type) for entry in services):
        return _not_registered(resource.spec.serviceName)
    return service


def _paths(resource: KeystoneEndpoint) -> Iterator[str]:
    return (f"spec.endpoints.{interface}" for interface in resource.spec.endpoints)


def _service(name: str, service: KeystoneService | None) -> str | Wait:
    if service is None or service.deleting:
        missing = f"spec.serviceName: KeystoneService {name} does not exist"
        message = f"{missing}; create it, or make another KeystoneEndpoint"
        return Wait("ServiceMissing", message, ENDPOINTS_READY, ends=Ends.BY_AUTHOR)
    if not service.status.serviceID:
        return _not_registered(name)
    return service.status.serviceID


def _not_registered(name: str) -> Wait:
    return Wait("ServiceNotReady", f"KeystoneService {name} is not registered yet", ENDPOINTS_READY)


def decide(resource: KeystoneEndpoint, seen: Seen) -> Plan:
    """Return what brings the catalog to what the resource says."""
    if isinstance(seen.keystone, Absent):
        return Plan(waits=(seen.keystone.wait,))
    if seen.foreign is not None:
        raise seen.foreign
    if isinstance(seen.service, Wait):
        return Plan(waits=(seen.service,))
    access, service = seen.keystone, seen.service
    mark = seen.owner(resource).mark
    wanted = [
        Endpoint("", service, access.region, interface, url, made_for=mark)
        for interface, url in sorted(resource.spec.endpoints.items())
    ]
    steps = [step for endpoint in wanted for step in _interface(resource, seen, access, endpoint)]
    steps.extend(_superfluous(resource, seen, access))
    there = known(seen.made, map(made_endpoint, seen.endpoints))
    otherwise = Note(access, resource, reason="Noting", condition=ENDPOINTS_READY)
    whole = bool(seen.notes.cloud) or not access.cloud
    marks = {endpoint.made_for for endpoint in seen.endpoints}
    marks |= {step.endpoint.made_for for step in steps if isinstance(step, UpdateEndpoint)}
    adopts = seen.owner(resource).adopts in marks
    return Plan(steps=noting(steps, seen.made, there, otherwise, whole=whole, adopts=adopts))


def choose_kept(resource: KeystoneEndpoint, seen: Seen, service: str, region: str) -> dict[str, Endpoint]:
    """Return for each interface of the service which endpoint stays: the one that was registered, else the first.

    That of another cloud is taken only if there is no other, whatever the status says.
    """
    chosen: dict[str, Endpoint] = {}
    who = seen.owner(resource)
    # What the status says goes before what is noted.
    registered = set(resource.status.endpointIDs.values()) or seen.registered(resource)
    for endpoint in sorted(seen.endpoints, key=lambda one: (who.is_anothers(one), one.id not in registered)):
        if (endpoint.service_id, endpoint.region) == (service, region):
            chosen.setdefault(endpoint.interface, endpoint)
    return chosen


def _interface(resource: KeystoneEndpoint, seen: Seen, access: Access, wanted: Endpoint) -> Iterator[KeystoneStep]:
    there = choose_kept(resource, seen, wanted.service_id, access.region).get(wanted.interface)
    again = wanted.interface in resource.status.endpointIDs
    place = f"{wanted.interface} endpoint of {resource.spec.serviceName}"
    if there is None:
        message = f"The {place} is not in the catalog and is created"
        yield CreateEndpoint(
            access, resource, wanted, reason="CreatingEndpoint", message=message, condition=ENDPOINTS_READY,
            told=again, makes=made_endpoint(wanted),
        )  # fmt: skip
        return
    who = seen.owner(resource)
    # One that is noted as made for us and has no mark was made by an older operator.
    made_for = who.renewed(there) or (wanted.made_for if made_endpoint(there) in seen.made else "")
    wanted = replace(wanted, id=there.id, made_for=made_for)
    differs = replace(there, made_for=made_for) != wanted
    if there != wanted and who.is_anothers(there):
        message = (
            f"spec.endpoints.{wanted.interface}: the {place} in region {wanted.region} of this Keystone is {there.url} "
            f"and belongs to {there.made_for}; use another region. If that resource is gone for good, delete the "
            "endpoint in Keystone"
        )
        raise Blocked(message, reason="EndpointNotOurs", condition=ENDPOINTS_READY)
    if there != wanted:
        # What nobody had is ours from the first change on, so that two clouds do not change it by turns.
        wanted = replace(wanted, made_for=made_for or who.adopts)
        message = f"The {place} differs in the catalog and becomes {wanted.url}"
        yield UpdateEndpoint(
            access,
            resource,
            wanted,
            reason="ChangingEndpoint",
            message=message,
            condition=ENDPOINTS_READY,
            told=differs,
        )


def _superfluous(resource: KeystoneEndpoint, seen: Seen, access: Access) -> Iterator[KeystoneStep]:
    """Yield the end of endpoints that nobody asks for any more: removed interfaces, second ones, of another region."""
    service, name = str(seen.service), resource.spec.serviceName
    stay = {endpoint.id for endpoint in choose_kept(resource, seen, service, access.region).values()}
    registered, who = seen.registered(resource), seen.owner(resource)
    for endpoint in seen.endpoints:
        if who.is_anothers(endpoint):
            continue
        here = (endpoint.service_id, endpoint.region) == (service, access.region)
        if not here and endpoint.id not in registered:
            continue
        if here and endpoint.interface in seen.claims and endpoint.interface not in resource.spec.endpoints:
            continue
        if here and endpoint.interface in resource.spec.endpoints and endpoint.id in stay:
            continue
        again = here and endpoint.interface in resource.spec.endpoints
        if not again and not endpoint.made_for and endpoint.id not in registered:
            # It was there before, and nobody ever asked us for it.
            continue
        why = "is there more than once" if again else "is not asked for"
        yield DeleteEndpoint(
            access,
            resource,
            endpoint.id,
            reason="DeletingEndpoint",
            message=f"The {endpoint.interface} endpoint of {name} in {endpoint.region} {why}; {endpoint.id} is deleted",
            condition=ENDPOINTS_READY,
            told=True,
        )


def tell(resource: KeystoneEndpoint, seen: Seen) -> KeystoneEndpointStatus:
    """Return the status with what was seen in the catalog."""
    if isinstance(seen.keystone, Absent) or isinstance(seen.service, Wait) or seen.foreign is not None:
        return resource.status
    found = choose_kept(resource, seen, seen.service, seen.keystone.region)
    # An endpoint that is no longer wanted stays in the status until it is out of the catalog.
    ours = {
        interface: endpoint
        for interface, endpoint in sorted(found.items())
        if interface in resource.spec.endpoints or resource.status.endpointIDs.get(interface) == endpoint.id
    }
    return msgspec.structs.replace(
        resource.status,
        serviceID=seen.service,
        keystoneInstance=seen.keystone.name,
        endpointIDs={interface: endpoint.id for interface, endpoint in ours.items()},
        endpoints=tuple(
            RegisteredEndpoint(interface=interface, url=endpoint.url, id=endpoint.id)
            for interface, endpoint in ours.items()
        ),
    )


@external(of=KeystoneEndpoint, read=observe, decide=decide, tell=tell, pause=PAUSED)
async def endpoints(step: KeystoneStep, world: World) -> None:
    """Carry out one step."""
    await world.note(step)
    try:
        keystone = world.keystones.client(step.access)
        match step:
            case CreateEndpoint():
                await keystone.create_endpoint(step.endpoint)
            case UpdateEndpoint():
                await keystone.update_endpoint(step.endpoint)
            case DeleteEndpoint():
                await keystone.delete_endpoint(step.endpoint_id)
    except AdapterError as error:
        raise step.access.explain(error, step.condition) from error
    world.tell(step)
