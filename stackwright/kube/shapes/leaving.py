"""What is not asked for any more, but stays while its neighbours roll: a bad value takes no good pod away. Pure.

A change may take one workload away and roll others, or bring new ones. If the new pods do not come up, the old ones go
on; so does what is to go, because nobody knows yet whether the change is one to work with.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from stackwright.kube.builtin import DaemonSet, Deployment, Plain, Service, StatefulSet
from stackwright.kube.resource import ObjectKey, Resource
from stackwright.kube.shapes.child import Apply, Prune
from stackwright.kube.shapes.states import is_rolling

# By which the objects of one component are known.
COMPONENT = "app.kubernetes.io/component"


def find_staying(steps: Sequence[Apply | Prune], seen: Iterable[Resource]) -> tuple[Prune, ...]:
    """Return the steps that wait until the neighbours have rolled: Deployments, and what is of their components.

    Whether a change that begins now rolls something is known once it was applied (`has_to_wait`). Others may have to go
    first: pods on their host's network have its ports, and those of a StatefulSet its volumes.
    """
    going = tuple(step for step in steps if isinstance(step, Prune))
    workloads = tuple(step.resource for step in going if isinstance(step.resource, Deployment))
    if not workloads:
        return ()
    changed = any(_is_workload(step) for step in steps)
    if not changed and not _roll(steps, seen):
        return ()
    components = {_component(item) for item in workloads} - {""}
    return tuple(
        step for step in going if isinstance(step.resource, Deployment) or _component(step.resource) in components
    )


def find_turning(
    steps: Iterable[Apply | Prune], staying: Iterable[Prune], seen: Iterable[Resource]
) -> tuple[Apply, ...]:
    """Return the steps that would lead clients away from what stays, to pods that may never come: they wait as long."""
    pods = [_labels_of_pods(step.resource) for step in staying if isinstance(step.resource, Deployment)]
    present = {item.key: item.spec.get("selector") or {} for item in seen if isinstance(item, Service)}
    return tuple(
        step
        for step in steps
        if isinstance(step, Apply) and step.child.of is Service
        for before, after in [(present.get(step.child.key, {}), step.child.body["spec"].get("selector") or {})]
        if any(_selects(before, labels) and not _selects(after, labels) for labels in pods)
    )


def _labels_of_pods(workload: Plain) -> Mapping[str, str]:
    labels: Mapping[str, str] = (workload.spec["template"].get("metadata") or {}).get("labels") or {}
    return labels


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return bool(selector) and selector.items() <= labels.items()


def has_to_wait(steps: Sequence[Apply | Prune], present: Iterable[Resource], failed: Container[ObjectKey] = ()) -> bool:
    """Return whether neighbours roll, now that all but the staying steps were taken: not every apply changes something.

    A workload for which the server has refused the change has `failed`; it has yet to roll.
    """
    return any(_is_workload(step) and step.object_key in failed for step in steps) or _roll(steps, present)


def _is_workload(step: Apply | Prune) -> bool:
    return isinstance(step, Apply) and issubclass(step.child.of, Deployment | StatefulSet | DaemonSet)


def _roll(steps: Iterable[Apply | Prune], present: Iterable[Resource]) -> bool:
    """Return whether something rolls that is not about to go itself."""
    gone = {step.object_key for step in steps if isinstance(step, Prune)}
    return any(is_rolling(item) for item in present if not item.deleting and (item.kind, item.key) not in gone)


def _component(resource: Resource) -> str:
    return resource.metadata.labels.get(COMPONENT, "")
