"""What a resource makes and keeps, each thing as a value: two resources that claim the same thing collide. Pure.

Only makers claim. What a resource merely reads (the Secret with all passwords, the server that a schema is on) it does
not claim, and a resource does not claim itself: an account that a user made is used by the service that names it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, TypeVar

from stackwright import services
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint import configuration, names
from stackwright.blueprint.service import (
    INTERNAL,
    PUBLIC,
    Database,
    Identity,
    Messaging,
    Need,
    Notifications,
    Service,
)
from stackwright.controllers.known import Known
from stackwright.kube.builtin import PersistentVolumeClaim, Secret
from stackwright.kube.resource import CustomResource, Resource
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera

R = TypeVar("R", bound=Resource)

ANOTHER_NAME = "give this resource another name"
NAME = "metadata.name"


@dataclass(frozen=True)
class Claim:
    """One thing that a resource makes: what `sort` of thing, where, and by which name.

    `path` is the field that names it, and `advice` what to do where it is another's. `terms`, where given, are how it
    is made: those who make it by the same terms share it. `of` is the kind of a thing that is an object of the
    namespace; one that is `owned` goes with the resource, so it cannot be one that a user made.
    """

    sort: str
    name: str
    scope: str = ""
    path: str = field(default=NAME, compare=False)
    advice: str = field(default=ANOTHER_NAME, compare=False)
    terms: tuple[str, ...] = field(default=(), compare=False)
    of: type[Resource] | None = field(default=None, compare=False)
    owned: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return " ".join(word for word in (self.sort, self.name, f"of {self.scope}" if self.scope else "") if word)

    def meets(self, other: "Claim") -> bool:
        """Return whether two resources that make these would make the same thing, each in its own way."""
        return self == other and not (self.terms and self.terms == other.terms)


class Around:
    """What else there is in a namespace, each kind listed once."""

    def __init__(self, known: Known, namespace: str) -> None:
        self._known = known
        self._namespace = namespace
        self._listed: dict[type[Resource], dict[str, Any]] = {}

    def all(self, kind: type[R]) -> Iterable[R]:
        """Return all objects of a kind."""
        return self._of(kind).values()

    def named(self, kind: type[R], name: str) -> R | None:
        """Return the object of a name, None where there is none."""
        return self._of(kind).get(name)

    @cached_property
    def keystones(self) -> tuple[str, ...]:
        """The names of the KeystoneAPIs that are there to stay."""
        return tuple(keystone.metadata.name for keystone in self.all(KeystoneAPI) if not keystone.deleting)

    def _of(self, kind: type[R]) -> dict[str, R]:
        if kind not in self._listed:
            self._listed[kind] = {item.metadata.name: item for item in self._known(kind, self._namespace)}
        return self._listed[kind]


def claims(resource: CustomResource, around: Around) -> tuple[Claim, ...]:
    """Return all that a resource makes; the umbrella makes nothing but resources that claim for themselves."""
    match resource:
        case MariaDBDatabase() | MariaDBAccount():
            return tuple(_on_server(resource, around))
        case TransportURL():
            return (_object(Secret, f"rabbitmq-transport-url-{resource.metadata.name}"),)
        case KeystoneService():
            return _registered(resource, around)
        case KeystoneEndpoint():
            return _endpoints(resource, around)
    service = services.blueprint_of(type(resource))
    return tuple(_made(service, resource, around)) if service is not None else ()


@cache
def claiming() -> tuple[type[CustomResource], ...]:
    """Return the kinds whose resources claim something."""
    return tuple(kind for kind in services.kinds() if kind is not services.control_plane())


def _made(service: Service[Any, Any], resource: Any, around: Around) -> Iterator[Claim]:
    """Yield what a service makes: its release, its Secrets and volumes, and what its needs ask for."""
    for kind, name in service.fixed:
        yield _object(kind, name, advice="use another namespace, which has one of them")
    if service.elsewhere(resource):
        return
    name = resource.metadata.name
    yield Claim("Helm release", name)
    for part in dict.fromkeys(_parts(service, resource)):
        yield Claim("name", f"{name}-{part}" if part else name)
    yield _object(Secret, configuration.secret_name(resource))
    for ring in service.key_rings:
        yield _object(Secret, f"{name}-{ring.name}")
    for entry in service.secrets:
        if entry.wanted(resource):
            yield _object(Secret, entry.name(resource))
    for volume in service.volumes(resource) if service.volumes else ():
        yield _object(PersistentVolumeClaim, f"{name}-{volume.name}")
    for need in service.needs:
        yield from _needed(need, resource, around)


def _parts(service: Service[Any, Any], resource: Any) -> Iterator[str]:
    """Yield what stands behind the release's name in those of its objects; Jobs have a hash behind it."""
    yield ""
    yield from (component.name for component in service.components_of(resource))
    yield from (job.name for job in service.jobs)
    yield from (schedule.name for schedule in service.schedules)
    for endpoint in service.endpoints_of(resource):
        yield from (endpoint.key(interface) for interface in (PUBLIC, INTERNAL))
    yield from ("wait", "db-create", "identity-create")
    yield from service.parts


def _needed(need: Need, resource: Any, around: Around) -> Iterator[Claim]:
    spec, name = resource.spec, resource.metadata.name
    match need:
        case Database():
            account, path, advice = spec.databaseAccount, "spec.databaseAccount", "name another account"
            yield _object(MariaDBDatabase, name)
            yield _object(MariaDBAccount, account, path, advice)
            yield _schema(names.schema(resource), spec.databaseInstance, around)
            if around.named(MariaDBAccount, account) is None:
                # One that is there speaks for its user itself.
                yield _object(Secret, names.account_secret(account), path, advice)
                yield _user(names.database_user(account), spec.databaseInstance, around, path, advice)
        case Notifications() if spec.notificationsBus is not None or getattr(spec, "rabbitMqClusterName", None):
            yield _object(TransportURL, names.notifications(resource))
        case Messaging():
            yield _object(TransportURL, names.messaging(resource))
        case Identity():
            yield from (replace(_object(of, name), owned=True) for of in (KeystoneService, KeystoneEndpoint))
            keystone = _keystone(spec.keystoneInstance, "", around)
            yield _entry(need.type, name, keystone, NAME)
            yield _keystone_user(spec.serviceUser, keystone, (spec.secret, spec.passwordSelectors.service))


def _on_server(resource: MariaDBDatabase | MariaDBAccount, around: Around) -> Iterator[Claim]:
    if isinstance(resource, MariaDBDatabase):
        if server := resource.metadata.labels.get(SERVER_LABEL, ""):
            yield _schema(resource.spec.name, server, around, "spec.name")
    elif resource.spec.accountType == "User" and (server := _server_of(resource, around)):
        yield _user(resource.spec.userName, server, around, "spec.userName")


def _registered(resource: KeystoneService, around: Around) -> tuple[Claim, ...]:
    spec = resource.spec
    keystone = _keystone(spec.keystoneInstance, resource.status.keystoneInstance, around)
    return (
        _entry(spec.serviceType, spec.serviceName, keystone, "spec.serviceName"),
        _keystone_user(spec.serviceUser, keystone, (spec.secret, spec.passwordSelector)),
    )


def _endpoints(resource: KeystoneEndpoint, around: Around) -> tuple[Claim, ...]:
    spec = resource.spec
    keystone = _keystone(spec.keystoneInstance, resource.status.keystoneInstance, around)
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


def _object(of: type[Resource], name: str, path: str = NAME, advice: str = ANOTHER_NAME) -> Claim:
    return Claim(of.kind.name, name, path=path, advice=advice, of=of)


def _schema(name: str, server: str, around: Around, path: str = NAME) -> Claim:
    advice = "name another schema" if path != NAME else ANOTHER_NAME
    return Claim("schema", name, _server(server, around), path, advice)


def _user(name: str, server: str, around: Around, path: str, advice: str = "use another userName") -> Claim:
    return Claim("user", name, _server(server, around), path, advice)


def _entry(of_type: str, name: str, keystone: str, path: str) -> Claim:
    advice = "choose another name" if path != NAME else ANOTHER_NAME
    return Claim(f"service of type {of_type}", name, keystone, path, advice)


def _keystone_user(name: str, keystone: str, terms: tuple[str, ...]) -> Claim:
    advice = "name another user, or take its password from the same Secret and key"
    # Keystone's tables take names that differ in case for the same.
    return Claim("user", name.strip().casefold(), keystone, "spec.serviceUser", advice, terms)


def _server_of(account: MariaDBAccount, around: Around) -> str:
    """Return which Galera has the user of an account; "" where nothing says it."""
    label = account.metadata.labels.get(DATABASE_LABEL, "")
    database = around.named(MariaDBDatabase, label) if label else None
    named = database.metadata.labels.get(SERVER_LABEL, "") if database is not None else ""
    return named or account.status.server


def _server(name: str, around: Around) -> str:
    """Return how a server is called: two Galeras that stand for one server elsewhere are one."""
    galera = around.named(Galera, name)
    if galera is None or galera.spec.external is None:
        return f"Galera {name}"
    return f"the server {galera.spec.external.hostname.lower()}:{galera.spec.external.port}"


def _keystone(named: str, before: str, around: Around) -> str:
    """Return which Keystone is meant: the one that is named, the one of before, or the only one."""
    there = around.keystones
    chosen = named or (before if before in there else "") or (there[0] if len(there) == 1 else "")
    return f"KeystoneAPI {chosen}" if chosen else "Keystone"
