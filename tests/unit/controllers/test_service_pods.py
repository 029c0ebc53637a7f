"""Why a workload's pods cannot come: what they read is missing, or the API server refuses them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stackwright.controllers.service import missing_pods, references
from stackwright.kube.builtin import ConfigMap, CronJob, DaemonSet, Deployment, Job, Plain, Pod, Secret, StatefulSet
from stackwright.kube.resource import Condition, ObjectMeta, OwnerReference, R, Resource

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def workload(kind: type[Plain] = Deployment, **pod: Any) -> Plain:
    template = {"template": {"spec": {"containers": [], **pod}}}
    return kind(
        metadata=ObjectMeta(name="web"), spec={"jobTemplate": {"spec": template}} if kind is CronJob else template
    )


def looking(*there: Resource) -> Any:
    def look(kind: type[R], name: str, **_: str) -> R | None:
        return next((item for item in there if isinstance(item, kind) and item.metadata.name == name), None)

    return look


KEYS: dict[str, Any] = {"volumes": [{"name": "v", "secret": {"secretName": "keys"}}]}
HAS_KEYS = Secret(metadata=ObjectMeta(name="keys"), data={"a": "eA=="})


def variable(**source: Any) -> Any:
    return {"containers": [{"name": "c", "env": [{"name": "A", "valueFrom": source}]}]}


@pytest.mark.parametrize(
    ("found", "there", "said"),
    [
        pytest.param(
            workload(**KEYS), (), "Deployment web reads Secret keys, which does not exist; create it", id="none"
        ),
        pytest.param(workload(**KEYS), (HAS_KEYS,), "", id="there"),
        pytest.param(
            workload(CronJob, **KEYS), (), "CronJob web reads Secret keys, which does not", id="of-a-cron-job"
        ),
        pytest.param(
            workload(**variable(secretKeyRef={"name": "keys", "key": "b"})),
            (HAS_KEYS,),
            "Deployment web reads Secret keys, which has no key b; add it",
            id="without-the-key",
        ),
        pytest.param(
            workload(**variable(configMapKeyRef={"name": "c", "key": "k"})),
            (),
            "Deployment web reads ConfigMap c, which does not exist; create it with the key k",
            id="a-config-map",
        ),
        pytest.param(
            workload(**variable(secretKeyRef={"name": "x", "key": "y", "optional": True})), (), "", id="optional"
        ),
        pytest.param(workload(imagePullSecrets=[{"name": "x"}]), (), "", id="an-image-may-be-there-already"),
        pytest.param(Secret(metadata=ObjectMeta(name="s")), (), "", id="what-makes-no-pods"),
    ],
)
def test_what_pods_read_and_nobody_made_is_for_the_user_to_make(
    found: Resource, there: tuple[Resource, ...], said: str
) -> None:
    answer = references.missing(found, looking(*there), ())
    assert (answer.message if answer else "").startswith(said)
    assert bool(answer) is bool(said)
    assert answer is None or answer.severity == "Error"
    assert answer is None or "eA==" not in answer.message


def test_what_comes_with_the_workload_is_not_missed() -> None:
    assert references.missing(workload(**KEYS), looking(), {("Secret", "keys")}) is None
    config: dict[str, Any] = {"volumes": [{"name": "ca", "configMap": {"name": "kube-root-ca.crt"}}]}
    assert references.missing(workload(**config), looking(ConfigMap()), ()) is None


def owned(status: dict[str, Any], **metadata: Any) -> Pod:
    owner = OwnerReference(apiVersion="v1", kind="X", name="web", uid="1", controller=True)
    return Pod(metadata=ObjectMeta(name="p", ownerReferences=(owner,), **metadata), status=status)


def of(kind: type[Plain], status: dict[str, Any], **spec: Any) -> Plain:
    return kind(metadata=ObjectMeta(name="web", uid="1", generation=2), spec=spec, status=status)


SEEN = {"observedGeneration": 2}


@pytest.mark.parametrize(
    ("found", "pods", "lacks"),
    [
        pytest.param(of(StatefulSet, SEEN, replicas=1), [], True, id="none-was-made"),
        pytest.param(of(StatefulSet, SEEN, replicas=0), [], False, id="none-is-wanted"),
        pytest.param(of(StatefulSet, {}, replicas=1), [], False, id="nobody-looked-yet"),
        pytest.param(of(StatefulSet, SEEN, replicas=2), [owned({})], False, id="the-first-is-not-ready-yet"),
        pytest.param(of(StatefulSet, SEEN, replicas=2), [owned(READY)], True, id="the-second-does-not-come"),
        pytest.param(
            of(StatefulSet, SEEN, replicas=1), [owned(READY, deletionTimestamp="x")], True, id="the-old-one-goes"
        ),
        pytest.param(of(Job, {}), [], True, id="a-job-without-a-pod"),
        pytest.param(of(Job, {}, suspend=True), [], False, id="a-job-that-rests"),
        pytest.param(
            of(Job, {"conditions": [{"type": "Complete", "status": "True"}]}), [], False, id="a-job-that-ended"
        ),
        pytest.param(of(Job, {}), [owned({})], False, id="a-job-at-work"),
        pytest.param(of(Deployment, SEEN, replicas=1), [], False, id="a-deployment-says-it-itself"),
        pytest.param(
            of(DaemonSet, {**SEEN, "desiredNumberScheduled": 2}), [owned({})], True, id="a-node-without-a-pod"
        ),
        pytest.param(of(DaemonSet, {**SEEN, "desiredNumberScheduled": 1}), [owned({})], False, id="a-pod-on-its-node"),
        pytest.param(of(DaemonSet, SEEN), [], False, id="a-daemon-set-for-no-node"),
        pytest.param(of(DaemonSet, {"desiredNumberScheduled": 1}), [], False, id="a-daemon-set-that-nobody-looked-at"),
    ],
)
def test_when_a_workload_lacks_pods(found: Plain, pods: list[Pod], lacks: bool) -> None:
    assert missing_pods.lacks_pods(found, pods) is lacks


def holds(status: str, since: str) -> Condition:
    return Condition(type="DeploymentReady", status=status, reason="x", message="", lastTransitionTime=since)


@pytest.mark.parametrize(
    ("trouble", "since"),
    [
        pytest.param(None, "", id="nobody-knows"),
        pytest.param(holds("Unknown", "2026-11-15T10:00:00Z"), "", id="it-never-was-well"),
        pytest.param(holds("True", "2026-11-15T10:00:00Z"), "2026-11-15T11:59:30Z", id="it-is-well-until-now"),
        pytest.param(holds("False", "2026-11-15T11:50:00Z"), "2026-11-15T11:49:30Z", id="it-was-well-until-then"),
    ],
)
def test_an_event_of_before_the_trouble_is_not_told(trouble: Condition | None, since: str) -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert missing_pods.told_since([], trouble, now) == since
    came = owned(READY, creationTimestamp="2026-11-15T11:59:59Z")
    assert missing_pods.told_since([came], trouble, now) == "2026-11-15T11:59:59Z"
