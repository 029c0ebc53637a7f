"""What the removal of a node's services needs stays as long as they are there: its inventory, and its addresses.

The services hold their node by finalizers. But whoever deletes a node may ask that all that it owns goes first
(`kubectl delete --cascade=foreground`, as some tools always do). Then nobody would know any more how the machine is
reached, and its addresses would be given to others while servers are still on it. So the same finalizers that keep a
node keep these objects, by one of their own.
"""

from collections.abc import Iterable
from dataclasses import replace

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.network import IPSet
from stackwright.blueprint.dataplane.inventory import NAME, SECRET_NAME
from stackwright.kube import finalizers
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.resource import JsonObject, Key, Resource

FINALIZER = "openstack.org/dataplane-node"
_OF_KUBERNETES = frozenset({finalizers.FOREGROUND, finalizers.ORPHAN})


def is_held(node: OpenStackDataPlaneNode | None) -> bool:
    """Return whether somebody keeps a node, because a service is on its machine. Pure."""
    return node is not None and any(name not in _OF_KUBERNETES for name in node.metadata.finalizers)


def hold(body: JsonObject, node: OpenStackDataPlaneNode) -> JsonObject:
    """Return an object of a node, which stays at least as long as the node is held. Pure."""
    if not is_held(node):
        return body
    return {**body, "metadata": {**body["metadata"], "finalizers": [FINALIZER]}}


def releasing(controller: Controller) -> Controller:
    """Return the controller of nodes that lets their objects go which somebody deletes, once nobody needs them."""

    async def reconcile(key: Key, context: Context) -> Result | None:
        await release(key, context)
        return await controller.reconcile(key, context)

    return replace(controller, reconcile=reconcile)


async def release(key: Key, context: Context) -> None:
    """Let the objects of a node go that are being deleted, unless the node itself is, and is held."""
    leaving = [each for each in _find_held(key, context) if each.deleting]
    if not leaving:
        return
    # The cache may have the deletion of an object, and not yet that of its node, which came before.
    node = await context.client.find(OpenStackDataPlaneNode, key.name, key.namespace)
    if node is not None and node.deleting and is_held(node):
        return
    for each in leaving:
        await finalizers.remove(context.client, each, FINALIZER)


def _find_held(key: Key, context: Context) -> Iterable[Resource]:
    """Yield the objects of a node that have our finalizer; a node need not be there any more."""
    names = ((ConfigMap, NAME), (Secret, SECRET_NAME), (IPSet, "{}"))
    found = (context.store(kind).get(Key(key.namespace, name.format(key.name))) for kind, name in names)
    return (each for each in found if each is not None and FINALIZER in each.metadata.finalizers)
