"""A child of a resource, and what differs between the children that should be and those that are. Pure."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import msgspec

from stackwright.kube import conditions, fields
from stackwright.kube.conditions import Finding
from stackwright.kube.resource import JsonObject, Key, ObjectKey, Resource, manifest

# What refers to another object that the server looks at when it is applied.
_LATE = frozenset({"RoleBinding", "ClusterRoleBinding"})


@dataclass(frozen=True, eq=False)
class Child:
    """One resource that the parent stands for.

    `condition` is the parent's condition that follows the child's state; `state` reads that state, by
    default from the child's own Ready condition. A child that is `kept` has no owner and outlives its parent. One that
    is there `once` is what it is: a Job, say, whose name stands for all that it does. `otherwise` is what to apply
    where the server does not accept the body. What a `first` child leads to is waited for by the others: where much is
    written at once, it is not queued behind them.
    """

    of: type[Resource]
    body: JsonObject
    condition: str = ""
    state: Callable[[Resource], Finding] | None = None
    kept: bool = False
    once: bool = False
    otherwise: JsonObject | None = None
    first: bool = False

    @cached_property
    def key(self) -> Key:
        """Which object this is."""
        return Key(self.body["metadata"].get("namespace", ""), self.body["metadata"]["name"])

    @cached_property
    def object_key(self) -> ObjectKey:
        """Which object of all this is."""
        return self.of.kind, self.key

    @cached_property
    def digest(self) -> str:
        """A short name for what is asked of it."""
        return fields.digest(self.body)

    def __str__(self) -> str:
        return f"{self.of.kind.name} {self.key.name}"


def child(
    resource: Resource,
    *,
    condition: str = "",
    state: Callable[[Resource], Finding] | None = None,
    kept: bool = False,
    first: bool = False,
) -> Child:
    """Return a typed resource as a child."""
    return Child(type(resource), manifest(resource), condition, state, kept, first=first)


@dataclass(frozen=True)
class Apply:
    """Bring a child to what its parent says."""

    child: Child

    @property
    def object_key(self) -> ObjectKey:
        """Which object this step is about."""
        return self.child.object_key


@dataclass(frozen=True)
class Prune:
    """Delete a resource that the parent no longer stands for."""

    resource: Resource

    @property
    def object_key(self) -> ObjectKey:
        """Which object this step is about."""
        return self.resource.kind, self.resource.key


def nothing(_: Resource) -> bool:
    """Say no of everything."""
    return False


def decide(  # noqa: PLR0913  all but two by name
    desired: Iterable[Child],
    seen: Iterable[Resource],
    *,
    prune: bool,
    mark: str,
    doubtful: Container[ObjectKey] = (),
    settled: Mapping[ObjectKey, str] = MappingProxyType({}),
    forsaken: Callable[[Resource], bool] = nothing,
) -> tuple[Apply | Prune, ...]:
    """Return what differs between the children that should be and those that are.

    Only what carries our mark is pruned: others may own things by the parent too. Without `prune` that is only what is
    `forsaken`: nothing that is not known yet could bring it back. `doubtful` are applied even if
    they look right; not so those that are still as their last apply left them, whose fingerprints are `settled`.
    """
    wanted = {child.object_key: child for child in desired}
    present = {(resource.kind, resource.key): resource for resource in seen}
    applies = (
        Apply(child)
        for key, child in wanted.items()
        if key not in present
        or not (
            (child.once and mark in present[key].metadata.annotations)
            or (key not in doubtful and is_applied(present[key], child, mark))
            or (key in settled and settled[key] == fingerprint(present[key], child))
        )
    )
    prunes = (
        Prune(resource)
        for key, resource in present.items()
        if (prune or forsaken(resource))
        and key not in wanted
        and not resource.deleting
        and mark in resource.metadata.annotations
    )
    return (*applies, *prunes)


def waves(steps: Iterable[Apply | Prune]) -> tuple[tuple[Apply | Prune, ...], ...]:
    """Return steps in the groups that are taken one after the other: nearly all of them are in the first.

    Those of a group are taken at once, and sent in this order. Without cluster-wide rights we can bind a role only
    after the server has it and sees its rules.
    """
    steps = sorted(steps, key=lambda step: not (isinstance(step, Apply) and step.child.first))
    late = tuple(step for step in steps if isinstance(step, Apply) and step.child.of.kind.name in _LATE)
    return tuple(some for some in (tuple(step for step in steps if step not in late), late) if some)


def is_applied(present: Resource, child: Child, mark: str) -> bool:
    """Return whether a child is as its parent last asked, and still asks, for it.

    The mark (an annotation with the manifest's digest) notices what the parent no longer asks for, and speaks for
    the fields that the type does not know; the comparison notices what others changed.
    """
    return is_marked(present, child, mark) and fields.covers(present, child.body)


def is_marked(present: Resource, child: Child, mark: str) -> bool:
    """Return whether a child was applied as it is asked for now."""
    return present.metadata.annotations.get(mark) == child.digest


def fingerprint(present: Resource, child: Child) -> str:
    """Return a short name for what a child is and what is asked of it, the same until one of the two changes."""
    body = manifest(present)
    metadata = {
        name: value for name, value in body["metadata"].items() if name not in ("resourceVersion", "generation")
    }
    # Writers of the status do not matter here.
    writers = [msgspec.to_builtins(entry) for entry in present.metadata.managedFields if not entry.subresource]
    return fields.digest({"asked": child.body, "is": {**body, "metadata": metadata, "status": None}, "by": writers})


def mark_by(field_manager: str) -> str:
    """Return the annotation by which a field manager remembers what it applied."""
    return f"{field_manager}{conditions.MARK}"


def with_annotation(body: JsonObject, name: str, value: str) -> JsonObject:
    """Return an object with one more annotation."""
    metadata = body["metadata"]
    return {**body, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), name: value}}}
