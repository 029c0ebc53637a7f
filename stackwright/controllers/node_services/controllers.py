"""The controllers of services on nodes, three for each: they make its resources, begin its runs, and follow both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from stackwright import services
from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.schedule import GATHER_SECONDS, Backoff
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.login import IDENTITY
from stackwright.controllers.dataplane.gathering import Gathering
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.looks import Interests, forgetting
from stackwright.controllers.node_services import creation, deployment, fleet, removal, steps
from stackwright.controllers.node_services.deployment import Seen
from stackwright.controllers.node_services.preparation import Surroundings
from stackwright.controllers.node_services.removal import Leaving
from stackwright.controllers.node_services.signs import Signs
from stackwright.controllers.node_services.steps import Memory, World
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.controller import Controller, Watch
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import Key, Resource
from stackwright.kube.shapes.external import External


@dataclass(frozen=True)
class Pace:
    """How often an API is asked, in seconds: while a service is not up yet, and once it is.

    And how long a node waits after it failed, and for others that are due for the same. A webhook that did not renew
    images is tried again after `renew_again`.
    """

    ask_again: float = 5.0
    every: float = 40.0
    backoff: Backoff = field(default_factory=Backoff)
    gather: float = GATHER_SECONDS
    renew_again: float = 300.0


def controllers(
    dialler: Dialler,
    images: Mapping[str, ComponentImage],
    pace: Pace | None = None,
    known: tuple[NodeService, ...] | None = None,
) -> tuple[Controller, ...]:
    """Return the controllers of this folder."""
    pace = pace or Pace()
    every = services.node_services() if known is None else known
    around, signs = Surroundings(every, images), Signs(dialler, min(4.0, pace.ask_again))
    return tuple(controller for service in every for controller in _controllers_of(service, around, signs, pace))


def _controllers_of(
    service: NodeService, around: Surroundings, signs: Signs, pace: Pace
) -> tuple[Controller, Controller, Controller]:
    memory, looks = Memory(), _looked_at(service, around)
    return (
        creation.controller(service, around, pace.renew_again),
        fleet.controller(service, around, Gathering(pace.gather), pace.backoff, looks, memory.shared),
        _deployer(service, around, signs, pace, memory),
    )


def _deployer(service: NodeService, around: Surroundings, signs: Signs, pace: Pace, memory: Memory) -> Controller:
    interests = Interests()
    shape: External[Any, Any, World] = External(
        of=service.kind,
        read=partial(_observe, service),
        decide=partial(deployment.decide, service),
        act=partial(steps.act, service),
        tell=partial(deployment.tell, service),
        remove=partial(removal.decide_removal, service),
        finalizer=creation.finalizer_of(service),
        every=pace.every,
        pause=PAUSED,
    )
    found = shape.controller(
        lambda context: World(context, interests, around, signs, memory, pace.backoff, pace.ask_again),
        owns=(OpenStackAnsibleEE, Secret),
        watches=(
            interests.watch(OpenStackDataPlaneNode),
            interests.watch(OpenStackDataPlaneRole, asked_differently),
            *interests.watches(_looked_at(service, around)),
            # Also of other runs on the node: this one waits for them.
            Watch(OpenStackAnsibleEE, to=_resources_of),
        ),
    )
    return forgetting(found, interests.forget)


async def _observe(service: NodeService, resource: NodeServiceResource, world: World) -> Seen | Leaving:
    observe = removal.observe_removal if resource.deleting else deployment.observe
    return await observe(service, resource, world)


def _looked_at(service: NodeService, around: Surroundings) -> tuple[type[Resource], ...]:
    providers = services.providers()
    trace = service.removal.trace
    words = (*service.words, service.sign.type, IDENTITY, *((trace.type,) if trace is not None else ()))
    followed = (other for other in around.services if service.follows and other.brings == service.follows)
    kinds = (kind for each in (service, *followed) for kind in (each.kind, *each.looks))
    own = (OpenStackDataPlaneService, ConfigMap, Secret)
    return tuple(dict.fromkeys((*own, *kinds, *(providers[word].kind for word in words if word in providers))))


def _resources_of(run: OpenStackAnsibleEE) -> Iterable[Key]:
    """Return the resources of the nodes that a run touches: they are named after their nodes."""
    return (Key(run.metadata.namespace, entry.name) for entry in run.spec.nodes)
