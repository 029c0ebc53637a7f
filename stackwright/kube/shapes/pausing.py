"""Pausing: an annotation stops the work on a resource and, handed down, on everything that it stands for.

Somebody writes `true`. What is handed down says `parent`, so that it goes again with the parent's, while the word of
a person on a child stays. Any value other than `false` pauses, too: whoever writes one means it.
"""

from collections.abc import Iterable

from stackwright.kube.controller import Context
from stackwright.kube.errors import NotFound
from stackwright.kube.resource import CustomResource, JsonObject, Resource

FROM_PARENT = "parent"


def is_paused(annotation: str, resource: Resource) -> bool:
    """Return whether the work on a resource is paused. A resource that is being deleted is not held up by it."""
    value = resource.metadata.annotations.get(annotation, "false") if annotation else "false"
    return value.lower() != "false" and not resource.deleting


def owned(parent: CustomResource, owns: Iterable[type[Resource]], context: Context) -> Iterable[Resource]:
    """Return the custom resources that a parent owns: only these have controllers of their own."""
    kinds = [kind for kind in owns if issubclass(kind, CustomResource)]
    return [item for kind in kinds for item in context.store(kind).owned_by(parent.metadata.uid)]


async def hand_down(annotation: str, parent: CustomResource, children: Iterable[Resource], context: Context) -> bool:
    """Return whether a parent is paused, after having passed that on to its children."""
    if not annotation:
        return False
    paused = is_paused(annotation, parent)
    for resource in children:
        if (value := changed(annotation, resource, paused=paused)) is not None:
            await _annotate(annotation, value, resource, context)
    return paused


def changed(annotation: str, resource: Resource, *, paused: bool) -> str | None:
    """Return what the annotation of a child has to become, "" for none, or None where it stays as it is. Pure."""
    value = resource.metadata.annotations.get(annotation)
    if paused and value is None:
        return FROM_PARENT
    if not paused and value == FROM_PARENT:
        return ""
    return None


async def _annotate(annotation: str, value: str, resource: Resource, context: Context) -> None:
    path = f"/metadata/annotations/{annotation.replace('~', '~0').replace('/', '~1')}"
    change: list[JsonObject] = [{"op": "test", "path": "/metadata/uid", "value": resource.metadata.uid}]
    if not value:
        change.append({"op": "remove", "path": path})
    elif resource.metadata.annotations:
        change.append({"op": "add", "path": path, "value": value})
    else:
        change.append({"op": "add", "path": "/metadata/annotations", "value": {annotation: value}})
    try:
        await context.client.patch(type(resource), resource.metadata.name, resource.metadata.namespace, change)
    except NotFound:
        return
