"""The objects of a release as children of its resource: each with the condition that follows it, and its state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.needs import TYPES
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers import release
from stackwright.controllers.looks import Looker
from stackwright.controllers.service import addresses, labels, pods, references, traces
from stackwright.kube import builtin, clock
from stackwright.kube.builtin import DaemonSet, Deployment, Job, Pod, StatefulSet
from stackwright.kube.conditions import Finding, declared
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.child import Child

# Which condition follows the objects of a kind; a Job has its own.
_CONDITIONS: Mapping[type[Resource], str] = {
    Deployment: "DeploymentReady",
    StatefulSet: "DeploymentReady",
    DaemonSet: "DeploymentReady",
    builtin.Service: "CreateServiceReady",
    builtin.CronJob: "CronJobReady",
    builtin.ServiceAccount: "ServiceAccountReady",
    builtin.Role: "RoleReady",
    builtin.RoleBinding: "RoleBindingReady",
    builtin.PodDisruptionBudget: "PDBReady",
}
# Which condition follows a Job that makes what a service needs, where the chart does that.
_PROVISIONING = {entry.job: entry.condition for of in TYPES for entry in of.provisions}


def children_of(
    service: Service[Any, Any],
    resource: CustomResource,
    bodies: Sequence[JsonObject],
    beside_it: Iterable[Child],
    mine: Sequence[Pod],
    look: Looker,
) -> Iterator[Child]:
    """Yield the objects of a release; `beside_it` is what else the resource stands for, `mine` are its pods."""
    made = frozenset(
        (str(body.get("kind")), str(body["metadata"]["name"]))
        for body in (*bodies, *(child.body for child in beside_it))
    )
    for body in bodies:
        of = release.type_of(body)
        component = labels.component_of(body)
        condition = _condition(service, of, body, resource)
        # A job without a condition, and one that somebody asked for, do not count for the service's readiness.
        beside = of is Job and not condition

        def state(present: Resource, component: str = component, beside: bool = beside) -> Finding:  # noqa: FBT001  a default that binds
            said = pods.explained(present, component, mine, clock.now(), beside=beside)
            return said if said.status == "True" else references.missing(present, look, made) or said

        asked, otherwise = _addressed(resource, body, look) if of is builtin.Service else (body, None)
        yield Child(of, asked, condition, state, once=of is Job, otherwise=otherwise)


def _addressed(resource: CustomResource, body: JsonObject, look: Looker) -> tuple[JsonObject, JsonObject | None]:
    """Return a Service with the address that it had before, and without it where it asks for one."""
    name = body["metadata"]["name"]
    present = look(builtin.Service, name)
    asked = addresses.ask_again(body, present, status_of(resource).addresses.get(name), clock.now())
    return asked, (body if asked is not body else None)


def _condition(service: Service[Any, Any], of: type[Resource], body: JsonObject, resource: CustomResource) -> str:
    if of is not Job:
        return declared(resource, _CONDITIONS.get(of, ""))
    if traces.is_of_action(service, resource, body["metadata"]["name"]):
        return ""
    component = labels.component_of(body)
    own = {job.name: job.condition for job in service.jobs_of(resource)}
    return declared(resource, own.get(component, _PROVISIONING.get(component, "")))
