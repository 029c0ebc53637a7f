"""The umbrella: one resource that stands for a whole control plane.

Its fixed part is here. The section of a service is declared in the service's folder; `control_plane_type` adds
the sections that were found, so that a further service changes nothing here.
"""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from stackwright.api.base import (
    VERSION,
    CompositeStatus,
    CustomResource,
    Definition,
    Kind,
    Value,
    atomic,
    deprecated,
    describe,
    list_map,
    max_length,
    pattern,
    shown,
)
from stackwright.api.exposure import CaTls
from stackwright.api.forms import OPTIONAL_NAME, Labels, ObjectName
from stackwright.api.pods import ExtraMountsList, TopologyRef
from stackwright.api.sections import HandedDown, Part, Section
from stackwright.api.sections_to_come import to_come
from stackwright.api.service import RabbitMqConfig

__all__ = ["HandedDown", "OpenStackControlPlane", "Part", "Section", "control_plane_type"]

GROUP = "core.openstack.org"

INPUT_READY = "InputReady"
INFRASTRUCTURE_READY = "OpenStackControlPlaneInfrastructureReady"
SECTIONS_READY = "OpenStackControlPlaneSectionsReady"

_Duration = Annotated[str, pattern(r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$")]
_RenewBefore = Annotated[
    _Duration | None,
    describe("How long before its expiry a certificate is renewed. By default a third of its lifetime."),
]


class LeafCertificate(Value, frozen=True, kw_only=True):
    """The lifetime of certificates."""

    duration: Annotated[_Duration, describe("The lifetime of a certificate, such as 43800h.")] = "43800h"
    renewBefore: _RenewBefore = None


class CaCertificate(Value, frozen=True, kw_only=True):
    """The lifetime of a certificate authority, or an existing issuer."""

    duration: Annotated[_Duration, describe("The lifetime of the certificate authority, such as 87600h.")] = "87600h"
    renewBefore: _RenewBefore = None
    customIssuer: Annotated[
        str | None,
        describe("An existing issuer to use instead of creating one; its chain goes into the CA bundle."),
    ] = None


class Certificates(Value, frozen=True, kw_only=True):
    """A certificate authority and the certificates that it signs."""

    ca: CaCertificate = CaCertificate()
    cert: LeafCertificate = LeafCertificate()


class IngressTls(Certificates, frozen=True, kw_only=True):
    """TLS on public endpoints."""

    enabled: Annotated[bool, describe("Whether public endpoints use TLS.")] = True


class PodLevelTls(Value, frozen=True, kw_only=True):
    """TLS between the services of the control plane, up to the pods."""

    enabled: Annotated[bool, describe("Whether the services use TLS among themselves.")] = True
    internal: Annotated[Certificates, describe("The certificate authority of internal endpoints.")] = Certificates()
    libvirt: Annotated[Certificates, describe("The certificate authority of the hypervisors.")] = Certificates()


class ControlPlaneTls(CaTls, frozen=True, kw_only=True):
    """TLS of the whole control plane, and further certificate authorities that all pods trust."""

    ingress: IngressTls = IngressTls()
    podLevel: PodLevelTls = PodLevelTls()


_TLS = describe("TLS for the whole control plane. If absent, all connections are plain text.")


class OpenStackControlPlaneSpec(Value, frozen=True, kw_only=True):
    """Settings that all services share: passwords, storage, where pods run, brokers, and how the work is divided."""

    secret: Annotated[ObjectName, describe("The Secret with the passwords of all services, one key for each password.")]
    passwordPolicy: Annotated[
        Literal["Provide", "Generate"],
        describe(
            "Who creates that Secret. Provide: you do. Generate: the operator creates it once if it does not "
            "exist, with a password for each enabled service. Passwords in it are never changed or deleted."
        ),
    ] = "Provide"
    storageClass: Annotated[str, describe("The StorageClass of volumes, for services that name none.")]
    nodeSelector: Annotated[
        Labels, describe("Labels of the nodes that run the control plane, for services that select none.")
    ] = {}
    topologyRef: Annotated[
        TopologyRef | None, describe("The Topology for services that name none: how pods are spread over the nodes.")
    ] = None
    extraMounts: ExtraMountsList = ()
    messagingBus: Annotated[RabbitMqConfig | None, describe("The broker for services that name none.")] = None
    notificationsBus: Annotated[
        RabbitMqConfig | None, describe("The broker for notifications. If absent, services send none.")
    ] = None
    notificationsBusInstance: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        deprecated("set notificationsBus.cluster."),
        describe("The name of the RabbitMq resource for notifications."),
    ] = None
    tls: Annotated[ControlPlaneTls | None, _TLS] = None
    dependencyPolicy: Annotated[
        Literal["Deploy", "Refuse"],
        describe(
            "What happens when a service needs one that you did not ask for. Deploy: it is deployed with its "
            "defaults, and the status says so. Refuse: the control plane waits until you add it."
        ),
    ] = "Deploy"
    operatorMode: Annotated[
        Literal["shared", "perService"],
        describe(
            "Which operators work on the services' resources. shared: the operators that run already. "
            "perService: one operator for each service, started and stopped with the service."
        ),
    ] = "shared"


class AuthorityStatus(Value, frozen=True, kw_only=True):
    """A certificate authority in use."""

    name: Annotated[str, describe("The name of the authority.")]
    expires: Annotated[str, describe("When its certificate expires.")] = ""


class TlsStatus(CaTls, frozen=True, kw_only=True):
    """The certificate authorities in use."""

    caList: Annotated[
        tuple[AuthorityStatus, ...], list_map("name"), describe("The certificate authorities that sign certificates.")
    ] = ()


class ResolvedDependency(Value, frozen=True, kw_only=True):
    """A resource that you did not ask for and that exists because something else needs it."""

    name: Annotated[str, describe("The name of the resource.")]
    kind: Annotated[str, describe("The kind of the resource.")]
    neededBy: Annotated[tuple[str, ...], atomic, describe("The resources that need it: kinds and names.")] = ()


class ServiceState(Value, frozen=True, kw_only=True):
    """The state of one of the resources that the control plane creates or uses."""

    kind: Annotated[str, describe("The kind of the resource.")]
    name: Annotated[str, describe("The name of the resource.")]
    ready: Annotated[bool, describe("Whether it is ready.")] = False
    reason: Annotated[str, describe("Why it is not ready, as one word.")] = ""
    message: Annotated[str, describe("Why it is not ready, as a sentence; or that somebody else created it.")] = ""


class OperatorState(Value, frozen=True, kw_only=True):
    """The state of the operator of one service."""

    service: Annotated[str, describe("The service, as named in `stackwright operator --services`.")]
    ready: Annotated[bool, describe("Whether the operator runs.")] = False
    message: Annotated[str, describe("Why it does not run, as a sentence.")] = ""


class OpenStackControlPlaneStatus(CompositeStatus, frozen=True, kw_only=True):
    """The state of the control plane."""

    unhurried: ClassVar[frozenset[str]] = frozenset({"services", "operators"})

    services: Annotated[
        tuple[ServiceState, ...], list_map("kind", "name"), describe("The state of each resource of the cloud.")
    ] = ()
    resolved: Annotated[
        tuple[ResolvedDependency, ...],
        list_map("kind", "name"),
        describe("Services that were deployed because others need them, and which others."),
    ] = ()
    operators: Annotated[
        tuple[OperatorState, ...],
        list_map("service"),
        describe("The services' own operators, if operatorMode is perService."),
    ] = ()
    containerImages: Annotated[dict[str, str], describe("The images in use, by component.")] = {}
    deployedVersion: Annotated[str | None, describe("The release that all services have reached.")] = None
    tls: Annotated[TlsStatus | None, describe("The certificate authorities in use.")] = None


class OpenStackControlPlane(CustomResource, frozen=True, kw_only=True):
    """A whole OpenStack control plane: which services run, and how. A namespace has at most one."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OpenStackControlPlane", "openstackcontrolplanes")
    definition: ClassVar[Definition] = shown(short_names=("osctlplane", "osctlplanes", "oscp", "oscps"))
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, INFRASTRUCTURE_READY, SECTIONS_READY)

    spec: OpenStackControlPlaneSpec
    status: OpenStackControlPlaneStatus = OpenStackControlPlaneStatus()


def control_plane_type(sections: Iterable[Section]) -> type[OpenStackControlPlane]:
    """Return the umbrella with the given sections in its spec, and with those to come; without any, the fixed part.

    An absent section is one that was not asked for.
    """
    ordered = sorted(sections, key=lambda section: section.name)
    if not ordered:
        return OpenStackControlPlane
    fields: list[tuple[str, Any, Any]] = [
        (section.name, Annotated[section.struct() | None, describe(section.description)], None) for section in ordered
    ]
    fields += [section.field for section in to_come(section.name for section in ordered)]
    fields += _tls([section for section in ordered if section.authority])
    spec = msgspec.defstruct(
        OpenStackControlPlaneSpec.__name__,
        fields,
        bases=(OpenStackControlPlaneSpec,),
        namespace={"__doc__": OpenStackControlPlaneSpec.__doc__},
        module=__name__,
        frozen=True,
        kw_only=True,
    )
    return msgspec.defstruct(  # type: ignore[return-value]  # a subclass of its base, which the stub does not say
        OpenStackControlPlane.__name__,
        [("spec", spec)],
        bases=(OpenStackControlPlane,),
        namespace={"__doc__": OpenStackControlPlane.__doc__, "conditions": _conditions(ordered)},
        module=__name__,
        frozen=True,
        kw_only=True,
    )


def _tls(sections: list[Section]) -> list[tuple[str, Any, Any]]:
    """Return the field `tls` with the certificate authorities of those services that have one of their own."""
    if not sections:
        return []
    authorities: list[tuple[str, Any, Any]] = [
        (section.name, Annotated[Certificates, describe(section.authority)], Certificates()) for section in sections
    ]
    level = _extend(PodLevelTls, authorities)
    whole = _extend(ControlPlaneTls, [("podLevel", level, level())])
    return [("tls", Annotated[whole | None, _TLS], None)]


def _extend(struct: type[Value], fields: list[tuple[str, Any, Any]]) -> type[Value]:
    return msgspec.defstruct(  # type: ignore[return-value]  # a subclass of its base, which the stub does not say
        struct.__name__,
        fields,
        bases=(struct,),
        namespace={"__doc__": struct.__doc__},
        module=__name__,
        frozen=True,
        kw_only=True,
    )


def _conditions(sections: Iterable[Section]) -> tuple[str, ...]:
    """Return the conditions in the order in which they become true: infrastructure first, then services."""
    below = [section.condition for section in sections if section.infrastructure]
    services = [section for section in sections if not section.infrastructure]
    above = [name for section in services for name in (section.condition, section.exposure) if name]
    return (INPUT_READY, *below, INFRASTRUCTURE_READY, *above, SECTIONS_READY)


KINDS: tuple[type[CustomResource], ...] = (OpenStackControlPlane,)
