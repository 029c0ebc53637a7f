"""What the simulated scheduler makes of a pod that has no node."""

import msgspec
import pytest

from stackwright.kube.resource import JsonObject
from stackwright.simulator import scheduler
from stackwright.simulator.behaviour import Behaviour, Unschedulable
from stackwright.simulator.objects import Claim, PodCondition, PodStatus
from stackwright.simulator.scheduler import Seen
from stackwright.simulator.steps import Bind, Report, Say, SelectNode
from tests.unit.simulator.play import pod_of
from tests.unit.simulator.scheduling import NO_NODE, NOW, WITH_CLAIM, claim, seen

PINNED = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["worker-7"]}]}]
        }
    }
}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        pytest.param({}, None, id="a-pod-without-wishes"),
        pytest.param(WITH_CLAIM, claim("quick", bound=True), id="a-pod-whose-claim-is-bound"),
        pytest.param({"nodeSelector": {"disk": "fast"}}, None, id="a-pod-with-a-node-selector"),
    ],
)
def test_a_pod_that_can_run_is_bound(spec: JsonObject, found: Claim | None) -> None:
    plan = scheduler.decide(pod_of("web", nodeName="", **spec), seen(found))
    (step,) = plan.steps
    assert isinstance(step, Bind)
    assert step.node == "simulated"
    assert [(e.reason, e.note) for e in step.events] == [("Scheduled", "Successfully assigned here/web-1 to simulated")]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"nodeName": "worker-7"}, id="a-pod-that-has-a-node"),
        pytest.param({"nodeName": "", "schedulingGates": [{"name": "example.org/wait"}]}, id="a-pod-behind-a-gate"),
        pytest.param({"nodeName": "", "affinity": PINNED}, id="a-daemon-of-another-node"),
    ],
)
def test_a_pod_that_is_not_to_be_scheduled_is_left_alone(spec: JsonObject) -> None:
    assert scheduler.decide(pod_of("web", **spec), seen()).steps == ()


def test_a_pod_that_is_going_is_left_alone() -> None:
    pod = pod_of("web", nodeName="", metadata={"deletionTimestamp": NOW})
    assert scheduler.decide(pod, seen()).steps == ()


@pytest.mark.parametrize(
    ("spec", "what", "reason", "message"),
    [
        pytest.param(
            {},
            seen(behaviour=Behaviour(fault=Unschedulable("1 Insufficient memory"))),
            "Unschedulable",
            f"0/1 nodes are available: 1 Insufficient memory. {NO_NODE}",
            id="by-request",
        ),
        pytest.param(
            WITH_CLAIM,
            seen(),
            "Unschedulable",
            '0/1 nodes are available: persistentvolumeclaim "data" not found. not found',
            id="its-claim-does-not-exist",
        ),
        pytest.param(
            WITH_CLAIM,
            seen(claim("quick", bound=True, deleting=True)),
            "Unschedulable",
            '0/1 nodes are available: persistentvolumeclaim "data" is being deleted. not found',
            id="its-claim-is-going",
        ),
        pytest.param(
            WITH_CLAIM,
            seen(claim("quick")),
            "Unschedulable",
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            id="its-claim-is-not-bound",
        ),
        pytest.param(
            WITH_CLAIM,
            seen(claim("unheard-of")),
            "Unschedulable",
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            id="its-claim-is-of-no-class",
        ),
        pytest.param(
            WITH_CLAIM,
            seen(claim("patient"), failing=frozenset({"data"})),
            "SchedulerError",
            'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"',
            id="its-claim-waits-for-it-and-shall-fail",
        ),
        pytest.param(
            WITH_CLAIM,
            seen(claim("static")),
            "Unschedulable",
            f"0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind. {NO_NODE}",
            id="its-claim-is-of-a-class-without-provisioner",
        ),
    ],
)
def test_a_pod_that_cannot_run_is_refused(spec: JsonObject, what: Seen, reason: str, message: str) -> None:
    pod = pod_of("web", nodeName="", **spec)
    plan = scheduler.decide(pod, what)
    (step,) = plan.steps
    assert isinstance(step, Report)
    assert step.status.phase == "Pending"
    condition = PodCondition(
        type="PodScheduled",
        status="False",
        reason=reason,
        message=message,
        lastTransitionTime=NOW,
        observedGeneration=1,
    )
    assert step.status.conditions == (condition,)
    assert [(event.type, event.reason, event.note) for event in step.events] == [
        ("Warning", "FailedScheduling", message)
    ]
    # Once it is said, nothing is written again.
    again = msgspec.structs.replace(pod, status=step.status)
    assert [type(one) for one in scheduler.decide(again, what).steps] == [Say]


def test_a_refusal_keeps_the_conditions_of_others() -> None:
    other = PodCondition(type="example.org/seen", status="True")
    pod = msgspec.structs.replace(pod_of("web", nodeName="", **WITH_CLAIM), status=PodStatus(conditions=(other,)))
    (step,) = scheduler.decide(pod, seen()).steps
    assert isinstance(step, Report)
    assert other in step.status.conditions


def test_a_claim_that_waits_is_given_the_node_first() -> None:
    pod = pod_of("web", nodeName="", **WITH_CLAIM)
    (step,) = scheduler.decide(pod, seen(claim("patient"))).steps
    assert step == SelectNode(reason="WaitForFirstConsumer", claim="data", node="simulated")
    plan = scheduler.decide(pod, seen(claim("patient", selected="simulated")))
    assert plan.steps == ()
    assert [wait.reason for wait in plan.waits] == ["Volumes"]


def test_an_ephemeral_volume_is_a_claim_named_after_the_pod() -> None:
    pod = pod_of("web", nodeName="", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}])
    assert pod.claims == ("web-1-scratch",)
