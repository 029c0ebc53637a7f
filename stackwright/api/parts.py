"""A part of a section: the resources of one kind that the umbrella makes of it.

Most sections have one part. One with several has a field in its template for each of them:

SECTION = Section(
    name="teapot",
    condition="OpenStackControlPlaneTeapotReady",
    description="Tea for everybody.",
    parts=(
        Part(kind=Pot, field="pots", several=True, usual=("pot-green", "pot-black"),
             handed_down=(HandedDown("leaves", value=lambda key: key.removeprefix("pot-")),)),
        Part(kind=Kettle, field="kettle", instance="kettle"),
        Part(kind=Strainer, field="strainer", instance="strainer", when="leaves"),
    ),
)
"""

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject, Value, describe, max_properties
from stackwright.api.exposure import ApiOverride
from stackwright.api.templates import refuses_empty, template_of

# More instances than anybody runs; the server wants a bound where it counts the cost of rules.
MOST_INSTANCES = 32
# What stands for the key in the names of a part's resources.
KEY = "{key}"


@dataclass(frozen=True)
class HandedDown:
    """A field of a service's spec that the umbrella fills where the template does not say it.

    It takes the umbrella's field `of`, by default the one of the same name, or a `value`: a fixed one, or a function of
    the key. In a path with `*` that is the key of the entry, else the key of the resource in its section:

    HandedDown("cellTemplates.*.cellDatabaseInstance", value=lambda cell: f"openstack-{cell}")

    Entries themselves are not made. Nothing is filled where the template says `unless`, an older way to say the same.
    """

    path: str
    of: str = ""
    value: Any = None
    unless: str = ""

    def fill(self, said: JsonObject, key: str, whole: JsonObject, *, blank: bool = False) -> JsonObject:
        """Return what a template says, with this field where it does not say it; `whole` is what the umbrella says.

        With `blank`, an empty text says nothing.
        """
        for place in paths.places(said, self.path):
            entries = paths.keys(self.path, place)
            older = self.unless and paths.find(said, paths.fill(self.unless, entries)) is not None
            value = self._value(entries[-1] if entries else key, whole)
            unsaid = (None, "") if blank else (None,)
            if value is not None and not older and paths.find(said, place) in unsaid:
                said = paths.put(said, place, value)
        return said

    def _value(self, key: str, whole: JsonObject) -> Any:
        if callable(self.value):
            return self.value(key)
        return self.value if self.value is not None else whole.get(self.of or self.path)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Resources of one kind in a section: where they stand in it, their names, what they are handed down.

    `field` is the part's own field in the section's template; it is empty where the template is the part's. Where there
    are `several` resources, they stand in a map of templates by key, and `named` makes their names of the keys. `usual`
    are the keys of those that are made where the user names none; without it, `instance` is the only one. Else
    `instance` is the name of the one resource, which is made only where its template says something at the path `when`.
    `external` is the path that says that the service runs elsewhere: it then needs nothing, and no password is made up
    for it.
    A service with several APIs has them as a map of templates, in the field that `apis` names; one whose only API is
    one of several components has that component's template in the field that `api` names.
    """

    kind: type[CustomResource]
    instance: str = ""
    field: str = ""
    several: bool = False
    named: str = KEY
    usual: tuple[str, ...] = ()
    when: str = ""
    handed_down: tuple[HandedDown, ...] = ()
    external: str = ""
    api: str = ""
    apis: str = ""

    @property
    def kind_name(self) -> str:
        """The name of its kind."""
        return self.kind.kind.name

    @property
    def spec(self) -> type[msgspec.Struct]:
        """The type of the kind's spec."""
        return typing.get_type_hints(self.kind)["spec"]  # type: ignore[no-any-return]  # every kind of ours has one

    @property
    def template(self) -> type[Value]:
        """The type of its template."""
        return template_of(self.spec, frozenset(field.path for field in self.handed_down))

    @property
    def usual_keys(self) -> tuple[str, ...]:
        """The keys of the resources that are made where the user names none."""
        return self.usual or (self.instance,)

    @property
    def has_endpoints(self) -> bool:
        """Whether it has an API whose Kubernetes Services can be overridden."""
        of = typing.get_type_hints(self.spec)[self.api] if self.api else self.spec
        override = typing.get_type_hints(of).get("override")
        return isinstance(override, type) and issubclass(override, ApiOverride)

    def struct_field(self) -> tuple[str, Any, Any]:
        """Return its field: of the section where it is the only part, else of the section's template."""
        if self.several:
            keys = self.usual_keys
            usual = f"one, called {keys[0]}" if len(keys) == 1 else f"those called {' and '.join(keys)}"
            means = describe(f"The {self.kind_name} resources to create, by name. By default {usual}.")
            templates = Annotated[dict[str, self.template], max_properties(MOST_INSTANCES), means]  # type: ignore[name-defined]  # made at run time
            return self.field or "templates", templates, {}
        means = describe(f"The spec of {self.kind_name} {self.instance}. Absent fields are filled in.")
        return self.field or "template", Annotated[self.template | None, means], None

    def name_of(self, key: str) -> str:
        """Return the name of the resource of a key."""
        return self.named.replace(KEY, key) if self.several else key

    def key_of(self, name: str) -> str | None:
        """Return the key of the resource of a name; None where no key makes that name."""
        if not self.several:
            return name
        before, _, behind = self.named.partition(KEY)
        key = name.removeprefix(before).removesuffix(behind)
        return key if key and self.name_of(key) == name else None

    @property
    def path(self) -> str:
        """Where in the section its template stands, or the map of them."""
        return f"template.{self.field}" if self.field else "templates" if self.several else "template"

    def templates(self, stated: Any) -> Iterator[tuple[str, Any]]:
        """Yield the templates that a section states, each with its key."""
        found = paths.find(stated, self.path)
        if self.several:
            yield from (found or {}).items()
        elif found is not None:
            yield self.instance, found

    def fill(self, said: JsonObject, key: str, whole: JsonObject) -> JsonObject:
        """Return what a resource says: what the user says of it, and what the umbrella says where the user does not."""
        for given in self.handed_down:
            said = given.fill(said, key, whole, blank=refuses_empty(self.spec, given.path))
        return said
