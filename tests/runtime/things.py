"""A kind for tests of the client, that not everything fits that a server sends."""

from typing import ClassVar

from stackwright.kube.resource import Kind, Resource, Value


class ThingSpec(Value, frozen=True, kw_only=True):
    size: int


class Thing(Resource, frozen=True, kw_only=True):
    """A kind whose spec must be there and must be a number: a newer server can send what does not fit."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Thing", "things")

    spec: ThingSpec
