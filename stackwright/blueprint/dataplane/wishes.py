"""Which services a node is asked to have, by its annotations and those of its role. Pure.

What a node says goes before what its role says; an empty value on the node takes away what the role says.
"""

from collections.abc import Iterable

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.blueprint.dataplane.node_service import NodeService

# What an annotation says; anything else counts as no.
YES, NO = "true", "false"


def wish_of(
    service: NodeService,
    node: OpenStackDataPlaneNode,
    role: OpenStackDataPlaneRole | None,
    services: Iterable[NodeService],
) -> str:
    """Return what is asked of a service on a node: the value of its binding, or true; "" where it is not wanted."""
    stated = _stated(service, node, role)
    if stated is not None:
        return stated if service.binding is not None or stated == YES else ""
    followed = find_followed(service, services)
    if followed is None:
        return ""
    return YES if wish_of(followed, node, role, services) else ""


def find_followed(service: NodeService, services: Iterable[NodeService]) -> NodeService | None:
    """Return the service that another one follows; None where it follows none."""
    if not service.follows:
        return None
    return next((other for other in services if other.brings == service.follows), None)


def _stated(service: NodeService, node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole | None) -> str | None:
    for resource in (node, role):
        if resource is not None and service.annotation in resource.metadata.annotations:
            return resource.metadata.annotations[service.annotation].strip()
    return None
