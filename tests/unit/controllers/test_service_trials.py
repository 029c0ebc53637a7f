"""What a StatefulSet's pods would start with is tried before those that serve are given up."""

from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.controllers.service import trials
from stackwright.kube.builtin import Job, Pod, Secret, StatefulSet
from stackwright.kube.resource import OwnerReference
from stackwright.kube.shapes.child import Child, child
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.service import SERVICE as MARIADB
from stackwright.services.nova.kinds.services import NovaScheduler
from stackwright.services.nova.scheduler import SCHEDULER
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.services.rabbitmq.service import SERVICE as RABBITMQ

LABELS = {"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": "db"}
CONFIG = Secret(metadata=ObjectMeta(name="db-config-data", namespace="openstack"), data={"a": "bmV3"})


def body(image: str = "mariadb:1", read: str = "one", replicas: int = 1) -> dict[str, Any]:
    labels = {**LABELS, "app.kubernetes.io/component": "server"}
    container = {
        "name": "server",
        "image": image,
        "args": ["python3", "node.py"],
        "ports": [{"containerPort": 3306}],
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}},
        "resources": {"requests": {"cpu": "4"}},
        "volumeMounts": [{"name": "data", "mountPath": "/var/lib/mysql"}],
    }
    pod = {"containers": [container], "affinity": {"podAntiAffinity": {}}, "volumes": [{"name": "config"}]}
    annotations = {"openstack.org/config-hash": read}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db-galera", "labels": labels},
        "spec": {
            "replicas": replicas,
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        },
    }


def present(said: dict[str, Any], ready: int = 1) -> StatefulSet:
    metadata = ObjectMeta(name=said["metadata"]["name"], namespace="openstack", uid="u")
    return StatefulSet(metadata=metadata, spec=said["spec"], status={"readyReplicas": ready})


class Look:
    """Sees what a test puts there."""

    def __init__(self, *there: Any) -> None:
        self._there = there

    def __call__(self, kind: type[Any], name: str, **_: str) -> Any:
        found = (item for item in self._there if type(item) is kind and item.metadata.name == name)
        return next(found, None)

    def all(self, kind: type[Any]) -> tuple[Any, ...]:
        return tuple(item for item in self._there if type(item) is kind)


def held(wanted: dict[str, Any], *there: Any, service: Any = MARIADB, kind: type[Any] = Galera) -> trials.Held:
    spec = {"storageClass": "local", "storageRequest": "1G"} if kind is Galera else {}
    resource = msgspec.convert({"metadata": {"name": "db", "namespace": "openstack", "uid": "p"}, "spec": spec}, kind)
    look: Any = Look(*there)
    return trials.hold_back(service, resource, (wanted,), (child(CONFIG),), look)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        pytest.param(body(), None, id="there-is-nothing-yet"),
        pytest.param(body(), present(body()), id="pods-start-with-the-same"),
        pytest.param(body("mariadb:2"), present(body(), ready=0), id="nobody-serves-anyway"),
        pytest.param(body("mariadb:2", replicas=0), present(body()), id="they-shall-stop"),
        pytest.param(body(replicas=3), present(body()), id="there-shall-be-more-of-them"),
    ],
)
def test_nothing_is_tried_without_need(wanted: dict[str, Any], there: StatefulSet | None) -> None:
    found = held(wanted, CONFIG, *([there] if there else []))
    assert (found.bodies, found.trials, found.waits) == ((wanted,), (), ())


@pytest.mark.parametrize(
    "wanted", [pytest.param(body("mariadb:2"), id="image"), pytest.param(body(read="two"), id="configuration")]
)
def test_what_pods_would_start_with_is_held_back_until_it_was_tried(wanted: dict[str, Any]) -> None:
    found = held(wanted, CONFIG, present(body()))
    assert found.bodies == ()
    assert [wait.condition for wait in found.waits] == ["DeploymentReady"]
    (trial,) = found.trials
    pod = trial.body["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == wanted["spec"]["template"]["spec"]["containers"][0]["image"]
    assert "mariadbd" in container["command"][-1]
    # It has a volume of its own, fits where nothing else does, and nobody is led to it.
    assert {"name": "data", "emptyDir": {}} in pod["volumes"]
    assert "affinity" not in pod
    assert not {"args", "ports", "livenessProbe"} & set(container)
    assert container["resources"] == {"requests": {"cpu": "10m", "memory": "64Mi"}}
    assert trial.body["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"] == "trial"


def test_what_was_tried_is_applied_and_the_job_stays_until_it_is() -> None:
    wanted = body("mariadb:2")
    (trial,) = held(wanted, CONFIG, present(body())).trials
    metadata = ObjectMeta(name=trial.key.name, namespace="openstack")
    done = Job(metadata=metadata, status={"conditions": [{"type": "Complete", "status": "True"}]})
    found = held(wanted, CONFIG, present(body()), done)
    assert found.bodies == (wanted,)
    assert found.waits == ()
    assert [item.key.name for item in found.trials] == [trial.key.name]
    assert held(wanted, CONFIG, present(wanted), done).trials == ()


def test_configuration_is_tried_once_it_is_written() -> None:
    old = msgspec.structs.replace(CONFIG, data={"a": "b2xk"})
    found = held(body(read="two"), old, present(body()))
    assert (found.bodies, found.trials) == ((), ())
    assert found.waits


def test_configuration_that_nothing_can_try_is_applied() -> None:
    wanted = body(read="two")
    assert held(wanted, CONFIG, present(body()), service=RABBITMQ, kind=RabbitMq).bodies == (wanted,)


@pytest.mark.parametrize("wanted", [body("nova:2"), body(read="two")], ids=["image", "configuration"])
def test_pods_that_keep_no_data_are_tried_where_they_say_how(wanted: dict[str, Any]) -> None:
    """Nova's scheduler has no volume, but a name that belongs to one pod."""
    for part in (wanted, there := body()):
        part["metadata"]["labels"]["app.kubernetes.io/component"] = "scheduler"
        part["spec"]["template"]["spec"]["containers"][0]["name"] = "scheduler"
    found = hold_scheduler(wanted, CONFIG, present(there))
    assert found.bodies == ()
    (trial,) = found.trials
    (container,) = trial.body["spec"]["template"]["spec"]["containers"]
    assert "kolla_start" in container["command"][-1]


def hold_scheduler(wanted: dict[str, Any], *there: Any) -> trials.Held:
    spec = {"secret": "s", "keystoneAuthURL": "http://keystone:5000"}
    metadata = {"name": "db", "namespace": "openstack", "uid": "p"}
    resource = msgspec.convert({"metadata": metadata, "spec": spec}, NovaScheduler)
    look: Any = Look(*there)
    return trials.hold_back(SCHEDULER, resource, (wanted,), (child(CONFIG),), look)


def test_a_trial_that_failed_is_told_with_the_last_words_of_its_pod() -> None:
    wanted = body(read="two")
    (trial,) = held(wanted, CONFIG, present(body())).trials
    reference = OwnerReference(apiVersion="batch/v1", kind="Job", name=trial.key.name, uid="j", controller=True)
    labels = trial.body["spec"]["template"]["metadata"]["labels"]
    metadata = ObjectMeta(name="x", namespace="openstack", labels=labels, ownerReferences=(reference,))
    ended = {"exitCode": 7, "message": "mariadbd: unknown variable 'foo=1'"}
    status = {"containerStatuses": [{"name": "server", "state": {"terminated": ended}}]}
    pod = Pod(metadata=metadata, status=status)
    (trial,) = held(wanted, CONFIG, present(body()), pod).trials
    said = state(trial, Job(metadata=ObjectMeta(name=trial.key.name, namespace="openstack", uid="j")))
    assert (said.reason, said.severity) == ("RolloutStuck", "Warning")
    assert "StatefulSet db-galera keeps its pods" in said.message
    assert "unknown variable 'foo=1'" in said.message


def state(trial: Child, job: Job) -> Any:
    assert trial.state is not None
    return trial.state(job)
