"""How a service is reached: overrides of its Kubernetes Services, and its certificates."""

from typing import Annotated, Literal

from stackwright.api.base import (
    Value,
    atomic,
    describe,
    keys,
    max_length,
    max_properties,
    maximum,
    minimum,
    pattern,
    rule,
)
from stackwright.api.forms import OPTIONAL_NAME, Form, Labels, OptionalName
from stackwright.api.pods import PodOverride


class EmbeddedMetadata(Value, frozen=True, kw_only=True):
    """Labels and annotations that are added to a generated object."""

    annotations: Annotated[dict[str, str], Form.ANNOTATIONS, describe("Annotations to add.")] = {}
    labels: Annotated[Labels, describe("Labels to add.")] = {}


class ClientAffinity(Value, frozen=True, kw_only=True):
    """How long a client stays with the same pod."""

    timeoutSeconds: Annotated[
        int | None,
        minimum(1),
        maximum(86400),
        describe("Seconds for which a client stays with the same pod; 10800 by default."),
    ] = None


class SessionAffinityConfig(Value, frozen=True, kw_only=True):
    """Details of session affinity."""

    clientIP: Annotated[ClientAffinity | None, describe("Details of affinity by the client's address.")] = None


class ServiceSettings(Value, frozen=True, kw_only=True):
    """The fields of a Kubernetes Service that may be overridden; they mean what they mean there."""

    type: Annotated[
        Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] | None,
        describe("How the Service is reached from outside the cluster; with ClusterIP it is not."),
    ] = None
    externalName: Annotated[str, describe("The DNS name that a Service of type ExternalName stands for.")] = ""
    externalTrafficPolicy: Annotated[
        Literal["Cluster", "Local"] | None,
        describe("Local keeps the client's address and serves from pods of the same node only."),
    ] = None
    internalTrafficPolicy: Annotated[
        Literal["Cluster", "Local"] | None, describe("The same for traffic from inside the cluster.")
    ] = None
    ipFamilyPolicy: Annotated[
        Literal["SingleStack", "PreferDualStack", "RequireDualStack"] | None,
        describe("Whether the Service has an IPv4 address, an IPv6 address, or both."),
    ] = None
    loadBalancerClass: Annotated[
        str, Form.OPTIONAL_LABEL_KEY, describe("Which load balancer implementation serves it.")
    ] = ""
    loadBalancerSourceRanges: Annotated[
        tuple[Annotated[str, Form.ADDRESS_RANGE], ...],
        atomic,
        describe("Address ranges from which the load balancer accepts connections."),
    ] = ()
    sessionAffinity: Annotated[
        Literal["ClientIP", "None"] | None, describe("ClientIP sends a client to the same pod again.")
    ] = None
    sessionAffinityConfig: Annotated[SessionAffinityConfig | None, describe("Details of session affinity.")] = None


# The Service of an API may be a name for a proxy elsewhere, to which the URL in the catalog leads. Whoever uses one of
# these Services means our pods.
_SERVED_BY_PODS = rule(
    "!has(self.type) || self.type != 'ExternalName'",
    message="cannot be ExternalName, because pods of this resource serve here; use ClusterIP, NodePort or LoadBalancer",
    field_path=".type",
)


class ServiceOverride(Value, frozen=True, kw_only=True):
    """Overrides of one generated Kubernetes Service."""

    metadata: Annotated[EmbeddedMetadata | None, describe("Labels and annotations to add to the Service.")] = None
    spec: Annotated[ServiceSettings | None, _SERVED_BY_PODS, describe("Fields of the Service to set.")] = None


class RoutedSettings(ServiceSettings, frozen=True, kw_only=True):
    """The fields of the Kubernetes Service of an API that may be overridden; it has one port."""

    nodePort: Annotated[
        int | None,
        minimum(1),
        maximum(65535),
        Form.NODE_PORT,
        describe(
            "The port on every node. If absent, the cluster chooses one, and the Service keeps it as long as "
            "this resource exists."
        ),
    ] = None


class RoutedOverride(ServiceOverride, frozen=True, kw_only=True):
    """Overrides of a generated Kubernetes Service whose URL is registered in the catalog."""

    spec: Annotated[RoutedSettings | None, describe("Fields of the Service to set.")] = None
    endpointURL: Annotated[
        str | None,
        max_length(2048),
        describe("The URL that is registered in the catalog, if it differs from the Service's own."),
    ] = None


class ApiOverride(PodOverride, frozen=True, kw_only=True):
    """Overrides of what we generate for an API."""

    service: Annotated[
        dict[str, RoutedOverride],
        keys("public", "internal"),
        max_properties(2),
        describe("Overrides of the API's Services by endpoint: public, internal."),
    ] = {}


class Certificate(Value, frozen=True, kw_only=True):
    """Names a Secret with a certificate (tls.crt) and its key (tls.key)."""

    secretName: Annotated[
        str | None, max_length(253), pattern(OPTIONAL_NAME), describe("The Secret with tls.crt and tls.key.")
    ] = None


class CaTls(Value, frozen=True, kw_only=True):
    """Which certificate authorities a service trusts."""

    caBundleSecretName: Annotated[
        OptionalName, describe("The Secret with the certificate authorities to trust, under the key tls-ca-bundle.pem.")
    ] = ""


class SimpleTls(CaTls, frozen=True, kw_only=True):
    """The certificate of a service with one endpoint, and which authorities it trusts."""

    secretName: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        describe("The Secret with the service's tls.crt and tls.key."),
    ] = None


class EndpointCertificates(Value, frozen=True, kw_only=True):
    """The certificates of an API, one for each endpoint."""

    public: Annotated[Certificate | None, describe("The certificate of the public endpoint.")] = None
    internal: Annotated[Certificate | None, describe("The certificate of the internal endpoint.")] = None


class ApiTls(CaTls, frozen=True, kw_only=True):
    """The certificates of an API, and which authorities it trusts."""

    api: Annotated[EndpointCertificates | None, describe("The certificates of the endpoints.")] = None
