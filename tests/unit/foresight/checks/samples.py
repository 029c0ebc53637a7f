"""A cloud and a state for tests of single checks."""

from typing import Any

import msgspec

from stackwright.adapters.helm import Chart, Rendered
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import ImaginedCloud, Release
from stackwright.kube.builtin import Node
from stackwright.kube.resource import JsonObject
from stackwright.kube.version import ServerVersion
from tests.unit.foresight.clouds import NAMESPACE, keystone, made

CHART = Chart("digest", {"metadata": {"name": "keystone", "version": "0.2.0"}})


def container(image: str = "registry.example/api:1", **requests: str) -> JsonObject:
    return {"name": "api", "image": image, "resources": {"requests": requests}}


def deployment(
    *containers: JsonObject, name: str = "keystone", replicas: int = 1, of: str = "keystone", **pod: Any
) -> JsonObject:
    spec = {"containers": [*containers], **pod}
    labels = {"app.kubernetes.io/name": of, "app.kubernetes.io/instance": "keystone"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def stateful_set(name: str, storage_class: str | None) -> JsonObject:
    claim: JsonObject = {"spec": {"storageClassName": storage_class} if storage_class else {}}
    return {"kind": "StatefulSet", "metadata": {"name": name}, "spec": {"volumeClaimTemplates": [claim]}}


def cloud(*bodies: JsonObject, made_names: frozenset[str] = frozenset(), **fields: Any) -> ImaginedCloud:
    release = Release(keystone(), Rendered("keystone", NAMESPACE, "", bodies, CHART), made_names)
    return ImaginedCloud(**{"namespace": NAMESPACE, "releases": (release,), **fields})


def state(**fields: Any) -> ClusterState:
    return ClusterState(**{"namespace": NAMESPACE, "version": ServerVersion(1, 36, "v1.36.4"), **fields})


def node(name: str = "one", *, cpu: str = "2", memory: str = "4Gi", images: Any = (), **spec: Any) -> Node:
    status = {
        "allocatable": {"cpu": cpu, "memory": memory, "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "images": [{"names": list(names)} for names in images],
    }
    found: Node = made(Node, name, spec=spec, status=status)
    return found


def converted(of: Any, **body: Any) -> Any:
    return msgspec.convert(body, of)
