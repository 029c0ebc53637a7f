"""OpenStackDataPlane: a composite that makes a role and a node of each entry."""

import re
from collections.abc import Iterable

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.base import JsonObject
from stackwright.api.dataplane import (
    DATA_PLANE_LABEL,
    DEPLOYMENT_READY,
    WRONG_NAME,
    OpenStackDataPlane,
    OpenStackDataPlaneNode,
    OpenStackDataPlaneRole,
    OpenStackDataPlaneStatus,
)
from stackwright.api.forms import LONGEST_NAME, OBJECT_NAME
from stackwright.api.node_sections import DeployStrategy
from stackwright.blueprint import refusals
from stackwright.blueprint.dataplane import name_lengths
from stackwright.kube import conditions
from stackwright.kube.controller import Context, Controller
from stackwright.kube.errors import Blocked
from stackwright.kube.shapes.composite import Child, composite


def _read(resource: OpenStackDataPlane, context: Context) -> bool:
    """Return whether all nodes are ready."""
    store = context.store(OpenStackDataPlaneNode)
    owned = {node.metadata.name: node for node in store.owned_by(resource.metadata.uid)}
    found = (owned.get(name) for name in resource.spec.nodes)
    return all(node is not None and conditions.is_true(node.status.conditions) for node in found)


def _tell(resource: OpenStackDataPlane, deployed: bool) -> OpenStackDataPlaneStatus:  # noqa: FBT001  the form of `tell`
    return msgspec.structs.replace(resource.status, deployed=deployed)


@composite(
    of=OpenStackDataPlane,
    owns=(OpenStackDataPlaneRole, OpenStackDataPlaneNode),
    read=_read,
    tell=_tell,
    pause=PAUSED,
    spares_users=True,
)
def data_planes(resource: OpenStackDataPlane, _: bool) -> Iterable[Child]:  # noqa: FBT001  the form of `children`
    """Return the roles and nodes of a data plane. What a role does not say of deploying, the data plane does."""
    _refuse_names(resource)
    labels = {DATA_PLANE_LABEL: resource.metadata.name}
    for name, role in resource.spec.roles.items():
        strategy = merge_strategy(role.deployStrategy, resource.spec.deployStrategy)
        spec = msgspec.structs.replace(role, dataPlane=resource.metadata.name, deployStrategy=strategy)
        yield Child(OpenStackDataPlaneRole, _body(name, labels, msgspec.to_builtins(spec)), DEPLOYMENT_READY)
    for name, node in resource.spec.nodes.items():
        spec_of_node = msgspec.structs.replace(node, hostName=node.hostName or name)
        yield Child(OpenStackDataPlaneNode, _body(name, labels, msgspec.to_builtins(spec_of_node)), DEPLOYMENT_READY)


def _refuse_names(resource: OpenStackDataPlane) -> None:
    """Refuse names that no resource can have; the schema does so too, but a resource may be older than that."""
    for field, names in (("roles", resource.spec.roles), ("nodes", resource.spec.nodes)):
        for name in names:
            if len(name) > LONGEST_NAME or not re.search(OBJECT_NAME, name):
                message = f'spec.{field}: "{name[:LONGEST_NAME]}" cannot be a name: {WRONG_NAME}'
                raise Blocked(message, reason="InvalidInput", condition=DEPLOYMENT_READY)
    if found := refusals.describe(name_lengths.problems(resource)):
        raise Blocked(found, reason="InvalidInput", condition=DEPLOYMENT_READY)


def merge_strategy(own: DeployStrategy, above: DeployStrategy) -> DeployStrategy:
    """Return what is said of deploying, field by field: the upper one only says what the own one does not."""
    return DeployStrategy(
        deploy=above.deploy if own.deploy is None else own.deploy,
        ansibleTags=own.ansibleTags or above.ansibleTags,
        ansibleLimit=own.ansibleLimit or above.ansibleLimit,
        ansibleSkipTags=own.ansibleSkipTags or above.ansibleSkipTags,
    )


def _body(name: str, labels: dict[str, str], spec: JsonObject) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def controller() -> Controller:
    """Return the controller of data planes."""
    return data_planes.controller()
