"""What a service adds to the umbrella: its section, as data. The umbrella knows no service; it reads these.

SECTION = Section(
    name="teapot",
    kind=Teapot,
    instance="teapot",
    condition="OpenStackControlPlaneTeapotReady",
    handed_down=(HandedDown("secret"), HandedDown("kettle", value="copper")),
)

What the service needs of others, and which passwords it takes, stands in its blueprint.
"""

import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from stackwright.api.base import (
    CustomResource,
    JsonObject,
    Value,
    describe,
    free_form,
    keys,
    max_properties,
)
from stackwright.api.exposure import ApiOverride, RoutedOverride
from stackwright.api.templates import part_of, template_of

# More instances than anybody runs; the server wants a bound where it counts the cost of rules.
_MOST_INSTANCES = 32


@dataclass(frozen=True)
class HandedDown:
    """A field of a service's spec that the umbrella fills where the template does not say it.

    It takes the umbrella's field `of`, by default the one of the same name, or a fixed `value`. Nothing is filled
    where the template says `unless`, an older way to say the same.
    """

    path: str
    of: str = ""
    value: Any = None
    unless: str = ""


@dataclass(frozen=True)
class Section:
    """A service in the umbrella: what it is called there, what it makes, what it is handed down, what it reports.

    `several` sections have a map of templates by instance, the others one template. `instance` is what the one
    resource is called, or the one that is made when another service needs it. `external` is the path that says
    that the service runs elsewhere: it then needs nothing, and no password is made up for it. `unsupported` are
    paths that are refused while they cannot be served; a field `tls` always is. `kolla` are the components that Kolla
    has of the service, each with the part of the template that says how it runs: a path with dots, in which `*` is
    every entry of a map, and which is empty for the template itself. A service with several APIs has them as a map of
    templates, in the field that `apis` names; one whose only API is one of several components has that component's
    template in the field that `api` names.
    """

    name: str
    kind: type[CustomResource]
    instance: str
    condition: str
    description: str
    several: bool = False
    infrastructure: bool = False
    handed_down: tuple[HandedDown, ...] = ()
    external: str = ""
    unsupported: tuple[str, ...] = ()
    kolla: Mapping[str, str] = field(default_factory=dict)
    api: str = ""
    apis: str = ""

    @property
    def spec(self) -> type[msgspec.Struct]:
        """The type of the kind's spec."""
        return typing.get_type_hints(self.kind)["spec"]  # type: ignore[no-any-return]  # every kind of ours has one

    @property
    def template(self) -> type[Value]:
        """The type of the section's template."""
        return template_of(self.spec, frozenset(field.path for field in self.handed_down))

    def struct(self) -> type[Value]:
        """Return the type of the section in the umbrella's spec."""
        enabled = Annotated[
            bool, describe(f"Whether to deploy {self.kind.kind.name}. Its data stays if you disable it.")
        ]
        fields: list[tuple[str, Any, Any]] = [("enabled", enabled, True)]
        if self.several:
            means = describe(
                f"The {self.kind.kind.name} resources to create, by name. By default one, called {self.instance}."
            )
            fields.append(
                ("templates", Annotated[dict[str, self.template], max_properties(_MOST_INSTANCES), means], {})  # type: ignore[name-defined]  # made at run time
            )
        else:
            means = describe(f"The spec of {self.kind.kind.name} {self.instance}. Absent fields are filled in.")
            fields.append(("template", Annotated[self.template | None, means], None))
        if self.has_endpoints:
            fields += [_API_OVERRIDE, _CREDENTIAL]
        if self.apis:
            fields += [_API_OVERRIDES, _CREDENTIAL]
        return msgspec.defstruct(  # type: ignore[return-value]  # a subclass of its base, which the stub does not say
            f"{self.kind.kind.name}Section",
            fields,
            bases=(Value,),
            namespace={"__doc__": self.description},
            module=__name__,
            frozen=True,
            kw_only=True,
        )

    @property
    def has_endpoints(self) -> bool:
        """Whether the service has an API whose Kubernetes Services can be overridden."""
        of = typing.get_type_hints(self.spec)[self.api] if self.api else self.spec
        override = typing.get_type_hints(of).get("override")
        return isinstance(override, type) and issubclass(override, ApiOverride)


class SectionOverride(Value, frozen=True, kw_only=True):
    """How the service's endpoints are reached."""

    service: Annotated[
        dict[str, part_of(RoutedOverride)],  # type: ignore[valid-type]  # made at run time
        keys("public", "internal"),
        max_properties(2),
        describe("Overrides of the API's Services by endpoint: public, internal. Overrides in the template win."),
    ] = {}
    route: Annotated[JsonObject, free_form, describe("Not supported: set service, or create your own Route.")] = {}
    tls: Annotated[JsonObject, free_form, describe("Not supported yet.")] = {}


_API_OVERRIDE: tuple[str, Any, Any] = ("apiOverride", SectionOverride, SectionOverride())
_API_OVERRIDES: tuple[str, Any, Any] = (
    "apiOverrides",
    Annotated[
        dict[str, SectionOverride],
        max_properties(_MOST_INSTANCES),
        describe("How the endpoints of each API are reached, by the API's name."),
    ],
    {},
)
_CREDENTIAL: tuple[str, Any, Any] = (
    "applicationCredential",
    Annotated[JsonObject, free_form, describe("Not supported yet, except as enabled: false.")],
    {},
)
