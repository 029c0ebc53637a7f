"""Images that nobody named are filled in whenever a resource is written. Pure.

Who names an image manages its field, as the server notes it in `managedFields`. What a webhook writes is managed by
nobody. So an image that was filled in follows the image manifest, and one that somebody named stays. The webhook also
notes which defaults these are: a resource with other ones than the present is written once more, so that the webhook
sees it (`creation.py`).
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from stackwright.api.annotations import DEFAULT_IMAGES
from stackwright.api.base import JsonObject
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers.dataplane.preparation import IMAGE
from stackwright.controllers.node_services.preparation import find_default
from stackwright.kube import field_owners, fields
from stackwright.kube.resource import CustomResource

RUNNER = "ansibleEEContainerImage"


def fill_in(
    services: Iterable[NodeService], images: Mapping[str, ComponentImage]
) -> dict[type[CustomResource], Callable[[JsonObject], JsonObject]]:
    """Return, by kind, what a webhook makes of a resource that is written."""
    return {service.kind: partial(_fill, find_defaults(service, images)) for service in services}


def find_defaults(service: NodeService, images: Mapping[str, ComponentImage]) -> dict[str, str]:
    """Return the images of the manifest, by the fields of a service's resources."""
    own = {name: find_default(image.component, images) for name, image in service.images.items()}
    found = {RUNNER: find_default(IMAGE, images), **own}
    return {name: image for name, image in found.items() if image}


def has_other_defaults(resource: NodeServiceResource, defaults: Mapping[str, str]) -> bool:
    """Return whether images may have been filled in that are not the present defaults."""
    differ = any(getattr(resource.spec, name) not in ("", image) for name, image in defaults.items())
    return differ and resource.metadata.annotations.get(DEFAULT_IMAGES) != fields.digest(defaults)


def _fill(defaults: Mapping[str, str], body: JsonObject) -> JsonObject:
    if not defaults:
        return body
    spec: Any = body.get("spec") or {}
    metadata: Any = body.get("metadata") or {}
    entries: Any = metadata.get("managedFields") or ()
    # If nobody manages anything, somebody has wiped the entries, and all that is there may be named.
    is_noted = field_owners.has(entries, "f:spec")
    filled = {
        name: image
        for name, image in defaults.items()
        if not spec.get(name) or (is_noted and not field_owners.has(entries, "f:spec", f"f:{name}"))
    }
    annotations = {**(metadata.get("annotations") or {}), DEFAULT_IMAGES: fields.digest(defaults)}
    return {**body, "metadata": {**metadata, "annotations": annotations}, "spec": {**spec, **filled}}
