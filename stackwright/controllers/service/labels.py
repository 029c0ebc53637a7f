"""By which labels and annotations the objects of a release are known. Pure."""

from collections.abc import Mapping
from typing import Any

from stackwright.kube.resource import JsonObject, Key, Resource
from stackwright.kube.shapes import leaving

NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = leaving.COMPONENT
CONFIG_HASH = "openstack.org/config-hash"


def component_of(body: JsonObject) -> str:
    """Return of which component or job an object is."""
    return str((body.get("metadata", {}).get("labels") or {}).get(COMPONENT, ""))


def annotations_of(template: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the annotations of the pods that a template makes."""
    return (template.get("metadata") or {}).get("annotations") or {}


def instance_of(resource: Resource, service: str) -> Key | None:
    """Return the resource that a pod works for, if it is one of that service."""
    labels = resource.metadata.labels
    if labels.get(NAME) != service or INSTANCE not in labels:
        return None
    return Key(resource.metadata.namespace, labels[INSTANCE])


def belongs(pod: Resource, owner: Resource) -> bool:
    """Return whether a pod is directly of an owner."""
    return any(reference.uid == owner.metadata.uid for reference in pod.metadata.ownerReferences)
