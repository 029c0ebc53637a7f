"""Which resources a control plane stands for: those that were asked for, and those that these need. Pure."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.controlplane import Need, OpenStackControlPlaneSpec, Section

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

    @property
    def external(self) -> bool:
        """Whether it stands for something that runs elsewhere."""
        return bool(self.section.external and found_at(self.spec, self.section.external))

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
        for need, name in _needs(wanted[identity]):
            provider = resolver.provider(need)
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
    if section.has_endpoints and (services := msgspec.to_builtins(stated.apiOverride.service)):
        override = {"override": {"service": services}}
        said = merged({section.api: override} if section.api else override, said)
    for api, override in stated.apiOverrides.items() if section.apis else ():
        if services := msgspec.to_builtins(override.service):
            said = merged({section.apis: {api: {"override": {"service": services}}}}, said)
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

    def provider(self, need: Need) -> Section:
        return next(section for section in self.sections if section.provides == need.type)

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
                f"set it to true, or make {needed} yourself"
            )
        if self.spec.dependencyPolicy == "Refuse":
            place = f"spec.{provider.name}.templates.{name}" if provider.several else f"spec.{provider.name}"
            return f"{by} needs {needed}, which was not asked for: add {place}, or set spec.dependencyPolicy to Deploy"
        return ""


def _needs(instance: Instance) -> Iterator[tuple[Need, str]]:
    """Yield what a resource needs, and by which name; somebody else's has what it needs, or it is theirs to give."""
    if instance.foreign or instance.external:
        return
    for need in instance.section.needs:
        if name := found_at(instance.spec, need.path) or need.default:
            yield need, name


def handed_down(section: Section, said: JsonObject, spec: OpenStackControlPlaneSpec) -> JsonObject:
    """Return what a resource says: what the user says of it, and what the umbrella says where the user does not."""
    whole = _whole(spec)
    for given in section.handed_down:
        if found_at(said, given.path) is not None or (given.unless and found_at(said, given.unless) is not None):
            continue
        value = given.value if given.value is not None else whole.get(given.of or given.path)
        if value is not None:
            said = _with(said, given.path.split("."), value)
    return said


def _whole(spec: OpenStackControlPlaneSpec) -> JsonObject:
    whole: JsonObject = msgspec.to_builtins(spec)
    if spec.notificationsBusInstance and spec.notificationsBus is None:
        whole["notificationsBus"] = {"cluster": spec.notificationsBusInstance}
    return whole


def found_at(value: Any, path: str) -> Any:
    """Return what stands at a path of fields with dots between them, None where there is nothing."""
    for step in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def merged(below: JsonObject, above: JsonObject) -> JsonObject:
    """Return both in one, field by field; what stands above wins."""
    both = {**below, **above}
    for name in below.keys() & above.keys():
        if isinstance(below[name], dict) and isinstance(above[name], dict):
            both[name] = merged(below[name], above[name])
    return both


def _with(body: JsonObject, steps: list[str], value: Any) -> JsonObject:
    first, *rest = steps
    return {**body, first: _with(body.get(first) or {}, rest, value) if rest else value}
