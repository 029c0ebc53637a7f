"""What a user's own configuration of a service on nodes says that the service would not start with. Pure.

No pod tries it before it replaces what works: on a machine, the old program is gone when the new one fails.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint import admission, options
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.options import OptionFault

_PATH = f"spec.{admission.SNIPPET}"


def find_faults(
    service: NodeService, resource: NodeServiceResource, images: Mapping[str, ComponentImage]
) -> Iterator[tuple[OptionFault, bool]]:
    """Yield what is wrong with options, and whether that is certain: only of the images that we build we know them."""
    for name, image in service.images.items():
        if image.options is None:
            continue
        default, stated = images.get(image.component), getattr(resource.spec, name)
        certain = default is not None and default.ours and stated in ("", default.reference)
        for fault in options.check(options.read(image.options), resource.spec.customServiceConfig):
            yield replace(fault, path=_PATH), certain


def problems(
    service: NodeService, resource: NodeServiceResource, images: Mapping[str, ComponentImage]
) -> Iterator[tuple[str, str]]:
    """Yield the path of each value that is refused, and why. A webhook refuses it, but may have been down."""
    yield from admission.problems(resource)
    found = find_faults(service, resource, images)
    yield from ((fault.path, fault.sentence) for fault, certain in found if certain and fault.refused)
