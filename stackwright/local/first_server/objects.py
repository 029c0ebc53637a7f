"""The Job that creates the first server; pure."""

from stackwright.kube.resource import JsonObject
from stackwright.local.cluster import spare_network
from stackwright.local.cluster.spare_network import SpareNetwork

NAME = "first-server"
# The image's own user.
_USER = 42400
# Where a container leaves a message for whoever looks at its pod.
_MESSAGE = "/dev/termination-log"
_PATIENCE = 1200


def job(image: str, spare: SpareNetwork, public_key: str, namespace: str) -> JsonObject:
    """Return the Job: the program of the image, with the cloud's own login."""
    template = {"metadata": {"labels": {"app": NAME}}, "spec": _pod(image, spare, public_key)}
    return {
        "metadata": {"name": NAME, "namespace": namespace, "labels": {"app": NAME}},
        "spec": {"backoffLimit": 2, "activeDeadlineSeconds": _PATIENCE, "template": template},
    }


def _pod(image: str, spare: SpareNetwork, public_key: str) -> JsonObject:
    variables = {
        "OS_CLOUD": "default",
        "HOME": "/tmp",  # noqa: S108  of the container
        "PUBLIC_KEY": public_key,
        **spare_network.variables(spare),
    }
    container = {
        "name": NAME,
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["python3", "/guest/create_server.py", _MESSAGE],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "volumeMounts": [{"name": "clouds", "mountPath": "/etc/openstack"}],
        "resources": {"requests": {"cpu": "10m", "memory": "128Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    # What openstackclients read, as the control plane writes it.
    sources = [{"configMap": {"name": "openstack-config"}}, {"secret": {"name": "openstack-config-secret"}}]
    user = {"runAsNonRoot": True, "runAsUser": _USER, "fsGroup": _USER, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": user,
        "containers": [container],
        "volumes": [{"name": "clouds", "projected": {"sources": sources}}],
    }
