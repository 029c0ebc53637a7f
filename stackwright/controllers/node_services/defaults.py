"""Images that nobody named are filled in when a resource is written; from then on they are the resource's own. Pure."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from stackwright.api.base import JsonObject
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers.dataplane.preparation import IMAGE
from stackwright.controllers.node_services.preparation import find_default
from stackwright.kube.resource import CustomResource

RUNNER = "ansibleEEContainerImage"


def fill_in(
    services: Iterable[NodeService], images: Mapping[str, ComponentImage]
) -> dict[type[CustomResource], Callable[[JsonObject], JsonObject]]:
    """Return, by kind, what a webhook makes of a resource that is written."""
    return {service.kind: partial(_fill, _defaults(service, images)) for service in services}


def _defaults(service: NodeService, images: Mapping[str, ComponentImage]) -> dict[str, str]:
    own = {name: find_default(image.component, images) for name, image in service.images.items()}
    found = {RUNNER: find_default(IMAGE, images), **own}
    return {name: image for name, image in found.items() if image}


def _fill(defaults: Mapping[str, str], body: JsonObject) -> JsonObject:
    spec: Any = body.get("spec") or {}
    missing = {name: image for name, image in defaults.items() if not spec.get(name)}
    return {**body, "spec": {**spec, **missing}} if missing else body
