"""A node and its role become one machine: what the node says replaces what the role says, field by field. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import IPSetNetwork
from stackwright.api.node_sections import EnvVar, NodeSection, VariablesSource, VolumeMounts

# The user that cloud images have for this, and SSH's own port.
DEFAULT_USER, DEFAULT_PORT = "cloud-admin", 22
# What the template of a network is called in the inventory.
NETWORK_TEMPLATE = "edpm_network_config_template"


@dataclass(frozen=True)
class Machine:
    """A node as it is meant: its own fields over those of its role.

    `variables` are merged by key, the node's over the role's. `address` is empty where the machine would have to be
    provisioned first. `mounted` is a digest of what `env` and `extra_mounts` take from ConfigMaps and Secrets.
    """

    name: str
    host_name: str
    address: str
    key_secret: str
    user: str = DEFAULT_USER
    port: int = DEFAULT_PORT
    variables: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[VariablesSource, ...] = ()
    env: tuple[EnvVar, ...] = ()
    extra_mounts: tuple[VolumeMounts, ...] = ()
    mounted: str = ""
    network_attachments: tuple[str, ...] = ()
    networks: tuple[IPSetNetwork, ...] = ()
    deploy: bool = True
    tags: str = ""
    skip_tags: str = ""


def inherit(node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole) -> Machine:
    """Return the machine that a node and its role describe."""
    own, template = node.spec.node, role.spec.nodeTemplate
    name = node.metadata.name
    host_name = node.spec.hostName or name
    return Machine(
        name=name,
        host_name=host_name,
        address=node.spec.ansibleHost or (host_name if role.spec.preProvisioned else ""),
        key_secret=own.ansibleSSHPrivateKeySecret or template.ansibleSSHPrivateKeySecret,
        user=own.ansibleUser or template.ansibleUser or DEFAULT_USER,
        port=own.ansiblePort or template.ansiblePort or DEFAULT_PORT,
        variables={**_variables(template), **_variables(own)},
        sources=(*template.ansibleVarsFrom, *own.ansibleVarsFrom),
        env=node.spec.env or role.spec.env,
        extra_mounts=own.extraMounts or template.extraMounts,
        network_attachments=node.spec.networkAttachments or role.spec.networkAttachments,
        networks=own.networks or template.networks,
        deploy=_deploys(node.spec.deployStrategy.deploy, role.spec.deployStrategy.deploy),
        tags=node.spec.deployStrategy.ansibleTags or role.spec.deployStrategy.ansibleTags,
        skip_tags=node.spec.deployStrategy.ansibleSkipTags or role.spec.deployStrategy.ansibleSkipTags,
    )


def _variables(section: NodeSection) -> dict[str, Any]:
    """Return the variables of a section; a network's template is one of them, unless the variable itself is set."""
    template = section.networkConfig.template if section.networkConfig is not None else ""
    return {**({NETWORK_TEMPLATE: template} if template else {}), **section.ansibleVars}


def _deploys(own: bool | None, of_role: bool | None) -> bool:  # noqa: FBT001  two fields of the same name
    stated = own if own is not None else of_role
    return stated is None or stated
