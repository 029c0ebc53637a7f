"""What a service would refuse later, or ignore, asked at the door: the same list, with what the caches know. Pure.

An umbrella is asked for each resource that it would make, so that a bad value in a template is refused where it stands.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from stackwright import services
from stackwright.api import paths
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint import name_lengths, ranges, refusal, refusals, without_effect
from stackwright.blueprint.dataplane import name_lengths as machine_names
from stackwright.blueprint.refusal import Problem
from stackwright.controllers import ownership
from stackwright.controllers.controlplane.resolution import Instance, resolve
from stackwright.controllers.needs import sight
from stackwright.controllers.surroundings import Known
from stackwright.kube.admission.checks import Objections
from stackwright.kube.builtin import StorageClass
from stackwright.kube.resource import CustomResource, ObjectMeta, R, Resource


def check(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    """Return every value that cannot be, wherever it stands; and a warning for each that changes nothing."""
    made = tuple(_resources(new))
    further = ((each.place(path), sentence) for each in made for path, sentence in _of(each.resource, known))
    own = (*ranges.problems(new), *name_lengths.of_kind(new), *machine_names.problems(new))
    found = dict.fromkeys((*own, *further, *_limits(old, made, known), *_ports(new, made, known)))
    beside = tuple(_made_by(new))
    told = (
        f"{each.place(path)}{sentence}"
        for each in made
        for path, sentence in (*_ignored(each), *_advice(each.resource, known, beside))
    )
    return refusal.as_errors(found) + Objections(warnings=tuple(dict.fromkeys(told)))


@dataclass(frozen=True)
class _Asked:
    """A resource that was written, or that an umbrella makes: what its author said, and where its fields stand."""

    resource: CustomResource
    said: Any
    place: Callable[[str], str] = str


def _resources(new: CustomResource) -> Iterator[_Asked]:
    """Yield a resource, or those that an umbrella makes of it."""
    if not isinstance(new, OpenStackControlPlane):
        yield _Asked(new, getattr(new, "spec", None))
        return
    for instance in resolve(new.spec, services.sections(), frozenset()):
        made = _imagine_resource(instance, new.metadata.namespace)
        if instance.asked and made is not None:
            stated = instance.section.templates(new.spec)
            own = (said for part, key, said in stated if part.name_of(key) == instance.name and part is instance.part)
            yield _Asked(made, next(own, None), partial(_moved, place=_place(instance)))


def _made_by(new: CustomResource) -> Iterator[CustomResource]:
    """Yield all that an umbrella makes, also what was not asked for."""
    if isinstance(new, OpenStackControlPlane):
        made = (
            _imagine_resource(instance, new.metadata.namespace)
            for instance in resolve(new.spec, services.sections(), ())
        )
        yield from (resource for resource in made if resource is not None)


def _ignored(asked: _Asked) -> Iterator[Problem]:
    """Yield the fields that are taken and change nothing."""
    blueprint = services.blueprint_of(type(asked.resource))
    for path, why in without_effect.of_service(blueprint, asked.resource) if blueprint is not None else ():
        # What an umbrella hands down is its own field, and told once.
        if paths.find(asked.said, path.removeprefix("spec.")) is not None:
            yield path, f" has no effect: {why}"


def _advice(resource: CustomResource, known: Known, beside: tuple[CustomResource, ...]) -> Iterator[Problem]:
    """Yield the values that are taken and of which their author should know something; `beside` comes with it."""
    blueprint = services.blueprint_of(type(resource))
    there = _Look(resource, known)

    def look(kind: type[R], name: str, *, namespace: str = "") -> R | None:
        new = (item for item in beside if isinstance(item, kind) and item.metadata.name == name)
        return next(new, None) or there(kind, name, namespace=namespace)

    if blueprint is not None:
        yield from ((path, f": {sentence}") for path, sentence in blueprint.advice(resource, sight(look)))


def _of(resource: CustomResource, known: Known) -> Iterator[Problem]:
    blueprint = services.blueprint_of(type(resource))
    if blueprint is not None:
        yield from refusals.of_service(blueprint, resource, _Look(resource, known))


def _limits(old: CustomResource | None, made: Iterable[_Asked], known: Known) -> Iterator[Problem]:
    """Yield what volumes that are there cannot follow, unless it was asked for before: all else may still change."""

    def found(asked: Iterable[_Asked]) -> Iterator[Problem]:
        for each in asked:
            blueprint = services.blueprint_of(type(each.resource))
            if blueprint is not None and blueprint.limits is not None:
                of_it = blueprint.limits(each.resource, _Look(each.resource, known))
                yield from ((each.place(path), sentence) for path, sentence in of_it)

    now = tuple(found(made))
    before = frozenset(found(_resources(old)) if now and old is not None else ())
    yield from (problem for problem in now if problem not in before)


def _ports(new: CustomResource, made: tuple[_Asked, ...], known: Known) -> Iterator[Problem]:
    """Yield the ports of nodes that an umbrella asks for twice, or that another has; others ask for theirs themselves.

    The resources that it makes would be refused later, and each only when it is made.
    """
    if not isinstance(new, OpenStackControlPlane):
        return
    first: dict[str, str] = {}
    for each in made:
        for claim in ownership.asked_by(each.resource):
            place = each.place(claim.path)
            other = first.setdefault(claim.name, place)
            if place != other:
                yield place, f"{claim} is what {other} asks for too; {claim.advice}"
        for error in ownership.check_ports(each.resource, known):
            yield each.place(error.field), error.message


@dataclass(frozen=True)
class _Look:
    """Looks into the caches for a resource that is written.

    A StorageClass may come later, and what waits says so; until it is known, nothing speaks against it.
    """

    resource: CustomResource
    known: Known

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return an object; None if there is none."""
        found = next((item for item in self._list(kind, namespace) if item.metadata.name == name), None)
        if found is None and kind is StorageClass:
            imagined: Resource = StorageClass(metadata=ObjectMeta(name=name), allowVolumeExpansion=True)
            return imagined if isinstance(imagined, kind) else None
        return found

    def of_kind(self, kind: type[R]) -> list[R]:
        """Return all objects of a kind in the resource's own namespace."""
        return self._list(kind, "")

    def _list(self, kind: type[R], namespace: str) -> list[R]:
        return self.known(kind, (namespace or self.resource.metadata.namespace) if kind.kind.namespaced else "")


def _imagine_resource(instance: Instance, namespace: str) -> CustomResource | None:
    """Return the resource that an umbrella would make; None where it would not even fit its type."""
    body = {"metadata": {"name": instance.name, "namespace": namespace}, "spec": instance.spec}
    try:
        return msgspec.convert(body, instance.part.kind)
    except msgspec.ValidationError:
        return None


def _place(instance: Instance) -> str:
    key = instance.part.key_of(instance.name)
    return instance.section.place(instance.part, instance.name if key is None else key)


def _moved(path: str, place: str) -> str:
    """Return where the umbrella has a field of a resource; the resource is named after its template."""
    return f"{place}{path.removeprefix('spec')}" if path.startswith("spec") else place
