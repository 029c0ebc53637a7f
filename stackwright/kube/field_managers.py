"""Objects with all of their `managedFields`: who manages which field. Caches leave them out, to stay small."""

from functools import cache

import msgspec

from stackwright.kube.resource import JsonObject, Kind, ObjectMeta, Resource


class ManagedMeta(ObjectMeta, frozen=True, kw_only=True):
    """The metadata that says which manager owns which field."""

    managedFields: tuple[JsonObject, ...] = ()  # type: ignore[assignment]  # the same entries, whole


class Managed(Resource, frozen=True, kw_only=True):
    """Any object, reduced to its managers and what is asked of it."""

    metadata: ManagedMeta = ManagedMeta()
    spec: JsonObject = {}


@cache
def managed(kind: Kind) -> type[Managed]:
    """Return the type with which the managers of a kind's objects are read."""
    made = msgspec.defstruct(kind.name, [], bases=(Managed,), namespace={"kind": kind}, frozen=True, kw_only=True)
    assert issubclass(made, Managed)  # noqa: S101  tells mypy what its base is
    return made
