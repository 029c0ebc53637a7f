"""Which node takes a pod, and what the simulated scheduler says where none does."""

from typing import Any

import pytest

from stackwright.kube.resource import JsonObject
from stackwright.simulator import scheduler
from stackwright.simulator.node import Node, Taint
from stackwright.simulator.objects import Pod
from stackwright.simulator.steps import Bind, Report
from tests.unit.simulator.play import pod_of
from tests.unit.simulator.scheduling import NO_NODE, WITH_CLAIM, claim, node, seen


def affinity(*terms: JsonObject) -> JsonObject:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def by_label(key: str, operator: str, *values: str) -> JsonObject:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def by_name(*names: str) -> JsonObject:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}


def asking(**requests: str) -> JsonObject:
    return {"containers": [{"name": "web", "resources": {"requests": requests}}]}


def listening(port: int, address: str = "", protocol: str = "TCP") -> JsonObject:
    ports = [{"containerPort": port, "hostPort": port, "hostIP": address, "protocol": protocol}]
    return {"containers": [{"name": "web", "ports": ports}]}


def tenant(name: str = "other", owner: str = "", **spec: Any) -> Pod:
    controller = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
    metadata = {"name": name, "ownerReferences": [controller]} if owner else {"name": name}
    return pod_of(metadata=metadata, **spec)


COMPUTE = Taint(key="role", value="compute")
GONE = Taint(key="node.kubernetes.io/unreachable", effect="NoExecute")
SOFT = Taint(key="role", effect="PreferNoSchedule")
UNTOLERATED, UNMATCHED = "node(s) had untolerated taint(s)", "node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize(
    ("spec", "nodes", "tenants", "reason"),
    [
        pytest.param({"nodeSelector": {"disk": "fast"}}, (node(),), (), "", id="a-label-that-is-there"),
        pytest.param({"nodeSelector": {"disk": "slow"}}, (node(),), (), UNMATCHED, id="a-label-of-another-value"),
        pytest.param(affinity(by_label("disk", "In", "fast", "slow")), (node(),), (), "", id="one-of-some-values"),
        pytest.param(affinity(by_label("disk", "NotIn", "fast")), (node(),), (), UNMATCHED, id="none-of-some-values"),
        pytest.param(affinity(by_label("gpu", "NotIn", "old")), (node(),), (), "", id="a-label-that-nobody-set"),
        pytest.param(affinity(by_label("disk", "Exists")), (node(),), (), "", id="any-value"),
        pytest.param(affinity(by_label("disk", "DoesNotExist")), (node(),), (), UNMATCHED, id="no-value-at-all"),
        pytest.param(affinity(by_label("rack", "Gt", "6")), (node(),), (), "", id="more-than-a-number"),
        pytest.param(affinity(by_label("rack", "Lt", "7")), (node(),), (), UNMATCHED, id="less-than-a-number"),
        pytest.param(affinity(by_label("disk", "Gt", "6")), (node(),), (), UNMATCHED, id="a-value-that-is-no-number"),
        pytest.param(
            affinity(by_label("gpu", "Exists"), by_label("disk", "Exists")), (node(),), (), "", id="one-term-is-enough"
        ),
        pytest.param(affinity({}), (node(),), (), UNMATCHED, id="an-empty-term-matches-nothing"),
        pytest.param(
            affinity({**by_name("simulated"), **by_label("gpu", "Exists")}),
            (node(),),
            (),
            UNMATCHED,
            id="all-of-a-term",
        ),
        pytest.param({}, (node(taints=(COMPUTE,)),), (), UNTOLERATED, id="a-taint"),
        pytest.param({}, (node(taints=(GONE,)),), (), UNTOLERATED, id="a-taint-that-also-evicts"),
        pytest.param({}, (node(taints=(SOFT,)),), (), "", id="a-taint-that-only-asks"),
        pytest.param(
            {"tolerations": [{"key": "role", "value": "compute"}]}, (node(taints=(COMPUTE,)),), (), "", id="tolerated"
        ),
        pytest.param(
            {"tolerations": [{"key": "role", "operator": "Exists", "effect": "NoSchedule"}]},
            (node(taints=(COMPUTE,)),),
            (),
            "",
            id="tolerated-whatever-its-value",
        ),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]}, (node(taints=(COMPUTE, GONE)),), (), "", id="all-tolerated"
        ),
        pytest.param(
            {"tolerations": [{"key": "role", "value": "control"}]},
            (node(taints=(COMPUTE,)),),
            (),
            UNTOLERATED,
            id="another-value-tolerated",
        ),
        pytest.param(
            {"tolerations": [{"key": "role", "operator": "Exists", "effect": "NoExecute"}]},
            (node(taints=(COMPUTE,)),),
            (),
            UNTOLERATED,
            id="another-effect-tolerated",
        ),
        pytest.param({}, (node(cordoned=True),), (), "node(s) were unschedulable", id="a-node-that-is-cordoned"),
        pytest.param(
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            (node(cordoned=True),),
            (),
            "",
            id="a-daemon-on-a-node-that-is-cordoned",
        ),
        pytest.param(asking(cpu="1500m"), (node(cpu="2"),), (tenant(**asking(cpu="500m")),), "", id="room-enough"),
        pytest.param(asking(cpu="3"), (node(cpu="2"),), (), "Insufficient cpu", id="more-than-there-ever-is"),
        pytest.param(
            asking(memory="1Gi", cpu="9"),
            (node(cpu="2", memory="512Mi"),),
            (),
            ("Insufficient cpu", "Insufficient memory"),
            id="too-little-of-two",
        ),
        pytest.param(
            {"initContainers": [{"name": "first", "resources": {"requests": {"cpu": "3"}}}]},
            (node(cpu="2"),),
            (),
            "Insufficient cpu",
            id="an-init-container-that-asks-for-more",
        ),
        pytest.param(
            asking(**{"nvidia.com/gpu": "1"}), (node(),), (), "Insufficient nvidia.com/gpu", id="no-such-thing"
        ),
    ],
)
def test_a_node_takes_the_pods_that_fit(
    spec: JsonObject, nodes: tuple[Node, ...], tenants: tuple[Pod, ...], reason: str | tuple[str, ...]
) -> None:
    plan = scheduler.decide(
        pod_of("web", **{"nodeName": "", **spec}), seen(nodes=nodes, tenants={"simulated": tenants})
    )
    (step,) = plan.steps
    if not reason:
        assert isinstance(step, Bind)
        return
    assert isinstance(step, Report)
    reasons = ", ".join(f"1 {one}" for one in ((reason,) if isinstance(reason, str) else reason))
    assert step.status.conditions[0].message == f"0/1 nodes are available: {reasons}. {NO_NODE}"


@pytest.mark.parametrize(
    ("first", "second", "collide"),
    [
        pytest.param(listening(80), listening(80), True, id="the-same-port"),
        pytest.param(listening(80), listening(81), False, id="another-port"),
        pytest.param(listening(53), listening(53, protocol="UDP"), False, id="another-protocol"),
        pytest.param(listening(80, "10.0.0.1"), listening(80, "10.0.0.2"), False, id="another-address"),
        pytest.param(listening(80, "10.0.0.1"), listening(80), True, id="one-of-them-at-every-address"),
    ],
)
def test_a_port_of_the_host_is_taken_once(first: JsonObject, second: JsonObject, *, collide: bool) -> None:
    what = seen(tenants={"simulated": (tenant(**first),)})
    (step,) = scheduler.decide(pod_of(**{"nodeName": "", **second}), what).steps
    assert isinstance(step, Report if collide else Bind)


def test_reasons_are_counted_as_the_scheduler_counts_them() -> None:
    nodes = (
        node("compute-1", taints=(COMPUTE,)),
        node("compute-2", taints=(COMPUTE,)),
        node("control-1", cpu="1"),
        node("control-2", cpu="4"),
        node("control-3", pods="1"),
    )
    tenants = {"control-2": (tenant(**asking(cpu="3")),), "control-3": (tenant(),)}
    plan = scheduler.decide(pod_of(**{"nodeName": "", **asking(cpu="2")}), seen(nodes=nodes, tenants=tenants))
    (step,) = plan.steps
    assert isinstance(step, Report)
    assert step.status.conditions[0].message == (
        "0/5 nodes are available: 1 Too many pods, 2 Insufficient cpu, 2 node(s) had untolerated taint(s). "
        "no new claims to deallocate, preemption: 0/5 nodes are available: "
        "2 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."
    )
    # Where others only have to go, it is tried again soon.
    assert [wait.after for wait in plan.waits] == [10.0]


def test_a_daemon_is_for_its_node_alone() -> None:
    spec = {"nodeName": "", **affinity(by_name("compute-2")), **asking(cpu="8")}
    nodes = (node("compute-1"), node("compute-2", cpu="4"), node("compute-3"))
    (step,) = scheduler.decide(pod_of(**spec), seen(nodes=nodes)).steps
    assert isinstance(step, Report)
    assert step.status.conditions[0].message.startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
    )
    (step,) = scheduler.decide(pod_of(**spec), seen(nodes=(nodes[0], node("compute-2"), nodes[2]))).steps
    assert isinstance(step, Bind)
    assert step.node == "compute-2"


def test_without_nodes_nothing_is_scheduled() -> None:
    (step,) = scheduler.decide(pod_of("web", nodeName=""), seen(nodes=())).steps
    assert isinstance(step, Report)
    assert step.status.conditions[0].message == "no nodes available to schedule pods"


@pytest.mark.parametrize(
    ("tenants", "chosen"),
    [
        pytest.param({}, "a", id="the-first-of-empty-nodes"),
        pytest.param({"a": (tenant(),)}, "b", id="the-emptier-node"),
        pytest.param({"a": (tenant(owner="mine"),), "b": (tenant(),) * 3}, "b", id="away-from-its-siblings"),
    ],
)
def test_pods_are_spread(tenants: dict[str, tuple[Pod, ...]], chosen: str) -> None:
    pod = tenant("web", "mine", nodeName="")
    (step,) = scheduler.decide(pod, seen(nodes=(node("a"), node("b")), tenants=tenants)).steps
    assert isinstance(step, Bind)
    assert step.node == chosen


def test_a_pod_follows_its_volume() -> None:
    pod = pod_of("web", nodeName="", **WITH_CLAIM)
    what = seen(claim("patient", selected="b"), nodes=(node("a"), node("b")))
    assert scheduler.decide(pod, what).steps == ()
