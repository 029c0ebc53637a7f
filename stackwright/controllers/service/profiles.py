"""Whether a namespace allows what a service's pods take of the host; said before pods are refused. Pure."""

from typing import Any

from stackwright.blueprint.look import Look
from stackwright.blueprint.service import Component, Service
from stackwright.blueprint.workloads import ENFORCED, forbids, loosest
from stackwright.kube.builtin import Namespace
from stackwright.kube.resource import CustomResource

FORBIDDEN = "ProfileForbids"


def needs_namespace(service: Service[Any, Any]) -> bool:
    """Return whether the profile of its namespace matters to a service: whether its pods keep the strictest one."""
    return any(component.profile != "restricted" for component in service.known_components)


def problem(service: Service[Any, Any], resource: CustomResource, look: Look) -> str:
    """Return why the pods of a service may not run in its namespace, and what to do; an empty text where they may."""
    if not needs_namespace(service):
        return ""
    name = resource.metadata.namespace
    namespace = look(Namespace, name)
    # Where it is not known, or leaves it to the cluster, the API server has the last word.
    enforced = namespace.metadata.labels.get(ENFORCED, "") if namespace is not None else ""
    refused = [each for each in service.components_of(resource) if forbids(enforced, each.profile)]
    if not refused:
        return ""
    takes = "; ".join(f"{component.name} takes {_taken(component)}" for component in refused)
    wanted = loosest(component.profile for component in refused)
    return (
        f"Namespace {name} enforces the pod security profile {enforced}, which forbids this service's pods: {takes}. "
        f"Allow it (kubectl label --overwrite namespace {name} {ENFORCED}={wanted}), or use another namespace"
    )


def _taken(component: Component[Any, Any]) -> str:
    root = ["the user root"] if component.user == 0 else []
    return ", ".join([*root, *([str(component.host)] if str(component.host) else [])])
