"""What runs the registry in a cluster: a Deployment at the node's own address, and a volume; pure."""

from pathlib import Path

from stackwright.kube.builtin import Deployment, PersistentVolumeClaim
from stackwright.kube.resource import JsonObject
from stackwright.local import oci
from stackwright.local.cluster.addons import NAMESPACE, Manifests
from stackwright.local.cluster.images import NOBODY
from stackwright.local.cluster.layout import REGISTRY_PORT

NAME = "registry"
_FOLDER = "/images"


def image(program: Path, fingerprint: str) -> oci.Image:
    """Return the image with the program in it; another program is another name."""
    file = oci.File(f"/{NAME}", program)
    return oci.Image(f"stackwright.local/{NAME}:{fingerprint}", (file,), entrypoint=(f"/{NAME}",), user=NOBODY)


def manifests(reference: str) -> Manifests:
    """Return what is applied."""
    metadata: JsonObject = {"name": NAME, "namespace": NAMESPACE, "labels": {"app": NAME}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}}
    yield PersistentVolumeClaim, {"metadata": metadata, "spec": claim}
    template = {"metadata": {"labels": {"app": NAME}}, "spec": _pod(reference)}
    # Two of them cannot have the port and the folder at the same time.
    spec = {"replicas": 1, "strategy": {"type": "Recreate"}, "selector": {"matchLabels": {"app": NAME}}}
    yield Deployment, {"metadata": metadata, "spec": spec | {"template": template}}


def _pod(reference: str) -> JsonObject:
    container = {
        "name": NAME,
        "image": reference,
        "imagePullPolicy": "Never",
        "args": [f"-folder={_FOLDER}", f"-address=:{REGISTRY_PORT}"],
        "ports": [{"name": "http", "containerPort": REGISTRY_PORT}],
        "volumeMounts": [{"name": "images", "mountPath": _FOLDER}],
        "readinessProbe": {"httpGet": {"path": "/v2/", "port": REGISTRY_PORT}, "periodSeconds": 2},
        # A layer that comes by `podman push` is in memory until it is whole.
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return {
        # At the node's own address, which machines know before there is a registry.
        "hostNetwork": True,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": int(NOBODY), "fsGroup": int(NOBODY)},
        "containers": [container],
        "volumes": [{"name": "images", "persistentVolumeClaim": {"claimName": NAME}}],
    }
