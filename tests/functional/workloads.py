"""Manifests of small workloads for tests."""

import secrets
from typing import Any

from stackwright.kube.builtin import (
    Deployment,
    StorageClass,
)
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.simulator import storage_class


def template(name: str, **spec: Any) -> JsonObject:
    """Return a pod template with one container of the workload's name."""
    containers = [{"name": name, "image": f"registry.example/{name}:1"}]
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **spec}}


def _set(name: str, namespace: str, pod: JsonObject, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": pod, **spec},
    }


def deployment(name: str, namespace: str, *, replicas: int = 1, **pod: Any) -> JsonObject:
    """Return a Deployment."""
    return _set(name, namespace, template(name, **pod), replicas=replicas)


def daemon_set(name: str, namespace: str, **pod: Any) -> JsonObject:
    """Return a DaemonSet."""
    return _set(name, namespace, template(name, **pod))


def stateful_set(name: str, namespace: str, *, replicas: int = 1, storage_class: str = "", **pod: Any) -> JsonObject:
    """Return a StatefulSet; with a storage class, each of its pods has a volume."""
    body = _set(name, namespace, template(name, **pod), replicas=replicas, serviceName=name)
    if storage_class:
        body["spec"]["volumeClaimTemplates"] = [claim("data", "", storage_class)]
    return body


def claim(name: str, namespace: str, storage_class: str) -> JsonObject:
    """Return a claim on a small volume."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {"metadata": metadata, "spec": spec}


def job(name: str, namespace: str, *, restart: str = "Never", backoff_limit: int = 6, **pod: Any) -> JsonObject:
    """Return a Job."""
    spec = {"backoffLimit": backoff_limit, "template": template(name, restartPolicy=restart, **pod)}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def pod(name: str, namespace: str, **spec: Any) -> JsonObject:
    """Return a bare pod."""
    made = template(name, **spec)
    return {"metadata": {"name": name, "namespace": namespace, **made["metadata"]}, "spec": made["spec"]}


def cache(namespace: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "memcached", "namespace": namespace}, "spec": {"cacheSize": 64, **spec}}


def condition(status: JsonObject, type_: str) -> str:
    return next((str(one["status"]) for one in status.get("conditions", ()) if one["type"] == type_), "")


def available(workload: Deployment) -> bool:
    wanted = workload.spec["replicas"]
    return (
        workload.status.get("observedGeneration") == workload.metadata.generation
        and workload.status.get("updatedReplicas", 0) == wanted
        and workload.status.get("availableReplicas", 0) == wanted
        and workload.status.get("replicas", 0) == wanted
    )


async def make_class(client: Client, *, waits: bool = False) -> str:
    """Make a storage class of a name that no other test has."""
    name = f"disks-{secrets.token_hex(3)}"
    await client.create(StorageClass, storage_class(name, waits=waits))
    return name
