"""What a resource creates and keeps, each thing as a value: two resources that claim the same thing collide. Pure.

Only the creator of a thing claims it. A resource does not claim what it merely reads, such as the Secret with all
passwords or the server of its schema. Nor does a resource claim itself: a service may use an account that a user made.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from typing import Any, TypeVar

import structlog

from stackwright import services
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint import object_names, taken_ports
from stackwright.blueprint.claims import Claim, Claims, claim_object
from stackwright.blueprint.look import Look
from stackwright.blueprint.name_folding import fold_name
from stackwright.blueprint.needs import catalog_entry
from stackwright.blueprint.needs.database import DATABASE, claim_schema, claim_user
from stackwright.blueprint.needs.login import IDENTITY
from stackwright.blueprint.providers import Provider, Sight
from stackwright.blueprint.service import Service
from stackwright.controllers import needs
from stackwright.controllers.ownership.memory import REMEMBERED, Memory
from stackwright.controllers.ownership.standing import serving
from stackwright.controllers.surroundings import Known
from stackwright.kube.builtin import PersistentVolumeClaim, Secret
from stackwright.kube.resource import CustomResource, Resource
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import OWN_NAME

R = TypeVar("R", bound=Resource)

# The sorts of claims that cover the names of all objects of a release.
RELEASE, OBJECT_NAME = "Helm release", "name"
NAMES = frozenset({RELEASE, OBJECT_NAME})

_memory = Memory()
_log = structlog.get_logger()
# The resources whose claims failed, by uid, each with the version that the log names.
_told: OrderedDict[str, str] = OrderedDict()


class Around:
    """The other resources of a namespace; each kind is listed once."""

    def __init__(self, known: Known, namespace: str) -> None:
        self._known = known
        self._namespace = namespace
        self._listed: dict[type[Resource], dict[str, Any]] = {}

    def all(self, kind: type[R]) -> Iterable[R]:
        """Return all objects of a kind."""
        return self._of(kind).values()

    def named(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return the object with a name, or None; objects of other namespaces are not known here."""
        return self._of(kind).get(name) if namespace in ("", self._namespace) else None

    def elsewhere(self, kind: type[R]) -> Iterable[tuple[R, "Around"]]:
        """Return the objects of a kind in the other namespaces that are watched, each with what is around it."""
        others = (item for item in self._known(kind, None) if item.metadata.namespace != self._namespace)
        return ((item, Around(self._known, item.metadata.namespace)) for item in others)

    def everywhere(self, kind: type[R]) -> Iterable[R]:
        """Return the objects of a kind in all namespaces that are watched."""
        return self._known(kind, None)

    @cached_property
    def keystones(self) -> tuple[str, ...]:
        """The names of the KeystoneAPIs that are not being deleted and were not refused."""
        return tuple(keystone.metadata.name for keystone in serving(self.all(KeystoneAPI)))

    def _of(self, kind: type[R]) -> dict[str, R]:
        if kind not in self._listed:
            self._listed[kind] = {item.metadata.name: item for item in self._known(kind, self._namespace)}
        return self._listed[kind]


def claims(resource: CustomResource, around: Around) -> Claims:
    """Return everything that a resource creates; the umbrella creates only resources, which claim for themselves."""
    match resource:
        case MariaDBDatabase() | MariaDBAccount() as kept:
            return _memory.recall(resource, around.named, lambda look: _on_server(kept, look))
        case TransportURL():
            return Claims((claim_object(Secret, f"rabbitmq-transport-url-{resource.metadata.name}"),))
        case KeystoneService():
            return Claims(_registered(resource, around))
        case KeystoneEndpoint():
            return Claims(_endpoints(resource, around))
    service = services.blueprint_of(type(resource))
    if service is None:
        return Claims()
    return _memory.recall(resource, around.named, lambda look: _list_claims(service, resource, needs.sight(look)))


def claims_of_another(other: CustomResource, around: Around) -> Claims:
    """Return what a resource claims, for a question about a different one.

    An error in that is a bug of ours, and must not stop every other resource of the namespace: such a resource counts
    as claiming what it claimed before, and what is known before the error, until a pass over it reports the bug.
    """
    try:
        return claims(other, around)
    except Exception:  # noqa: BLE001  the resource's own passes report it
        uid, version = other.metadata.uid, other.metadata.resourceVersion
        if _told.get(uid) != version:
            _told[uid] = version
            _log.exception("what a resource claims is not known", kind=other.kind.name, key=str(other.key))
        while len(_told) > REMEMBERED:
            _told.popitem(last=False)
        return Claims(dict.fromkeys((*_known_before_error(other, around), *_memory.last(other))))


def are_claims_unknown(other: CustomResource, around: Around) -> bool:
    """Return whether nobody knows what a resource claims: that fails, and has not worked before."""
    try:
        claims(other, around)
    except Exception:  # noqa: BLE001  the resource's own passes report it
        return not _memory.last(other)
    return False


def _known_before_error(other: CustomResource, around: Around) -> list[Claim]:
    """Return what a service claims whose claims fail: its release, and what comes before the error."""
    service = services.blueprint_of(type(other))
    if service is None:
        return []
    found = [Claim(RELEASE, other.metadata.name)]
    with suppress(Exception):
        for claim in _list_claims(service, other, needs.sight(around.named)):
            found.append(claim)  # noqa: PERF402  a list of all would be lost with the error
    return found


@cache
def claiming() -> tuple[type[CustomResource], ...]:
    """Return the kinds whose resources claim something."""
    return tuple(kind for kind in services.kinds() if kind is not services.control_plane())


def _list_claims(service: Service[Any, Any], resource: Any, sight: Sight) -> Iterator[Claim]:
    """Yield what a service creates: its release, its Secrets and volumes, and what its needs ask for."""
    for kind, name in service.fixed:
        yield claim_object(kind, name, advice="use another namespace, because each has only one of them", owned=True)
    yield from service.claims(resource)
    if service.elsewhere(resource):
        return
    name = resource.metadata.name
    yield Claim(RELEASE, name)
    yield from taken_ports.claims(resource)
    yield from (Claim(OBJECT_NAME, each) for each in object_names.of_release(service, resource))
    yield from (claim_object(Secret, each, owned=True) for each in object_names.of_secrets(service, resource))
    for ring in service.key_rings:
        yield claim_object(Secret, f"{name}-{ring.name}")
    for entry in service.secrets:
        if entry.wanted(resource):
            yield claim_object(Secret, entry.name(resource))
    for volume in service.volumes(resource) if service.volumes else ():
        yield claim_object(PersistentVolumeClaim, f"{name}-{volume.name}")
    yield from (claim_object(PersistentVolumeClaim, each) for each in object_names.of_volumes(service, resource))
    for need in service.needs_of(resource):
        yield from need.claims(resource, sight)


def _on_server(resource: MariaDBDatabase | MariaDBAccount, look: Look) -> Iterator[Claim]:
    if isinstance(resource, MariaDBDatabase):
        if server := resource.metadata.labels.get(SERVER_LABEL, ""):
            yield claim_schema(resource.schema, _server(server, look), "spec.name")
    elif resource.spec.accountType == "User" and (server := server_of(resource, look)):
        yield claim_user(resource.spec.userName, _server(server, look), "spec.userName")


def _registered(resource: KeystoneService, around: Around) -> tuple[Claim, ...]:
    spec = resource.spec
    keystone = _keystone(spec.keystoneInstance, resource.status.keystoneInstance, around)
    return (
        catalog_entry.claim_entry(spec.serviceType, spec.serviceName, keystone, "spec.serviceName"),
        catalog_entry.claim_user(spec.serviceUser, keystone, (spec.secret, spec.passwordSelector)),
    )


def _endpoints(resource: KeystoneEndpoint, around: Around) -> tuple[Claim, ...]:
    spec = resource.spec
    keystone = _keystone(spec.keystoneInstance, resource.status.keystoneInstance, around)
    if _is_keystones_own(spec.serviceName, around):
        return tuple(catalog_entry.claim_own_endpoint(interface, keystone) for interface in spec.endpoints)
    return tuple(
        Claim(
            f"{interface} endpoint",
            spec.serviceName,
            keystone,
            f"spec.endpoints.{interface}",
            "remove it from one of the two",
        )
        for interface in spec.endpoints
    )


def _is_keystones_own(service: str, around: Around) -> bool:
    """Return whether a service is Keystone itself: by its type or, as long as it does not exist, by its name."""
    there = around.named(KeystoneService, service)
    if there is not None:
        return catalog_entry.is_own_type(there.spec.serviceType)
    return fold_name(service) in (OWN_NAME, IDENTITY)


def server_of(account: MariaDBAccount, look: Look) -> str:
    """Return the Galera that has the user of an account; "" if nothing names it."""
    label = account.metadata.labels.get(DATABASE_LABEL, "")
    database = look(MariaDBDatabase, label) if label else None
    named = database.metadata.labels.get(SERVER_LABEL, "") if database is not None else ""
    return named or account.status.server


def _server(name: str, look: Look) -> Provider:
    return needs.sight(look).provider(DATABASE, name)


def _keystone(named: str, before: str, around: Around) -> str:
    """Return the Keystone to use: the one that is named, the one that was used before, or the only one."""
    there = around.keystones
    chosen = named or (before if before in there else "") or (there[0] if len(there) == 1 else "")
    return f"KeystoneAPI {chosen}" if chosen else "Keystone"
