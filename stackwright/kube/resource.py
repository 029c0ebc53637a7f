"""What every object of a cluster is: a kind, metadata, conditions.

Fields have the names that they have in YAML, so that a reader of a manifest can read the code and the other way
round. All values are frozen; a change is a new value. Decoding drops fields that a type does not name, so
an object read from the cluster is never sent back whole: changes go by apply or patch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

import msgspec

from stackwright.kube.markers import describe, list_map, string_format

# What JSON is at a boundary: manifests on their way to the server, free-form parts of foreign kinds.
JsonObject = dict[str, Any]


class Value(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A frozen piece of a resource. Decoded JSON has no cycles, so the collector need not look at it."""


class OwnerReference(Value, frozen=True, kw_only=True):
    """Says which object owns another; the garbage collector deletes it with its owner."""

    apiVersion: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    blockOwnerDeletion: bool = False


class FieldManager(Value, frozen=True, kw_only=True):
    """Who wrote to an object, and when last. Which fields is not here on purpose: it is most of an object's size."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str = ""


class ObjectMeta(Value, frozen=True, kw_only=True):
    """The metadata that controllers read."""

    name: str = ""
    namespace: str = ""
    generateName: str = ""
    uid: str = ""
    resourceVersion: str = ""
    generation: int = 0
    creationTimestamp: str = ""
    deletionTimestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    ownerReferences: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    managedFields: tuple[FieldManager, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object, if any."""
        return next((owner for owner in self.ownerReferences if owner.controller), None)


class Condition(Value, frozen=True, kw_only=True):
    """One aspect of an object's state: True, False or Unknown, since when, and why."""

    type: Annotated[str, describe("The aspect, as one CamelCase word.")]
    status: Annotated[str, describe("True, False or Unknown.")]
    severity: Annotated[str, describe("While the status is not True: Error (you must act), Warning or Info.")] = ""
    reason: Annotated[str, describe("Why, as one CamelCase word for programs.")] = ""
    message: Annotated[str, describe("Why, as a sentence for people; if you must act, it says what to do.")] = ""
    lastTransitionTime: Annotated[
        str,
        string_format("date-time"),
        describe("When the status last changed; a new message does not change this time."),
    ] = ""


class Status(Value, frozen=True, kw_only=True):
    """What every kind of ours reports.

    `unhurried` are the fields that may be written after a pause, as conditions are (`pace`): nobody waits for them, and
    each pass finds them anew. All other fields are written at once.
    """

    unhurried: ClassVar[frozenset[str]] = frozenset()

    def misleads(self, now: Self) -> bool:  # noqa: ARG002  kinds that need it do otherwise
        """Return whether it is not safe to rely on an unhurried field any more: then `now` is written at once."""
        return False

    conditions: Annotated[
        tuple[Condition, ...],
        list_map("type"),
        describe("The state, aspect by aspect; Ready is the summary of all others."),
    ] = ()
    observedGeneration: Annotated[
        int,
        describe(
            "The metadata.generation that this status is about. If it is lower, the status is about an older spec."
        ),
    ] = 0


class Overridden(Value, frozen=True, kw_only=True):
    """A field of a child that somebody else set and that therefore stays theirs."""

    resource: Annotated[str, describe("Which child: its kind and name.")]
    field: Annotated[str, describe("The path of the field, as the server writes it.")]
    manager: Annotated[str, describe("Who set it: the name of the field manager.")]
    wanted: Annotated[
        str,
        describe(
            "The value that is asked for instead, as JSON. It is empty if there is none, and for a Secret, "
            "whose content is never shown."
        ),
    ] = ""


class CompositeStatus(Status, frozen=True, kw_only=True):
    """What every composite reports besides its conditions."""

    overridden: Annotated[
        tuple[Overridden, ...],
        list_map("resource", "field", "manager"),
        describe("Fields of children that somebody else set and that are left alone."),
    ] = ()


@dataclass(frozen=True)
class Kind:
    """Names a type of object to the server: where it lives and what it is called."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The URL path under which this kind's group and version live."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def crd_name(self) -> str:
        """`plural.group`: the name of the CustomResourceDefinition."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


class Key(NamedTuple):
    """Which object of a kind. A cluster-wide object has an empty namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# Which object of a cluster.
ObjectKey = tuple[Kind, Key]
# Which object of a namespace, as people say it: the name of its kind, and its own.
ResourceName = tuple[str, str]


class Resource(Value, frozen=True, kw_only=True):
    """The base of every kind, ours and Kubernetes' own. A subclass sets `kind` and adds spec, status or data."""

    kind: ClassVar[Kind]

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> Key:
        """Which object this is, among those of its kind."""
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def deleting(self) -> bool:
        """Whether somebody asked for this object's deletion; what is left to do is in its finalizers."""
        return bool(self.metadata.deletionTimestamp)


class CustomResource(Resource, frozen=True, kw_only=True):
    """A kind that a controller of this package serves: it reports its state as conditions.

    `conditions` lists their types in the order in which they come true; `Ready` is not among them, it is
    always their summary.
    """

    conditions: ClassVar[tuple[str, ...]] = ()

    status: Status = Status()

    def declared_conditions(self) -> tuple[str, ...]:
        """Return the types of this resource's conditions; a kind whose conditions depend on the spec says so here."""
        return self.conditions


R = TypeVar("R", bound=Resource)


def manifest(resource: Resource) -> JsonObject:
    """Return the object as it is sent to the server: with apiVersion and kind, without what equals a default."""
    body: JsonObject = msgspec.to_builtins(resource)
    # The server writes it, and refuses it from others.
    body.get("metadata", {}).pop("managedFields", None)
    return {"apiVersion": resource.kind.api_version, "kind": resource.kind.name, **body}


def is_controlled(resource: Resource, owner: Resource) -> bool:
    """Return whether an object belongs to another one: to that very one, and not to any of its name."""
    controller = resource.metadata.controller
    return controller is not None and controller.uid == owner.metadata.uid


def owner_reference(owner: Resource, *, controller: bool = True) -> JsonObject:
    """Return the reference that makes an object be deleted with `owner`."""
    return {
        "apiVersion": owner.kind.api_version,
        "kind": owner.kind.name,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": controller,
        "blockOwnerDeletion": controller,
    }


def key_of(body: Mapping[str, Any]) -> Key:
    """Return which object a manifest speaks of."""
    metadata = body.get("metadata", {})
    return Key(metadata.get("namespace", ""), metadata.get("name", ""))
