"""Which resources a control plane stands for: those that were asked for, and those that these need. Pure."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from stackwright import services
from stackwright.api import paths
from stackwright.api.base import JsonObject
from stackwright.api.controlplane import OpenStackControlPlaneSpec, Section
from stackwright.blueprint.needs.need import Need

# Which resource: the name of its kind, and its own.
Identity = tuple[str, str]


@dataclass(frozen=True)
class Instance:
    """A resource of the cloud: of which section it is, what it says, and who needs it if nobody asked for it.

    `foreign` is one that somebody else made: it is used and left alone. `unmet` are sentences about what it needs
    and cannot have.
    """

    section: Section
    name: str
    spec: JsonObject = field(default_factory=dict)
    foreign: bool = False
    asked: bool = True
    needed_by: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        """Which resource this is."""
        return self.section.kind.kind.name, self.name

    @cached_property
    def resource(self) -> Any:
        """The resource itself; None where its spec is not valid, which the server will say."""
        body = {"metadata": {"name": self.name}, "spec": self.spec}
        try:
            return msgspec.convert(body, self.section.kind)
        except msgspec.ValidationError:
            return None

    @property
    def external(self) -> bool:
        """Whether it stands for something that runs elsewhere."""
        return bool(self.section.external and paths.find(self.spec, self.section.external))

    def __str__(self) -> str:
        return " ".join(self.identity)


def resolve(
    spec: OpenStackControlPlaneSpec,
    sections: Iterable[Section],
    foreign: Container[Identity],
    present: Iterable[Identity] = (),
) -> tuple[Instance, ...]:
    """Return the resources of the cloud, those that were asked for first.

    Of what is `present`, infrastructure that was deployed because something needed it stays when nothing does any more:
    it holds data, and only who says `enabled: false` takes it away.
    """
    resolver = _Resolver(spec, tuple(sections), foreign)
    asked = [
        resolver.made(section, name, said) for section in resolver.sections for name, said in asked_for(section, spec)
    ]
    wanted = {instance.identity: instance for instance in asked}
    todo = list(wanted)
    while todo:
        identity = todo.pop(0)
        for need, name in needs_of(wanted[identity]):
            provider = resolver.provider(need.word)
            if provider is None:
                continue
            needed = (provider.kind.kind.name, name)
            if needed not in wanted:
                if unmet := resolver.unmet(provider, name, wanted[identity]):
                    wanted[identity] = replace(wanted[identity], unmet=(*wanted[identity].unmet, unmet))
                    continue
                wanted[needed] = replace(resolver.made(provider, name, {}), asked=False)
                todo.append(needed)
            if not wanted[needed].asked:
                needed_by = dict.fromkeys((*wanted[needed].needed_by, str(wanted[identity])))
                wanted[needed] = replace(wanted[needed], needed_by=tuple(needed_by))
    for section, name in resolver.left_over(present):
        wanted.setdefault((section.kind.kind.name, name), replace(resolver.made(section, name, {}), asked=False))
    return tuple(wanted.values())


def asked_for(section: Section, spec: OpenStackControlPlaneSpec) -> Iterator[tuple[str, JsonObject]]:
    """Yield the names of a section's resources that were asked for, with what the user says of each."""
    stated = getattr(spec, section.name)
    if stated is None or not stated.enabled:
        return
    if section.several:
        templates = stated.templates or {section.instance: section.template()}
        yield from ((name, msgspec.to_builtins(template)) for name, template in templates.items())
        return
    said = msgspec.to_builtins(stated.template) if stated.template is not None else {}
    if section.has_endpoints and (said_of := msgspec.to_builtins(stated.apiOverride.service)):
        override = {"override": {"service": said_of}}
        said = paths.merge({section.api: override} if section.api else override, said)
    for api, override in stated.apiOverrides.items() if section.apis else ():
        if said_of := msgspec.to_builtins(override.service):
            said = paths.merge({section.apis: {api: {"override": {"service": said_of}}}}, said)
    yield section.instance, said


def is_disabled(section: Section, spec: OpenStackControlPlaneSpec) -> bool:
    """Return whether the user said that a section is not wanted."""
    stated = getattr(spec, section.name)
    return stated is not None and not stated.enabled


@dataclass(frozen=True)
class _Resolver:
    spec: OpenStackControlPlaneSpec
    sections: tuple[Section, ...]
    foreign: Container[Identity]

    def provider(self, word: str) -> Section | None:
        """Return the section of what provides a need; None where the umbrella has none for it."""
        known = services.providers().get(word)
        return next((section for section in self.sections if known and section.kind is known.kind), None)

    def made(self, section: Section, name: str, said: JsonObject) -> Instance:
        foreign = (section.kind.kind.name, name) in self.foreign
        return Instance(section, name, handed_down(section, said, self.spec), foreign)

    def left_over(self, present: Iterable[Identity]) -> Iterator[tuple[Section, str]]:
        """Yield the infrastructure that is there although its section says nothing."""
        silent = {
            section.kind.kind.name: section
            for section in self.sections
            if section.infrastructure and getattr(self.spec, section.name) is None
        }
        for kind, name in sorted(present):
            if kind in silent and (kind, name) not in self.foreign:
                yield silent[kind], name

    def unmet(self, provider: Section, name: str, by: Instance) -> str:
        """Return why a resource cannot be deployed for one that needs it; an empty text when it can."""
        needed = f"{provider.kind.kind.name} {name}"
        if (provider.kind.kind.name, name) in self.foreign:
            return ""
        if is_disabled(provider, self.spec):
            return (
                f"{by} needs {needed}, and spec.{provider.name}.enabled is false: "
                f"set it to true, or create {needed} yourself"
            )
        if self.spec.dependencyPolicy == "Refuse":
            place = f"spec.{provider.name}.templates.{name}" if provider.several else f"spec.{provider.name}"
            return f"{by} needs {needed}, which was not asked for: add {place}, or set spec.dependencyPolicy to Deploy"
        return ""


def needs_of(instance: Instance) -> Iterator[tuple[Need, str]]:
    """Yield what a resource needs of others, and by which name; somebody else's has what it needs, or it is theirs."""
    resource, blueprint = instance.resource, services.blueprint_of(instance.section.kind)
    if instance.foreign or instance.external or resource is None or blueprint is None:
        return
    for need in blueprint.needs_of(resource):
        if need.word and (name := need.provided_by(resource)):
            yield need, name


def handed_down(section: Section, said: JsonObject, spec: OpenStackControlPlaneSpec) -> JsonObject:
    """Return what a resource says: what the user says of it, and what the umbrella says where the user does not."""
    whole = _whole(spec)
    for given in section.handed_down:
        if paths.find(said, given.path) is not None or (given.unless and paths.find(said, given.unless) is not None):
            continue
        value = given.value if given.value is not None else whole.get(given.of or given.path)
        if value is not None:
            said = paths.put(said, given.path, value)
    return said


def _whole(spec: OpenStackControlPlaneSpec) -> JsonObject:
    whole: JsonObject = msgspec.to_builtins(spec)
    if spec.notificationsBusInstance and spec.notificationsBus is None:
        whole["notificationsBus"] = {"cluster": spec.notificationsBusInstance}
    return whole
