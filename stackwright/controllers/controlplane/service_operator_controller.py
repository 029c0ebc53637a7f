"""The controller that starts and stops the operators of services, where each has its own.

Its keys are the Deployments that the chart has prepared. One is there while a control plane has such a service, and
for as long as resources of it are left: who deletes a resource needs the operator that lets it go.
"""

from collections.abc import Callable, Iterable
from typing import Any

from stackwright import services
from stackwright.controllers.controlplane import service_operators
from stackwright.controllers.controlplane.controller import instances_of, is_refused, read
from stackwright.controllers.controlplane.service_operators import (
    PER_SERVICE,
    ServiceOperator,
    ServiceOperators,
    Situation,
    Start,
    Stop,
)
from stackwright.controllers.teams import team_of_kind
from stackwright.kube.builtin import Deployment
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Retry
from stackwright.kube.informer import Change
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import Key, Resource


def controller(known: ServiceOperators) -> Controller:
    """Return the controller of the operators that the chart has prepared."""
    kinds = [kind for kind in services.kinds() if kind is not services.control_plane()]
    watches: tuple[Watch[Any], ...] = (
        Watch(services.control_plane(), lambda _: known.keys, asked_differently),
        *(
            Watch(kind, _operator_of(kind, known), _comes_or_goes)
            for kind in kinds
            if team_of_kind(kind) in known.manifests
        ),
    )

    async def reconcile(key: Key, context: Context) -> Result | None:
        await _reconcile(known, key, context)
        return None

    return Controller(
        name="serviceoperator",
        kind=ServiceOperator,
        reconcile=reconcile,
        watches=watches,
        standing=known.keys,
        workers=1,
    )


def _operator_of(kind: type[Resource], known: ServiceOperators) -> Callable[[Resource], Iterable[Key]]:
    key = known.key(team_of_kind(kind))
    return lambda _: (key,)


def _comes_or_goes(change: Change[Any]) -> bool:
    return change.old is None or change.new is None


async def _reconcile(known: ServiceOperators, key: Key, context: Context) -> None:
    store = context.store(ServiceOperator)
    owner = store.get(Key(known.namespace, known.owner))
    if owner is None or owner.deleting:
        # With it goes all that it has started; nothing new must come.
        raise Retry(f"Deployment {known.owner} is not there, and what is started goes with it", reason="OwnerMissing")
    present = store.get(key)
    team = known.team(key)
    situation = _situation(team, known, context) if team else Situation()
    match service_operators.decide(known, key, owner, present, situation):
        case Start(body):
            await context.client.apply(Deployment, body)
            context.logger.info("an operator was started", service=team)
        case Stop(there):
            metadata = there.metadata
            await context.client.delete(Deployment, metadata.name, metadata.namespace, uid=metadata.uid)
            context.logger.info("an operator was stopped", deployment=metadata.name)


def _situation(team: str, known: ServiceOperators, context: Context) -> Situation:
    """Take from the caches what there is of a service."""
    planes = [
        plane
        for plane in context.store(services.control_plane()).list()
        if plane.spec.operatorMode == PER_SERVICE and not plane.deleting
    ]
    kinds = [kind for kind in services.kinds() if team_of_kind(kind) == team]
    places = {resource.metadata.namespace for kind in kinds for resource in context.store(kind).list()}
    return Situation(
        asked=any(_asks(plane, team, known, context) for plane in planes),
        beside=any(plane.metadata.namespace in places for plane in planes),
        anywhere=bool(places),
    )


def _asks(plane: Any, team: str, known: ServiceOperators, context: Context) -> bool:
    facts = read(plane, context, known)
    if is_refused(plane, facts):
        return False
    return any(team_of_kind(instance.part.kind) == team for instance in instances_of(plane, facts))
