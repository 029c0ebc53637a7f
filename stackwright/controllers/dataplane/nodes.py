"""OpenStackDataPlaneNode: its inventory as a ConfigMap, and in its status what runs came to on the machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import (
    DEPLOYMENT_READY,
    INPUT_READY,
    SETUP_READY,
    OpenStackDataPlaneNode,
    OpenStackDataPlaneNodeStatus,
    OpenStackDataPlaneRole,
    RunningService,
    ServiceRecord,
)
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.dataplane.host_keys import record as record_keys
from stackwright.blueprint.dataplane.inheritance import find_twins
from stackwright.blueprint.dataplane.inputs import REACH
from stackwright.blueprint.dataplane.inventory import INVENTORY_KEY, NAME, SECRET_NAME, describe_host, write_inventory
from stackwright.blueprint.dataplane.records import find_running, fold
from stackwright.blueprint.look import Look
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.dataplane.preparation import Prepared, find_works, prepare
from stackwright.controllers.looking import Interests
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.controller import Context, Controller, Watch
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.shapes.composite import Child, Composite

# What SSH says of a machine that has another key than the one that it knows.
CHANGED_KEY = "REMOTE HOST IDENTIFICATION HAS CHANGED"


@dataclass(frozen=True)
class Seen:
    """What there is for a node: everything that its runs need, or what is missing; and the runs that touch it."""

    prepared: Prepared | Wait
    runs: tuple[OpenStackAnsibleEE, ...] = ()


def observe(node: OpenStackDataPlaneNode, context: Context, interests: Interests, image: str) -> Seen:
    """Read what a node and its role mean, and its runs."""
    look = interests.begin(node, context)
    everything = context.store(OpenStackAnsibleEE).list(node.metadata.namespace)
    name = node.metadata.name
    runs = tuple(run for run in everything if any(entry.name == name for entry in run.spec.nodes))
    role = look(OpenStackDataPlaneRole, node.spec.role)
    if role is None:
        message = f"OpenStackDataPlaneRole {node.spec.role} does not exist; create it, or correct spec.role"
        return Seen(Wait("RoleMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR), runs)
    if elder := _find_elder(node, role, look, context):
        message = f"Node {elder} has the same host name or address, and was there first; correct one of them"
        return Seen(Wait("MachineTaken", message, INPUT_READY, ends=Ends.BY_USER), runs)
    works = find_works(role, look, image)
    return Seen(works if isinstance(works, Wait) else prepare(node, role, works, look), runs)


def _find_elder(node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, look: Look, context: Context) -> str:
    """Return the node that stands for the same machine, and was there first; "" if there is none.

    The webhook refuses such a node, but it may not have been there to be asked.
    """
    everyone = context.store(OpenStackDataPlaneNode).list(node.metadata.namespace)
    similar = [other for other in everyone if not other.deleting and _is_similar(node, other)]
    if len(similar) < 2:
        return ""
    roles = {role.metadata.name: role}
    for other in similar:
        found = look(OpenStackDataPlaneRole, other.spec.role)
        roles |= {other.spec.role: found} if found is not None else {}
    elder = find_twins(similar, roles).get(node.metadata.name, "")
    if elder:
        # When it changes or goes, this one may be alone.
        look(OpenStackDataPlaneNode, elder)
    return elder


def _is_similar(node: OpenStackDataPlaneNode, other: OpenStackDataPlaneNode) -> bool:
    names = [each.spec.hostName or each.metadata.name for each in (node, other)]
    return names[0] == names[1] or node.spec.ansibleHost == other.spec.ansibleHost != ""


def tell(node: OpenStackDataPlaneNode, seen: Seen) -> OpenStackDataPlaneNodeStatus:
    """Return how far a node is."""
    if isinstance(seen.prepared, Wait):
        # What is known of its services stays: what is missing now may have been there when they were applied.
        wanted = {record.name: "" for record in node.status.services}
    else:
        wanted = {due.service: due.inputs for due in seen.prepared.services}
    records = fold(node.status.services, wanted, node.metadata.name, seen.runs)
    waiting = isinstance(seen.prepared, Wait)
    following = next((record for record in records if not is_applied(record)), None)
    running = find_running(node.metadata.name, (run for run in seen.runs if run.spec.service in wanted))
    deployed = following is None and running is None and not waiting
    status = msgspec.structs.replace(
        node.status,
        phase=_phase(following, running, waiting=waiting),
        service="" if waiting else following.name if following is not None else running.name if running else "",
        deployed=deployed,
        running=running,
        services=records,
    )
    if isinstance(seen.prepared, Wait):
        return status
    machine = seen.prepared.machine
    met = (line for run in seen.runs if run.finished for line in run.status.hostKeys)
    return msgspec.structs.replace(
        status,
        hostName=machine.host_name,
        hostKeys=record_keys(node.status.hostKeys, met, machine),
        inventoryConfigMapName=NAME.format(node.metadata.name),
        sshKeySecretName=machine.key_secret,
    )


def is_applied(record: ServiceRecord) -> bool:
    """Return whether a service was applied as it is wanted now."""
    return bool(record.inputHash) and record.appliedHash == record.inputHash


def _phase(following: ServiceRecord | None, running: RunningService | None, *, waiting: bool) -> str:
    if waiting:
        return "Waiting"
    if following is None and running is None:
        return "Deployed"
    return "Reaching" if following is not None and following.name == REACH else "Deploying"


def children(node: OpenStackDataPlaneNode, seen: Seen) -> Iterable[Child | Wait | Finding]:
    """Return the objects with a node's inventory, and what is to say of its services."""
    if isinstance(seen.prepared, Wait):
        yield seen.prepared
        return
    machine, variables = seen.prepared.machine, seen.prepared.variables
    text = write_inventory({machine.host_name: describe_host(machine, variables.plain)})
    yield Child(ConfigMap, _body(NAME.format(machine.name), {INVENTORY_KEY: text}), INPUT_READY)
    if variables.secret:
        hidden = write_inventory({machine.host_name: variables.secret})
        body = _body(SECRET_NAME.format(machine.name), encode({INVENTORY_KEY: hidden}))
        yield Child(Secret, body, INPUT_READY)
    yield from find_state(tell(node, seen), deploy=machine.deploy)


def find_state(status: OpenStackDataPlaneNodeStatus, *, deploy: bool) -> Iterable[Finding]:
    """Return what is to say of a node's services: the first that is not applied decides, the others follow."""
    left = [record for record in status.services if not is_applied(record)]
    if not left:
        if status.running is not None:
            # It was changed and changed back while a run was under way, which applies what is wanted no more.
            message = f"Service {status.running.name} is being applied"
            yield Finding(DEPLOYMENT_READY, "False", "Deploying", message, "Info")
        return
    first = left[0]
    condition = SETUP_READY if first.name == REACH else DEPLOYMENT_READY
    if not deploy:
        names = ", ".join(record.name for record in left)
        message = f"deployStrategy.deploy is false; with true, these would run: {names}"
        yield Finding(condition, "False", "DeployIsOff", message, "Info")
    elif first.failures:
        yield failure_of(first, condition)
    elif first.name == REACH:
        yield Finding(condition, "False", "Reaching", "The machine has not been reached yet", "Info")
    else:
        yield Finding(condition, "False", "Deploying", f"Service {first.name} is being applied", "Info")


def failure_of(record: ServiceRecord, condition: str) -> Finding:
    """Return why a service failed. It is tried again by itself, but mostly it is the machine that has to be mended."""
    if CHANGED_KEY in record.message:
        message = (
            "The machine has another host key than at the first contact. If it was reinstalled, write its new key into "
            "the Secret with the SSH key, under known_hosts; otherwise find out who answers there"
        )
        return Finding(condition, "False", "HostKeyChanged", message, "Error")
    if record.name == REACH:
        message = f"The machine cannot be reached: {record.message or 'it does not answer'}"
        return Finding(condition, "False", "Unreachable", message, "Error")
    at = f" in task {record.task}" if record.task else ""
    why = f": {record.message}" if record.message else ""
    return Finding(condition, "False", "ServiceFailed", f"Service {record.name} failed{at}{why}", "Error")


def _body(name: str, data: dict[str, str]) -> JsonObject:
    return {"metadata": {"name": name}, "data": data}


def _nodes_of(run: OpenStackAnsibleEE) -> Iterable[Key]:
    return (Key(run.metadata.namespace, entry.name) for entry in run.spec.nodes)


def controller(image: str) -> Controller:
    """Return the controller of nodes."""
    interests = Interests()
    shape = Composite(
        of=OpenStackDataPlaneNode,
        owns=(ConfigMap, Secret),
        children=children,
        read=partial(_observe, interests=interests, image=image),
        tell=tell,
        pause=PAUSED,
    )
    looked_at: tuple[Watch[Any], ...] = (
        # A role's status tells of its nodes: it must not wake all of them again.
        interests.watch(OpenStackDataPlaneRole, asked_differently),
        interests.watch(OpenStackDataPlaneNode, asked_differently),
        *interests.watches((OpenStackDataPlaneService, ConfigMap, Secret)),
    )
    return shape.controller(watches=(*looked_at, Watch(OpenStackAnsibleEE, to=_nodes_of)))


def _observe(node: OpenStackDataPlaneNode, context: Context, *, interests: Interests, image: str) -> Seen:
    return observe(node, context, interests, image)
