"""Who needs whom: the dependencies between the resources of a cloud. Pure.

They are read from what says them: the needs in a service's section of the umbrella, what the needs of its blueprint
make, and the field or label by which what was made names its server.
"""

from collections.abc import Iterable
from typing import Any

from stackwright import services
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import CustomResource
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.api.node_service import NodeServiceResource
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint.needs.broker import BROKER
from stackwright.blueprint.needs.database import DATABASE
from stackwright.blueprint.needs.login import IDENTITY
from stackwright.controllers import needs
from stackwright.controllers.controlplane.resolution import provided_needs
from stackwright.foresight.objects import Objects
from stackwright.kube.resource import ResourceName


def list_services(resource: CustomResource) -> tuple[ResourceName, ...]:
    """Return the services that a service stands on: a database's server, a cache, a broker, who knows its users."""
    blueprint = services.blueprint_of(type(resource))
    if blueprint is None or blueprint.elsewhere(resource):
        return ()
    return tuple(dict.fromkeys((_provider(need.word), name) for need, name in provided_needs(resource)))


def list_kept(resource: CustomResource, objects: Objects) -> tuple[ResourceName, ...]:
    """Return what a service asks for and does not own, because it outlives the service."""
    blueprint = services.blueprint_of(type(resource))
    if blueprint is None or blueprint.elsewhere(resource):
        return ()
    sight = needs.sight(objects)
    resolved = (need.resolve(resource, sight) for need in blueprint.needs_of(resource))
    return tuple((child.of.kind.name, child.key.name) for entry in resolved for child in entry.children)


def list_needed(resource: CustomResource, objects: Objects) -> tuple[ResourceName, ...]:
    """Return all that a resource needs before it can be ready, beside what it owns; the nearest first."""
    if isinstance(resource, OpenStackControlPlane):
        return tuple((entry.kind, entry.name) for entry in resource.status.services)
    found = (*list_kept(resource, objects), *list_services(resource), *_of_shared(resource, objects))
    without = _done_without(resource, objects)
    return tuple(dict.fromkeys(entry for entry in found if entry[1] and entry not in without))


def _done_without(resource: CustomResource, objects: Objects) -> set[ResourceName]:
    """Return what a service can do without, and does: it is not there."""
    sight = needs.sight(objects)
    return {
        (_provider(need.word), name)
        for need, name in provided_needs(resource)
        if need.dispensable and sight.provider(need.word, name).offer is None
    }


def _provider(word: str) -> str:
    """Return the kind that provides what can be needed."""
    return services.providers()[word].kind.kind.name


def _of_shared(resource: CustomResource, objects: Objects) -> Iterable[ResourceName]:
    """Yield what the kinds need by which services get something of another service."""
    labels = resource.metadata.labels
    match resource:
        case MariaDBDatabase():
            yield _provider(DATABASE), labels.get(SERVER_LABEL, "")
        case MariaDBAccount():
            yield MariaDBDatabase.kind.name, labels.get(DATABASE_LABEL, "")
        case TransportURL():
            yield _provider(BROKER), resource.spec.rabbitmqClusterName
        case KeystoneService():
            yield _provider(IDENTITY), resource.spec.keystoneInstance or _only(_provider(IDENTITY), objects)
        case OpenStackDataPlaneNode():
            # The run under way, and the last one of a service that failed, say why a node is not ready.
            failed = (record.run for record in resource.status.services if record.failures)
            running = (resource.status.running.run,) if resource.status.running is not None else ()
            yield from ((OpenStackAnsibleEE.kind.name, name) for name in (*running, *failed))
        case NodeServiceResource():
            yield from _of_node_service(resource)
        case KeystoneEndpoint():
            yield KeystoneService.kind.name, resource.spec.serviceName


def _of_node_service(resource: NodeServiceResource) -> Iterable[ResourceName]:
    """Yield the node of a service on nodes, what it is bound to, and its run, where that says why it is not ready."""
    yield OpenStackDataPlaneNode.kind.name, resource.node_name
    for service in services.node_services():
        if isinstance(resource, service.kind) and service.binding is not None:
            yield service.binding.of.kind.name, service.bound_to(resource)
    running, record = resource.status.running, resource.status.deployment
    if running is not None:
        yield OpenStackAnsibleEE.kind.name, running.run
    elif record is not None and record.failures:
        yield OpenStackAnsibleEE.kind.name, record.run


def _only(kind: str, objects: Objects) -> str:
    """Return the name of the only resource of a kind; "" where there is none or more than one."""
    names: list[Any] = [item.metadata.name for item in objects.all() if item.kind.name == kind]
    return str(names[0]) if len(names) == 1 else ""
