"""What pods would start with is tried before those that serve, and are replaced in place, are given up."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.controllers.service import trials
from stackwright.kube.builtin import DaemonSet, Job, Pod, Secret, StatefulSet
from stackwright.kube.resource import OwnerReference
from stackwright.kube.shapes.child import Child, child
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.service import SERVICE as MARIADB
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from stackwright.services.nova.kinds.services import NovaScheduler
from stackwright.services.nova.scheduler import SCHEDULER
from stackwright.services.ovn.controller import SERVICE as GATEWAYS
from stackwright.services.ovn.kinds import OVNController, OVNNorthd
from stackwright.services.ovn.northd import SERVICE as NORTHD
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.services.rabbitmq.service import SERVICE as RABBITMQ

LABELS = {"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": "db"}
CONFIG = Secret(metadata=ObjectMeta(name="db-config-data", namespace="openstack"), data={"a": "bmV3"})

CONFIG_VOLUME = {"name": "config", "secret": {"secretName": "db-config-data"}}


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
    pod = {"containers": [container], "affinity": {"podAntiAffinity": {}}, "volumes": [CONFIG_VOLUME]}
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


def held(
    wanted: dict[str, Any],
    *there: Any,
    service: Any = MARIADB,
    kind: type[Any] = Galera,
    theirs: frozenset[str] = frozenset(),
) -> trials.Held:
    spec = {"storageClass": "local", "storageRequest": "1G"} if kind is Galera else {}
    resource = msgspec.convert({"metadata": {"name": "db", "namespace": "openstack", "uid": "p"}, "spec": spec}, kind)
    look: Any = Look(*there)
    return hold_back(service, resource, wanted, look, theirs)


def hold_back(service: Any, resource: Any, wanted: Any, look: Any, theirs: frozenset[str] = frozenset()) -> trials.Held:
    changes = trials.find_changes(service, resource, (wanted,), look)
    changes = tuple(replace(change, theirs=theirs) for change in changes)
    return trials.hold_back(service, resource, changes, (child(CONFIG),), look)


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
    assert (found.bodies, found.trials, found.waits) == ((), (), ())


@pytest.mark.parametrize(
    "wanted", [pytest.param(body("mariadb:2"), id="image"), pytest.param(body(read="two"), id="configuration")]
)
def test_what_pods_would_start_with_is_held_back_until_it_was_tried(wanted: dict[str, Any]) -> None:
    found = held(wanted, CONFIG, present(body()))
    assert found.bodies == (wanted,)
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
    assert container["resources"] == {"requests": {"cpu": "10m", "memory": "128Mi"}}
    assert trial.body["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"] == "trial"


def test_what_was_tried_is_applied_and_the_job_stays_until_it_is() -> None:
    wanted = body("mariadb:2")
    (trial,) = held(wanted, CONFIG, present(body())).trials
    metadata = ObjectMeta(name=trial.key.name, namespace="openstack")
    done = Job(metadata=metadata, status={"conditions": [{"type": "Complete", "status": "True"}]})
    found = held(wanted, CONFIG, present(body()), done)
    assert found.bodies == ()
    assert found.waits == ()
    assert [item.key.name for item in found.trials] == [trial.key.name]
    assert held(wanted, CONFIG, present(wanted), done).trials == ()


def test_configuration_is_tried_once_it_is_written() -> None:
    old = msgspec.structs.replace(CONFIG, data={"a": "b2xk"})
    found = held(body(read="two"), old, present(body()))
    assert (len(found.bodies), found.trials) == (1, ())
    assert found.waits


@pytest.mark.parametrize(
    ("service", "kind", "component"),
    [
        pytest.param(MEMCACHED, Memcached, "server", id="a-cache"),
        pytest.param(NORTHD, OVNNorthd, "northd", id="a-daemon-of-ovn"),
        pytest.param(RABBITMQ, RabbitMq, "server", id="a-broker"),
    ],
)
def test_the_image_of_every_stateful_set_is_tried(service: Any, kind: type[Any], component: str) -> None:
    """An image that cannot be pulled would take the one pod, also where it keeps no data and says no trial."""
    wanted, there, configured = body("image:2"), body("image:1"), body("image:1", read="two")
    for part in (wanted, there, configured):
        part["metadata"]["labels"]["app.kubernetes.io/component"] = component
    found = held(wanted, CONFIG, present(there), service=service, kind=kind)
    assert found.bodies == (wanted,)
    assert [wait.condition for wait in found.waits] == ["DeploymentReady"]
    (trial,) = found.trials
    (container,) = trial.body["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == ("image:2", ["sh", "-c", "true"])
    # There is nothing to try the configuration with.
    assert held(configured, CONFIG, present(there), service=service, kind=kind).bodies == ()


@pytest.mark.parametrize("wanted", [body("nova:2"), body(read="two")], ids=["image", "configuration"])
def test_pods_that_keep_no_data_are_tried_where_they_say_how(wanted: dict[str, Any]) -> None:
    """Nova's scheduler has no volume, but a name that belongs to one pod."""
    for part in (wanted, there := body()):
        part["metadata"]["labels"]["app.kubernetes.io/component"] = "scheduler"
        part["spec"]["template"]["spec"]["containers"][0]["name"] = "scheduler"
    found = hold_scheduler(wanted, CONFIG, present(there))
    assert found.bodies == (wanted,)
    (trial,) = found.trials
    (container,) = trial.body["spec"]["template"]["spec"]["containers"]
    assert "kolla_start" in container["command"][-1]


IMAGE = '.spec.template.spec.containers[name="server"].image'
SIDECAR = '.spec.template.spec.containers[name="side"].image'
HASH = ".spec.template.metadata.annotations.openstack.org/config-hash"


def test_an_image_that_somebody_set_is_theirs_and_no_reason_for_a_trial() -> None:
    """Ours is not applied: what else changes must not wait for a trial of it."""
    there = present(body("theirs:1"))
    assert held(body("ours:1", replicas=3), CONFIG, there, theirs=frozenset({IMAGE})).bodies == ()
    # Once the field is ours again, the next apply would replace the pods.
    assert held(body("ours:1"), CONFIG, there).bodies
    # Configuration runs in their image, so it is tried in it.
    (trial,) = held(body("ours:1", read="two"), CONFIG, there, theirs=frozenset({IMAGE})).trials
    assert [entry["image"] for entry in trial.body["spec"]["template"]["spec"]["containers"]] == ["theirs:1"]
    assert held(body(read="two"), CONFIG, present(body()), theirs=frozenset({HASH})).bodies == ()


def test_a_container_that_somebody_added_is_no_reason_for_a_trial() -> None:
    said = body()
    said["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "side:1"})
    assert held(body(replicas=3), CONFIG, present(said), theirs=frozenset({SIDECAR})).bodies == ()
    # Without an owner it is ours from before, and goes: the pods are replaced.
    assert held(body(), CONFIG, present(said)).bodies


@pytest.mark.parametrize("name", ["ovs", "controller"])
def test_the_image_of_a_daemon_set_is_tried_and_takes_nothing_of_the_machine(name: str) -> None:
    """An image that cannot be pulled would take the switch of a node away."""
    wanted, there = daemons("ovn:2", name), daemons("ovn:1", name)
    metadata = ObjectMeta(name=there["metadata"]["name"], namespace="openstack", uid="u")
    serving = DaemonSet(metadata=metadata, spec=there["spec"], status={"numberReady": 1})
    found = held(wanted, CONFIG, serving, service=GATEWAYS, kind=OVNController)
    assert found.bodies == (wanted,)
    (trial,) = found.trials
    pod = trial.body["spec"]["template"]["spec"]
    assert "hostNetwork" not in pod
    assert pod["volumes"] == [{"name": "sockets", "emptyDir": {}}]
    assert [entry["image"] for entry in pod["containers"]] == ["ovn:2"]
    assert pod["containers"][0]["command"] == ["sh", "-c", "true"]
    # A cordoned node has the DaemonSet's pod, and its trial too.
    assert pod["tolerations"][-1]["key"] == "node.kubernetes.io/unschedulable"
    idle = msgspec.structs.replace(serving, status={"numberReady": 0})
    assert held(wanted, CONFIG, idle, service=GATEWAYS, kind=OVNController).bodies == ()


def test_two_workloads_with_one_image_have_two_trials() -> None:
    there = []
    for name in ("ovs", "controller"):
        said = daemons("ovn:1", name)
        metadata = ObjectMeta(name=said["metadata"]["name"], namespace="openstack", uid=name)
        there.append(DaemonSet(metadata=metadata, spec=said["spec"], status={"numberReady": 1}))
    found = [
        held(daemons("ovn:2", name), CONFIG, *there, service=GATEWAYS, kind=OVNController)
        for name in ("ovs", "controller")
    ]
    assert len({item.trials[0].key.name for item in found}) == 2


def daemons(image: str, component: str) -> dict[str, Any]:
    said = body(image)
    labels = {**LABELS, "app.kubernetes.io/component": component}
    pod = {
        **said["spec"]["template"]["spec"],
        "hostNetwork": True,
        "volumes": [{"name": "sockets", "hostPath": {"path": "/run/stackwright"}}],
    }
    template = {**said["spec"]["template"], "metadata": {"labels": labels}, "spec": pod}
    metadata = {"name": f"ovn-{component}", "labels": labels}
    return {**said, "kind": "DaemonSet", "metadata": metadata, "spec": {"template": template}}


def hold_scheduler(wanted: dict[str, Any], *there: Any) -> trials.Held:
    spec = {"secret": "s", "keystoneAuthURL": "http://keystone:5000"}
    metadata = {"name": "db", "namespace": "openstack", "uid": "p"}
    resource = msgspec.convert({"metadata": metadata, "spec": spec}, NovaScheduler)
    look: Any = Look(*there)
    return hold_back(SCHEDULER, resource, wanted, look)


def test_a_trial_that_failed_is_told_with_the_last_words_of_its_pod() -> None:
    wanted = body(read="two")
    (trial,) = held(wanted, CONFIG, present(body())).trials
    reference = OwnerReference(apiVersion="batch/v1", kind="Job", name=trial.key.name, uid="j", controller=True)
    labels = trial.body["spec"]["template"]["metadata"]["labels"]
    metadata = ObjectMeta(name="x", namespace="openstack", labels=labels, ownerReferences=(reference,))
    # The error comes last, after much that a program says when it starts.
    said_before = "2026-11-16 mariadbd starts as process 12, and reads its files\n" * 20
    ended = {"exitCode": 7, "message": f"{said_before}mariadbd: unknown variable 'foo=1'"}
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
