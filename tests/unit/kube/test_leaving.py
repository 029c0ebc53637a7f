"""What a change takes away stays while its neighbours roll."""

from typing import Any

import msgspec
import pytest

from stackwright.kube.builtin import ConfigMap, DaemonSet, Deployment, NetworkPolicy, Plain, Service, StatefulSet
from stackwright.kube.resource import ObjectMeta, Resource
from stackwright.kube.shapes.child import Apply, Child, Prune
from stackwright.kube.shapes.leaving import COMPONENT, find_staying, find_turning, has_to_wait

ROLLED = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
# A new pod does not get ready beside the old one.
STUCK = {**ROLLED, "replicas": 2}
UNSEEN = {**ROLLED, "observedGeneration": 1}


def of(kind: type[Any], name: str, status: dict[str, Any] | None = None, component: str = "", going: str = "") -> Any:
    labels = {COMPONENT: component or name}
    metadata = ObjectMeta(name=name, namespace="cloud", labels=labels, generation=2, deletionTimestamp=going)
    return kind(metadata=metadata, spec={"replicas": 1}, status=status or {}) if status else kind(metadata=metadata)


def replaced_by_hand(status: dict[str, Any]) -> Any:
    """A StatefulSet of which a hand deletes the old pods."""
    present = of(StatefulSet, "api", {**ROLLED, "currentRevision": "a", "updateRevision": "b", **status})
    return msgspec.structs.replace(present, spec={"replicas": 1, "updateStrategy": {"type": "OnDelete"}})


def progressing(reason: str, **status: Any) -> dict[str, Any]:
    """What the controller of a Deployment says of its last rollout; what came up once stays so when pods fail later."""
    return {**ROLLED, **status, "conditions": [{"type": "Progressing", "status": "True", "reason": reason}]}


WORKER = of(Deployment, "worker", ROLLED)


def staying(
    *neighbours: Resource, going: tuple[Resource, ...] = (WORKER,), applied: type[Any] | None = None
) -> set[str]:
    steps: list[Apply | Prune] = [Prune(item) for item in going]
    if applied is not None:
        steps.append(Apply(Child(applied, {"metadata": {"name": "api", "namespace": "cloud"}})))
    return {step.resource.metadata.name for step in find_staying(steps, (*neighbours, *going))}


@pytest.mark.parametrize(
    ("neighbour", "stays"),
    [
        pytest.param(of(Deployment, "api", STUCK), True, id="it-rolls"),
        pytest.param(of(StatefulSet, "api", STUCK), True, id="a-stateful-one-rolls"),
        pytest.param(
            of(StatefulSet, "api", {**ROLLED, "currentRevision": "a", "updateRevision": "b"}),
            True,
            id="the-new-pod-of-a-stateful-one-was-never-ready",
        ),
        pytest.param(
            of(StatefulSet, "api", {**ROLLED, "currentRevision": "b", "updateRevision": "b"}),
            False,
            id="a-stateful-one-has-rolled",
        ),
        pytest.param(replaced_by_hand({"updatedReplicas": 0}), True, id="a-hand-has-yet-to-delete-the-old-pods"),
        pytest.param(replaced_by_hand({}), False, id="a-hand-has-deleted-the-old-pods"),
        pytest.param(
            of(Deployment, "api", progressing("ReplicaSetUpdated", availableReplicas=0)), True, id="it-is-new"
        ),
        pytest.param(
            of(Deployment, "api", progressing("NewReplicaSetAvailable", replicas=0, updatedReplicas=0)),
            True,
            id="its-old-pod-ends-before-the-new-one-is-made",
        ),
        pytest.param(
            of(Deployment, "api", progressing("ReplicaSetUpdated", replicas=0, updatedReplicas=0)),
            True,
            id="its-old-pod-went-first",
        ),
        pytest.param(
            of(Deployment, "api", progressing("ProgressDeadlineExceeded", availableReplicas=0)),
            True,
            id="it-did-not-come-up-in-time",
        ),
        pytest.param(
            of(Deployment, "api", progressing("NewReplicaSetAvailable", availableReplicas=0)),
            False,
            id="it-came-up-and-failed-later",
        ),
        pytest.param(of(Deployment, "api", progressing("DeploymentPaused")), False, id="somebody-paused-it-afterwards"),
        pytest.param(
            of(DaemonSet, "each", {"observedGeneration": 2, "desiredNumberScheduled": 1}),
            True,
            id="the-old-pod-of-a-node-went-first",
        ),
        pytest.param(of(Deployment, "api", UNSEEN), True, id="its-controller-has-not-seen-the-change"),
        pytest.param(of(Deployment, "api", ROLLED), False, id="it-has-rolled"),
        pytest.param(
            of(Deployment, "api", {**ROLLED, "availableReplicas": 0}), False, id="it-is-away-but-did-not-change"
        ),
        pytest.param(of(ConfigMap, "api"), False, id="it-has-no-pods"),
        # The controller of DaemonSets says nothing more of one that is being deleted.
        pytest.param(of(DaemonSet, "each", UNSEEN, going="2026-11-19T08:00:00Z"), False, id="it-is-being-deleted"),
    ],
)
def test_a_workload_stays_while_a_neighbour_has_pods_from_before(neighbour: Plain, stays: bool) -> None:
    assert bool(staying(neighbour)) is stays


def test_the_change_that_begins_now_counts() -> None:
    assert staying(of(Deployment, "api", ROLLED), applied=Deployment)
    assert staying(applied=DaemonSet)
    assert not staying(of(Deployment, "api", ROLLED), applied=ConfigMap)


def test_a_change_counts_by_what_it_made() -> None:
    change = Apply(Child(Deployment, {"metadata": {"name": "api", "namespace": "cloud"}}))
    assert has_to_wait([change], [of(Deployment, "api", UNSEEN)])
    assert not has_to_wait([change], [of(Deployment, "api", ROLLED)])
    # The server has refused it.
    assert has_to_wait([change], [of(Deployment, "api", ROLLED)], failed={change.object_key})
    other = Apply(Child(ConfigMap, {"metadata": {"name": "api", "namespace": "cloud"}}))
    assert not has_to_wait([other], [of(Deployment, "api", ROLLED)], failed={other.object_key})


def test_what_is_of_its_component_stays_with_it_and_all_else_goes() -> None:
    mine = (of(Service, "worker"), of(NetworkPolicy, "worker-policy", component="worker"))
    others = (
        of(Service, "old"),
        of(ConfigMap, "scripts"),
        of(StatefulSet, "former", ROLLED),
        of(DaemonSet, "each", ROLLED),
    )
    found = staying(of(Deployment, "api", STUCK), going=(WORKER, *mine, *others))
    assert found == {"worker", "worker-policy"}
    assert staying(of(Deployment, "api", STUCK), going=others) == set()


def test_two_that_go_do_not_wait_for_each_other() -> None:
    assert staying(going=(WORKER, of(Deployment, "other", STUCK))) == set()


def leading(to: str | None, name: str = "public") -> Any:
    """A Service before the pods of a component, as it is or is asked for."""
    selector = {"selector": {COMPONENT: to, "app.kubernetes.io/name": "glance"}} if to else {}
    return {"metadata": {"name": name, "namespace": "cloud"}, "spec": selector}


@pytest.mark.parametrize(
    ("before", "after", "waits"),
    [
        pytest.param("worker", "worker-external", True, id="to-pods-that-may-never-come"),
        pytest.param("worker", "worker", False, id="it-leads-there-as-before"),
        pytest.param("api", "worker-external", False, id="it-led-to-others"),
        pytest.param(None, "worker-external", False, id="it-led-nowhere"),
        pytest.param("worker", None, True, id="it-is-to-lead-nowhere"),
    ],
)
def test_clients_are_not_led_away_from_what_stays(before: str | None, after: str | None, waits: bool) -> None:
    """An API of Glance with another type has its Services from before, and pods of other components."""
    labels = {COMPONENT: "worker", "app.kubernetes.io/name": "glance", "app.kubernetes.io/instance": "glance"}
    going = msgspec.structs.replace(WORKER, spec={"template": {"metadata": {"labels": labels}}})
    there = Service(metadata=ObjectMeta(name="public", namespace="cloud"), spec=leading(before)["spec"])
    turn, other = Apply(Child(Service, leading(after))), Apply(Child(Service, leading(after, "new")))
    found = find_turning([turn, other, Prune(going)], [Prune(going)], [there, going])
    assert found == ((turn,) if waits else ())
    assert find_turning([turn, other, Prune(going)], [], [there, going]) == ()
