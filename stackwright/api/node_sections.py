"""What can be said of a machine outside of the cluster: fragments that roles and nodes share."""

from typing import Annotated, Any, ClassVar

from stackwright.api.base import (
    JsonObject,
    Rule,
    Value,
    atomic,
    describe,
    free_form,
    list_map,
    list_set,
    max_items,
    max_length,
    maximum,
    min_length,
    minimum,
    pattern,
    rule,
)
from stackwright.api.embedded import embedded
from stackwright.api.embedded.pods import ValueSource
from stackwright.api.embedded.volumes import Volume
from stackwright.api.forms import OBJECT_NAME, OPTIONAL_NAME, Form
from stackwright.api.network import IPSetNetworks
from stackwright.api.pods import VolumeMount

# An address or a name by which a machine is reached: IPv4, IPv6 without brackets, or a DNS name.
_LABEL = "[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_NAME = f"{_LABEL}([.]{_LABEL})*"
HOST = f"^({_NAME}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)?$"
HOST_NAME = f"^({_NAME})?$"
USER = r"^([a-z_][a-z0-9_.-]*[$]?)?$"

OptionalName = Annotated[str, max_length(253), pattern(OPTIONAL_NAME)]
Names = Annotated[tuple[Annotated[str, min_length(1), max_length(253), pattern(OBJECT_NAME)], ...], list_set]


class EnvVar(Value, frozen=True, kw_only=True):
    """An environment variable of the container that runs Ansible, as in a pod."""

    name: Annotated[str, min_length(1), max_length(253), Form.VARIABLE, describe("The name of the variable.")]
    value: Annotated[str, describe("Its value.")] = ""
    valueFrom: Annotated[
        JsonObject | None, embedded(ValueSource), describe("Where its value comes from, as in a pod.")
    ] = None


Environment = Annotated[
    tuple[EnvVar, ...],
    list_map("name"),
    max_items(64),
    describe("Environment variables of the container that runs Ansible."),
]


# What every pod that runs Ansible has itself.
OWN_VOLUMES = frozenset({"inventory", "env", "artifacts", "tmp", "project", "configs", "hidden"})
OWN_MOUNTS = frozenset({"/runner/inventory", "/runner/env", "/runner/artifacts", "/runner/project", "/tmp"})  # noqa: S108  a path in the pod


class VolumeMounts(Value, frozen=True, kw_only=True):
    """Volumes, and where the container that runs Ansible mounts them; both as in a pod."""

    extraVolType: Annotated[str, describe("What the volumes are for; for people only.")] = ""
    volumes: Annotated[
        tuple[Annotated[JsonObject, free_form, embedded(Volume)], ...],
        atomic,
        max_items(32),
        describe("The volumes, as in a pod."),
    ] = ()
    mounts: Annotated[
        tuple[VolumeMount, ...], atomic, max_items(32), describe("Where they are mounted, as in a container.")
    ] = ()


ExtraMounts = Annotated[
    tuple[VolumeMounts, ...],
    atomic,
    max_items(16),
    describe("Further volumes of the pod that runs Ansible."),
]


class NetworkConfig(Value, frozen=True, kw_only=True):
    """How the network of a machine is configured."""

    template: Annotated[
        str,
        describe("The template that the service for the network uses, as the variable edpm_network_config_template."),
    ] = ""


class SecretReference(Value, frozen=True, kw_only=True):
    """Names a Secret."""

    name: Annotated[OptionalName, describe("The name of the Secret.")] = ""
    namespace: Annotated[OptionalName, describe("Its namespace.")] = ""


ONE_SOURCE = rule(
    "has(self.configMapRef) != has(self.secretRef)", message="must have exactly one of configMapRef and secretRef"
)


class ObjectReference(Value, frozen=True, kw_only=True):
    """Names a ConfigMap or a Secret."""

    name: Annotated[str, min_length(1), max_length(253), pattern(OBJECT_NAME), describe("Its name.")]
    optional: Annotated[bool, describe("Whether it may be missing.")] = False


class VariablesSource(Value, frozen=True, kw_only=True):
    """Where variables come from. Those of a Secret are kept in Secrets only."""

    validations: ClassVar[tuple[Rule, ...]] = (ONE_SOURCE,)

    prefix: Annotated[str, max_length(128), describe("What the name of each variable begins with.")] = ""
    configMapRef: Annotated[ObjectReference | None, describe("The ConfigMap.")] = None
    secretRef: Annotated[ObjectReference | None, describe("The Secret.")] = None


class NodeSection(Value, frozen=True, kw_only=True):
    """How Ansible reaches and configures a machine. A node's own values replace those of its role, field by field."""

    ansibleUser: Annotated[
        str, max_length(32), pattern(USER), describe("The user to log in as; cloud-admin if nobody says it.")
    ] = ""
    ansiblePort: Annotated[
        int | None, minimum(1), maximum(65535), describe("The port of the SSH server; 22 if nobody says it.")
    ] = None
    ansibleVars: Annotated[
        dict[str, Any],
        describe(
            "Variables for Ansible. Those of the node are added to those of the role; the node's win, key by key."
        ),
    ] = {}
    ansibleVarsFrom: Annotated[
        tuple[VariablesSource, ...],
        atomic,
        max_items(16),
        describe("ConfigMaps and Secrets with further variables; ansibleVars wins over them."),
    ] = ()
    ansibleSSHPrivateKeySecret: Annotated[
        OptionalName, describe("The Secret with the SSH key, under the key ssh-privatekey.")
    ] = ""
    managementNetwork: Annotated[str, max_length(253), describe("The network that Ansible uses; not used yet.")] = ""
    networkConfig: Annotated[NetworkConfig | None, describe("How the network is configured.")] = None
    networks: Annotated[
        IPSetNetworks,
        describe("Networks of the NetConfig in which each node gets an address; a node's list replaces its role's."),
    ] = ()
    extraMounts: ExtraMounts = ()
    userData: Annotated[SecretReference | None, describe("Data for provisioning; not used yet.")] = None
    networkData: Annotated[SecretReference | None, describe("Network data for provisioning; not used yet.")] = None


class DeployStrategy(Value, frozen=True, kw_only=True):
    """Whether and how Ansible runs."""

    deploy: Annotated[
        bool | None,
        describe("Whether Ansible runs; true if nobody says it. With false, the status shows what would run."),
    ] = None
    ansibleTags: Annotated[str, max_length(1024), describe("Only tasks with one of these tags, as in --tags.")] = ""
    ansibleLimit: Annotated[str, max_length(1024), describe("Has no effect: every node is reconciled on its own.")] = ""
    ansibleSkipTags: Annotated[
        str, max_length(1024), describe("No tasks with one of these tags, as in --skip-tags.")
    ] = ""
