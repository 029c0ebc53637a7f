"""OpenStackDataPlaneNode: its inventory as a ConfigMap, and in its status what runs came to on the machine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import RUNNING, OpenStackAnsibleEE
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
from stackwright.api.network import DNSData, IPSet, NetConfig
from stackwright.blueprint import use
from stackwright.blueprint.dataplane.addresses import describe_ip_set, find_networks
from stackwright.blueprint.dataplane.host_keys import record as record_keys
from stackwright.blueprint.dataplane.inheritance import inherit
from stackwright.blueprint.dataplane.inputs import REACH
from stackwright.blueprint.dataplane.inventory import INVENTORY_KEY, NAME, SECRET_NAME, describe_host, write_inventory
from stackwright.blueprint.dataplane.names import Around, describe_dns_data, find_taken, shorten
from stackwright.blueprint.dataplane.records import (
    find_given_name,
    find_lost,
    find_running,
    fold,
    is_for_node,
    names_of,
    with_lost,
)
from stackwright.blueprint.dataplane.twins import find_given, find_twins, words_of
from stackwright.blueprint.look import Look
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.dataplane import unseen_runs
from stackwright.controllers.dataplane.holding import hold, releasing
from stackwright.controllers.dataplane.name_servers import watch_name_servers
from stackwright.controllers.dataplane.preparation import Prepared, find_deployer, find_works, prepare
from stackwright.controllers.looks import Interests, Looker, forgetting
from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.conditions import READY, Finding
from stackwright.kube.controller import Context, Controller, Watch
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import Condition, JsonObject, Key, Resource
from stackwright.kube.shapes.composite import Child, Composite

# The indexes of runs by their nodes, and of nodes by where their machines are and by their short names.
_NODES, _PLACES, _SHORT_NAMES = "nodes", "places", "short-names"
# What SSH says last of a machine that has another key than the one that it knows; of a long text the middle is cut out.
CHANGED_KEY = "has changed and you have requested strict checking"


@dataclass(frozen=True)
class Seen:
    """What there is for a node: everything that its runs need, or what is missing; and the runs that touch it.

    `ip_set` is what it asks for in the networks that it names, `dns_data` the names that it has there. `taken` are
    those that it would have if an older node did not have them, each with that one.
    """

    prepared: Prepared | Wait
    runs: tuple[OpenStackAnsibleEE, ...] = ()
    ip_set: JsonObject | None = None
    dns_data: JsonObject | None = None
    taken: Mapping[str, str] = field(default_factory=dict)


def observe(node: OpenStackDataPlaneNode, context: Context, interests: Interests, image: str) -> Seen:
    """Read what a node and its role mean, and its runs."""
    look = interests.begin(node, context)
    runs = tuple(_find_runs(node, context))
    role = look(OpenStackDataPlaneRole, node.spec.role)
    if role is None:
        message = f"OpenStackDataPlaneRole {node.spec.role} does not exist; create it, or correct spec.role"
        return Seen(Wait("RoleMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR), runs)
    if (elder := _find_elder(node, role, look, context)) is not None:
        return Seen(_wait_for(elder), runs)
    works = find_works(role, look, image)
    prepared = works if isinstance(works, Wait) else prepare(node, role, works, look)
    taken = _find_taken(node, role, look, context)
    dns_data = describe_dns_data(node, role, look, taken)
    return Seen(prepared, runs, describe_ip_set(node, role, look), dns_data, taken)


def _wait_for(elder: OpenStackDataPlaneNode) -> Wait:
    same = f"Node {elder.metadata.name} has the same host name, address or host key"
    if elder.deleting:
        return Wait("MachineTaken", f"{same}, and is being deleted; this waits until it is gone", INPUT_READY)
    message = f"{same}, and was there first; correct one of them"
    return Wait("MachineTaken", message, INPUT_READY, ends=Ends.BY_USER)


def _find_elder(
    node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, look: Look, context: Context
) -> OpenStackDataPlaneNode | None:
    """Return the node that stands for the same machine, and was there first; None if there is none.

    The webhook refuses such a node, but it may not have been there to be asked; and it lets one pass that takes the
    place of another one, which is still being deleted.
    """
    similar = list(_find_similar(node, context))
    if len(similar) < 2:
        return None
    roles = {role.metadata.name: role}
    for other in similar:
        found = look(OpenStackDataPlaneRole, other.spec.role)
        roles |= {other.spec.role: found} if found is not None else {}
    ip_sets = (context.store(IPSet).get(other.key) for other in similar)
    named = {ip_set.metadata.name: ip_set for ip_set in ip_sets if ip_set is not None}
    elder = find_twins(similar, roles, named).get(node.metadata.name)
    # When it changes or goes, this one may be alone.
    return look(OpenStackDataPlaneNode, elder) if elder is not None else None


def _find_taken(
    node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, look: Looker, context: Context
) -> dict[str, str]:
    """Return the names in its networks that a node does not have, because an older one has them."""
    networks = find_networks(look) if inherit(node, role).networks else None
    if networks is None:
        return {}
    store = context.store(OpenStackDataPlaneNode)
    store.index(_SHORT_NAMES, lambda each: (shorten(each),))
    alike = [each.metadata.name for each in store.by(_SHORT_NAMES, shorten(node)) if _is_beside(each, node)]
    # When one of them changes or goes, this one may have its names.
    others = [each for name in alike if (each := look(OpenStackDataPlaneNode, name)) is not None]
    found = (look(OpenStackDataPlaneRole, each.spec.role) for each in others)
    roles = {each.metadata.name: each for each in (role, *found) if each is not None}
    ip_set, served = context.store(IPSet).get(node.key), ((name, look(DNSData, name)) for name in alike)
    around = Around(
        addresses=ip_set.status.reservations if ip_set is not None else (),
        served={name: each for name, each in served if each is not None},
    )
    return find_taken(node, others, roles, networks, around)


def _is_beside(other: OpenStackDataPlaneNode, node: OpenStackDataPlaneNode) -> bool:
    return other.key.namespace == node.key.namespace and other.key != node.key


def _find_runs(node: OpenStackDataPlaneNode, context: Context) -> Iterable[OpenStackAnsibleEE]:
    """Yield the runs that touch a node. A thousand nodes ask for theirs, so there is an index."""
    store = context.store(OpenStackAnsibleEE)
    store.index(_NODES, lambda run: (entry.name for entry in run.spec.nodes))
    runs = store.by(_NODES, node.metadata.name)
    return (run for run in runs if run.metadata.namespace == node.metadata.namespace)


def _find_similar(node: OpenStackDataPlaneNode, context: Context) -> Iterable[OpenStackDataPlaneNode]:
    """Return the nodes with the host name, address or keys of a node, itself among them; by indexes as well."""
    store, ip_sets = context.store(OpenStackDataPlaneNode), context.store(IPSet)
    store.index(_PLACES, words_of)
    ip_sets.index(_PLACES, find_given)
    words = words_of(node).union(find_given(ip_sets.get(node.key)))
    keys = {other.key for word in words for other in (*store.by(_PLACES, word), *ip_sets.by(_PLACES, word))}
    # An IPSet is named after its node.
    found = (store.get(key) for key in keys if key.namespace == node.metadata.namespace)
    return [other for other in found if other is not None]


def tell(node: OpenStackDataPlaneNode, seen: Seen) -> OpenStackDataPlaneNodeStatus:
    """Return how far a node is."""
    if isinstance(seen.prepared, Wait):
        # What is known of its services stays: what is missing now may have been there when they were applied.
        wanted = {record.name: "" for record in node.status.services}
    else:
        wanted = {due.service: due.inputs for due in seen.prepared.services}
    counted = [run for run in seen.runs if is_for_node(run, node)]
    waiting = isinstance(seen.prepared, Wait)
    running = find_running(node.metadata.name, (run for run in counted if run.spec.service in wanted))
    before = with_lost(node.status.services, find_lost(node.status.running, names_of(seen.runs)))
    used = {} if isinstance(seen.prepared, Wait) else {due.service: due.used for due in seen.prepared.services}
    records = tuple(
        use.with_use(record, used.get(record.name), running=running is not None and running.name == record.name)
        for record in fold(before, wanted, node.metadata.name, counted)
    )
    following = next((record for record in records if not is_applied(record)), None)
    deployed = following is None and running is None and not waiting
    last = max((record.finishedAt for record in records), default="")
    status = msgspec.structs.replace(
        node.status,
        phase=_phase(following, running, waiting=waiting),
        service="" if waiting else following.name if following is not None else running.name if running else "",
        deployed=deployed,
        firstDeployedAt=node.status.firstDeployedAt or (last if deployed else ""),
        running=running,
        services=records,
    )
    if isinstance(seen.prepared, Wait):
        return status
    machine = seen.prepared.machine
    met = (line for run in counted if run.finished for line in run.status.hostKeys)
    return msgspec.structs.replace(
        status,
        # Operators say that they are on the machine once they were seen to be: a rename may come before that.
        hostName=find_given_name(node.metadata.name, seen.runs) or machine.host_name,
        hostKeys=record_keys(
            node.status.hostKeys,
            met,
            machine,
            given=seen.prepared.known_hosts,
            is_kept=bool(find_deployer(node)),
        ),
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
    """Return the objects with a node's inventory, its IPSet, and what is to say of its services."""
    if seen.ip_set is not None:
        yield Child(IPSet, hold(seen.ip_set, node), INPUT_READY)
    if seen.dns_data is not None:
        yield Child(DNSData, seen.dns_data, INPUT_READY, _is_named)
    if isinstance(seen.prepared, Wait):
        yield seen.prepared
        return
    machine, variables = seen.prepared.machine, seen.prepared.variables
    text = write_inventory({machine.host_name: describe_host(machine, variables.plain)})
    yield Child(ConfigMap, hold(_body(NAME.format(machine.name), {INVENTORY_KEY: text}), node), INPUT_READY)
    if variables.secret:
        hidden = write_inventory({machine.host_name: variables.secret})
        body = _body(SECRET_NAME.format(machine.name), encode({INVENTORY_KEY: hidden}))
        yield Child(Secret, hold(body, node), INPUT_READY)
    yield _tell_names(seen.taken)
    status = tell(node, seen)
    held_by = find_holding(node.metadata.name, seen.runs, status.running)
    stuck = find_stuck(seen.runs, status.running.run if status.running is not None else held_by)
    yield from find_state(status, deploy=machine.deploy, held_by=held_by, stuck=stuck)


def find_holding(node: str, runs: Iterable[OpenStackAnsibleEE], own: RunningService | None) -> str:
    """Return another run that has a node and has not ended, so that none of its own begins; "" if there is none."""
    others = (run.metadata.name for run in runs if not run.ended_at(node))
    return next(others, "") if own is None else ""


def find_delay(runs: Iterable[OpenStackAnsibleEE], name: str) -> str:
    """Return what a run waits for before it begins; "" if it says nothing, or if somebody has to act."""
    said = _find_said(runs, name)
    if said is None or said.severity != "Info" or said.reason == RUNNING or not said.message:
        return ""
    return f"OpenStackAnsibleEE {name} waits: {said.message}"


def find_stuck(runs: Iterable[OpenStackAnsibleEE], name: str) -> Finding | None:
    """Return what somebody has to do so that a run goes on; None where it does so by itself."""
    said = _find_said(runs, name)
    if said is None or said.severity not in ("Error", "Warning"):
        return None
    return Finding("", "False", said.reason, f"OpenStackAnsibleEE {name}: {said.message}", said.severity)


def _find_said(runs: Iterable[OpenStackAnsibleEE], name: str) -> Condition | None:
    """Return why a run is not through; None if it is, or does not say it."""
    run = next((run for run in runs if run.metadata.name == name and not run.finished), None)
    said = conditions.find(run.status.conditions, READY) if run is not None else None
    return said if said is not None and said.status != "True" else None


def _tell_names(taken: Mapping[str, str]) -> Finding:
    """Say which names a node does not have; it works without them."""
    if not taken:
        return Finding(INPUT_READY, "True", READY, "")
    said = "; ".join(f"{name} is a name of node {other}" for name, other in taken.items())
    message = f"{said}, and leads there. To have such names for this node too, give it another hostName"
    return Finding(INPUT_READY, "True", "NameTaken", message, "Warning")


def find_state(
    status: OpenStackDataPlaneNodeStatus, *, deploy: bool, held_by: str = "", stuck: Finding | None = None
) -> Iterable[Finding]:
    """Return what is to say of a node's services: the first that is not applied decides, the others follow.

    `held_by` is a run of somebody else's that has the node, `stuck` why the run that has the node does not go on.
    """
    left = [record for record in status.services if not is_applied(record)]
    if not left:
        if status.running is not None:
            # It was changed and changed back while a run was under way, which applies what is wanted no more.
            message = f"Service {status.running.name} is being applied"
            said = stuck or Finding("", "False", "Deploying", message, "Info")
            yield replace(said, condition=DEPLOYMENT_READY)
        return
    first = left[0]
    condition = SETUP_READY if first.name == REACH else DEPLOYMENT_READY
    if not deploy:
        names = ", ".join(record.name for record in left)
        message = f"deployStrategy.deploy is false; with true, these would run: {names}"
        yield Finding(condition, "False", "DeployIsOff", message, "Info")
    elif first.failures:
        yield failure_of(first, condition)
    elif stuck is not None:
        yield replace(stuck, condition=condition)
    elif held_by:
        message = f"Service {first.name} waits until OpenStackAnsibleEE {held_by}, which has the node, has ended"
        yield Finding(condition, "False", "NodeBusy", message, "Info")
    elif first.name == REACH:
        yield Finding(condition, "False", "Reaching", "The machine has not been reached yet", "Info")
    else:
        yield Finding(condition, "False", "Deploying", f"Service {first.name} is being applied", "Info")


def failure_of(record: ServiceRecord, condition: str) -> Finding:
    """Return why a service failed. It is tried again by itself, but mostly it is the machine that has to be mended."""
    if record.state == "NotBegun":
        message = f"Service {record.name} did not run, and is as before: {record.message}"
        return Finding(condition, "False", record.state, message, "Error")
    if CHANGED_KEY in record.message:
        message = (
            "The machine has another host key than at the first contact. If it was reinstalled, write its new key into "
            "the Secret with the SSH key, under known_hosts. If ansibleHost is another machine now, set it back, and "
            "delete the node's services first. Otherwise find out who answers there"
        )
        return Finding(condition, "False", "HostKeyChanged", message, "Error")
    if record.name == REACH:
        message = f"The machine cannot be reached: {record.message or 'it does not answer'}"
        return Finding(condition, "False", "Unreachable", message, "Error")
    at = f" in task {record.task}" if record.task else ""
    why = f": {record.message}" if record.message else ""
    return Finding(condition, "False", "ServiceFailed", f"Service {record.name} failed{at}{why}", "Error")


def _is_named(_: Resource) -> Finding:
    """Say nothing of a node's names: Ansible reaches the machine by its address."""
    return Finding("", "True", READY, "")


def _body(name: str, data: dict[str, str]) -> JsonObject:
    return {"metadata": {"name": name}, "data": data}


def _nodes_of(run: OpenStackAnsibleEE) -> Iterable[Key]:
    return (Key(run.metadata.namespace, entry.name) for entry in run.spec.nodes)


def controller(image: str) -> Controller:
    """Return the controller of nodes."""
    interests = Interests()
    shape = Composite(
        of=OpenStackDataPlaneNode,
        owns=(ConfigMap, Secret, IPSet, DNSData),
        children=children,
        read=partial(_observe, interests=interests, image=image),
        tell=tell,
        pause=PAUSED,
        spares_users=True,
    )
    looked_at: tuple[Watch[Any], ...] = (
        # A role's status tells of its nodes: it must not wake all of them again.
        interests.watch(OpenStackDataPlaneRole, asked_differently),
        interests.watch(OpenStackDataPlaneNode, asked_differently),
        interests.watch(NetConfig, asked_differently),
        # Of those alone whose host name begins with the same word.
        interests.watch(DNSData, asked_differently),
        watch_name_servers(interests),
        *interests.watches((OpenStackDataPlaneService, ConfigMap, Secret)),
    )
    found = shape.controller(watches=(*looked_at, Watch(OpenStackAnsibleEE, to=_nodes_of)))
    return releasing(forgetting(found, interests.forget))


async def _observe(node: OpenStackDataPlaneNode, context: Context, *, interests: Interests, image: str) -> Seen:
    seen = observe(node, context, interests, image)
    runs = await unseen_runs.complete(seen.runs, node.status.running, node.metadata.namespace, context.client)
    return replace(seen, runs=runs)
