"""Kubernetes' own kinds, as far as controllers read them: typed metadata, free-form spec and status."""

from typing import ClassVar

from stackwright.kube.resource import JsonObject, Kind, Resource, Value


class Plain(Resource, frozen=True, kw_only=True):
    """A kind with a spec and a status that we read field by field."""

    spec: JsonObject = {}
    status: JsonObject = {}


class Namespace(Plain, frozen=True, kw_only=True):
    """A namespace."""

    kind: ClassVar[Kind] = Kind("", "v1", "Namespace", "namespaces", namespaced=False)


class Node(Plain, frozen=True, kw_only=True):
    """A machine of the cluster."""

    kind: ClassVar[Kind] = Kind("", "v1", "Node", "nodes", namespaced=False)


class Pod(Plain, frozen=True, kw_only=True):
    """A pod."""

    kind: ClassVar[Kind] = Kind("", "v1", "Pod", "pods")


class Service(Plain, frozen=True, kw_only=True):
    """A service."""

    kind: ClassVar[Kind] = Kind("", "v1", "Service", "services")


class ServiceAccount(Resource, frozen=True, kw_only=True):
    """A service account."""

    kind: ClassVar[Kind] = Kind("", "v1", "ServiceAccount", "serviceaccounts")

    automountServiceAccountToken: bool | None = None


class Role(Resource, frozen=True, kw_only=True):
    """Rights in a namespace."""

    kind: ClassVar[Kind] = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")

    rules: tuple[JsonObject, ...] = ()


class RoleBinding(Resource, frozen=True, kw_only=True):
    """Gives the rights of a role to subjects."""

    kind: ClassVar[Kind] = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")

    roleRef: JsonObject = {}
    subjects: tuple[JsonObject, ...] = ()


class PodDisruptionBudget(Plain, frozen=True, kw_only=True):
    """How many of a set of pods may be down at once."""

    kind: ClassVar[Kind] = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")


class NetworkPolicy(Plain, frozen=True, kw_only=True):
    """A policy that says which pods may talk to which."""

    kind: ClassVar[Kind] = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")


class Ingress(Plain, frozen=True, kw_only=True):
    """How services are reached from outside, by host and path."""

    kind: ClassVar[Kind] = Kind("networking.k8s.io", "v1", "Ingress", "ingresses")


class PersistentVolume(Plain, frozen=True, kw_only=True):
    """A persistent volume."""

    kind: ClassVar[Kind] = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)


class PersistentVolumeClaim(Plain, frozen=True, kw_only=True):
    """A claim on a persistent volume."""

    kind: ClassVar[Kind] = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")


class ConfigMap(Resource, frozen=True, kw_only=True):
    """A config map."""

    kind: ClassVar[Kind] = Kind("", "v1", "ConfigMap", "configmaps")

    data: dict[str, str] = {}
    binaryData: dict[str, str] = {}
    immutable: bool = False


class Secret(Resource, frozen=True, kw_only=True):
    """A secret; `data` is base64 as on the wire."""

    kind: ClassVar[Kind] = Kind("", "v1", "Secret", "secrets")

    data: dict[str, str] = {}
    stringData: dict[str, str] = {}
    type: str = ""
    immutable: bool = False


class Deployment(Plain, frozen=True, kw_only=True):
    """A deployment."""

    kind: ClassVar[Kind] = Kind("apps", "v1", "Deployment", "deployments")


class ReplicaSet(Plain, frozen=True, kw_only=True):
    """A replica set."""

    kind: ClassVar[Kind] = Kind("apps", "v1", "ReplicaSet", "replicasets")


class StatefulSet(Plain, frozen=True, kw_only=True):
    """A stateful set."""

    kind: ClassVar[Kind] = Kind("apps", "v1", "StatefulSet", "statefulsets")


class DaemonSet(Plain, frozen=True, kw_only=True):
    """A daemon set."""

    kind: ClassVar[Kind] = Kind("apps", "v1", "DaemonSet", "daemonsets")


class Job(Plain, frozen=True, kw_only=True):
    """A job."""

    kind: ClassVar[Kind] = Kind("batch", "v1", "Job", "jobs")


class CronJob(Plain, frozen=True, kw_only=True):
    """A cron job."""

    kind: ClassVar[Kind] = Kind("batch", "v1", "CronJob", "cronjobs")


class StorageClass(Resource, frozen=True, kw_only=True):
    """A storage class."""

    kind: ClassVar[Kind] = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)

    provisioner: str = ""
    volumeBindingMode: str = ""
    allowVolumeExpansion: bool = False


class LeaseSpec(Value, frozen=True, kw_only=True):
    """The holder of a lease, since when, and for how long."""

    holderIdentity: str = ""
    leaseDurationSeconds: int = 0
    acquireTime: str = ""
    renewTime: str = ""
    leaseTransitions: int = 0


class Lease(Resource, frozen=True, kw_only=True):
    """A lease, as leader election uses it."""

    kind: ClassVar[Kind] = Kind("coordination.k8s.io", "v1", "Lease", "leases")

    spec: LeaseSpec = LeaseSpec()


class Event(Resource, frozen=True, kw_only=True):
    """An event of events.k8s.io/v1."""

    kind: ClassVar[Kind] = Kind("events.k8s.io", "v1", "Event", "events")

    reason: str = ""
    note: str = ""
    type: str = ""
    action: str = ""
    eventTime: str | None = None
    reportingController: str = ""
    reportingInstance: str = ""
    regarding: JsonObject = {}
    series: JsonObject | None = None


class CustomResourceDefinition(Plain, frozen=True, kw_only=True):
    """A custom resource definition."""

    kind: ClassVar[Kind] = Kind(
        "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
    )


class MutatingWebhookConfiguration(Resource, frozen=True, kw_only=True):
    """A registration of mutating webhooks."""

    kind: ClassVar[Kind] = Kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
    )

    webhooks: tuple[JsonObject, ...] = ()


class ValidatingWebhookConfiguration(Resource, frozen=True, kw_only=True):
    """A registration of validating webhooks."""

    kind: ClassVar[Kind] = Kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
    )

    webhooks: tuple[JsonObject, ...] = ()
