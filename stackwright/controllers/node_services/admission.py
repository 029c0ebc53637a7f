"""What is refused: a node keeps what it is bound to, and gets no service twice. Odd annotations are warned of.

A change of a role, or of the role of a node, is judged by what it means for each node. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import (
    OpenStackDataPlane,
    OpenStackDataPlaneNode,
    OpenStackDataPlaneRole,
)
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.records import with_begun
from stackwright.blueprint.dataplane.wishes import NO, YES, wish_of
from stackwright.controllers.surroundings import Known
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.kube.resource import CustomResource

Check = Callable[[CustomResource | None, CustomResource, Known], Objections]
Nodes = OpenStackDataPlaneNode
Roles = OpenStackDataPlaneRole
FORBIDDEN = "FieldValueForbidden"
# How many characters of an annotation are repeated, and how many resources are named that there are.
LONGEST, NAMED = 63, 5


def checks(services: tuple[NodeService, ...]) -> Mapping[type[CustomResource], Check]:
    """Return the checks of the kinds of the data plane, and of the services' own kinds."""
    return {
        OpenStackDataPlaneNode: partial(_check_node, services),
        OpenStackDataPlaneRole: partial(_check_role, services),
        OpenStackDataPlane: partial(_check_data_plane, services),
        OpenStackDataPlaneService: partial(_check_service, services),
        **dict.fromkeys((service.kind for service in services), _check_name),
    }


def _check_node(
    services: tuple[NodeService, ...], old: CustomResource | None, new: CustomResource, known: Known
) -> Objections:
    assert isinstance(new, Nodes)  # noqa: S101  the table above says for which kind
    before = old if isinstance(old, Nodes) else None
    roles = {role.metadata.name: role for role in known(Roles, new.metadata.namespace)}
    role = roles.get(new.spec.role)
    errors: list[FieldError] = []
    warnings: list[str] = []
    for service in services:
        moved = before is not None and before.spec.role != new.spec.role
        same = before is not None and _own(service, before) == _own(service, new)
        path = "spec.role" if moved and same else _path(service)
        was = wish_of(service, before, roles.get(before.spec.role), services) if before is not None else ""
        will = wish_of(service, new, role, services)
        errors += _refuse_move(service, new, was, will, path, known)
        if before is not None:
            errors += _refuse_rename(service, before, new, "spec.hostName", known)
        had = _find_twice(service, roles.get(before.spec.role), known) if before is not None and was else ()
        twice = _refuse_twice(path, had, _find_twice(service, role, known) if will else ())
        errors += twice.errors
        warnings += twice.warnings
    return Objections(tuple(errors), (*warnings, *_warn_odd(services, new, known)))


def _check_role(
    services: tuple[NodeService, ...], old: CustomResource | None, new: CustomResource, known: Known
) -> Objections:
    assert isinstance(new, Roles)  # noqa: S101  the table above says for which kind
    before = old if isinstance(old, Roles) else None
    nodes = [node for node in known(Nodes, new.metadata.namespace) if node.spec.role == new.metadata.name]
    errors: list[FieldError] = []
    warnings: list[str] = []
    for service in services:
        for node in nodes:
            was = wish_of(service, node, before, services)
            errors += _refuse_move(service, node, was, wish_of(service, node, new, services), _path(service), known)
        had, now = (
            _find_twice(service, each, known) if _is_asked(service, each, nodes, services) else ()
            for each in (before, new)
        )
        twice = _refuse_twice("spec.services", had, now)
        errors += twice.errors
        warnings += twice.warnings
    return Objections(tuple(dict.fromkeys(errors)), (*warnings, *_warn_odd(services, new, known)))


def _is_asked(
    service: NodeService, role: OpenStackDataPlaneRole | None, nodes: Iterable[Nodes], services: tuple[NodeService, ...]
) -> bool:
    """Return whether a role, or one of its nodes, asks for a service."""
    by_role = role is not None and bool(role.metadata.annotations.get(service.annotation))
    return by_role or any(wish_of(service, node, role, services) for node in nodes)


def _check_data_plane(
    services: tuple[NodeService, ...], _: CustomResource | None, new: CustomResource, known: Known
) -> Objections:
    """Return which nodes would get another role that does not fit what they are bound to, or another host name."""
    assert isinstance(new, OpenStackDataPlane)  # noqa: S101  the table above says for which kind
    namespace = new.metadata.namespace
    roles = {role.metadata.name: role for role in known(Roles, namespace)}
    errors: list[FieldError] = []
    for node in known(Nodes, namespace):
        wanted = new.spec.nodes.get(node.metadata.name)
        if wanted is None:
            continue
        path = f"spec.nodes[{node.metadata.name}].role"
        moved = Nodes(metadata=node.metadata, spec=wanted)
        for service in services:
            errors += _refuse_rename(service, node, moved, f"spec.nodes[{node.metadata.name}].hostName", known)
            if wanted.role == node.spec.role:
                continue
            was = wish_of(service, node, roles.get(node.spec.role), services)
            will = wish_of(service, moved, roles.get(wanted.role), services)
            errors += _refuse_move(service, node, was, will, path, known)
    return Objections(tuple(errors))


def _check_service(
    services: tuple[NodeService, ...], old: CustomResource | None, new: CustomResource, known: Known
) -> Objections:
    assert isinstance(new, OpenStackDataPlaneService)  # noqa: S101  the table above says for which kind
    namespace, name = new.metadata.namespace, new.metadata.name
    roles = {role.metadata.name: role for role in known(Roles, namespace) if name in role.spec.services}
    for service in services:
        if not service.is_run_by(new.spec):
            continue
        for node in known(Nodes, namespace):
            role = roles.get(node.spec.role)
            if role is not None and wish_of(service, node, role, services):
                message = (
                    f"node {node.metadata.name} gets the same by {service.kind.kind.name}; remove {name} from the "
                    f"services of role {role.metadata.name}, or remove the annotation {service.annotation}"
                )
                field = "spec.playbook" if new.spec.playbook else "spec.role"
                if isinstance(old, OpenStackDataPlaneService) and service.is_run_by(old.spec):
                    return Objections(warnings=(f"{field}: {message}",))
                return Objections((FieldError(field, message, FORBIDDEN),))
    return Objections()


def _check_name(_: CustomResource | None, new: CustomResource, __: Known) -> Objections:
    assert isinstance(new, NodeServiceResource)  # noqa: S101  the table above says for which kinds
    if new.node_name == new.metadata.name:
        return Objections()
    message = f"must be the name of this resource, {new.metadata.name}, or be left out"
    return Objections((FieldError("spec.dataplaneNodeName", message, value=new.node_name),))


def _refuse_move(
    service: NodeService, node: OpenStackDataPlaneNode, was: str, will: str, path: str, known: Known
) -> Iterator[FieldError]:
    """Yield why a node cannot be bound to something else: from unset to set is allowed, and nothing else.

    To unset it is allowed as soon as the resource of the service is gone.
    """
    if service.binding is None:
        return
    name = node.metadata.name
    there = next((each for each in known(service.kind, node.metadata.namespace) if each.metadata.name == name), None)
    bound = service.bound_to(there) or was
    if not bound or will == bound:
        return
    kind = service.kind.kind.name
    if will:
        message = f"node {name} is bound to {bound} and cannot change to {will}: {service.binding.why}"
        yield FieldError(path, message, FORBIDDEN)
    elif there is not None:
        message = f"node {name} is bound to {bound}; delete its {kind} first"
        yield FieldError(path, message, FORBIDDEN)


def _refuse_rename(
    service: NodeService, before: OpenStackDataPlaneNode, after: OpenStackDataPlaneNode, path: str, known: Known
) -> Iterator[FieldError]:
    """Yield why a node keeps its host name: the service's API knows what is on the machine by that name."""
    name = before.metadata.name
    was, will = (node.spec.hostName or name for node in (before, after))
    if was == will:
        return
    namespace = before.metadata.namespace
    there = next((each for each in known(service.kind, namespace) if each.metadata.name == name), None)
    if there is None:
        return
    there = with_begun(there, known(OpenStackAnsibleEE, namespace))
    # With the webhook down, the node may have got a name by which nobody knows it: it may be set back.
    known_as = there.status.hostName or was
    if there.has_begun and will != known_as:
        message = f"must stay {known_as}, by which {service.kind.kind.name} {name} is known; delete that first"
        yield FieldError(path, message, FORBIDDEN)


def _find_twice(service: NodeService, role: OpenStackDataPlaneRole | None, known: Known) -> Iterator[str]:
    """Yield the services of a role that deploy the same as an operator's, with what there is to say of each."""
    if role is None:
        return
    for other in known(OpenStackDataPlaneService, role.metadata.namespace):
        if other.metadata.name in role.spec.services and service.is_run_by(other.spec):
            yield (
                f"{service.kind.kind.name} and OpenStackDataPlaneService {other.metadata.name} of role "
                f"{role.metadata.name} would deploy the same; use one of them"
            )


def _refuse_twice(path: str, before: Iterable[str], now: Iterable[str]) -> Objections:
    """Return an error for each conflict that is new. One that was there before is only warned of.

    Otherwise no other change of the resource would be taken, not even a pause.
    """
    had = frozenset(before)
    found = tuple(now)
    errors = tuple(FieldError(path, message, FORBIDDEN) for message in found if message not in had)
    return Objections(errors, tuple(f"{path}: {message}" for message in found if message in had))


def _warn_odd(
    services: tuple[NodeService, ...], new: OpenStackDataPlaneNode | OpenStackDataPlaneRole, known: Known
) -> Iterator[str]:
    """Yield which annotations mean nothing, or nothing yet. An empty one takes away what the role says."""
    for service in services:
        said = new.metadata.annotations.get(service.annotation, "").strip()
        if not said:
            continue
        shown = said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
        if service.binding is None:
            if said not in (YES, NO):
                yield f'{_path(service)}: "{shown}" means nothing, and counts as {NO}; write {YES} or {NO}'
            continue
        kind, there = service.binding.of, known(service.binding.of, new.metadata.namespace)
        names = sorted(each.metadata.name for each in there)
        if said not in names:
            listed = f"; there are {', '.join(names[:NAMED])}{', …' if len(names) > NAMED else ''}" if names else ""
            yield f"{_path(service)}: no {kind.kind.name} {shown} in this namespace yet, and nodes wait for it{listed}"


def _own(service: NodeService, node: OpenStackDataPlaneNode) -> str | None:
    return node.metadata.annotations.get(service.annotation)


def _path(service: NodeService) -> str:
    return f"metadata.annotations[{service.annotation}]"
