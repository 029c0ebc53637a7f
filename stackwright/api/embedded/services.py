"""The spec of a Service, as far as it can be set beside what we generate. Fields are named as in Kubernetes."""

from typing import Annotated, Literal

from stackwright.api.base import max_length, maximum, minimum
from stackwright.api.embedded.marker import EmbeddedPart
from stackwright.api.forms import Form, Labels

_PortNumber = Annotated[int, minimum(1), maximum(65535)]
_NodePort = Annotated[int | None, Form.NODE_PORT]
_Family = Literal["IPv4", "IPv6"]


class ServicePort(EmbeddedPart, frozen=True, kw_only=True):
    """A port of a Service."""

    port: _PortNumber
    name: Annotated[str, Form.DNS_LABEL] = ""
    protocol: Literal["TCP", "UDP", "SCTP", ""] = ""
    appProtocol: str | None = None
    targetPort: Annotated[int | str | None, Form.TARGET_PORT] = None
    nodePort: _NodePort = None


class ClientAffinity(EmbeddedPart, frozen=True, kw_only=True):
    """How long a client stays with the same pod."""

    timeoutSeconds: Annotated[int | None, minimum(1), maximum(86400)] = None


class SessionAffinity(EmbeddedPart, frozen=True, kw_only=True):
    """Details of session affinity."""

    clientIP: ClientAffinity | None = None


class ServiceSpec(EmbeddedPart, frozen=True, kw_only=True):
    """The spec of a Service. `nodePort` is ours: the port on every node of the first port."""

    type: Literal["ClusterIP", "LoadBalancer", "NodePort"] | None = None
    nodePort: _NodePort = None
    ports: tuple[ServicePort, ...] = ()
    selector: Labels = {}
    clusterIP: Annotated[str, Form.CLUSTER_ADDRESS] = ""
    clusterIPs: tuple[Annotated[str, Form.CLUSTER_ADDRESS], ...] = ()
    externalIPs: tuple[Annotated[str, Form.ADDRESS], ...] = ()
    externalTrafficPolicy: Literal["Cluster", "Local"] | None = None
    internalTrafficPolicy: Literal["Cluster", "Local"] | None = None
    ipFamilies: tuple[_Family, ...] = ()
    ipFamilyPolicy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] | None = None
    allocateLoadBalancerNodePorts: bool | None = None
    loadBalancerClass: Annotated[str | None, max_length(317), Form.OPTIONAL_LABEL_KEY] = None
    loadBalancerIP: str = ""
    loadBalancerSourceRanges: tuple[Annotated[str, Form.ADDRESS_RANGE], ...] = ()
    healthCheckNodePort: _NodePort = None
    publishNotReadyAddresses: bool = False
    sessionAffinity: Literal["ClientIP", "None"] | None = None
    sessionAffinityConfig: SessionAffinity | None = None
    trafficDistribution: Literal["PreferClose", "PreferSameZone", "PreferSameNode"] | None = None
