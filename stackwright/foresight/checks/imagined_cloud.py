"""What a cloud would become: its resources, and the objects that their charts render, without any cluster.

The operators' own decisions are asked, with a world around them that is only imagined, as `stackwright render` does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stackwright import services, tasks
from stackwright.adapters.helm import Rendered, Renderer
from stackwright.api.base import CustomResource
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.rabbitmq import PORT, TransportURL
from stackwright.blueprint import refusals
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.broker import TRANSPORT_URL
from stackwright.blueprint.needs.need import Outside
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.service import Service
from stackwright.controllers import needs, reserved_database_names
from stackwright.controllers.controlplane import resolution
from stackwright.controllers.controlplane.refusals import list_refusals
from stackwright.controllers.controlplane.resolution import Instance
from stackwright.controllers.service import Environment
from stackwright.controllers.translation import translated
from stackwright.foresight import imagined_release
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.imagined_release import Missing, Outcome
from stackwright.foresight.imagined_world import ImaginedWorld
from stackwright.foresight.kinds import service_kinds
from stackwright.foresight.objects import Objects
from stackwright.kube.builtin import Secret, StorageClass
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.resource import JsonObject, ObjectMeta, R, Resource, ResourceName

TOPIC = "manifest"
# What stands for an image that nobody here knows.
NO_IMAGE = "unknown.invalid/image"
# What stands for a URL that only the cluster knows.
_SOME_URL = "http://unknown.invalid"
_SOME_BROKER = f"rabbit://unknown.invalid:{PORT}/"


@dataclass(frozen=True)
class Release:
    """What a resource's chart renders, and the Secrets and ConfigMaps that its operator makes for it."""

    resource: CustomResource
    rendered: Rendered
    made: frozenset[str]

    @property
    def label(self) -> str:
        """What its resource is called."""
        return f"{self.resource.kind.name} {self.resource.metadata.name}"


@dataclass(frozen=True)
class ImaginedCloud:
    """What a cloud would become in a namespace; `given` is all that the files have."""

    namespace: str
    given: tuple[Resource, ...] = ()
    planes: tuple[OpenStackControlPlane, ...] = ()
    instances: tuple[Instance, ...] = ()
    releases: tuple[Release, ...] = ()
    results: tuple[CheckResult, ...] = ()


@dataclass(frozen=True)
class Means:
    """By what a cloud is made: which images are run, the charts, and a helm."""

    images: Mapping[str, ComponentImage]
    charts: Path
    renderer: Renderer


def instances_of(
    planes: Iterable[OpenStackControlPlane], foreign: Iterable[ResourceName]
) -> tuple[tuple[Instance, ...], tuple[CheckResult, ...]]:
    """Return what control planes stand for, and what of it they cannot have. Pure."""
    found: list[Instance] = []
    told: list[CheckResult] = []
    for plane in planes:
        instances = resolution.resolve(plane.spec, services.sections(), frozenset(foreign))
        found += [instance for instance in instances if not instance.foreign]
        sentences = [*map(str, list_refusals(plane.spec))]
        sentences += [sentence for instance in instances for sentence in instance.unmet]
        told += [CheckResult(Level.PROBLEM, TOPIC, f"{_label(plane)}: {sentence}.") for sentence in sentences]
    return tuple(found), tuple(told)


def resources_of(
    instances: Iterable[Instance], given: Iterable[Resource]
) -> tuple[tuple[CustomResource, ...], tuple[CheckResult, ...]]:
    """Return the services that would be deployed: those of control planes, and those that the files have. Pure."""
    found = [item for item in given if isinstance(item, CustomResource) and type(item) in service_kinds()]
    told: list[CheckResult] = []
    for instance in instances:
        body = {"metadata": {"name": instance.name}, "spec": instance.spec}
        try:
            found.append(msgspec.convert(body, instance.part.kind))
        except msgspec.ValidationError as error:
            told.append(CheckResult(Level.PROBLEM, TOPIC, f"{instance}: {error}."))
    return tuple(found), tuple(told)


async def imagine(
    namespace: str,
    given: tuple[Resource, ...],
    planes: tuple[OpenStackControlPlane, ...],
    there: Iterable[ResourceName],
    means: Means,
) -> ImaginedCloud:
    """Return what control planes and files would become; `there` are resources that are used as they are."""
    instances, refused = instances_of(planes, there)
    resources, invalid = resources_of(instances, given)
    placed = [_place(resource, namespace) for resource in resources]
    made = (_releases_of(one, _world_around(one, (*given, *placed), namespace), means) for one in placed)
    # A bug in one of them is told when the others are done: helm is not left in the middle of its work.
    outcomes = await tasks.outcomes(*made)
    found: list[Release | CheckResult] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        found += outcome
    releases = tuple(item for item in found if isinstance(item, Release))
    told = tuple(item for item in found if isinstance(item, CheckResult))
    return ImaginedCloud(namespace, given, planes, instances, releases, (*refused, *invalid, *told))


def _world_around(resource: CustomResource, beside: Iterable[Resource], namespace: str) -> ImaginedWorld:
    world = ImaginedWorld(Outside(namespace))
    for item in beside:
        if item.key.name != resource.key.name or type(item) is not type(resource):
            world.add(item)
    return world


async def _releases_of(resource: CustomResource, world: ImaginedWorld, means: Means) -> list[Release | CheckResult]:
    """Return what a service would become, and what its children would; or why it would not, or why nobody knows."""
    outcome = outcome_of(resource, world, means)
    if not isinstance(outcome, Outcome):
        return [outcome] if outcome is not None else []
    found = [await _render(outcome, world.namespace, means)] if outcome.service.has_chart else []
    for child in outcome.children:
        found += await _releases_of(child, world, means)
    return found


def outcome_of(resource: CustomResource, world: ImaginedWorld, means: Means) -> Outcome | CheckResult | None:
    """Return what one resource would become, or why it would not, or why nobody knows. Pure."""
    blueprint = world.blueprint_of(type(resource))
    if blueprint is None or blueprint.elsewhere(resource):
        return None
    if wrong := wrong_with(blueprint, resource, means.images.get(blueprint.image_name)):
        return CheckResult(Level.PROBLEM, TOPIC, f"{_label(resource)}: {wrong}.")
    known = means.images.get(blueprint.image_name, ComponentImage(NO_IMAGE)).reference
    environment = Environment({blueprint.image_name: ComponentImage(known)}, means.charts)
    for login in _logins(blueprint, resource, world):
        world.add(login)
    try:
        return imagined_release.imagine(blueprint, with_urls(resource), world, environment)
    except Missing as error:
        said = f"{_label(resource)}: its objects cannot be determined here: {error}"
        return CheckResult(Level.UNKNOWN, TOPIC, said)


async def _render(outcome: Outcome, namespace: str, means: Means) -> Release | CheckResult:
    resource = outcome.resource
    try:
        with translated():
            chart = means.charts / outcome.service.chart_name
            rendered = await means.renderer.render(chart, resource.metadata.name, namespace, outcome.values)
    except (Blocked, Retry) as error:
        return CheckResult(Level.PROBLEM, TOPIC, f"{_label(resource)}: {error}.")
    names = {body["metadata"]["name"] for body in (*outcome.objects, *rendered.objects)} | set(outcome.generated)
    # The one with the passwords is the user's to bring, or the umbrella's to make; here it was only imagined.
    names.discard(getattr(resource.spec, "secret", ""))
    return Release(resource, rendered, frozenset(names))


def _logins(blueprint: Service[Any, Any], resource: CustomResource, world: ImaginedWorld) -> Iterable[Secret]:
    """Yield what stands for the logins at brokers that operators will make: what is in them changes nothing here."""
    sight = needs.sight(Objects(()))
    data = encode({TRANSPORT_URL: _SOME_BROKER})
    for need in blueprint.needs_of(resource):
        for child in need.resolve(resource, sight).children:
            name = f"rabbitmq-transport-url-{child.key.name}"
            if child.of is TransportURL and world(Secret, name) is None:
                yield Secret(metadata=ObjectMeta(name=name), data=data)


def wrong_with(blueprint: Service[Any, Any], resource: CustomResource, image: ComponentImage | None) -> str:
    """Return what the operator would refuse of a resource, whatever is there; "" where it is well. Pure."""
    found = (
        *reserved_database_names.problems(resource, lambda _: None),
        *refusals.problems(blueprint, resource, _some_world, image),
    )
    return refusals.describe(found)


def _some_world(kind: type[R], name: str, *, namespace: str = "") -> R | None:  # noqa: ARG001  the form of `Look`
    """Return nothing but storage classes: those are checked apart, with what there is in place of them."""
    found = StorageClass(metadata=ObjectMeta(name=name)) if kind is StorageClass else None
    return found if isinstance(found, kind) else None


def with_urls(resource: CustomResource) -> Any:
    """Return a resource of which every API has a URL: which one a cluster gives, changes nothing that is checked."""
    body = msgspec.to_builtins(resource)
    _fill(body.get("spec"))
    return msgspec.convert(body, type(resource))


def _fill(part: Any) -> None:
    if not isinstance(part, dict):
        return
    for name, value in part.items():
        override = value.get("service") if name == "override" and isinstance(value, dict) else None
        # One Service, or one for each interface.
        for service in (override, *override.values()) if isinstance(override, dict) else ():
            if isinstance(service, dict) and _is_exposed(service.get("spec")):
                service.setdefault("endpointURL", _SOME_URL)
        _fill(value)


def _is_exposed(spec: Any) -> bool:
    return isinstance(spec, dict) and (spec.get("type") or "ClusterIP") != "ClusterIP"


def pods_of(release: Release) -> Iterable[tuple[JsonObject, JsonObject]]:
    """Yield what of a release has pods, each with the spec of such a pod. Pure."""
    for body, template in templates_of(release):
        yield body, template["spec"]


def templates_of(release: Release) -> Iterable[tuple[JsonObject, JsonObject]]:
    """Yield what of a release has pods, each with the template of such a pod. Pure."""
    for body in release.rendered.objects:
        spec = body.get("spec") or {}
        scheduled = (spec.get("jobTemplate") or {}).get("spec") or spec
        template: JsonObject = scheduled.get("template") or {}
        if "containers" in (template.get("spec") or {}):
            yield body, template


def _place(resource: CustomResource, namespace: str) -> CustomResource:
    metadata = msgspec.structs.replace(resource.metadata, namespace=namespace)
    return msgspec.structs.replace(resource, metadata=metadata)


def _label(resource: Resource) -> str:
    return f"{resource.kind.name} {resource.metadata.name}"
