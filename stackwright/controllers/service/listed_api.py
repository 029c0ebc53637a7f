"""Which API of a service with several others are told of: another one only once it serves. Pure.

Who finds the API in the catalog, or in the status, is sent to pods that are there. So the new API comes first, then the
catalog names it, and then the former API may go.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from stackwright.api.base import CustomResource
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.need import Resolved
from stackwright.blueprint.service import Endpoint, Service
from stackwright.controllers import needs
from stackwright.controllers.service import inputs, labels
from stackwright.kube.builtin import Pod
from stackwright.kube.shapes.states import is_ready

F = TypeVar("F", bound=Facts)


def with_listed(
    service: Service[Any, F], resource: CustomResource, facts: F, look: Look, pods: Iterable[Pod]
) -> tuple[F, Resolved]:
    """Return the facts with the endpoints that others are told now, and what is waited for because of them."""
    endpoint = service.listed_endpoint(resource)
    # One that has no name is the only one there is, and the catalog can name no other.
    if endpoint is None or not endpoint.name or facts.endpoints is None:
        return facts, Resolved(ready=True)
    lacking, sight = _list_lacking(service, resource, endpoint, pods), needs.sight(look)
    found: list[Resolved] = []
    for need in service.needs_of(resource):
        facts, resolved = need.announce(resource, facts, lacking, sight)
        found.append(resolved)
    return facts, inputs.gather(found)


def _list_lacking(
    service: Service[Any, Any], resource: CustomResource, endpoint: Endpoint, pods: Iterable[Pod]
) -> tuple[str, ...]:
    """Return the components of an API that have no pod which is ready; those that are to have none do not count."""
    serving = {pod.metadata.labels.get(labels.COMPONENT) for pod in pods if is_ready(pod) and not pod.deleting}
    names = {endpoint.component(interface) for interface in endpoint.interfaces}
    asked = (component for component in service.components_of(resource) if component.name in names)
    return tuple(
        component.name
        for component in asked
        if component.name not in serving and component.template(resource).replicas > 0
    )
