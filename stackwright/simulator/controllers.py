"""The controllers of the simulator: default-scheduler, kubelet, and the provisioner of volumes.

Each reads through the stage, decides in the module of its name, and acts here. They carry the names of what
they stand in for, so that events read as on a real cluster.
"""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import msgspec

from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import AlreadyExists, Conflict, NotFound
from stackwright.kube.informer import Change
from stackwright.kube.plan import Plan, Step
from stackwright.kube.predicates import Predicate, annotations_changed
from stackwright.kube.resource import JsonObject, Key, Kind, Resource
from stackwright.simulator import casting, kubelet, provisioner, scheduler
from stackwright.simulator.casting import Cast
from stackwright.simulator.node import Node
from stackwright.simulator.objects import (
    OWNERS,
    Claim,
    ConfigMap,
    PersistentVolume,
    Pod,
    Secret,
    StorageClass,
)
from stackwright.simulator.stage import OWNER_PATIENCE, Stage
from stackwright.simulator.steps import (
    Act,
    Bind,
    DeleteVolume,
    Grow,
    Provision,
    Remove,
    Report,
    Say,
    SelectNode,
    Tell,
)

# Our caches were behind, and will have caught up by then; if not, we look.
_AFTER_CONFLICT = 1.0


class Binding(Resource, frozen=True, kw_only=True):
    """What gives a pod its node: created under the pod, and never seen again."""

    kind: ClassVar[Kind] = Kind("", "v1", "Binding", "pods")


def controllers(stage: Stage) -> tuple[Controller, ...]:
    """Return the controllers of one namespace."""
    owners = tuple(Watch(kind, stage.pods_of, annotations_changed) for kind in OWNERS.values())
    return (
        Controller(
            name="default-scheduler",
            kind=Pod,
            reconcile=_pods(stage, lambda pod, cast: _schedule(pod, cast, stage)),
            watches=(
                *owners,
                Watch(Claim, stage.pods_using),
                Watch(Node, stage.pods_without_node),
                Watch(Pod, stage.pods_without_node, _makes_room),
            ),
            reads=(StorageClass,),
            when=_has_node(wanted=False),
        ),
        Controller(
            name="kubelet",
            kind=Pod,
            reconcile=_pods(stage, lambda pod, cast: kubelet.decide(pod, stage.of_kubelet(pod, cast))),
            watches=(
                *owners,
                Watch(ConfigMap, stage.pods_needing),
                Watch(Secret, stage.pods_needing),
                Watch(Node, stage.pods_on, _host_changed),
            ),
            when=_has_node(wanted=True),
            workers=8,
        ),
        Controller(
            name=provisioner.PROVISIONER,
            kind=Claim,
            reconcile=_claims(stage),
            watches=(Watch(StorageClass, stage.claims_of),),
        ),
        Controller(name="volume-deleter", kind=PersistentVolume, reconcile=_volumes(stage), workers=1),
    )


def _has_node(*, wanted: bool) -> Predicate:
    def predicate(change: Change[Any]) -> bool:
        return change.new is None or bool(change.new.spec.nodeName) is wanted

    return predicate


def _makes_room(change: Change[Any]) -> bool:
    """Whether a pod that had a node has ended, or gone."""
    before = change.old is not None and bool(change.old.spec.nodeName) and not change.old.finished
    return before and (change.new is None or change.new.finished)


def _host_changed(change: Change[Any]) -> bool:
    """Whether a node came or went, was lost or came back."""
    if change.old is None or change.new is None:
        return True
    return (change.old.ready, change.old.address) != (change.new.ready, change.new.address)


def _schedule(pod: Pod, cast: Cast, stage: Stage) -> Plan:
    """Decide about a pod, and count it among its node's at once: the cache shows it only when it is bound."""
    plan = scheduler.decide(pod, stage.of_scheduler(pod, cast))
    for step in plan.steps:
        if isinstance(step, Bind):
            stage.house.assumed[pod.key] = (step.node, pod)
    return plan


Reconcile = Callable[[Key, Context], Awaitable[Result | None]]


def _pods(stage: Stage, decide: Callable[[Pod, Cast], Plan]) -> Reconcile:
    async def reconcile(key: Key, context: Context) -> Result | None:
        pod = context.store(Pod).get(key)
        if pod is None:
            stage.timers.forget(Pod.kind.name, *key)
            stage.house.assumed.pop(key, None)
            return None
        if stage.must_wait(pod):
            return Result(after=OWNER_PATIENCE)
        cast = stage.cast(pod)
        return await _perform(decide(pod, cast), pod, cast, context, stage)

    return reconcile


def _claims(stage: Stage) -> Reconcile:
    async def reconcile(key: Key, context: Context) -> Result | None:
        claim = context.store(Claim).get(key)
        if claim is None:
            stage.timers.forget(Claim.kind.name, *key)
            return None
        cast = casting.cast_claim(claim, stage.script)
        return await _perform(provisioner.decide(claim, stage.of_provisioner(claim, cast)), claim, cast, context, stage)

    return reconcile


def _volumes(stage: Stage) -> Reconcile:
    async def reconcile(key: Key, context: Context) -> Result | None:
        volume = context.store(PersistentVolume).get(key)
        if volume is not None and volume.spec.claimRef.namespace == stage.namespace:
            for step in provisioner.reclaim(volume).steps:
                await act(step, volume, context)
        return None

    return reconcile


async def _perform(plan: Plan, of: Pod | Claim, cast: Cast, context: Context, stage: Stage) -> Result | None:
    """Carry out a plan; the events of a step are sent when it is done."""
    for problem in cast.problems:
        _tell(Tell("Warning", "InvalidAnnotation", problem, every=float("inf")), of, context, stage)
    try:
        for step in plan.steps:
            await act(step, of, context)
            if isinstance(step, Act):
                for event in step.events:
                    _tell(event, of, context, stage)
    except Conflict:
        return Result(after=_AFTER_CONFLICT)
    except NotFound:
        return None
    pauses = [wait.after for wait in plan.waits if wait.after is not None]
    return Result(after=min(pauses)) if pauses else None


async def act(step: Step, of: Resource, context: Context) -> None:
    """Carry out one step."""
    client, (namespace, name), uid = context.client, of.key, of.metadata.uid
    match step:
        case Say():
            pass
        case Bind(node=node):
            body = {
                "metadata": {"namespace": namespace, "name": name, "uid": uid},
                "target": {"kind": "Node", "name": node},
            }
            await client.create(Binding, body, subresource="binding")
        case Report(status=status):
            # The version makes sure that nobody's condition is overwritten; lists are replaced as a whole.
            changed = {
                "metadata": {"resourceVersion": of.metadata.resourceVersion},
                "status": msgspec.to_builtins(status),
            }
            await client.patch(Pod, name, namespace, changed, subresource="status")
        case Remove():
            await client.delete(Pod, name, namespace, uid=uid, grace=0)
        case SelectNode(claim=claim, node=node):
            selected: JsonObject = {"metadata": {"annotations": {scheduler.SELECTED_NODE: node}}}
            await client.patch(Claim, claim, namespace, selected)
        case Provision(volume=volume):
            await _provision(volume, context)
        case Grow(volume=volume, size=size):
            capacity: JsonObject = {"capacity": {"storage": size}}
            await client.patch(PersistentVolume, volume, "", {"spec": capacity})
            await client.patch(Claim, name, namespace, {"status": capacity}, subresource="status")
        case DeleteVolume():
            await client.delete(PersistentVolume, name, uid=uid)
        case _:
            raise TypeError(f"the simulator has no step {type(step).__name__}")


async def _provision(volume: JsonObject, context: Context) -> None:
    try:
        await context.client.create(PersistentVolume, volume)
    except AlreadyExists:
        # Made before, and not bound yet: the name follows from the claim's uid.
        context.logger.debug("the volume is there", volume=volume["metadata"]["name"])


def _tell(event: Tell, of: Pod | Claim, context: Context, stage: Stage) -> None:
    if not stage.timers.due(of, event):
        return
    path = ""
    if event.container and isinstance(of, Pod):
        init = any(one.name == event.container for one in of.spec.initContainers)
        path = f"spec.{'initContainers' if init else 'containers'}{{{event.container}}}"
    context.events.event(of, event.type, event.reason, event.note, event.action, field_path=path)
