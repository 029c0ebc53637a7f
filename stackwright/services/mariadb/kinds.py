"""The kind of a MariaDB server."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Rule,
    Value,
    describe,
    immutable,
    max_length,
    maximum,
    min_length,
    minimum,
    rule,
    shown,
)
from stackwright.api.exposure import SimpleTls
from stackwright.api.forms import ObjectName, OptionalName
from stackwright.api.mariadb import GROUP, PORT
from stackwright.api.naming import STATEFUL_NAME
from stackwright.api.pods import PodOverride
from stackwright.api.service import InfrastructureSpec, ServiceResource, WorkloadStatus
from stackwright.api.snippets import SnippetFormat
from stackwright.api.storage import StorageRequest


class GaleraExternal(Value, frozen=True, kw_only=True):
    """A MariaDB that already runs and is not deployed by us."""

    hostname: Annotated[
        str, min_length(1), max_length(253), describe("The host name or address under which clients reach it.")
    ]
    port: Annotated[int, minimum(1), maximum(65535), describe("The port on which it listens.")] = PORT
    secret: Annotated[
        ObjectName,
        describe("The Secret with an account that may create schemas and users, under the keys username and password."),
    ]


class GaleraSpec(InfrastructureSpec, frozen=True, kw_only=True):
    """How many nodes there are, their storage and their configuration; or an existing server to use instead."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule(
            "has(self.external) || (has(self.storageClass) && has(self.storageRequest))",
            message="storageClass and storageRequest are needed, unless external names an existing server",
            reason="FieldValueRequired",
        ),
        rule(
            "has(self.external) == has(oldSelf.external)",
            message="a Galera cannot change between external and deployed; create another one and move the data",
        ),
    )

    external: Annotated[GaleraExternal | None, describe("An existing server to use; nothing is deployed then.")] = None
    secret: Annotated[
        OptionalName,
        describe(
            "The Secret with the root password, under the key DbRootPassword. If absent, a password is generated."
        ),
    ] = ""
    rootDatabaseAccount: Annotated[
        OptionalName,
        rule(
            "size(self) == 0",
            message="rootDatabaseAccount is not supported yet; name a Secret with root's password in secret",
            reason="FieldValueForbidden",
        ),
        describe(
            "A MariaDBAccount of type System for root. If absent, one is created with the name <name>-mariadb-root."
        ),
    ] = ""
    storageClass: Annotated[
        str | None,
        immutable("volumes cannot change their StorageClass; create another Galera and move the data"),
        describe("The StorageClass of the nodes' volumes."),
    ] = None
    storageRequest: Annotated[
        StorageRequest | None,
        describe("The size of each node's volume, such as 10G. It can grow if the StorageClass allows that."),
    ] = None
    replicas: Annotated[
        int,
        minimum(0),
        maximum(3),
        describe("How many nodes: one, or three that replicate each other; 0 stops them and keeps the data."),
    ] = 1
    customServiceConfig: Annotated[
        str,
        SnippetFormat.MY_CNF,
        describe("A snippet in MariaDB's format (my.cnf). It is read after our own settings, so it wins."),
    ] = ""
    sst: Annotated[
        Literal["rsync", "mariabackup"], describe("How a joining node copies all data from another one.")
    ] = "rsync"
    enableMultiMaster: Annotated[
        bool, describe("Whether clients may write to every node; otherwise all clients use one node.")
    ] = False
    logToDisk: Annotated[bool, describe("Whether the nodes write their logs to their volumes too.")] = False
    override: PodOverride = PodOverride()
    tls: SimpleTls = SimpleTls()
    disableNonTLSListeners: Annotated[bool, describe("Whether the server refuses all connections without TLS.")] = False


class GaleraAttributes(Value, frozen=True, kw_only=True):
    """What a node reports about its data before the cluster forms."""

    seqno: Annotated[str, describe("The last transaction in its data.")] = ""
    uuid: Annotated[str, describe("The cluster that its data belongs to.")] = ""
    gcomm: Annotated[str, describe("The address that it was given to find the cluster.")] = ""
    containerID: Annotated[str, describe("The container that was given this address.")] = ""
    safe_to_bootstrap: Annotated[bool, describe("Whether it was the last one to leave the cluster.")] = False
    no_grastate: Annotated[bool, describe("Whether the last transaction was read from the data itself.")] = False


class GaleraStatus(WorkloadStatus, frozen=True, kw_only=True):
    """The state of the server, and where to reach it."""

    # Clients wait only for `bootstrapped`; what the nodes report is read from their own ConfigMap.
    unhurried: ClassVar[frozenset[str]] = WorkloadStatus.unhurried | {
        "hostname",
        "port",
        "attributes",
        "safeToBootstrap",
        "rootDatabaseSecret",
    }

    hostname: Annotated[str, describe("The host name under which clients reach the server.")] = ""
    port: Annotated[int, describe("The port on which the server listens.")] = 0
    bootstrapped: Annotated[bool, describe("Whether the cluster has formed and accepts clients.")] = False
    attributes: Annotated[dict[str, GaleraAttributes], describe("What the nodes report about their data, by pod.")] = {}
    safeToBootstrap: Annotated[str, describe("The pod that forms the cluster, because its data is the newest.")] = ""
    stopRequired: Annotated[bool, describe("Whether all nodes must stop before the next change takes effect.")] = False
    clusterProperties: Annotated[dict[str, str], describe("Settings that all nodes must agree on.")] = {}
    rootDatabaseSecret: Annotated[str, describe("The Secret with the password that root has now.")] = ""


class Galera(ServiceResource, frozen=True, kw_only=True):
    """A MariaDB server of one node, or of three that replicate each other. Deleting this resource keeps its volumes."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Galera", "galeras")
    definition: ClassVar[Definition] = shown(
        Column("Replicas", ".spec.replicas", "integer", priority=1, description="How many nodes were asked for"),
        Column("Bootstrapped", ".status.bootstrapped", "boolean", priority=1, description="Whether it accepts clients"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "TLSInputReady",
        "ServiceConfigReady",
        "ServiceAccountReady",
        "RoleReady",
        "RoleBindingReady",
        "CreateServiceReady",
        "DeploymentReady",
        "PDBReady",
    )
    validations: ClassVar[tuple[Rule, ...]] = STATEFUL_NAME

    spec: GaleraSpec
    status: GaleraStatus = GaleraStatus()


KINDS: tuple[type[CustomResource], ...] = (Galera,)
