"""A node that asks for a service gets its resource, named after the node; what is copied from the node is kept in step.

The node remembers, in an annotation, that the resource was made. So one that somebody deleted is not made again, until
the node stops to ask for the service and then asks anew. A finalizer keeps the node as long as the resource is there:
to stop the service on the machine takes what the node knows of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from stackwright.api.annotations import DEPLOYED_BY
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.wishes import YES, wish_of
from stackwright.controllers.looks import Interests
from stackwright.controllers.node_services.defaults import find_defaults, has_other_defaults
from stackwright.controllers.node_services.preparation import Surroundings, copied_fields
from stackwright.controllers.teams import team_of_kind
from stackwright.kube import finalizers
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.informer import Change
from stackwright.kube.predicates import any_of, asked_differently
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.children import Children


@dataclass(frozen=True)
class Decision:
    """The resource as it is to be, None to leave it; and what the node is to remember, "" for nothing.

    `deploys` says whether the resource has begun to deploy the service: then nobody else may do so on the node.
    """

    body: JsonObject | None
    mark: str
    deploys: bool = False


def mark_of(service: NodeService) -> str:
    """Return the annotation by which a node remembers that a resource was made."""
    return f"{service.annotation}-made"


def deployed_by(service: NodeService) -> str:
    """Return the annotation by which a node says which playbook and roles the operator of a service runs on it."""
    return f"{DEPLOYED_BY}{service.kind.kind.name}"


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
        return Decision(body, bound or marked or YES, deploys=present.has_begun)
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
    """Keeps the resources of one service; `all_services` are those that there are, `defaults` the images by field.

    A webhook that did not renew the images of a resource is tried again after `renew_again` seconds.
    """

    service: NodeService
    all_services: tuple[NodeService, ...]
    interests: Interests
    family: Children
    defaults: Mapping[str, str]
    renew_again: float

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
        present = await self._find(node, context)
        decision = decide(self.service, node, role, present, self.all_services)
        own = replace(context, client=context.client.managing(f"{context.client.field_manager}-{self.service.name}"))
        if decision.body is not None:
            outcome = await self.family.keep(node, (Child(self.service.kind, decision.body),), own, prune=False)
            if failure := outcome.failure(waiting=False):
                raise failure
        deploys = (self.service.playbook, *self.service.roles) if decision.deploys else ()
        noted = {mark_of(self.service): decision.mark, deployed_by(self.service): " ".join(deploys)}
        await self._note(node, noted, own, held=present is not None)
        return await self._renew(present, own) if present is not None and decision.body is not None else None

    async def _renew(self, present: NodeServiceResource, context: Context) -> Result | None:
        """Let the webhook renew images that it filled in, where these are not the present defaults.

        The write asks for nothing. While the operator is upgraded, the former webhook may answer.
        """
        if not has_other_defaults(present, self.defaults):
            return None
        written = await context.client.patch(self.service.kind, present.metadata.name, present.metadata.namespace, {})
        return Result(after=self.renew_again) if has_other_defaults(written, self.defaults) else None

    async def _leave(self, node: OpenStackDataPlaneNode, context: Context) -> None:
        """Delete the resource of a node that goes; let the node go once the resource is gone."""
        present = await self._find(node, context)
        if present is None:
            await finalizers.remove(context.client, node, finalizer_of(self.service))
        elif not present.deleting:
            metadata = present.metadata
            await context.client.delete(self.service.kind, metadata.name, metadata.namespace, uid=metadata.uid)

    async def _find(self, node: OpenStackDataPlaneNode, context: Context) -> NodeServiceResource | None:
        """Return the resource of a node. That it is gone is believed of the server alone: the node is let go for it."""
        present = context.store(self.service.kind).get(node.key)
        if present is None and finalizer_of(self.service) in node.metadata.finalizers:
            present = await context.client.find(self.service.kind, node.metadata.name, node.metadata.namespace)
        return present

    async def _note(self, node: OpenStackDataPlaneNode, noted: dict[str, str], context: Context, *, held: bool) -> None:
        """Write these annotations of the node, those that are not empty, and the finalizer if it is to be held."""
        finalizer, there = finalizer_of(self.service), node.metadata.annotations
        is_held = finalizer in node.metadata.finalizers
        if all(there.get(name, "") == value for name, value in noted.items()) and is_held == held:
            return
        metadata = {
            "name": node.metadata.name,
            "namespace": node.metadata.namespace,
            # With the uid the server does not create a node that was deleted a moment ago.
            "uid": node.metadata.uid,
            "annotations": {name: value for name, value in noted.items() if value},
            "finalizers": [finalizer] if held else [],
        }
        await context.client.apply(OpenStackDataPlaneNode, {"metadata": metadata})


def controller(service: NodeService, around: Surroundings, renew_again: float) -> Controller:
    """Return the controller that makes the resources of a service."""
    interests, defaults = Interests(), find_defaults(service, around.images)
    creation = Creation(service, around.services, interests, Children((service.kind,)), defaults, renew_again)
    return Controller(
        name=f"{service.name}-creation",
        kind=OpenStackDataPlaneNode,
        reconcile=creation.reconcile,
        owns=(service.kind,),
        watches=(
            interests.watch(OpenStackDataPlaneRole, asked_differently),
            # One that a user made has no owner that it could wake.
            Watch(service.kind, to=_node_of, when=any_of(asked_differently, _began)),
        ),
        makes=(OpenStackDataPlaneNode,),
        when=asked_differently,
        workers=2,
        team=team_of_kind(service.kind),
        reports=False,
    )


def _began(change: Change[NodeServiceResource]) -> bool:
    """Return whether a resource began, or ended, to deploy its service."""
    states = [each is not None and each.has_begun for each in (change.old, change.new)]
    return states[0] != states[1]


def _node_of(resource: NodeServiceResource) -> Iterable[Key]:
    return (resource.key,)
