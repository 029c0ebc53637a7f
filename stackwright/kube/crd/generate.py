"""From a kind to its CustomResourceDefinition, as a manifest and as text. Pure.

A kind is a Resource class with a `kind`, a `definition` and a `spec`; most have a `status` too, which becomes
a subresource. The text is the same for the same types: it is kept in files, and a change of a type shows there.
"""

import typing

import msgspec
import yaml

from stackwright.kube import documents
from stackwright.kube.builtin import CustomResourceDefinition
from stackwright.kube.crd import schema
from stackwright.kube.markers import Column, Definition
from stackwright.kube.resource import JsonObject, Resource

# Says that a definition is ours; `install` leaves others alone.
OWNER_LABEL = "app.kubernetes.io/managed-by"
OWNER = "stackwright"

# What is not in the schema of a kind's own struct because every object has it.
_ENVELOPE: dict[str, JsonObject] = {
    "apiVersion": {"type": "string", "description": "The group and version that this object is written in."},
    "kind": {"type": "string", "description": "What this object is."},
    "metadata": {"type": "object"},
}


def manifest(resource: type[Resource], *, owner: str = OWNER) -> JsonObject:
    """Return the CustomResourceDefinition of a kind."""
    kind = resource.kind
    definition = _definition(resource)
    names: JsonObject = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": definition.singular or kind.name.lower(),
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    return {
        "apiVersion": CustomResourceDefinition.kind.api_version,
        "kind": CustomResourceDefinition.kind.name,
        "metadata": {"name": kind.crd_name, "labels": {OWNER_LABEL: owner}},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(resource, definition)],
        },
    }


def text(manifests: list[JsonObject]) -> str:
    """Return manifests as one YAML text, keys in alphabetical order, without references between its parts."""
    return "".join(
        f"---\n{yaml.dump(body, Dumper=documents.Dumper, width=120, allow_unicode=True, sort_keys=True)}"
        for body in manifests
    )


def _definition(resource: type[Resource]) -> Definition:
    definition = getattr(resource, "definition", None)
    if not isinstance(definition, Definition):
        raise schema.SchemaError(f"{resource.__name__} has no `definition: ClassVar[Definition]` beside its kind")
    return definition


def _version(resource: type[Resource], definition: Definition) -> JsonObject:
    version: JsonObject = {
        "name": resource.kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _root(resource)},
    }
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in definition.columns]
    if definition.deprecation:
        version |= {"deprecated": True, "deprecationWarning": definition.deprecation}
    if any(field.name == "status" for field in msgspec.structs.fields(resource)):
        version["subresources"] = {"status": {}}
    return version


def _root(resource: type[Resource]) -> JsonObject:
    """Return the schema of the whole object. A spec that may be absent is defaulted, so that its defaults apply."""
    hints = typing.get_type_hints(resource, include_extras=True)
    properties = dict(_ENVELOPE)
    root: JsonObject = {"type": "object", "description": schema.description_of(resource), "properties": properties}
    for field in msgspec.structs.fields(resource):
        if field.name == "metadata":
            continue
        writes_defaults = field.name != "status"
        properties[field.name] = schema.of_struct(hints[field.name], defaults=writes_defaults)
        if field.required:
            root.setdefault("required", []).append(field.name)
        elif writes_defaults:
            properties[field.name]["default"] = {}
    if rules := schema.rules_of(resource):
        root["x-kubernetes-validations"] = rules
    return root


def _column(column: Column) -> JsonObject:
    stated: JsonObject = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        stated["priority"] = column.priority
    if column.description:
        stated["description"] = column.description
    return stated
