"""The kinds that a release may contain: those that our charts render, and an Ingress, which a user's chart may add."""

from stackwright.kube.builtin import (
    ConfigMap,
    CronJob,
    DaemonSet,
    Deployment,
    Ingress,
    Job,
    NetworkPolicy,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
)
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import JsonObject, Resource

KINDS: tuple[type[Resource], ...] = (
    ConfigMap,
    CronJob,
    DaemonSet,
    Deployment,
    Ingress,
    Job,
    NetworkPolicy,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
)

_BY_NAME = {(kind.kind.api_version, kind.kind.name): kind for kind in KINDS}


def type_of(body: JsonObject) -> type[Resource]:
    """Return the type of a rendered object; raise Blocked for a kind that our releases do not contain."""
    name = (body.get("apiVersion", ""), body.get("kind", ""))
    if name not in _BY_NAME:
        raise Blocked(f"the chart renders a {name[1]} of {name[0]}, which the operator does not apply; remove it")
    return _BY_NAME[name]


def is_known(body: JsonObject) -> bool:
    """Return whether an object is of a kind that our releases may contain."""
    return (body.get("apiVersion", ""), body.get("kind", "")) in _BY_NAME
