"""What a service would become in a cluster, found out without one.

The operator's own decision is asked, with a world that is only imagined: what the service needs is there and ready
under the names that it would have, unless a file says otherwise. Nothing is made up that a file or a flag must say.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from stackwright import services
from stackwright.api.annotations import GENERATED_FOR
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.need import Outside, UnknownHere
from stackwright.blueprint.service import Endpoint, Service
from stackwright.controllers import needs
from stackwright.controllers.service import Environment
from stackwright.controllers.service.decide import Intent, Seen, decide
from stackwright.kube import builtin, clock
from stackwright.kube.builtin import ConfigMap, PersistentVolumeClaim, Secret, StorageClass
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import Key, ObjectMeta, R, Resource, manifest
from stackwright.kube.shapes.belonging import MADE_FOR, maker_of
from stackwright.kube.shapes.children import with_annotation

C = TypeVar("C", bound=CustomResource)

# How often it is decided anew: once for what it keeps, once for the Secrets that are made, once for the rest.
PASSES = 4


class Missing(Exception):
    """Something that only the user can say; the message names the field or the flag."""


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

    outside: Outside
    objects: dict[tuple[type[Resource], str], Resource] = field(default_factory=dict)

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return the object of that name; every StorageClass is there, because nobody here knows which are.

        Of another namespace nothing is imagined.
        """
        found = self.objects.get((kind, name)) if namespace in ("", self.namespace) else None
        if found is None and kind is StorageClass:
            found = StorageClass(metadata=ObjectMeta(name=name))
        return found if isinstance(found, kind) else None

    @property
    def namespace(self) -> str:
        """The namespace that is imagined."""
        return self.outside.namespace

    def provider(self, word: str, name: str, spec: JsonObject, *, alone: bool = True) -> Any:
        """Return a provider as a file has it, or with this spec; with what its service tells of it once it runs."""
        kind = services.providers()[word].kind
        return _told(self(kind, name) or _default(kind, name, spec), self, alone=alone)

    def add(self, resource: Resource) -> None:
        """Put an object into the namespace."""
        born = resource.metadata.creationTimestamp or clock.seconds(clock.now())
        metadata = msgspec.structs.replace(resource.metadata, namespace=self.namespace, creationTimestamp=born)
        self.objects[type(resource), metadata.name] = msgspec.structs.replace(resource, metadata=metadata)


def imagine(
    service: Service[Any, Any], resource: Any, beside: Iterable[Resource], outside: Outside, charts: Path
) -> Outcome:
    """Return what a resource becomes, with what the files have beside it."""
    world = World(outside)
    for item in beside:
        world.add(_plain(item))
    world.add(resource)
    resource = world(type(resource), resource.metadata.name)
    images = {service.image_name: ComponentImage(outside.image)} if outside.image else {}
    environment = Environment(images, charts)
    made = [*_passwords(service, resource, world, environment)]
    _surround(service, resource, world)
    intent = _decided(service, resource, world, environment, made)
    assert intent.values is not None  # noqa: S101  else it would not have been decided
    values = dict(intent.values)
    # Where the resource asks for Jobs, it was decided already what they make.
    if "provision" not in values and (made_by_jobs := _provision(service, resource, intent.facts, world)):
        values["provision"] = made_by_jobs
    return Outcome(tuple(_objects(intent, resource, world)), values, tuple(made))


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
            mark = {GENERATED_FOR: maker_of(resource)}
            world.add(_secret(new.name, new.content(environment.source(new.name)), mark))
            made.append(new.name)
        for child in intent.children:
            if child.kept and world(child.of, child.key.name) is None:
                world.add(_finished(service, resource, msgspec.convert(child.body, child.of), world))
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


def _secret(name: str, content: Mapping[str, str], annotations: Mapping[str, str] = MappingProxyType({})) -> Secret:
    metadata = ObjectMeta(name=name, annotations=dict(annotations))
    return Secret(metadata=metadata, data=_encoded(content), type="Opaque")


def _passwords(service: Service[Any, Any], resource: Any, world: World, environment: Environment) -> Iterable[str]:
    """Make the Secret with the passwords of the service where no file has it, and yield its name."""
    wanted = {password for need in service.needs_of(resource) for password in need.passwords(resource)}
    if not wanted or world(Secret, resource.spec.secret) is not None:
        return
    source = environment.source(resource.spec.secret)
    content = {entry.key: source.fernet_key() if entry.fernet else source.password() for entry in wanted}
    world.add(_secret(resource.spec.secret, content))
    yield resource.spec.secret


def _surround(service: Service[Any, Any], resource: Any, world: World) -> None:
    """Put what the service needs around it: as the files have it, else as it is by default."""
    for need in service.needs_of(resource):
        need.imagine(resource, world)
    endpoint = service.listed_endpoint(resource)
    if endpoint is not None:
        for interface in endpoint.interfaces:
            _expose(resource, endpoint, interface, world)


def _default(kind: type[C], name: str, spec: JsonObject) -> C:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, kind)


def _told(resource: C, world: World, *, alone: bool = True) -> Any:
    """Return a resource with what its service tells of it once it runs; one that is not `alone` needs more for that."""
    metadata = msgspec.structs.replace(resource.metadata, namespace=world.namespace)
    placed = msgspec.structs.replace(resource, metadata=metadata)
    blueprint = services.blueprint_of(type(resource))
    assert blueprint is not None  # noqa: S101  a provider is a service
    facts = Facts(name=metadata.name, namespace=metadata.namespace, image="") if alone else None
    return (
        msgspec.structs.replace(placed, status=blueprint.tell(placed, facts, world).status)
        if blueprint.tell
        else placed
    )


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
            f"spec.override.service.{interface}: only the cluster knows which URL a Service of type {kind} gets; say "
            f"it by --{interface}-url, or in spec.override.service.{interface}.endpointURL."
        )
    name = f"{resource.metadata.name}-{endpoint.key(interface)}"
    world.add(builtin.Service(metadata=ObjectMeta(name=name), spec={"type": kind}))


def _finished(service: Service[Any, Any], resource: Any, made: Resource, world: World) -> Resource:
    """Return what a service keeps as it is once an operator has made it."""
    try:
        for need in service.needs_of(resource):
            made = need.finish(resource, made, world)
    except UnknownHere as error:
        raise Missing(str(error)) from None
    return made


def _provision(service: Service[Any, Any], resource: Any, facts: Any, world: World) -> JsonObject:
    """Return what the chart's Jobs make: schema and account, a place in the catalog. Without an operator they do."""
    sight = needs.sight(world)
    found = (need.provision(resource, facts, sight) for need in service.needs_of(resource))
    return {name: value for entry in found for name, value in entry.items()}


def _objects(intent: Intent[Any], resource: Resource, world: World) -> Iterable[JsonObject]:
    """Yield what the pods read and write: Secrets and ConfigMaps that are there or decided, and claims of volumes.

    What an operator would own is marked: one that takes the installation over knows it from what a user made.
    """
    kinds = (Secret, ConfigMap, PersistentVolumeClaim)
    decided = {
        child.key.name: child.body if child.kept else with_annotation(child.body, MADE_FOR, maker_of(resource))
        for child in intent.children
        if child.of in kinds
    }
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
