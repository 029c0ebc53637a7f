"""Small workloads that run in a static busybox: their manifests, and what they answer."""

import urllib.request
from typing import Any

from tests.e2e.clusters import Kubectl

IMAGE = "stackwright.local/busybox:test"
Manifest = dict[str, Any]


def container(*command: str, **more: Any) -> Manifest:
    return {"name": "main", "image": IMAGE, "imagePullPolicy": "Never", "command": list(command), **more}


def pod(name: str, main: Manifest, **spec: Any) -> Manifest:
    body = {"containers": [main], "terminationGracePeriodSeconds": 0, **spec}
    metadata = {"name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def sleeper(name: str, **spec: Any) -> Manifest:
    return pod(name, container("sleep", "3600"), **spec)


def web(name: str, replicas: int = 2, reached_by: str = "NodePort") -> tuple[Manifest, Manifest]:
    """A Deployment whose pods say their name over HTTP, and its Service: a port of the node, or an own address."""
    serve = "hostname > /tmp/index.html && exec httpd -f -p 8080 -h /tmp"
    probe = {"httpGet": {"path": "/index.html", "port": 8080}, "periodSeconds": 1}
    main = container("sh", "-c", serve, ports=[{"containerPort": 8080}], readinessProbe=probe)
    labels = {"app": name}
    spec = {"containers": [main], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": labels}, "spec": spec}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": reached_by, "selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    return deployment, service


def claim(name: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def with_claim(name: str, claimed: str, **spec: Any) -> Manifest:
    """A pod of a plain user whose group owns the volume at /data."""
    security = {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claimed}}
    main = container("sleep", "3600", volumeMounts=[{"name": "data", "mountPath": "/data"}])
    return pod(name, main, securityContext=security, volumes=[volume], **spec)


def fetched(url: str) -> str:
    """Return what somebody answers at an address of our own cluster."""
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  as above
        return str(answer.read().decode().strip())


def load_balanced(kubectl: Kubectl, name: str) -> str:
    """Return the address that a Service of type LoadBalancer was given."""
    kubectl.wait(f"service/{name}", "jsonpath={.status.loadBalancer.ingress[0].ip}")
    return kubectl.get(f"service/{name}", "{.status.loadBalancer.ingress[0].ip}")


def answered(address: str) -> str:
    """Return what somebody answers there; nothing if nobody does."""
    try:
        return fetched(f"http://{address}/")
    except OSError:
        return ""
