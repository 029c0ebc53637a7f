"""Why a rollout does not go on, from what its pods say."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.controllers.service import pods
from stackwright.kube.builtin import Deployment, Pod
from stackwright.kube.conditions import Finding

WORDS = "The configuration has values that the service cannot read: [token] expiration is not of type Integer"
BOTH = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1}
ALONE = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}


def pod(name: str, status: dict[str, Any]) -> Pod:
    labels = {"app.kubernetes.io/component": "api"}
    metadata = ObjectMeta(name=name, namespace="openstack", labels=labels)
    return Pod(metadata=metadata, status={"containerStatuses": [{"name": "api", **status}]})


def ended(message: str) -> dict[str, Any]:
    return {
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 22, "message": message}},
    }


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
GOOD, BAD = pod("keystone-old", {"ready": True}), pod("keystone-new", ended(WORDS))
LOGS = "see kubectl logs -n openstack keystone-new -c api --previous"


def explained(status: dict[str, Any], *mine: Pod) -> Finding:
    deployment = Deployment(metadata=ObjectMeta(name="keystone", generation=1), spec={"replicas": 1}, status=status)
    return pods.explained(deployment, "api", mine, NOW, beside=False)


def test_what_a_container_said_last_is_repeated() -> None:
    assert pods.trouble([BAD]) == f"Pod keystone-new: container api ends with code 22: {WORDS}; {LOGS}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        pytest.param("", "", id="silence"),
        pytest.param("one\n  two\n", ": one two", id="several-lines-become-one"),
        pytest.param("x" * 5000, f": … {'x' * 398}", id="no-end"),
    ],
)
def test_last_words_are_one_short_line(message: str, told: str) -> None:
    assert pods.last_words({"exitCode": 1, "message": message}) == told


def test_a_change_that_does_not_get_through_is_told_with_who_serves() -> None:
    found = explained(BOTH, GOOD, BAD)
    assert (found.status, found.reason, found.severity) == ("False", "RolloutStuck", "Warning")
    assert found.message.startswith(
        "Deployment keystone serves with 1 of 1 pods, and a new one is not ready yet: Pod keystone-new: "
    )
    assert WORDS in found.message


def test_a_first_start_that_fails_serves_with_nobody() -> None:
    found = explained(ALONE, BAD)
    assert (found.reason, found.severity) == ("PodTrouble", "Warning")
    assert "serves" not in found.message.split(":")[0]


def test_a_rollout_under_way_is_waited_for_and_says_who_serves() -> None:
    found = explained(BOTH, GOOD)
    assert (found.reason, found.severity) == ("Progressing", "Info")
    assert "serves with 1 of 1 pods" in found.message
