"""The pod in which Tempest runs, and the policy that lets it out. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.kube.builtin import Pod
from stackwright.kube.resource import JsonObject, owner_reference

# One for each cloud: two that try the same cloud would remove each other's things.
NAME = "stackwright-validate"
CONTAINER = "tempest"
LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/managed-by": "stackwright"}
# Kolla's user for it.
USER = 42480
# Seconds in which it removes what it made in the cloud, once it is told to end.
GRACE = 240
# How much longer than the command the pod lives at most, if nobody ends it.
BEYOND = 600
# Tempest pings servers, and has no rights to open raw sockets.
PING = {"name": "net.ipv4.ping_group_range", "value": f"{USER} {USER}"}
CLOUDS, AUTHORITIES = "/etc/openstack", "/etc/authorities"
BUNDLE = "tls-ca-bundle.pem"


@dataclass(frozen=True)
class Login:
    """Where the pod finds the administrator's login: names of objects, and no secret."""

    config: str
    secret: str
    cloud: str
    auth_url: str = ""
    interface: str = "internal"
    authorities: str = ""
    """The Secret with the certificate authorities that Keystone trusts."""


@dataclass(frozen=True)
class Request:
    """What is tried, and how."""

    selections: tuple[str, ...] = ()
    exclude: str = ""
    list_only: bool = False
    workers: int = 0
    external_network: str = ""
    login: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 7200.0


def arguments(login: Login, asked: Request) -> list[str]:
    """Return the arguments of the program in the image; there is no secret among them."""
    words = [f"--cloud={login.cloud}", f"--interface={login.interface}"]
    words += [f"--auth-url={login.auth_url}"] if login.auth_url else []
    words += [f"--ca-file={AUTHORITIES}/{BUNDLE}"] if login.authorities else []
    words += [f"--select={word}" for word in asked.selections]
    words += [f"--exclude={asked.exclude}"] if asked.exclude else []
    words += [f"--workers={asked.workers}"] if asked.workers else []
    words += [f"--external-network={asked.external_network}"] if asked.external_network else []
    words += [] if asked.login else ["--no-login"]
    words += [f"--set={name}={value}" for name, value in asked.settings.items()]
    return [*words, *(["--list"] if asked.list_only else [])]


def pod(namespace: str, image: str, login: Login, asked: Request) -> JsonObject:
    """Return the pod; every pod security profile allows it."""
    sources: list[JsonObject] = [{"configMap": {"name": login.config}}, {"secret": {"name": login.secret}}]
    volumes: list[JsonObject] = [
        {"name": "clouds", "projected": {"sources": sources, "defaultMode": 0o440}},
        {"name": "tmp", "emptyDir": {}},
    ]
    mounts: list[JsonObject] = [
        {"name": "clouds", "mountPath": CLOUDS, "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  a volume of the pod's own
    ]
    if login.authorities:
        volumes.append({"name": "authorities", "secret": {"secretName": login.authorities}})
        mounts.append({"name": "authorities", "mountPath": AUTHORITIES, "readOnly": True})
    container: JsonObject = {
        "name": CONTAINER,
        "image": image,
        "args": arguments(login, asked),
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "volumeMounts": mounts,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    user: JsonObject = {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER}
    return {
        "metadata": {"name": NAME, "namespace": namespace, "labels": LABELS},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": GRACE,
            "activeDeadlineSeconds": round(asked.timeout) + BEYOND,
            "securityContext": {**user, "seccompProfile": {"type": "RuntimeDefault"}, "sysctls": [PING]},
            "containers": [container],
            "volumes": volumes,
        },
    }


def policy(owner: Pod) -> JsonObject:
    """Return the policy that lets the pod out to the APIs and to servers, and nobody in; it goes with the pod.

    A namespace may close all ways that no policy opens. The addresses of endpoints and servers are the cloud's affair.
    """
    return {
        "metadata": {
            "name": NAME,
            "namespace": owner.metadata.namespace,
            "labels": LABELS,
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
            "policyTypes": ["Ingress", "Egress"],
            "egress": [{}],
        },
    }
