"""What a type needs from `kube`, in one place: base classes, markers, and how our kinds are shown."""

from stackwright.kube.markers import (
    INT32,
    Column,
    Definition,
    Quantity,
    Rule,
    atomic,
    condition_column,
    deprecated,
    describe,
    free_form,
    immutable,
    keys,
    list_map,
    list_set,
    max_items,
    max_length,
    max_properties,
    maximum,
    min_items,
    min_length,
    minimum,
    pattern,
    rule,
    string_format,
)
from stackwright.kube.resource import (
    CompositeStatus,
    Condition,
    CustomResource,
    JsonObject,
    Kind,
    ObjectMeta,
    Resource,
    Status,
    Value,
)

__all__ = [
    "AGE",
    "INT32",
    "MESSAGE",
    "READY",
    "REASON",
    "VERSION",
    "Column",
    "CompositeStatus",
    "Condition",
    "CustomResource",
    "Definition",
    "JsonObject",
    "Kind",
    "ObjectMeta",
    "Quantity",
    "Resource",
    "Rule",
    "Status",
    "Value",
    "atomic",
    "condition_column",
    "deprecated",
    "describe",
    "free_form",
    "immutable",
    "keys",
    "list_map",
    "list_set",
    "max_items",
    "max_length",
    "max_properties",
    "maximum",
    "min_items",
    "min_length",
    "minimum",
    "pattern",
    "rule",
    "shown",
    "string_format",
]

# All our kinds have this version, because people have manifests that use it.
VERSION = "v1beta1"

# `kubectl get openstack` shows everything that we serve in a namespace.
CATEGORIES = ("openstack", "osp")

READY = condition_column("Ready", "Ready", "status", description="Whether everything that was asked for is there")
REASON = condition_column("Reason", "Ready", "reason", description="Why, in one word")
MESSAGE = condition_column("Message", "Ready", "message", description="Why, and what to do")
AGE = Column("Age", ".metadata.creationTimestamp", "date")


def shown(*columns: Column, short_names: tuple[str, ...] = ()) -> Definition:
    """Return how `kubectl` shows a kind: its state first, then its own columns, then why and since when."""
    return Definition(short_names=short_names, categories=CATEGORIES, columns=(READY, *columns, REASON, MESSAGE, AGE))
