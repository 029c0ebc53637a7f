"""The early answer to whoever sets an option that a service would refuse or does not know."""

from collections.abc import Iterator, Mapping
from typing import Any

from stackwright import services
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint import options
from stackwright.blueprint.dataplane import snippets
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import spec_of
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.kube.resource import CustomResource


def check(resource: CustomResource, images: Mapping[str, ComponentImage]) -> Objections:
    """Return errors for values that a service refuses, warnings for what its list of options only makes likely."""
    errors: list[FieldError] = []
    warnings: list[str] = []
    for found, certain in _find_faults(resource, images):
        if found.refused and certain:
            errors.append(FieldError(found.path, found.sentence))
        else:
            guess = "" if certain else " (by the options of the image that Stackwright builds)"
            warnings.append(f"{found.path}: {found.sentence}{guess}")
    return Objections(tuple(errors), tuple(warnings))


def _find_faults(
    resource: CustomResource, images: Mapping[str, ComponentImage]
) -> Iterator[tuple[options.OptionFault, bool]]:
    """Yield what is wrong with options, and whether that is certain."""
    for service, path, spec in _specs(resource):
        certain = options.certain(spec, images.get(service.image_name))
        yield from ((found, certain) for found in options.find_faults(service, path, spec))
    for on_nodes in services.node_services():
        if isinstance(resource, on_nodes.kind):
            yield from snippets.find_faults(on_nodes, resource, images)


def _specs(resource: CustomResource) -> Iterator[tuple[Service[Any, Any], str, Any]]:
    """Yield every spec of a service in a resource, with its path: its own, or those in the sections of the umbrella."""
    if isinstance(resource, OpenStackControlPlane):
        for section in services.sections():
            for part, key, template in section.templates(resource.spec):
                if (service := services.blueprint_of(part.kind)) is not None:
                    yield service, section.place(part, key), template
    elif (own := services.blueprint_of(type(resource))) is not None:
        yield own, "spec", spec_of(resource)
