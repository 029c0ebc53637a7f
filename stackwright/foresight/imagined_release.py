"""What a service would become in a cluster, found out without one.

The operator's own decision is asked, with a world that is only imagined: what the service needs is there and ready
under the names that it would have, unless a file says otherwise. Nothing is made up that a file or a flag must say.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.mariadb import MariaDBAccount, MariaDBAccountStatus, MariaDBDatabase, MariaDBDatabaseStatus
from stackwright.api.rabbitmq import TransportURL, TransportURLStatus
from stackwright.blueprint.configuration import digest
from stackwright.blueprint.facts import DatabaseFacts, Facts
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.service import INTERNAL, PUBLIC, Cache, Database, Endpoint, Identity, Password, Service
from stackwright.controllers.service import Environment, catalog, needs
from stackwright.controllers.service.decide import Intent, Seen, decide
from stackwright.kube import builtin, clock
from stackwright.kube.builtin import ConfigMap, PersistentVolumeClaim, Secret, StorageClass
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import Key, ObjectMeta, R, Resource, manifest
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.memcached.kinds import Memcached

C = TypeVar("C", bound=CustomResource)

# How often it is decided anew: once for what it keeps, once for the Secrets that are made, once for the rest.
PASSES = 4


class Missing(Exception):
    """Something that only the user can say; the message names the field or the flag."""


@dataclass(frozen=True)
class Outside:
    """What a user says of the world beside the files."""

    namespace: str
    image: str = ""
    database_host: str = ""
    database_port: int = 0
    cache_servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a resource becomes: the Secrets and ConfigMaps that its pods read, and the values of its chart."""

    objects: tuple[JsonObject, ...]
    values: JsonObject
    generated: tuple[str, ...]
    """The names of the Secrets that were made just now."""


@dataclass
class World:
    """All objects of a namespace that is only imagined."""

    namespace: str
    objects: dict[tuple[type[Resource], str], Resource] = field(default_factory=dict)

    def __call__(self, kind: type[R], name: str) -> R | None:
        """Return the object of that name; every StorageClass is there, because nobody here knows which are."""
        found = self.objects.get((kind, name))
        if found is None and kind is StorageClass:
            found = StorageClass(metadata=ObjectMeta(name=name))
        return found if isinstance(found, kind) else None

    def add(self, resource: Resource) -> None:
        """Put an object into the namespace."""
        born = resource.metadata.creationTimestamp or clock.seconds(clock.now())
        metadata = msgspec.structs.replace(resource.metadata, namespace=self.namespace, creationTimestamp=born)
        self.objects[type(resource), metadata.name] = msgspec.structs.replace(resource, metadata=metadata)


def imagine(
    service: Service[Any, Any], resource: Any, beside: Iterable[Resource], outside: Outside, charts: Path
) -> Outcome:
    """Return what a resource becomes, with what the files have beside it."""
    world = World(outside.namespace)
    for item in beside:
        world.add(_plain(item))
    world.add(resource)
    resource = world(type(resource), resource.metadata.name)
    images = {service.name: ComponentImage(outside.image)} if outside.image else {}
    environment = Environment(images, charts)
    made = [*_passwords(service, resource, world, environment)]
    _surround(service, resource, world, outside)
    intent = _decided(service, resource, world, environment, made)
    assert intent.values is not None  # noqa: S101  else it would not have been decided
    values = dict(intent.values)
    # Where the resource asks for Jobs, it was decided already what they make.
    if "provision" not in values and (made_by_jobs := _provision(service, resource, intent.facts, world)):
        values["provision"] = made_by_jobs
    return Outcome(tuple(_objects(intent, world)), values, tuple(made))


def _decided(
    service: Service[Any, Any], resource: Any, world: World, environment: Environment, made: list[str]
) -> Intent[Any]:
    intent: Intent[Any] = Intent()
    for _ in range(PASSES):
        try:
            intent = decide(service, resource, Seen(world, clock.now()), environment)
        except Blocked as error:
            raise Missing(f"{resource.kind.name} {resource.metadata.name}: {error}.") from None
        for new in intent.secrets:
            world.add(_secret(new.name, new.content(environment.source(new.name))))
            made.append(new.name)
        for child in intent.children:
            if child.kept and world(child.of, child.key.name) is None:
                world.add(_ready(msgspec.convert(child.body, child.of), world))
        if intent.values is not None:
            break
    waits = "; ".join(wait.message for wait in intent.waits)
    if intent.values is None or waits:
        nothing = f"{resource.kind.name} {resource.metadata.name} runs elsewhere: there is nothing to install"
        raise Missing(f"{waits or nothing}. Give it in the file, or by an option (see --help).")
    return intent


def _plain(resource: Resource) -> Resource:
    """Return a Secret as the server keeps it: what was written as text is encoded."""
    if not isinstance(resource, Secret):
        return resource
    return msgspec.structs.replace(resource, data={**resource.data, **_encoded(resource.stringData)}, stringData={})


def _encoded(content: Mapping[str, str]) -> dict[str, str]:
    return {name: base64.b64encode(text.encode()).decode() for name, text in content.items()}


def _secret(name: str, content: Mapping[str, str]) -> Secret:
    return Secret(metadata=ObjectMeta(name=name), data=_encoded(content), type="Opaque")


def _passwords(service: Service[Any, Any], resource: Any, world: World, environment: Environment) -> Iterable[str]:
    """Make the Secret with the passwords of the service where no file has it, and yield its name."""
    selectors = {need.selector: need.fernet for need in service.needs if isinstance(need, Password)}
    if any(isinstance(need, Identity) for need in service.needs):
        selectors["service"] = False
    if not selectors or world(Secret, resource.spec.secret) is not None:
        return
    source = environment.source(resource.spec.secret)
    content = {
        getattr(resource.spec.passwordSelectors, selector): source.fernet_key() if fernet else source.password()
        for selector, fernet in selectors.items()
    }
    world.add(_secret(resource.spec.secret, content))
    yield resource.spec.secret


def _surround(service: Service[Any, Any], resource: Any, world: World, outside: Outside) -> None:
    """Put what the service needs around it: as the files have it, else as it is by default."""
    for need in service.needs:
        match need:
            case Database():
                name = resource.spec.databaseInstance
                server = world(Galera, name) or _default(Galera, name, {"storageClass": "", "storageRequest": "10G"})
                told = _told(server, world)
                host, port = outside.database_host or told.status.hostname, outside.database_port or told.status.port
                world.add(_with_status(told, hostname=host, port=port, bootstrapped=True))
            case Cache():
                name = resource.spec.memcachedInstance
                told = _told(world(Memcached, name) or _default(Memcached, name, {}), world)
                world.add(_with_status(told, serverList=outside.cache_servers or told.status.serverList))
            case Identity():
                name = resource.spec.keystoneInstance
                stated = {"secret": resource.spec.secret, "databaseInstance": "openstack"}
                # Nothing is around it here; one that runs elsewhere says where it is all the same.
                told = _told(world(KeystoneAPI, name) or _default(KeystoneAPI, name, stated), world, alone=False)
                url = f"http://{name}-internal.{world.namespace}.svc:5000"
                urls = told.status.apiEndpoints or {PUBLIC: url, INTERNAL: url}
                world.add(_with_status(told, apiEndpoints=urls, region=told.spec.region))
            case _:
                continue
    endpoint = service.listed_endpoint(resource)
    if endpoint is not None:
        for interface in (PUBLIC, INTERNAL):
            _expose(resource, endpoint, interface, world)


def _default(kind: type[C], name: str, spec: JsonObject) -> C:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, kind)


def _told(resource: C, world: World, *, alone: bool = True) -> Any:
    """Return a resource with what its service tells of it once it runs; one that is not `alone` needs more for that."""
    metadata = msgspec.structs.replace(resource.metadata, namespace=world.namespace)
    placed = msgspec.structs.replace(resource, metadata=metadata)
    blueprint = next(entry for entry in services.blueprints() if entry.kind is type(resource))
    facts = Facts(name=metadata.name, namespace=metadata.namespace, image="") if alone else None
    return (
        msgspec.structs.replace(placed, status=blueprint.tell(placed, facts, world).status)
        if blueprint.tell
        else placed
    )


def _with_status(resource: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, **changes))


def _expose(resource: Any, endpoint: Endpoint, interface: str, world: World) -> None:
    """Put the Service of an endpoint there; which address one outside the cluster gets, only that cluster knows."""
    override = endpoint.overrides(resource).get(interface)
    kind = (
        override.spec.type if override is not None and override.spec is not None and override.spec.type else "ClusterIP"
    )
    if override is not None and override.endpointURL:
        return
    if kind != "ClusterIP":
        raise Missing(
            f"spec.override.service.{interface}: which URL a Service of type {kind} gets, only the cluster knows; say "
            f"it by --{interface}-url, or in spec.override.service.{interface}.endpointURL."
        )
    name = f"{resource.metadata.name}-{endpoint.key(interface)}"
    world.add(builtin.Service(metadata=ObjectMeta(name=name), spec={"type": kind}))


def _ready(resource: Resource, world: World) -> Resource:
    """Return what a service keeps as it is once its operator has made it."""
    match resource:
        case MariaDBDatabase():
            return msgspec.structs.replace(resource, status=MariaDBDatabaseStatus(completed=True))
        case MariaDBAccount():
            return msgspec.structs.replace(resource, status=MariaDBAccountStatus(currentSecret=resource.spec.secret))
        case TransportURL():
            secret = f"rabbitmq-transport-url-{resource.metadata.name}"
            if world(Secret, secret) is None:
                calls = resource.metadata.name.endswith("-messaging")
                field, other = ("messagingBus", "") if calls else ("notificationsBus", ", or remove notificationsBus")
                raise Missing(
                    f"spec.{field}: how to log in to {resource.spec.rabbitmqClusterName} is not known here; "
                    f"put a Secret {secret} with the key {needs.TRANSPORT_URL} into a file{other}."
                )
            return msgspec.structs.replace(resource, status=TransportURLStatus(secretName=secret))
    return resource


def _provision(service: Service[Any, Any], resource: Any, facts: Any, world: World) -> JsonObject:
    """Return what the chart's Jobs make: schema and account, a place in the catalog. Without an operator they do."""
    found: JsonObject = {}
    for need in service.needs:
        match need:
            case Database():
                found["database"] = _database(resource, facts.database, world)
            case Identity() if facts.endpoints is not None:
                found["identity"] = catalog.provisioned(need, resource, facts.identity, facts.endpoints, world)
    return found


def _database(resource: Any, database: DatabaseFacts, world: World) -> JsonObject:
    server = world(Galera, resource.spec.databaseInstance)
    account = world(MariaDBAccount, resource.spec.databaseAccount)
    assert server is not None  # noqa: S101  it was put there
    assert account is not None  # noqa: S101  likewise
    stated = needs.provisioned(server, database, account.spec.secret)
    return {**stated, "hash": digest(stated)}


def _objects(intent: Intent[Any], world: World) -> Iterable[JsonObject]:
    """Yield what the pods read and write: Secrets and ConfigMaps that are there or decided, and claims of volumes."""
    kinds = (Secret, ConfigMap, PersistentVolumeClaim)
    decided = {child.key.name: child.body for child in intent.children if child.of in kinds}
    there = [item for item in world.objects.values() if isinstance(item, Secret | ConfigMap)]
    for item in there:
        if item.metadata.name not in decided:
            yield _body(manifest(item), world.namespace)
    for body in decided.values():
        yield _body(body, world.namespace)


def _body(body: JsonObject, namespace: str) -> JsonObject:
    key = Key(namespace, body["metadata"]["name"])
    kept = {name: body["metadata"][name] for name in ("labels", "annotations") if body["metadata"].get(name)}
    readable = _readable(body) if body["kind"] == Secret.kind.name else body
    return {**readable, "metadata": {"name": key.name, "namespace": key.namespace, **kept}}


def _readable(body: JsonObject) -> JsonObject:
    """Return a Secret with its texts as texts: who installs by hand wants to see what is in it."""
    texts, binary = {}, {}
    for name, value in body.get("data", {}).items():
        try:
            texts[name] = base64.b64decode(value).decode()
        except UnicodeDecodeError:
            binary[name] = value
    return {**body, "data": binary, "stringData": texts}
