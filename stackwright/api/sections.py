"""What a service adds to the umbrella: its section, as data. The umbrella knows no service; it reads these.

SECTION = Section(
    name="teapot",
    kind=Teapot,
    instance="teapot",
    condition="OpenStackControlPlaneTeapotReady",
    description="Teapot: tea for everybody.",
    handed_down=(HandedDown("secret"), HandedDown("kettle", value="copper")),
)

That is a section with one part; `parts.py` shows one with several. What the service needs of others, and which
passwords it takes, stands in its blueprint.
"""

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any

import msgspec

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject, Value, describe, free_form, keys, max_properties
from stackwright.api.exposure import RoutedOverride
from stackwright.api.parts import MOST_INSTANCES, HandedDown, Part
from stackwright.api.templates import part_of

__all__ = ["EntryOverride", "HandedDown", "Part", "Section", "SectionOverride", "WithoutEffect"]


# How the umbrella's conditions begin.
_PREFIX = "OpenStackControlPlane"


@dataclass(frozen=True)
class WithoutEffect:
    """A field of upstream's section that changes nothing here: its name, its type with a description, and why."""

    name: str
    type: Any
    default: Any
    why: str


@dataclass(frozen=True)
class EntryOverride:
    """A field of a section that says how Services are reached which are not of the API, for entries of a map.

    `name` is the field: a map by the entries' names. `of` names what the Service belongs to, and `path`, with `*` for
    the entry, is where the template has the same:

    EntryOverride("cellOverride", "noVNCProxy", "cellTemplates.*.noVNCProxyServiceTemplate.override.service")
    """

    name: str
    of: str
    path: str

    def struct_field(self) -> tuple[str, Any, Any]:
        """Return the field."""
        override = Annotated[SectionOverride, describe("How it is reached; an override in the template wins.")]
        entry = _struct(
            f"{self.name[:1].upper()}{self.name[1:]}",
            [(self.of, override, SectionOverride())],
            "How the Services of an entry are reached.",
        )
        means = describe("How Services that are not of the API are reached, by the name of the entry.")
        return self.name, Annotated[dict[str, entry], max_properties(MOST_INSTANCES), means], {}  # type: ignore[valid-type]  # made at run time

    def with_entries(self, said: JsonObject, spec: type[msgspec.Struct]) -> JsonObject:
        """Return what a template says, with the entries that the kind has by default where it names none."""
        head = paths.split(self.path)[0]
        usual = next((field for field in msgspec.structs.fields(spec) if field.encode_name == head), None)
        if head in said or usual is None or usual.default_factory is msgspec.NODEFAULT:
            return said
        return {**said, head: msgspec.to_builtins(usual.default_factory())}

    def overrides(self, stated: Any) -> "dict[str, SectionOverride]":
        """Return what a section says, by entry."""
        return {key: getattr(entry, self.of) for key, entry in getattr(stated, self.name).items()}


@dataclass(frozen=True, kw_only=True)
class Section:
    """A service in the umbrella: what it is called there, what it makes, what it reports.

    It has one part or several, and its `condition` follows the resources of all of them. The words of an only part are
    given to the section itself. One part at most has an API.
    `authority` describes the certificate authority of its own that the umbrella's TLS has for it, if it has one.
    If it is `whole`, a resource that needs one of its parts gets the others, too.
    `entry_overrides` are further fields that say how Services are reached.
    `without` says what servers are left with if its resources are removed.
    `without_effect` are fields that upstream's section has and that are accepted for its sake.
    `kolla` are the components that Kolla has of the service, each with the part of the template that says how it runs:
    a path, which is empty for the template itself.
    """

    name: str
    condition: str
    description: str
    parts: tuple[Part, ...] = ()
    infrastructure: bool = False
    whole: bool = False
    authority: str = ""
    without: str = ""
    entry_overrides: tuple[EntryOverride, ...] = ()
    without_effect: tuple[WithoutEffect, ...] = ()
    kolla: Mapping[str, str] = field(default_factory=dict)
    kind: InitVar[type[CustomResource] | None] = None
    instance: InitVar[str] = ""
    several: InitVar[bool] = False
    handed_down: InitVar[tuple[HandedDown, ...]] = ()
    external: InitVar[str] = ""
    api: InitVar[str] = ""
    apis: InitVar[str] = ""

    def __post_init__(  # noqa: PLR0913, PLR0917  the words of a part, which dataclasses hand over in their order
        self,
        kind: type[CustomResource] | None,
        instance: str,
        several: bool,
        handed_down: tuple[HandedDown, ...],
        external: str,
        api: str,
        apis: str,
    ) -> None:
        if kind is None:
            return
        only = Part(
            kind=kind,
            instance=instance,
            several=several,
            handed_down=handed_down,
            external=external,
            api=api,
            apis=apis,
        )
        object.__setattr__(self, "parts", (only,))

    @property
    def title(self) -> str:
        """What sentences call it: its only kind, else its name."""
        return self.parts[0].kind_name if len(self.parts) == 1 else self.name

    @property
    def has_endpoints(self) -> bool:
        """Whether the service has an API whose Kubernetes Services can be overridden."""
        return any(part.has_endpoints for part in self.parts)

    @property
    def has_apis(self) -> bool:
        """Whether the service has several APIs, by name."""
        return any(part.apis for part in self.parts)

    @property
    def exposure(self) -> str:
        """The condition that tells whether its APIs can be reached; "" where it has none."""
        return self.condition.replace(_PREFIX, f"{_PREFIX}Expose", 1) if self.has_endpoints or self.has_apis else ""

    def part_of(self, kind: type[CustomResource]) -> Part | None:
        """Return the part that makes resources of a kind."""
        return next((part for part in self.parts if part.kind is kind), None)

    def templates(self, spec: Any) -> Iterator[tuple[Part, str, Any]]:
        """Yield the templates that an umbrella's spec has in this section, each with its part and its key."""
        stated = getattr(spec, self.name, None)
        if stated is not None:
            for part in self.parts:
                yield from ((part, key, template) for key, template in part.templates(stated))

    def place(self, part: Part, key: str) -> str:
        """Return where in the umbrella a template stands, as the messages of the server name it."""
        return f"spec.{self.name}.{part.path}[{key}]" if part.several else f"spec.{self.name}.{part.path}"

    def struct(self) -> type[Value]:
        """Return the type of the section in the umbrella's spec."""
        enabled = Annotated[bool, describe(f"Whether to deploy {self.title}. Its data stays if you disable it.")]
        fields: list[tuple[str, Any, Any]] = [("enabled", enabled, True)]
        shared = [part.struct_field() for part in self.parts if part.field]
        fields += [part.struct_field() for part in self.parts if not part.field]
        if shared:
            means = describe("The specs of the resources. Absent fields are filled in.")
            template = _struct(f"{self.name.capitalize()}Template", shared, self.description)
            fields.append(("template", Annotated[template | None, means], None))
        if self.has_endpoints:
            fields += [_API_OVERRIDE, _CREDENTIAL]
        if self.has_apis:
            fields += [_API_OVERRIDES, _CREDENTIAL]
        fields += [field.struct_field() for field in self.entry_overrides]
        fields += [(field.name, field.type, field.default) for field in self.without_effect]
        return _struct(f"{self.name.capitalize()}Section", fields, self.description)


def _struct(name: str, fields: list[tuple[str, Any, Any]], description: str) -> type[Value]:
    return msgspec.defstruct(  # type: ignore[return-value]  # a subclass of its base, which the stub does not say
        name,
        fields,
        bases=(Value,),
        namespace={"__doc__": description},
        module=__name__,
        frozen=True,
        kw_only=True,
    )


class SectionOverride(Value, frozen=True, kw_only=True):
    """How the service's endpoints are reached."""

    service: Annotated[
        dict[str, part_of(RoutedOverride)],  # type: ignore[valid-type]  # made at run time
        keys("public", "internal"),
        max_properties(2),
        describe("Overrides of the API's Services by endpoint: public, internal. Overrides in the template win."),
    ] = {}
    route: Annotated[
        JsonObject,
        free_form,
        describe("Has no effect: set service, or create an Ingress, a Gateway or a Route of your own."),
    ] = {}
    tls: Annotated[JsonObject, free_form, describe("Not supported yet; refused if it names a certificate.")] = {}


_API_OVERRIDE: tuple[str, Any, Any] = ("apiOverride", SectionOverride, SectionOverride())
_API_OVERRIDES: tuple[str, Any, Any] = (
    "apiOverrides",
    Annotated[
        dict[str, SectionOverride],
        max_properties(MOST_INSTANCES),
        describe("How the endpoints of each API are reached, by the API's name."),
    ],
    {},
)
_CREDENTIAL: tuple[str, Any, Any] = (
    "applicationCredential",
    Annotated[JsonObject, free_form, describe("Has no effect yet: the service logs in with its password.")],
    {},
)
