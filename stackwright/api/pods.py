"""What a user may set for the pods of a service: size, place, probes and further volumes."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    INT32,
    JsonObject,
    Quantity,
    Rule,
    Value,
    atomic,
    describe,
    free_form,
    list_map,
    max_items,
    maximum,
    minimum,
    pattern,
    rule,
)
from stackwright.api.embedded import embedded
from stackwright.api.embedded.volumes import Volume
from stackwright.api.forms import Labels, OptionalName
from stackwright.kube.markers import NOT_NEGATIVE

# Requests and limits are compared by admission: a rule over maps of quantities costs more than a schema may.
_Amount = Annotated[Quantity, pattern(NOT_NEGATIVE), minimum(0)]


class ResourceClaim(Value, frozen=True, kw_only=True):
    """Names one claim of the pod that a container uses."""

    name: Annotated[str, describe("The name of an entry in the pod's resourceClaims.")]
    request: Annotated[str, describe("One request of that claim; empty for the whole claim.")] = ""


class ResourceRequirements(Value, frozen=True, kw_only=True):
    """How much CPU and memory each container requests, and how much it may use."""

    claims: Annotated[
        tuple[ResourceClaim, ...], list_map("name"), describe("Claims of the pod that the container uses.")
    ] = ()
    limits: Annotated[
        dict[str, _Amount],
        describe("The most that a container may use, by resource: cpu, memory and so on."),
    ] = {}
    requests: Annotated[
        dict[str, _Amount],
        describe("What is reserved for a container, by resource. A pod runs only on a node that has this much free."),
    ] = {}


class TopologyRef(Value, frozen=True, kw_only=True):
    """Names a Topology resource that says how pods are spread over the nodes."""

    name: Annotated[OptionalName, describe("The name of the Topology.")] = ""
    namespace: Annotated[
        str, describe("The namespace of the Topology; only the namespace of the resource itself is supported.")
    ] = ""


class PodTemplate(Value, frozen=True, kw_only=True):
    """Where pods run and how much they may use."""

    nodeSelector: Annotated[
        Labels | None,
        describe(
            "Labels that a node must have to run the pods. An empty map means any node, even if the control "
            "plane selects some. If absent, the control plane's selector is used."
        ),
    ] = None
    resources: ResourceRequirements = ResourceRequirements()
    topologyRef: Annotated[
        TopologyRef | None,
        describe(
            "A Topology that says how pods are spread over the nodes, instead of the default of spreading over hosts."
        ),
    ] = None


class Probe(Value, frozen=True, kw_only=True):
    """Overrides one probe, field by field; absent fields keep the service's own values."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule(
            "!has(self.type) || self.type != 'Exec' || (has(self.command) && size(self.command) > 0)",
            message="command is required for exec probe type",
            field_path=".command",
            reason="FieldValueRequired",
        ),
    )

    type: Annotated[
        Literal["HTTP", "Exec", ""], describe("How to probe: an HTTP request, or a command in the container.")
    ] = ""
    path: Annotated[str, pattern(r"^(/.*)?$"), describe("The path of the HTTP request; it starts with a slash.")] = ""
    command: Annotated[tuple[str, ...], atomic, max_items(64), describe("The command and its arguments.")] = ()
    port: Annotated[int | None, minimum(1), maximum(65535), describe("The port of the HTTP request.")] = None
    scheme: Annotated[Literal["HTTP", "HTTPS"] | None, describe("Whether the HTTP request is made over TLS.")] = None
    initialDelaySeconds: Annotated[
        int | None, minimum(0), INT32, describe("Seconds after the container's start before the first probe.")
    ] = None
    timeoutSeconds: Annotated[
        int | None, minimum(1), INT32, describe("Seconds after which a probe without an answer fails.")
    ] = None
    periodSeconds: Annotated[int | None, minimum(1), INT32, describe("Seconds between two probes.")] = None
    failureThreshold: Annotated[
        int | None,
        minimum(1),
        INT32,
        describe("How many probes in a row must fail for the container to count as failed."),
    ] = None


class Probes(Value, frozen=True, kw_only=True):
    """Overrides of a service's probes."""

    livenessProbes: Annotated[Probe | None, describe("The probe that restarts a container when it fails.")] = None
    readinessProbes: Annotated[
        Probe | None, describe("The probe that takes a pod out of its Services when it fails.")
    ] = None
    startupProbes: Annotated[Probe | None, describe("The probe that the others wait for after a start.")] = None


class PodOverride(Value, frozen=True, kw_only=True):
    """Overrides of what we generate for a service without its own endpoint."""

    probes: Annotated[Probes | None, describe("Overrides of the probes.")] = None


class VolumeMount(Value, frozen=True, kw_only=True):
    """Where a volume is mounted in a container."""

    name: Annotated[str, describe("The name of one of the volumes.")]
    mountPath: Annotated[str, describe("The path in the container.")]
    subPath: Annotated[str, describe("A path within the volume that is mounted instead of its root.")] = ""
    subPathExpr: Annotated[str, describe("The same, with $(VARIABLES) of the container's environment.")] = ""
    readOnly: Annotated[bool, describe("Whether the mount is read-only.")] = False
    recursiveReadOnly: Annotated[str, describe("Whether mounts below it are read-only too.")] = ""
    mountPropagation: Annotated[str, describe("How mounts propagate between the host and the container.")] = ""


class ExtraVolumes(Value, frozen=True, kw_only=True):
    """Volumes, where they are mounted, and in which pods."""

    volumes: Annotated[
        tuple[Annotated[JsonObject, free_form, embedded(Volume)], ...],
        atomic,
        describe(
            "The volumes, as in a pod's spec.volumes: each has a name and one source (secret, configMap, nfs, …)."
        ),
    ]
    mounts: Annotated[tuple[VolumeMount, ...], atomic, describe("Where the volumes are mounted in the containers.")]
    propagation: Annotated[
        tuple[str, ...],
        atomic,
        describe("Which pods get them: names of services, of groups or of instances; empty means all pods."),
    ] = ()
    extraVolType: Annotated[str, describe("A label for people, such as Ceph.")] = ""


class ExtraMounts(Value, frozen=True, kw_only=True):
    """A named set of further volumes for pods: files, keys and credentials that Stackwright does not interpret."""

    extraVol: Annotated[tuple[ExtraVolumes, ...], atomic, describe("The volumes and where they are mounted.")]
    name: Annotated[str, describe("A name for people.")] = ""
    region: Annotated[str, describe("The region that this is for; empty for all.")] = ""


ExtraMountsList = Annotated[
    tuple[ExtraMounts, ...],
    atomic,
    describe("Further volumes for the pods, for files, keys and credentials that your snippets refer to."),
]
