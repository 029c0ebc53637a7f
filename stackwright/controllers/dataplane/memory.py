"""What nodes were prepared to, remembered between two passes over their role.

A role looks at all its nodes each time that one of them changes. What a node means follows from its spec and that of
its role, from what operators noted in its annotations, the host name and the keys in its status, from what the services
run, and from the ConfigMaps and Secrets that were looked at. While none of these changes, it is not worked out again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.blueprint.dataplane.inputs import Work
from stackwright.blueprint.look import Look, Survey
from stackwright.controllers.dataplane.preparation import Prepared, prepare
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Key, R, Resource


@dataclass(frozen=True)
class _Looked:
    """An object that was looked at, with its version, or none if there was none; all of a kind if there is no name."""

    kind: type[Resource]
    name: str
    namespace: str
    versions: tuple[tuple[str, str], ...]


@dataclass
class _Recorder:
    """Looks, and remembers at what."""

    look: Look
    looked: list[_Looked] = field(default_factory=list)

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        found = self.look(kind, name, namespace=namespace)
        self.looked.append(_Looked(kind, name, namespace, _versions(found)))
        return found

    def of_kind(self, kind: type[R]) -> Iterable[R]:
        found = _list(self.look, kind)
        self.looked.append(_Looked(kind, "", "", _versions(*found)))
        return found


@dataclass(frozen=True)
class _Entry:
    node: tuple[object, ...]
    looked: tuple[_Looked, ...]
    result: Prepared | Wait


@dataclass
class _OfRole:
    """What is known of a role's nodes, as long as the role and its services are the same."""

    role: tuple[str, int]
    works: tuple[Work, ...]
    entries: dict[str, _Entry] = field(default_factory=dict)


class Memory:
    """Prepares the nodes of roles."""

    def __init__(self) -> None:
        self._roles: dict[Key, _OfRole] = {}

    def prepare(
        self,
        role: OpenStackDataPlaneRole,
        nodes: Iterable[OpenStackDataPlaneNode],
        works: tuple[Work, ...],
        look: Look,
    ) -> dict[str, Prepared | Wait]:
        """Return each node with all that its runs need, or what is missing; nodes that are gone are forgotten."""
        known = self._roles.get(role.key)
        if known is None or known.role != _generation(role) or known.works != works:
            known = _OfRole(_generation(role), works)
        entries = {
            node.metadata.name: _renew(known.entries.get(node.metadata.name), node, role, works, look) for node in nodes
        }
        self._roles[role.key] = _OfRole(known.role, works, entries)
        return {name: entry.result for name, entry in entries.items()}

    def forget(self, role: Key) -> None:
        """Forget a role that is gone, with its nodes."""
        self._roles.pop(role, None)


def _renew(
    entry: _Entry | None,
    node: OpenStackDataPlaneNode,
    role: OpenStackDataPlaneRole,
    works: tuple[Work, ...],
    look: Look,
) -> _Entry:
    # What was looked at is looked at again in any case: a pass is woken by what it looked at, and by nothing else.
    if entry is not None and entry.node == _state(node) and all(_is_same(one, look) for one in entry.looked):
        return entry
    recorder = _Recorder(look)
    result = prepare(node, role, works, recorder)
    return _Entry(_state(node), tuple(recorder.looked), result)


def _is_same(looked: _Looked, look: Look) -> bool:
    if looked.name:
        return _versions(look(looked.kind, looked.name, namespace=looked.namespace)) == looked.versions
    return _versions(*_list(look, looked.kind)) == looked.versions


def _list(look: Look, kind: type[R]) -> tuple[R, ...]:
    return tuple(look.of_kind(kind)) if isinstance(look, Survey) else ()


def _versions(*found: Resource | None) -> tuple[tuple[str, str], ...]:
    return tuple((each.metadata.uid, each.metadata.resourceVersion) for each in found if each is not None)


def _state(node: OpenStackDataPlaneNode) -> tuple[object, ...]:
    """Return all of a node itself that counts; its annotations are in no generation."""
    status, noted = node.status, sorted(node.metadata.annotations.items())
    return (*_generation(node), status.hostName, status.hostKeys, noted)


def _generation(resource: Resource) -> tuple[str, int]:
    return resource.metadata.uid, resource.metadata.generation
