"""What the installation of the operators compares, and what it says of pods that do not come up."""

from typing import Any

import pytest

from stackwright.kube.builtin import Pod
from stackwright.kube.resource import ObjectMeta
from stackwright.local import operator_chart


def test_the_same_objects_in_another_order_are_the_same_release() -> None:
    one = "kind: A\nmetadata: {name: x}\n---\nkind: B\nmetadata: {name: y}\n"
    other = "# a comment\n---\nkind: B\nmetadata: {name: y}\n---\nkind: A\nmetadata: {name: x}\n"
    assert operator_chart.objects(one) == operator_chart.objects(other)
    assert operator_chart.objects(one) != operator_chart.objects(one.replace("x", "z"))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        pytest.param({"running": {}}, [], id="running"),
        pytest.param({"waiting": {"reason": "ContainerCreating"}}, [], id="starting"),
        pytest.param({"waiting": {"reason": "CrashLoopBackOff"}}, ["pod: CrashLoopBackOff"], id="crashing"),
        pytest.param(
            {"waiting": {"reason": "ErrImageNeverPull", "message": "not present"}},
            ["pod: ErrImageNeverPull: not present"],
            id="without-image",
        ),
    ],
)
def test_why_a_pod_does_not_run(state: dict[str, Any], said: list[str]) -> None:
    pod = Pod(metadata=ObjectMeta(name="pod"), status={"containerStatuses": [{"state": state}]})
    assert list(operator_chart.troubles([pod])) == said
