"""The kind of a cache."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Rule,
    Value,
    atomic,
    describe,
    maximum,
    minimum,
    shown,
)
from stackwright.api.exposure import Certificate, SimpleTls
from stackwright.api.naming import STATEFUL_NAME
from stackwright.api.service import InfrastructureSpec, ServiceResource, WorkloadStatus

GROUP = "memcached.openstack.org"


class ClientCertificates(Value, frozen=True, kw_only=True):
    """Whether clients must present a certificate, and which one our services present."""

    sslVerifyMode: Annotated[
        Literal["None", "Request", "Require"] | None,
        describe("Whether clients are asked for a certificate (Request) and refused without one (Require)."),
    ] = None
    authCertSecret: Annotated[Certificate | None, describe("The certificate that our services present.")] = None


class MemcachedTls(SimpleTls, frozen=True, kw_only=True):
    """The certificate of the cache, and whether clients present one."""

    mtls: Annotated[ClientCertificates | None, describe("Whether clients present a certificate.")] = None


class MemcachedSpec(InfrastructureSpec, frozen=True, kw_only=True):
    """How many nodes the cache has, and how large they are."""

    replicas: Annotated[int, minimum(1), maximum(32), describe("How many nodes; each holds a part of the cache.")] = 1
    cacheSize: Annotated[int, minimum(1), maximum(1048576), describe("How much each node caches, in megabytes.")] = 1024
    maxConn: Annotated[int, minimum(1), maximum(1000000), describe("How many connections each node accepts.")] = 8192
    tls: MemcachedTls = MemcachedTls()


class MemcachedStatus(WorkloadStatus, frozen=True, kw_only=True):
    """Where the cache is."""

    serverList: Annotated[tuple[str, ...], atomic, describe("The nodes, each as host:port.")] = ()
    serverListWithInet: Annotated[
        tuple[str, ...], atomic, describe("The same with inet: or inet6: before each node, as some clients require.")
    ] = ()
    tlsSupport: Annotated[bool, describe("Whether the nodes use TLS.")] = False
    mtlsCert: Annotated[str, describe("The Secret with the certificate that clients present.")] = ""


class Memcached(ServiceResource, frozen=True, kw_only=True):
    """A cache that services share. Nothing in it is kept: deleting it costs time, not data."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Memcached", "memcacheds")
    definition: ClassVar[Definition] = shown(
        Column("Replicas", ".spec.replicas", "integer", priority=1, description="How many nodes were asked for"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "TLSInputReady",
        "ServiceConfigReady",
        "CreateServiceReady",
        "DeploymentReady",
        "PDBReady",
    )
    validations: ClassVar[tuple[Rule, ...]] = STATEFUL_NAME

    spec: MemcachedSpec = MemcachedSpec()
    status: MemcachedStatus = MemcachedStatus()


KINDS: tuple[type[CustomResource], ...] = (Memcached,)
