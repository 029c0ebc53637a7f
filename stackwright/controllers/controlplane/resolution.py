"""Which resources a control plane stands for: those that were asked for, and those that these need. Pure."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from stackwright import services
from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.controlplane import OpenStackControlPlaneSpec, Part, Section
from stackwright.blueprint.interfaces import PUBLIC
from stackwright.blueprint.needs.need import Need
from stackwright.kube.resource import ResourceName


@dataclass(frozen=True)
class Instance:
    """A resource of the cloud: its part of a section, its spec, and what needs it if nobody asked for it.

    `foreign` is one that somebody else made: it is used and left alone. `unmet` are sentences about what it needs
    and cannot have.
    """

    section: Section
    part: Part
    name: str
    spec: JsonObject = field(default_factory=dict)
    foreign: bool = False
    asked: bool = True
    needed_by: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()

    @property
    def resource_name(self) -> ResourceName:
        """Which resource this is."""
        return self.part.kind_name, self.name

    @cached_property
    def resource(self) -> Any:
        """The resource itself; None where its spec is not valid, which the server will say."""
        body = {"metadata": {"name": self.name}, "spec": self.spec}
        try:
            return msgspec.convert(body, self.part.kind)
        except msgspec.ValidationError:
            return None

    @property
    def external(self) -> bool:
        """Whether it stands for something that runs elsewhere."""
        return bool(self.part.external and paths.find(self.spec, self.part.external))

    def __str__(self) -> str:
        return " ".join(self.resource_name)


def resolve(
    spec: OpenStackControlPlaneSpec,
    sections: Iterable[Section],
    foreign: Container[ResourceName],
    present: Iterable[ResourceName] = (),
) -> tuple[Instance, ...]:
    """Return the resources of the cloud, those that were asked for first.

    Infrastructure that is `present` because something needed it stays when nothing needs it any more: it holds data,
    and only `enabled: false` removes it.
    """
    resolver = _Resolver(spec, tuple(sections), foreign)
    asked = [
        resolver.made(section, part, part.name_of(key), said)
        for section in resolver.sections
        for part, key, said in asked_for(section, spec)
    ]
    wanted = {instance.resource_name: instance for instance in asked}
    todo = list(wanted)
    while todo:
        by = todo.pop(0)
        for need, usual in needs_of(wanted[by]):
            provider = resolver.provider(need.word)
            if provider is None or resolver.does_without(need, provider, usual):
                continue
            section, part = provider
            name = _stand_in(need, part, wanted.values()) or usual
            needed = (part.kind_name, name)
            if needed not in wanted:
                if unmet := resolver.unmet(need, (section, part), name, wanted[by]):
                    wanted[by] = replace(wanted[by], unmet=(*wanted[by].unmet, unmet))
                    continue
                wanted[needed] = replace(resolver.made(section, part, name, {}), asked=False)
                todo.append(needed)
                for other in resolver.companions(section, part):
                    if other.resource_name not in wanted:
                        wanted[other.resource_name] = replace(other, asked=False, needed_by=(str(wanted[by]),))
                        todo.append(other.resource_name)
            if not wanted[needed].asked:
                needed_by = dict.fromkeys((*wanted[needed].needed_by, str(wanted[by])))
                wanted[needed] = replace(wanted[needed], needed_by=tuple(needed_by))
    for section, part, name in resolver.left_over(present):
        wanted.setdefault((part.kind_name, name), replace(resolver.made(section, part, name, {}), asked=False))
    return tuple(wanted.values())


def asked_for(section: Section, spec: OpenStackControlPlaneSpec) -> Iterator[tuple[Part, str, JsonObject]]:
    """Yield the keys of a section's resources that were asked for, by part, with what the user says of each."""
    stated = getattr(spec, section.name)
    if stated is None or not stated.enabled:
        return
    for part in section.parts:
        templates = dict(part.templates(stated)) or dict.fromkeys(part.usual_keys)
        for key, template in templates.items():
            said = msgspec.to_builtins(template) if template is not None else {}
            if not part.when or paths.find(said, part.when):
                yield part, key, _with_overrides(section, part, said, stated)


def _with_overrides(section: Section, part: Part, said: JsonObject, stated: Any) -> JsonObject:
    """Return what a template says, and below it what its section says of how its Services are reached."""
    if part.has_endpoints and not part.several and (said_of := msgspec.to_builtins(stated.apiOverride.service)):
        said = paths.merge(paths.put({}, (*paths.split(part.api), "override", "service"), said_of), said)
    for api, override in stated.apiOverrides.items() if part.apis else ():
        if said_of := msgspec.to_builtins(override.service):
            said = paths.merge(paths.put({}, (part.apis, api, "override", "service"), said_of), said)
    for entries in section.entry_overrides:
        overrides = entries.overrides(stated)
        said = entries.with_entries(said, part.spec) if overrides else said
        for place in paths.places(said, entries.path):
            override = overrides.get(paths.keys(entries.path, place)[-1])
            if override is not None and PUBLIC in override.service:
                said_of = msgspec.to_builtins(override.service[PUBLIC])
                said = paths.merge(paths.put({}, place, said_of), said)
    return said


def is_disabled(section: Section, spec: OpenStackControlPlaneSpec) -> bool:
    """Return whether the user said that a section is not wanted."""
    stated = getattr(spec, section.name)
    return stated is not None and not stated.enabled


@dataclass(frozen=True)
class _Resolver:
    spec: OpenStackControlPlaneSpec
    sections: tuple[Section, ...]
    foreign: Container[ResourceName]

    def provider(self, word: str) -> tuple[Section, Part] | None:
        """Return the section, and its part, that provides a need; None if the umbrella has none for it."""
        known = services.providers().get(word)
        found = ((section, section.part_of(known.kind)) for section in self.sections if known)
        return next(((section, part) for section, part in found if part is not None), None)

    def does_without(self, need: Need, provider: tuple[Section, Part], name: str) -> bool:
        """Return whether the user wants none of what a service can do without."""
        section, part = provider
        return need.dispensable and is_disabled(section, self.spec) and (part.kind_name, name) not in self.foreign

    def made(self, section: Section, part: Part, name: str, said: JsonObject) -> Instance:
        key = part.key_of(name)
        spec = part.fill(said, name if key is None else key, _whole(self.spec))
        return Instance(section, part, name, spec, (part.kind_name, name) in self.foreign)

    def companions(self, section: Section, part: Part) -> Iterator[Instance]:
        """Yield the resources of the other parts of a section that is needed as a whole."""
        for other in section.parts if section.whole else ():
            if other is not part and not other.when:
                yield from (self.made(section, other, other.name_of(key), {}) for key in other.usual_keys)

    def left_over(self, present: Iterable[ResourceName]) -> Iterator[tuple[Section, Part, str]]:
        """Yield the infrastructure that is there although its section says nothing."""
        silent = {
            part.kind_name: (section, part)
            for section in self.sections
            if section.infrastructure and getattr(self.spec, section.name) is None
            for part in section.parts
        }
        for kind, name in sorted(present):
            if kind in silent and (kind, name) not in self.foreign:
                yield *silent[kind], name

    def unmet(self, need: Need, provider: tuple[Section, Part], name: str, by: Instance) -> str:
        """Return why a resource cannot be deployed for one that needs it; an empty text when it can."""
        section, part = provider
        needed = f"{part.kind_name} {name}"
        if (part.kind_name, name) in self.foreign:
            return ""
        if is_disabled(section, self.spec):
            return (
                f"{by} needs {needed}, and spec.{section.name}.enabled is false: "
                f"set it to true, or create {needed} yourself"
            )
        key = part.key_of(name)
        if key is None:
            known = part.name_of("KEY")
            return f"{by} needs {needed}, and those of spec.{section.name} are called {known}: create {needed} yourself"
        if self.spec.dependencyPolicy == "Refuse":
            place = f"spec.{section.name}"
            place += f".{part.path}.{key}" if part.several else f".{part.path}" if part.field else ""
            without = f", or set spec.{section.name}.enabled to false" if need.dispensable else ""
            missing = f"{by} needs {needed}, which was not asked for"
            return f"{missing}: add {place}{without}, or set spec.dependencyPolicy to Deploy"
        return ""


def needs_of(instance: Instance) -> Iterator[tuple[Need, str]]:
    """Yield what a resource and its children need of others, and by which name.

    Nothing is provided for a resource that somebody else made: whoever made it takes care of that.
    """
    if not instance.foreign and not instance.external and instance.resource is not None:
        for member in services.family_of(instance.resource):
            yield from provided_needs(member)


def provided_needs(resource: CustomResource) -> Iterator[tuple[Need, str]]:
    """Yield those needs of a resource that another resource provides, each with the name of that one."""
    blueprint = services.blueprint_of(type(resource))
    for need in blueprint.needs_of(resource) if blueprint is not None else ():
        if need.word and (name := need.provided_by(resource)):
            yield need, name


def _stand_in(need: Need, part: Part, wanted: Iterable[Instance]) -> str:
    """Return the name of a resource that is asked for and meets a need, whatever its name is; "" if there is none."""
    known = services.providers()[need.word]
    fitting = (
        one.name
        for one in wanted
        if one.part is part and one.resource is not None and need.accepts(known.offer(one.resource))
    )
    return next(fitting, "")


def _whole(spec: OpenStackControlPlaneSpec) -> JsonObject:
    whole: JsonObject = msgspec.to_builtins(spec)
    if spec.notificationsBusInstance and spec.notificationsBus is None:
        whole["notificationsBus"] = {"cluster": spec.notificationsBusInstance}
    return whole
