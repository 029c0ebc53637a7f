"""A node that asks for a service gets its resource, called like the node; what is copied from the node is kept in step.

The node remembers, in an annotation, that the resource was made. So one that somebody deleted is not made again, until
the node stops to ask for the service and then asks anew. A finalizer keeps the node as long as the resource is there:
to stop the service on the machine takes what the node knows of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.wishes import YES, wish_of
from stackwright.controllers.looking import Interests
from stackwright.controllers.node_services.preparation import copied_fields
from stackwright.controllers.teams import team_of_kind
from stackwright.kube import finalizers
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.shapes.children import Child, Children


@dataclass(frozen=True)
class Decision:
    """The resource as it is to be, None to leave it; and what the node is to remember, "" for nothing."""

    body: JsonObject | None
    mark: str


def mark_of(service: NodeService) -> str:
    """Return the annotation by which a node remembers that a resource was made."""
    return f"{service.annotation}-made"


def finalizer_of(service: NodeService) -> str:
    """Return what keeps a resource, and its node, until the service is removed."""
    return f"openstack.org/{service.name}"


def decide(
    service: NodeService,
    node: OpenStackDataPlaneNode,
    role: OpenStackDataPlaneRole,
    present: NodeServiceResource | None,
    services: Iterable[NodeService],
) -> Decision:
    """Return what follows from what a node and its role ask for. Pure.

    A resource that is there is kept, and what it is bound to stays, whatever the node asks for: it says itself that it
    does not fit any more.
    """
    wish = wish_of(service, node, role, services)
    marked = node.metadata.annotations.get(mark_of(service), "")
    if present is not None:
        bound = service.bound_to(present) or wish
        body = None if present.deleting else _describe(service, node, role, bound)
        return Decision(body, bound or marked or YES)
    if not wish or marked:
        return Decision(None, marked if wish else "")
    # It is remembered once it is there, so that nothing is lost between the two.
    return Decision(_describe(service, node, role, wish), "")


def _describe(
    service: NodeService, node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, bound: str
) -> JsonObject:
    spec = copied_fields(node, role)
    if service.binding is not None and bound:
        spec[service.binding.field] = bound
    return {"metadata": {"name": node.metadata.name}, "spec": spec}


@dataclass(frozen=True)
class Creation:
    """Keeps the resources of one service; `all_services` are those that there are."""

    service: NodeService
    all_services: tuple[NodeService, ...]
    interests: Interests
    family: Children

    async def reconcile(self, key: Key, context: Context) -> Result | None:
        """Bring one node's resource to what the node asks for."""
        node = context.store(OpenStackDataPlaneNode).get(key)
        if node is None or node.deleting:
            self.family.forget(key)
            self.interests.forget(key)
            if node is not None:
                await self._leave(node, context)
            return None
        role = self.interests.begin(node, context)(OpenStackDataPlaneRole, node.spec.role)
        if role is None:
            # Nobody knows what is asked for: nothing is made, and nothing is forgotten.
            return None
        present = context.store(self.service.kind).get(key)
        decision = decide(self.service, node, role, present, self.all_services)
        own = replace(context, client=context.client.managing(f"{context.client.field_manager}-{self.service.name}"))
        if decision.body is not None:
            outcome = await self.family.keep(node, (Child(self.service.kind, decision.body),), own, prune=False)
            if failure := outcome.failure(waiting=False):
                raise failure
        await self._mark(node, decision.mark, own, held=present is not None)
        return None

    async def _leave(self, node: OpenStackDataPlaneNode, context: Context) -> None:
        """Delete the resource of a node that goes; let the node go once the resource is gone."""
        present = context.store(self.service.kind).get(node.key)
        if present is None:
            await finalizers.remove(context.client, node, finalizer_of(self.service))
        elif not present.deleting:
            metadata = present.metadata
            await context.client.delete(self.service.kind, metadata.name, metadata.namespace, uid=metadata.uid)

    async def _mark(self, node: OpenStackDataPlaneNode, value: str, context: Context, *, held: bool) -> None:
        name, finalizer = mark_of(self.service), finalizer_of(self.service)
        is_held = finalizer in node.metadata.finalizers
        if node.metadata.annotations.get(name, "") == value and is_held == held:
            return
        metadata = {
            "name": node.metadata.name,
            "namespace": node.metadata.namespace,
            # With the uid the server does not create a node that was deleted a moment ago.
            "uid": node.metadata.uid,
            "annotations": {name: value} if value else {},
            "finalizers": [finalizer] if held else [],
        }
        await context.client.apply(OpenStackDataPlaneNode, {"metadata": metadata})


def controller(service: NodeService, services: tuple[NodeService, ...]) -> Controller:
    """Return the controller that makes the resources of a service."""
    interests = Interests()
    creation = Creation(service, services, interests, Children((service.kind,)))
    return Controller(
        name=f"{service.name}-creation",
        kind=OpenStackDataPlaneNode,
        reconcile=creation.reconcile,
        owns=(service.kind,),
        watches=(
            interests.watch(OpenStackDataPlaneRole, asked_differently),
            # One that a user made has no owner that it could wake.
            Watch(service.kind, to=_node_of, when=asked_differently),
        ),
        makes=(OpenStackDataPlaneNode,),
        when=asked_differently,
        workers=2,
        team=team_of_kind(service.kind),
        reports=False,
    )


def _node_of(resource: NodeServiceResource) -> Iterable[Key]:
    return (resource.key,)
