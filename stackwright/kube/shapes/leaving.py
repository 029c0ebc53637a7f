"""What is not asked for any more, but stays while its neighbours roll: a bad value takes no good pod away. Pure.

A change may take one workload away and roll others. If the new pods of the others do not come up, the old ones go on;
so does what is to go, because nobody knows yet whether the change is one to work with.
"""

from collections.abc import Iterable, Sequence

from stackwright.kube.builtin import DaemonSet, Deployment, StatefulSet
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.child import Apply, Prune
from stackwright.kube.shapes.states import is_rolling

# By which the objects of one component are known.
COMPONENT = "app.kubernetes.io/component"


def find_staying(steps: Sequence[Apply | Prune], seen: Iterable[Resource]) -> tuple[Prune, ...]:
    """Return the steps that wait until the neighbours have rolled: Deployments, and what is of their components.

    Others may have to go first: pods on their host's network have its ports, and those of a StatefulSet its volumes.
    """
    going = tuple(step for step in steps if isinstance(step, Prune))
    workloads = tuple(step.resource for step in going if isinstance(step.resource, Deployment))
    if not workloads:
        return ()
    gone = {step.object_key for step in going}
    changed = any(
        isinstance(step, Apply) and issubclass(step.child.of, Deployment | StatefulSet | DaemonSet) for step in steps
    )
    if not changed and not any(is_rolling(item) for item in seen if (item.kind, item.key) not in gone):
        return ()
    components = {_component(item) for item in workloads} - {""}
    return tuple(
        step for step in going if isinstance(step.resource, Deployment) or _component(step.resource) in components
    )


def _component(resource: Resource) -> str:
    return resource.metadata.labels.get(COMPONENT, "")
