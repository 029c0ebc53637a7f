"""What is refused when a resource of the data plane is written. Pure.

A reference to something that is not there yet is no error: the resource waits for it, and its author is warned.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import (
    OpenStackDataPlane,
    OpenStackDataPlaneNode,
    OpenStackDataPlaneRole,
    OpenStackDataPlaneRoleSpec,
    OpenStackDataPlaneSpec,
)
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.network import IPSet, IPSetSpec, NetConfig
from stackwright.api.node_sections import DeployStrategy, NodeSection
from stackwright.blueprint.addresses import refusals
from stackwright.blueprint.addresses.subnets import find_eldest, normalize
from stackwright.blueprint.dataplane import names
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.dataplane.inputs import BUNDLED, REACH
from stackwright.blueprint.dataplane.twins import locate
from stackwright.controllers.dataplane.preparation import find_deployer
from stackwright.controllers.ownership.users import FIELD_MANAGER
from stackwright.controllers.surroundings import Known
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.kube.resource import CustomResource, ObjectMeta
from stackwright.kube.shapes.belonging import is_made_by_user, tell_made_by_user
from stackwright.kube.shapes.child import mark_by

_KEY = "ansibleSSHPrivateKeySecret"
# How many nodes are named that use a role.
NAMED = 3


def _check_node(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    assert isinstance(new, OpenStackDataPlaneNode)  # noqa: S101  the table below says for which kind
    namespace = new.metadata.namespace
    roles = {role.metadata.name: role for role in known(OpenStackDataPlaneRole, namespace)}
    role, ip_sets = roles.get(new.spec.role), _find_ip_sets(namespace, known)
    errors = [
        *_ask_key(new, role),
        *_find_twins(
            new,
            locate(new, role, ip_sets.get(new.metadata.name)),
            _find_machines(known(OpenStackDataPlaneNode, namespace), roles, ip_sets),
        ),
        *_find_attachments(new, role),
        *_refuse_networks("spec.node", new.spec.node, namespace, known),
    ]
    told = [
        *_warn_networks("spec.node", new.spec.node, namespace, known),
        *_warn_section("spec.node", new.spec.node),
        *_warn_strategy("spec", new.spec.deployStrategy),
    ]
    networks = find_eldest(known(NetConfig, namespace))
    taken = names.find_taken(new, known(OpenStackDataPlaneNode, namespace), roles, networks)
    told += (
        f"spec.hostName: {name} is a name of node {other}, so this node does not get it"
        for name, other in taken.items()
    )
    kind = find_deployer(new)
    if kind and isinstance(old, OpenStackDataPlaneNode) and old.spec.ansibleHost != new.spec.ansibleHost:
        told.append(f"spec.ansibleHost: {kind} stays on its machine, so this has to be another address of the same one")
    if role is None:
        told.append(f"spec.role: there is no OpenStackDataPlaneRole {new.spec.role} yet; the node waits for it")
    return Objections(tuple(errors), tuple(told))


def _ask_key(node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole | None) -> Iterator[FieldError]:
    if role is not None and not inherit(node, role).key_secret:
        message = f"SSH key not provided for Node {node.metadata.name}; set it here or in the role's nodeTemplate"
        yield FieldError(f"spec.node.{_KEY}", message, "FieldValueRequired")


@dataclass(frozen=True)
class _Machines:
    """The machines of nodes, by their host names and by where they are reached."""

    hosts: Mapping[str, Sequence[str]]
    places: Mapping[tuple[str, int], Sequence[str]]


def _find_machines(
    nodes: Iterable[OpenStackDataPlaneNode],
    roles: Mapping[str, OpenStackDataPlaneRole],
    ip_sets: Mapping[str, IPSet],
) -> _Machines:
    hosts: dict[str, list[str]] = {}
    places: dict[tuple[str, int], list[str]] = {}
    for node in nodes:
        if node.deleting:
            continue
        machine = locate(node, roles.get(node.spec.role), ip_sets.get(node.metadata.name))
        hosts.setdefault(normalize(machine.host_name), []).append(machine.name)
        if machine.address:
            places.setdefault((normalize(machine.address), machine.port), []).append(machine.name)
    return _Machines(hosts, places)


def _find_twins(new: OpenStackDataPlaneNode, mine: Machine, there: _Machines) -> Iterator[FieldError]:
    """Yield what another node says as well: two nodes for one machine would be configured at the same time."""
    path = "spec.node.networks" if new.spec.node.networks and not new.spec.ansibleHost else "spec.ansibleHost"
    if other := _find_other(mine, there.hosts.get(normalize(mine.host_name), ())):
        yield FieldError("spec.hostName", f"is the host name of node {other}, too", "FieldValueDuplicate")
    place = normalize(mine.address), mine.port
    if mine.address and (other := _find_other(mine, there.places.get(place, ()))):
        message = f"is the address of node {other}, too"
        yield FieldError(path, message, "FieldValueDuplicate", value=mine.address)


def _find_other(mine: Machine, names: Iterable[str]) -> str:
    return next((name for name in names if name != mine.name), "")


def _find_ip_sets(namespace: str, known: Known) -> dict[str, IPSet]:
    return {each.metadata.name: each for each in known(IPSet, namespace)}


def _find_attachments(node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole | None) -> Iterator[FieldError]:
    theirs = role.spec.networkAttachments if role is not None else ()
    if node.spec.networkAttachments and theirs and set(node.spec.networkAttachments) != set(theirs):
        message = f"must be those of role {node.spec.role} ({', '.join(theirs)}), or be left out"
        yield FieldError("spec.networkAttachments", message)


def _check_role(_: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    assert isinstance(new, OpenStackDataPlaneRole)  # noqa: S101  the table below says for which kind
    nodes = [
        node
        for node in known(OpenStackDataPlaneNode, new.metadata.namespace)
        if node.spec.role == new.metadata.name and not node.deleting
    ]
    without = [node.metadata.name for node in nodes if not inherit(node, new).key_secret]
    namespace, template = new.metadata.namespace, new.spec.nodeTemplate
    errors = [
        *_refuse_services("spec", new.spec),
        *_refuse_networks("spec.nodeTemplate", template, namespace, known),
    ]
    if without:
        message = f"SSH key not provided for Node {without[0]}; set it here or on the node"
        errors.append(FieldError(f"spec.nodeTemplate.{_KEY}", message, "FieldValueRequired"))
    return Objections(tuple(errors), tuple(_warn_role("spec", new, known)))


def hold_role(role: CustomResource, known: Known) -> str:
    """Return why a role has to stay; "" if no node uses it. Nodes that are being deleted do not need it any more."""
    nodes = known(OpenStackDataPlaneNode, role.metadata.namespace)
    named = sorted(node.metadata.name for node in nodes if node.spec.role == role.metadata.name and not node.deleting)
    if not named:
        return ""
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return f"it is the role of {', '.join(named[:NAMED])}{more}; delete these nodes, or give them another role first"


def _check_data_plane(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    assert isinstance(new, OpenStackDataPlane)  # noqa: S101  the table below says for which kind
    namespace = new.metadata.namespace
    roles = {name: _role(name, namespace, spec) for name, spec in new.spec.roles.items()}
    others = {role.metadata.name: role for role in known(OpenStackDataPlaneRole, namespace)}
    every = {**others, **roles}
    made = [
        OpenStackDataPlaneNode(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)
        for name, spec in new.spec.nodes.items()
    ]
    ip_sets = _find_ip_sets(namespace, known)
    before = old.spec if isinstance(old, OpenStackDataPlane) else OpenStackDataPlaneSpec()
    errors = [*_refuse_taken(new, before, known)]
    told: list[str] = [*_warn_strategy("spec", new.spec.deployStrategy)]
    for name, made_role in roles.items():
        errors += _refuse_services(f"spec.roles[{name}]", made_role.spec)
        errors += _refuse_networks(f"spec.roles[{name}].nodeTemplate", made_role.spec.nodeTemplate, namespace, known)
        told += _warn_role(f"spec.roles[{name}]", made_role, known)
    machines = _find_machines(made, every, ip_sets)
    for node in made:
        role, place = every.get(node.spec.role), f"spec.nodes[{node.metadata.name}]"
        mine = locate(node, role, ip_sets.get(node.metadata.name))
        found = (*_ask_key(node, role), *_find_twins(node, mine, machines))
        errors += (FieldError(place + error.field.removeprefix("spec"), error.message, error.reason) for error in found)
        errors += _refuse_networks(f"{place}.node", node.spec.node, namespace, known)
        told += _warn_networks(f"{place}.node", node.spec.node, namespace, known)
        told += _warn_section(f"{place}.node", node.spec.node)
        if node.spec.role not in every:
            told.append(f"{place}.role: there is no role {node.spec.role} yet; the node waits for it")
    return Objections(tuple(errors), tuple(told))


def _refuse_taken(new: OpenStackDataPlane, before: OpenStackDataPlaneSpec, known: Known) -> Iterator[FieldError]:
    """Yield the roles and nodes that another data plane has, or that a user made: this one would delete them.

    Only names that are new are checked: what is there already is refused by the controller, or belongs to it.
    """
    namespace = new.metadata.namespace
    planes = [each for each in known(OpenStackDataPlane, namespace) if each.key != new.key and not each.deleting]
    for field, kind in (("roles", OpenStackDataPlaneRole), ("nodes", OpenStackDataPlaneNode)):
        there = {each.metadata.name: each for each in known(kind, namespace) if not each.deleting}
        for name in sorted(getattr(new.spec, field).keys() - getattr(before, field).keys()):
            what, path = f"{kind.kind.name} {name}", f"spec.{field}[{name}]"
            other = next((each.metadata.name for each in planes if name in getattr(each.spec, field)), "")
            if other:
                message = f"{what} belongs to OpenStackDataPlane {other}; use another name, or remove it there first"
                yield FieldError(path, message, "FieldValueDuplicate")
            elif name in there and is_made_by_user(there[name], mark_by(FIELD_MANAGER)):
                yield FieldError(path, tell_made_by_user(what, new), "FieldValueDuplicate")


def _role(name: str, namespace: str, spec: OpenStackDataPlaneRoleSpec) -> OpenStackDataPlaneRole:
    return OpenStackDataPlaneRole(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)


def _refuse_services(place: str, spec: OpenStackDataPlaneRoleSpec) -> Iterator[FieldError]:
    if REACH in spec.services:
        message = f"{REACH} is the way to each machine, and comes first by itself; remove it"
        yield FieldError(f"{place}.services", message, "FieldValueForbidden")


def _warn_role(place: str, role: OpenStackDataPlaneRole, known: Known) -> Iterator[str]:
    there = {each.metadata.name for each in known(OpenStackDataPlaneService, role.metadata.namespace)}
    for name in role.spec.services:
        if name not in there and name not in BUNDLED:
            yield f"{place}.services: there is no OpenStackDataPlaneService {name} yet; the nodes wait for it"
    if role.spec.baremetalSetTemplate is not None:
        yield f"{place}.baremetalSetTemplate has no effect: machines are not provisioned yet"
    template = role.spec.nodeTemplate
    yield from _warn_networks(f"{place}.nodeTemplate", template, role.metadata.namespace, known)
    if any(network.fixedIP for network in template.networks):
        yield f"{place}.nodeTemplate.networks: a fixedIP is of one machine; set it on the node"
    yield from _warn_section(f"{place}.nodeTemplate", template)
    yield from _warn_strategy(place, role.spec.deployStrategy)


def _warn_section(place: str, section: NodeSection) -> Iterator[str]:
    for name in ("managementNetwork", "userData", "networkData"):
        if getattr(section, name):
            yield f"{place}.{name} has no effect yet"


def _refuse_networks(place: str, section: NodeSection, namespace: str, known: Known) -> Iterator[FieldError]:
    """Yield what is wrong with the networks of a node, as with those of an IPSet; unknown networks may come later."""
    networks = find_eldest(known(NetConfig, namespace))
    if networks is None or not section.networks:
        return
    for path, sentence in refusals.of_ip_set(IPSetSpec(networks=section.networks), networks.spec):
        yield FieldError(place + path.removeprefix("spec"), sentence)


def _warn_networks(place: str, section: NodeSection, namespace: str, known: Known) -> Iterator[str]:
    if section.networks and not known(NetConfig, namespace):
        yield f"{place}.networks: there is no NetConfig in namespace {namespace} yet; nodes wait for it"


def _warn_strategy(place: str, strategy: DeployStrategy) -> Iterator[str]:
    if strategy.ansibleLimit:
        yield f"{place}.deployStrategy.ansibleLimit has no effect: every node is reconciled on its own"


def _check_playbook(_: CustomResource | None, new: CustomResource, __: Known) -> Objections:
    assert isinstance(new, OpenStackDataPlaneService | OpenStackAnsibleEE)  # noqa: S101  the table below says for which kinds
    if not new.spec.playbookContents:
        return Objections()
    path = "spec.playbookContents"
    try:
        plays: Any = yaml.load(new.spec.playbookContents, Loader=_Tags)  # noqa: S506  makes nothing but plain values
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        return Objections(errors=(FieldError(path, f"is not YAML{where}"),))
    if not isinstance(plays, list) or not all(isinstance(play, dict) for play in plays):
        return Objections(errors=(FieldError(path, "is not a playbook: it must be a list of plays"),))
    return Objections()


class _Tags(yaml.SafeLoader):
    """Reads YAML with Ansible's own tags (!vault, !unsafe), of which only the form counts here."""


_Tags.add_multi_constructor("!", lambda loader, suffix, node: None)  # noqa: ARG005  the form of a constructor


checks: Mapping[type[CustomResource], Callable[[CustomResource | None, CustomResource, Known], Objections]] = {
    OpenStackDataPlane: _check_data_plane,
    OpenStackDataPlaneRole: _check_role,
    OpenStackDataPlaneNode: _check_node,
    OpenStackDataPlaneService: _check_playbook,
    OpenStackAnsibleEE: _check_playbook,
}
