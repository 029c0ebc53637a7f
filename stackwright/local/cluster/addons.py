"""What every cluster has in it from the start: names for Services, a StorageClass, and rights for our own programs."""

from collections.abc import Iterator
from typing import ClassVar

from stackwright.kube.builtin import ConfigMap, Deployment, Service, ServiceAccount, StorageClass
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, Kind, Resource
from stackwright.local import versions
from stackwright.local.cluster.configuration import PROVISIONER
from stackwright.local.cluster.credentials import KUBELET_CLIENT, LOAD_BALANCER, ROUTER, VOLUMES
from stackwright.local.cluster.flags import DOMAIN
from stackwright.local.cluster.layout import Node, Settings

NAMESPACE = "kube-system"
COREDNS = "coredns"
_RBAC = "rbac.authorization.k8s.io"


class ClusterRole(Resource, frozen=True, kw_only=True):
    """A set of rights."""

    kind: ClassVar[Kind] = Kind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)


class ClusterRoleBinding(Resource, frozen=True, kw_only=True):
    """The accounts that have a set of rights."""

    kind: ClassVar[Kind] = Kind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)


def coredns_image() -> str:
    """Return what the image with CoreDNS is called."""
    return f"stackwright.local/coredns:{versions.pinned().coredns}"


Manifests = Iterator[tuple[type[Resource], JsonObject]]


async def apply(client: Client, manifests: Manifests) -> None:
    """Bring objects into the cluster; what is there already and unchanged stays as it is."""
    for kind, body in manifests:
        await client.apply(kind, body)


def roles(node: Node) -> JsonObject:
    """Return the labels that show a node's roles; a node may not set them itself."""
    labels = {f"node-role.kubernetes.io/{role}": "" for role in node.roles}
    return {"metadata": {"name": node.name, "labels": labels}}


def ground() -> Manifests:
    """Return what needs nothing else: rights for our own programs, and the storage class."""
    yield StorageClass, storage_class()
    yield ClusterRoleBinding, _binding(KUBELET_CLIENT, "system:kubelet-api-admin", _user(KUBELET_CLIENT))
    yield (
        ClusterRole,
        _role(
            VOLUMES,
            _rule("", ("persistentvolumes",), ("get", "list", "watch", "create", "delete")),
            _rule("", ("persistentvolumeclaims",), ("get", "list", "watch")),
            _rule("storage.k8s.io", ("storageclasses",), ("get", "list", "watch")),
            _rule("events.k8s.io", ("events",), ("create", "patch", "update")),
        ),
    )
    yield ClusterRoleBinding, _binding(VOLUMES, VOLUMES, _user(VOLUMES))
    yield (
        ClusterRole,
        _role(
            LOAD_BALANCER,
            _rule("", ("services", "nodes"), ("get", "list", "watch")),
            _rule("", ("services/status",), ("patch",)),
            _rule("events.k8s.io", ("events",), ("create", "patch", "update")),
        ),
    )
    yield ClusterRoleBinding, _binding(LOAD_BALANCER, LOAD_BALANCER, _user(LOAD_BALANCER))
    yield (
        ClusterRole,
        _role(
            ROUTER,
            # Ours needs no Services and what belongs to them, but a released kube-router reads them all the same.
            _rule("", ("pods", "namespaces", "nodes", "services", "endpoints"), ("get", "list", "watch")),
            _rule("discovery.k8s.io", ("endpointslices",), ("get", "list", "watch")),
            _rule("networking.k8s.io", ("networkpolicies",), ("get", "list", "watch")),
        ),
    )
    yield ClusterRoleBinding, _binding(ROUTER, ROUTER, _user(ROUTER))


def names(settings: Settings) -> Manifests:
    """Return what answers for the names of Services; its image must be there."""
    account = {"kind": "ServiceAccount", "name": COREDNS, "namespace": NAMESPACE}
    role = f"system:{COREDNS}"
    yield ServiceAccount, {"metadata": _metadata(COREDNS)}
    yield (
        ClusterRole,
        _role(
            role,
            _rule("", ("services", "pods", "namespaces"), ("list", "watch")),
            _rule("discovery.k8s.io", ("endpointslices",), ("list", "watch")),
        ),
    )
    yield ClusterRoleBinding, _binding(role, role, account)
    yield ConfigMap, {"metadata": _metadata(COREDNS), "data": {"Corefile": corefile(settings.nameservers)}}
    yield Deployment, _deployment()
    yield Service, _service(settings.network.dns_service)


def corefile(nameservers: tuple[str, ...]) -> str:
    """Return CoreDNS' configuration; names of the world outside are asked of those servers, if there are any."""
    forward = f"    forward . {' '.join(nameservers)}\n" if nameservers else ""
    return f"""\
.:53 {{
    errors
    health {{
        lameduck 5s
    }}
    ready
    kubernetes {DOMAIN} in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }}
{forward}    cache 30
    reload
    loadbalance
}}
"""


def storage_class() -> JsonObject:
    """Return the default storage class."""
    return {
        "metadata": {"name": "local", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _deployment() -> JsonObject:
    labels = {"k8s-app": "kube-dns"}
    ports = [
        {"name": "dns", "containerPort": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        {"name": "metrics", "containerPort": 9153, "protocol": "TCP"},
    ]
    container = {
        "name": COREDNS,
        "image": coredns_image(),
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": ports,
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}, "timeoutSeconds": 5, "failureThreshold": 6},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 2},
        "startupProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1, "failureThreshold": 120},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        },
    }
    pod = {
        "serviceAccountName": COREDNS,
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": COREDNS}}],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": _metadata(COREDNS) | {"labels": labels}, "spec": spec}


def _service(address: str) -> JsonObject:
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        {"name": "metrics", "port": 9153, "protocol": "TCP"},
    ]
    labels = {"k8s-app": "kube-dns"}
    return {
        "metadata": _metadata("kube-dns") | {"labels": labels},
        "spec": {"clusterIP": address, "selector": labels, "ports": ports},
    }


def _metadata(name: str) -> JsonObject:
    return {"name": name, "namespace": NAMESPACE}


def _role(name: str, *rules: JsonObject) -> JsonObject:
    return {"metadata": {"name": name}, "rules": list(rules)}


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _binding(name: str, role: str, subject: JsonObject) -> JsonObject:
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}


def _user(name: str) -> JsonObject:
    return {"apiGroup": _RBAC, "kind": "User", "name": name}
