"""The kinds that the simulator reads, as far as a scheduler, a kubelet and a provisioner look at them.

Fields that are not named here are dropped in decoding, so that hundreds of pods stay small; what the
simulator writes goes by merge patch on status, by binding or by create, and touches nothing else.
"""

from typing import ClassVar

from stackwright.kube import builtin
from stackwright.kube.resource import JsonObject, Kind, ObjectMeta, Resource, Value


class Reference(Value, frozen=True, kw_only=True):
    """Names a key of a ConfigMap or Secret, or the whole of it."""

    name: str = ""
    key: str = ""
    optional: bool = False


class EnvironmentSource(Value, frozen=True, kw_only=True):
    """Where the value of one variable comes from."""

    configMapKeyRef: Reference | None = None
    secretKeyRef: Reference | None = None


class EnvironmentVariable(Value, frozen=True, kw_only=True):
    """One variable of a container."""

    name: str = ""
    valueFrom: EnvironmentSource | None = None


class EnvironmentBlock(Value, frozen=True, kw_only=True):
    """All keys of a ConfigMap or Secret as variables."""

    configMapRef: Reference | None = None
    secretRef: Reference | None = None


class Port(Value, frozen=True, kw_only=True):
    """A port of a container; with `hostPort`, its node's port of that number is taken."""

    containerPort: int = 0
    hostPort: int = 0
    hostIP: str = ""
    protocol: str = "TCP"


class ResourceRequirements(Value, frozen=True, kw_only=True):
    """What a container asks of its node, as quantities by the name of the resource."""

    requests: dict[str, str | int] = {}


class Container(Value, frozen=True, kw_only=True):
    """One container of a pod; `restartPolicy` Always among the init containers makes it a sidecar."""

    name: str
    image: str = ""
    restartPolicy: str = ""
    env: tuple[EnvironmentVariable, ...] = ()
    envFrom: tuple[EnvironmentBlock, ...] = ()
    startupProbe: JsonObject | None = None
    ports: tuple[Port, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()


class KeyToPath(Value, frozen=True, kw_only=True):
    """One key that a volume picks."""

    key: str


class MountedObject(Value, frozen=True, kw_only=True):
    """A ConfigMap or Secret as (part of) a volume. A Secret volume says `secretName`, all others `name`."""

    name: str = ""
    secretName: str = ""
    optional: bool = False
    items: tuple[KeyToPath, ...] = ()


class ProjectedSource(Value, frozen=True, kw_only=True):
    """One of several things that a projected volume shows."""

    configMap: MountedObject | None = None
    secret: MountedObject | None = None


class Projected(Value, frozen=True, kw_only=True):
    """A volume made of several sources."""

    sources: tuple[ProjectedSource, ...] = ()


class ClaimSource(Value, frozen=True, kw_only=True):
    """A volume that is claimed."""

    claimName: str


class Volume(Value, frozen=True, kw_only=True):
    """One volume of a pod, as far as something must exist before it can be mounted."""

    name: str
    configMap: MountedObject | None = None
    secret: MountedObject | None = None
    projected: Projected | None = None
    persistentVolumeClaim: ClaimSource | None = None
    ephemeral: JsonObject | None = None


class ReadinessGate(Value, frozen=True, kw_only=True):
    """A condition that somebody else must set before the pod is Ready."""

    conditionType: str


class Toleration(Value, frozen=True, kw_only=True):
    """Taints that a pod puts up with; an empty key or effect stands for all of them."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodSpec(Value, frozen=True, kw_only=True):
    """What a pod should run."""

    nodeName: str = ""
    restartPolicy: str = "Always"
    hostNetwork: bool = False
    containers: tuple[Container, ...] = ()
    initContainers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    readinessGates: tuple[ReadinessGate, ...] = ()
    schedulingGates: tuple[JsonObject, ...] = ()
    affinity: JsonObject = {}
    nodeSelector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class Waiting(Value, frozen=True, kw_only=True):
    """A container that does not run yet, or not now."""

    reason: str = ""
    message: str = ""


class Running(Value, frozen=True, kw_only=True):
    """A container that runs."""

    startedAt: str = ""


class Terminated(Value, frozen=True, kw_only=True):
    """A container that ended."""

    exitCode: int = 0
    reason: str = ""
    message: str = ""
    startedAt: str = ""
    finishedAt: str = ""
    containerID: str = ""


class ContainerState(Value, frozen=True, kw_only=True):
    """One of waiting, running, terminated; none of them before anybody looked at the container."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None

    @property
    def label(self) -> str:
        """Names the state for timers: a container is in one state for as long as its label stays."""
        if self.waiting is not None:
            return self.waiting.reason
        if self.running is not None:
            return "running"
        return "terminated" if self.terminated is not None else ""


class ContainerStatus(Value, frozen=True, kw_only=True):
    """What the kubelet reports of one container."""

    name: str
    state: ContainerState = ContainerState()
    lastState: ContainerState = ContainerState()
    ready: bool = False
    started: bool | None = None
    restartCount: int = 0
    image: str = ""
    imageID: str = ""
    containerID: str = ""


class PodCondition(Value, frozen=True, kw_only=True):
    """One aspect of a pod's state."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    lastTransitionTime: str = ""
    observedGeneration: int = 0


class Address(Value, frozen=True, kw_only=True):
    """An address of a pod or its host."""

    ip: str = ""


class PodStatus(Value, frozen=True, kw_only=True):
    """What scheduler and kubelet report of a pod."""

    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    containerStatuses: tuple[ContainerStatus, ...] = ()
    initContainerStatuses: tuple[ContainerStatus, ...] = ()
    startTime: str = ""
    hostIP: str = ""
    hostIPs: tuple[Address, ...] = ()
    podIP: str = ""
    podIPs: tuple[Address, ...] = ()
    observedGeneration: int = 0

    def condition(self, type_: str) -> PodCondition | None:
        """Return the condition of that type, if anybody set it."""
        return next((condition for condition in self.conditions if condition.type == type_), None)

    def container(self, name: str) -> ContainerStatus | None:
        """Return what is reported of one container, init containers included."""
        everything = (*self.initContainerStatuses, *self.containerStatuses)
        return next((status for status in everything if status.name == name), None)


class PodMetadata(ObjectMeta, frozen=True, kw_only=True):
    """A pod's metadata; a grace period of zero says that its kubelet has confirmed the end."""

    deletionGracePeriodSeconds: int | None = None


class Pod(Resource, frozen=True, kw_only=True):
    """A pod as scheduler and kubelet see it."""

    kind: ClassVar[Kind] = builtin.Pod.kind

    metadata: PodMetadata = PodMetadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        """Whether the pod has ended for good."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def description(self) -> str:
        """Names the pod as kubelets do in messages."""
        return f"{self.metadata.name}_{self.metadata.namespace}({self.metadata.uid})"

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of the volume claims that this pod needs; those of ephemeral volumes follow from its own."""
        named = (v.persistentVolumeClaim.claimName for v in self.spec.volumes if v.persistentVolumeClaim)
        ephemeral = (f"{self.metadata.name}-{v.name}" for v in self.spec.volumes if v.ephemeral is not None)
        return (*named, *ephemeral)


class ClaimSpec(Value, frozen=True, kw_only=True):
    """What is claimed."""

    accessModes: tuple[str, ...] = ()
    resources: JsonObject = {}
    storageClassName: str | None = None
    volumeMode: str = "Filesystem"
    volumeName: str = ""


class ClaimStatus(Value, frozen=True, kw_only=True):
    """Whether the claim has its volume."""

    phase: str = ""
    capacity: JsonObject = {}


class Claim(Resource, frozen=True, kw_only=True):
    """A PersistentVolumeClaim as scheduler and provisioner see it."""

    kind: ClassVar[Kind] = builtin.PersistentVolumeClaim.kind

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class ClaimReference(Value, frozen=True, kw_only=True):
    """The claim that a volume belongs to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class PersistentVolumeSpec(Value, frozen=True, kw_only=True):
    """What a volume is for, and what happens to it afterwards."""

    claimRef: ClaimReference = ClaimReference()
    persistentVolumeReclaimPolicy: str = "Retain"


class PersistentVolume(Resource, frozen=True, kw_only=True):
    """A PersistentVolume as its provisioner sees it."""

    kind: ClassVar[Kind] = builtin.PersistentVolume.kind

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: ClaimStatus = ClaimStatus()


class StorageClass(Resource, frozen=True, kw_only=True):
    """A way to get volumes."""

    kind: ClassVar[Kind] = builtin.StorageClass.kind

    provisioner: str = ""
    reclaimPolicy: str = "Delete"
    allowVolumeExpansion: bool = False
    volumeBindingMode: str = "Immediate"

    @property
    def waits(self) -> bool:
        """Whether a claim waits for the first pod that uses it."""
        return self.volumeBindingMode == "WaitForFirstConsumer"


class Keyed(Resource, frozen=True, kw_only=True):
    """A ConfigMap or Secret of which only the keys matter."""

    data: dict[str, str] = {}
    binaryData: dict[str, str] = {}

    @property
    def keys(self) -> frozenset[str]:
        """The keys that a pod may ask for."""
        return frozenset(self.data) | frozenset(self.binaryData)


class ConfigMap(Keyed, frozen=True, kw_only=True):
    """A config map."""

    kind: ClassVar[Kind] = builtin.ConfigMap.kind


class Secret(Keyed, frozen=True, kw_only=True):
    """A secret."""

    kind: ClassVar[Kind] = builtin.Secret.kind


class Owner(Resource, frozen=True, kw_only=True):
    """What pods come from: its name and annotations choose their behaviour."""


class ReplicaSet(Owner, frozen=True, kw_only=True):
    """The metadata of a replica set."""

    kind: ClassVar[Kind] = builtin.ReplicaSet.kind


class Deployment(Owner, frozen=True, kw_only=True):
    """The metadata of a deployment."""

    kind: ClassVar[Kind] = builtin.Deployment.kind


class StatefulSet(Owner, frozen=True, kw_only=True):
    """The metadata of a stateful set."""

    kind: ClassVar[Kind] = builtin.StatefulSet.kind


class DaemonSet(Owner, frozen=True, kw_only=True):
    """The metadata of a daemon set."""

    kind: ClassVar[Kind] = builtin.DaemonSet.kind


class Job(Owner, frozen=True, kw_only=True):
    """The metadata of a job."""

    kind: ClassVar[Kind] = builtin.Job.kind


class CronJob(Owner, frozen=True, kw_only=True):
    """The metadata of a cron job."""

    kind: ClassVar[Kind] = builtin.CronJob.kind


# Every kind that a pod may come from, directly or through another of them, by how a reference names it.
OWNERS: dict[tuple[str, str], type[Owner]] = {
    (owner.kind.api_version, owner.kind.name): owner
    for owner in (ReplicaSet, Deployment, StatefulSet, DaemonSet, Job, CronJob)
}
