"""What a service would become in a cluster, found out without one.

The operator's own decision is asked, with a world that is only imagined: what the service needs is there and ready
under the names that it would have, unless a file says otherwise. Nothing is made up that a file or a flag must say.
What a service makes of our own kinds is imagined in the same world, with what its parent has made for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import msgspec

from stackwright import services
from stackwright.api import paths
from stackwright.api.annotations import GENERATED_FOR
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import names
from stackwright.blueprint.needs.need import UnknownHere
from stackwright.blueprint.secret_values import decode
from stackwright.blueprint.service import Endpoint, Service
from stackwright.blueprint.values import select_nodes
from stackwright.controllers import needs
from stackwright.controllers.service import Environment
from stackwright.controllers.service.decide import Intent, Seen, decide
from stackwright.foresight.imagined_world import ImaginedWorld, secret_of
from stackwright.kube import builtin, clock
from stackwright.kube.builtin import ConfigMap, PersistentVolumeClaim, Secret
from stackwright.kube.conditions import READY
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import Condition, Key, ObjectMeta, Resource, manifest
from stackwright.kube.shapes.belonging import MADE_FOR, maker_of
from stackwright.kube.shapes.child import with_annotation


class Missing(Exception):
    """Something that only the user can say; the message names the field or the flag."""


@dataclass(frozen=True)
class Outcome:
    """What a resource becomes: the Secrets and ConfigMaps that its pods read, and the values of its chart.

    `children` are the resources of services that it makes; each becomes something itself.
    """

    service: Service[Any, Any]
    resource: Any
    objects: tuple[JsonObject, ...]
    values: JsonObject
    generated: tuple[str, ...]
    """The names of the Secrets that were made just now."""
    children: tuple[CustomResource, ...] = ()


def imagine_all(
    service: Service[Any, Any], resource: Any, world: ImaginedWorld, environment: Environment
) -> tuple[Outcome, ...]:
    """Return what a resource becomes, and behind it what each of its children does, to any depth."""
    own = imagine(service, resource, world, environment)
    found = [own]
    for child in own.children:
        blueprint = world.blueprint_of(type(child))
        if blueprint is not None and not blueprint.elsewhere(child):
            found += imagine_all(blueprint, child, world, environment)
    return tuple(found)


def imagine(service: Service[Any, Any], resource: Any, world: ImaginedWorld, environment: Environment) -> Outcome:
    """Return what one resource becomes in a world; what it makes for its children is in that world afterwards."""
    resource = world.add(resource)
    made = [*_passwords(service, resource, world, environment)]
    _surround(service, resource, world)
    intent = _decide(service, resource, world, environment, made)
    assert intent.values is not None  # noqa: S101  else it would not have been decided
    values = dict(intent.values)
    # Where the resource asks for Jobs, it was decided already what they make.
    if "provision" not in values and (made_by_jobs := _provision(service, resource, intent.facts, world)):
        values |= select_nodes(service, resource, {"provision": made_by_jobs})
    objects = tuple(_objects(intent, resource, world))
    children = tuple(_children(intent, world))
    return Outcome(service, resource, objects, values, tuple(made), children)


def _decide(
    service: Service[Any, Any], resource: Any, world: ImaginedWorld, environment: Environment, made: list[str]
) -> Intent[Any]:
    intent: Intent[Any] = Intent()
    moved = True
    while moved:
        try:
            intent = decide(service, resource, Seen(world, clock.now()), environment)
        except Blocked as error:
            raise Missing(f"{resource.kind.name} {resource.metadata.name}: {error}.") from None
        # The world is as the operator would have made it, and it is decided anew until that changes nothing.
        moved = any(world(Secret, new.name) is None for new in intent.secrets)
        for new in intent.secrets:
            mark = {GENERATED_FOR: maker_of(resource)}
            world.add(secret_of(new.name, new.content(environment.source(new.name)), mark))
            made.append(new.name)
        for child in intent.children:
            if child.kept and world(child.of, child.key.name) is None:
                world.add(_finished(service, resource, msgspec.convert(child.body, child.of), world))
                moved = True
        if service.children is not None and intent.values is not None:
            moved |= _run_jobs(intent, resource, world) | _make_ready(intent, world)
    waits = "; ".join(wait.message for wait in intent.waits)
    if intent.values is None or waits:
        nothing = f"{resource.kind.name} {resource.metadata.name} runs elsewhere: there is nothing to install"
        raise Missing(f"{waits or nothing}. Give it in the file, or by an option (see --help).")
    return intent


def _run_jobs(intent: Intent[Any], resource: Any, world: ImaginedWorld) -> bool:
    """Put the Jobs there as they are when they are done, as children may wait for them; return whether any is new."""
    jobs = (intent.values or {}).get("jobs", {})
    called = [names.job(resource.metadata.name, name, job["hash"]) for name, job in jobs.items()]
    new = [name for name in called if world(builtin.Job, name) is None]
    for name in new:
        status = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}
        world.add(builtin.Job(metadata=ObjectMeta(name=name), status=status))
    return bool(new)


def _make_ready(intent: Intent[Any], world: ImaginedWorld) -> bool:
    """Put children there that are ready, as others may wait for them; return whether any is new."""
    ours = (item for item in intent.children if issubclass(item.of, CustomResource) and not item.kept)
    new = [item for item in ours if world(item.of, item.key.name) is None]
    for item in new:
        made: Any = msgspec.convert(item.body, item.of)
        reported = (READY, *made.declared_conditions())
        said = tuple(Condition(type=name, status="True", reason=READY) for name in reported)
        world.add(msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=said)))
    return bool(new)


def _children(intent: Intent[Any], world: ImaginedWorld) -> Iterable[CustomResource]:
    """Put what a resource makes into the world, where its children find it; yield those that are services."""
    for child in intent.children:
        if not child.kept and (child.of in (Secret, ConfigMap) or issubclass(child.of, CustomResource)):
            placed = world.add(msgspec.convert(child.body, child.of))
            if isinstance(placed, CustomResource) and world.blueprint_of(type(placed)) is not None:
                yield placed


def _passwords(
    service: Service[Any, Any], resource: Any, world: ImaginedWorld, environment: Environment
) -> Iterable[str]:
    """Make the Secret with the passwords of the service where no file has it, and yield its name."""
    wanted = {password for need in service.needs_of(resource) for password in need.passwords(resource)}
    for child in services.family_of(resource, world.blueprint_of):
        blueprint = world.blueprint_of(type(child)) if child is not resource else None
        if blueprint is not None and paths.find(child, "spec.secret") == resource.spec.secret:
            wanted |= {password for need in blueprint.needs_of(child) for password in need.passwords(child)}
    # What stands in another Secret is the user's own.
    wanted = {password for password in wanted if not password.secret}
    if not wanted or world(Secret, resource.spec.secret) is not None:
        return
    source = environment.source(resource.spec.secret)
    content = {entry.key: source.fernet_key() if entry.fernet else source.password() for entry in wanted}
    world.add(secret_of(resource.spec.secret, content))
    yield resource.spec.secret


def _surround(service: Service[Any, Any], resource: Any, world: ImaginedWorld) -> None:
    """Put what the service needs around it: as the files have it, else as it is by default."""
    for need in service.needs_of(resource):
        need.imagine(resource, world)
    endpoint = service.listed_endpoint(resource)
    if endpoint is not None:
        for interface in endpoint.interfaces:
            _expose(resource, endpoint, interface, world)


def _expose(resource: Any, endpoint: Endpoint, interface: str, world: ImaginedWorld) -> None:
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


def _finished(service: Service[Any, Any], resource: Any, made: Resource, world: ImaginedWorld) -> Resource:
    """Return what a service keeps as it is once an operator has made it."""
    try:
        for need in service.needs_of(resource):
            made = need.finish(resource, made, world)
    except UnknownHere as error:
        raise Missing(str(error)) from None
    return made


def _provision(service: Service[Any, Any], resource: Any, facts: Any, world: ImaginedWorld) -> JsonObject:
    """Return what the chart's Jobs make if no operator does: schemas with their accounts, a place in the catalog."""
    sight = needs.sight(world)
    found = (need.provision(resource, facts, sight) for need in service.needs_of(resource))
    return reduce(paths.merge, found, {})


def _objects(intent: Intent[Any], resource: Resource, world: ImaginedWorld) -> Iterable[JsonObject]:
    """Yield what the pods read and write: Secrets and ConfigMaps that are there or decided, and claims of volumes.

    What an operator would own is marked: one that takes the installation over knows it from what a user made.
    """
    kinds = (Secret, ConfigMap, PersistentVolumeClaim)
    decided = {
        child.key.name: child.body if child.kept else with_annotation(child.body, MADE_FOR, maker_of(resource))
        for child in intent.children
        if child.of in kinds
    }
    there = [manifest(item) for item in world.objects.values() if isinstance(item, Secret | ConfigMap)]
    bodies = [body for body in there if body["metadata"]["name"] not in decided]
    for body in (*bodies, *decided.values()):
        # What the parent has told, its children read, too.
        if (which := (body["kind"], body["metadata"]["name"])) not in world.told:
            world.told.add(which)
            yield _body(body, world.namespace)


def _body(body: JsonObject, namespace: str) -> JsonObject:
    key = Key(namespace, body["metadata"]["name"])
    kept = {name: body["metadata"][name] for name in ("labels", "annotations") if body["metadata"].get(name)}
    readable = _readable(body) if body["kind"] == Secret.kind.name else body
    return {**readable, "metadata": {"name": key.name, "namespace": key.namespace, **kept}}


def _readable(body: JsonObject) -> JsonObject:
    """Return a Secret with its texts as texts, so that whoever installs it by hand can read them.

    What is no text, or not valid at all, stays as it was written: of the latter the server says what is wrong.
    """
    texts, binary = {}, {}
    for name, value in body.get("data", {}).items():
        content = decode(value)
        try:
            text = None if content is None else content.decode()
        except UnicodeDecodeError:
            text = None
        if text is None:
            binary[name] = value
        else:
            texts[name] = text
    return {**body, "data": binary, "stringData": texts}
