"""What the kinds of services on machines outside of the cluster have in common (phase 1).

Such a kind belongs to the operator of its service. It is made from the annotations of a node and its role, is called
like the node, and is applied by a run of Ansible once the node is prepared.
"""

from typing import Annotated, ClassVar, Self

from stackwright.api.base import CustomResource, Rule, Status, Value, describe, max_items, rule
from stackwright.api.dataplane import RunningService, ServiceRecord, has_set_out
from stackwright.api.forms import ImageReference
from stackwright.api.node_sections import Names, OptionalName
from stackwright.api.snippets import SnippetFormat

INPUT_READY, NODE_READY, DEPLOYMENT_READY, SERVICE_READY = (
    "InputReady",
    "DataPlaneNodeReady",
    "DeploymentReady",
    "ServiceReady",
)


def settled(field: str, message: str) -> Rule:
    """Return a rule of a spec: a field that has a value keeps it."""
    before = f"!has(oldSelf.{field}) || oldSelf.{field} == ''"
    return rule(f"{before} || (has(self.{field}) && self.{field} == oldSelf.{field})", message=message)


class NodeServiceSpec(Value, frozen=True, kw_only=True):
    """The fields of every service on a node. All but customServiceConfig and the images follow the node."""

    validations: ClassVar[tuple[Rule, ...]] = (
        settled("dataplaneNodeName", "dataplaneNodeName cannot be changed; delete this, and create another one"),
    )

    dataplaneNodeName: Annotated[
        OptionalName, describe("The OpenStackDataPlaneNode; if absent, the one with the name of this resource.")
    ] = ""
    customServiceConfig: Annotated[
        str,
        SnippetFormat.OSLO,
        describe(
            "A snippet in the format of the service's own configuration files. It is read after our own settings, "
            "so it wins. Only users write it."
        ),
    ] = ""
    inventoryConfigMapName: Annotated[
        OptionalName, describe("The ConfigMap with the inventory of the node, under the key inventory.")
    ] = ""
    sshKeySecretName: Annotated[OptionalName, describe("The Secret with the SSH key, under ssh-privatekey.")] = ""
    networkAttachments: Annotated[
        Names, max_items(32), describe("Networks that the pods which run Ansible are attached to.")
    ] = ()
    deploy: Annotated[
        bool | None,
        describe("Whether Ansible runs; if absent, as the node says. With false, the status says that it would."),
    ] = None
    ansibleEEContainerImage: Annotated[
        ImageReference, describe("The image that runs Ansible; if absent, the one of the image manifest.")
    ] = ""


class NodeServiceStatus(Status, frozen=True, kw_only=True):
    """How far a service on a node is."""

    # Nobody waits for a task.
    unhurried: ClassVar[frozenset[str]] = frozenset({"running"})

    phase: Annotated[str, describe("Where it is: Waiting, Deploying, Starting or Up.")] = ""
    hostName: Annotated[str, describe("The host name of the machine, by which the service is known.")] = ""
    serviceID: Annotated[
        str, describe("What the service's API calls it; one that was deleted there and comes back has another one.")
    ] = ""
    traceID: Annotated[
        str,
        describe("What another API calls what it keeps of the service, such as the resource provider of a compute."),
    ] = ""
    deployment: Annotated[
        ServiceRecord | None, describe("What was applied, what is wanted now, and how the last run ended.")
    ] = None
    running: Annotated[RunningService | None, describe("The run that is under way.")] = None

    def misleads(self, now: Self) -> bool:
        """Return whether it says of a run that it only waits, and it does so no more."""
        return has_set_out(self.running, now.running)


class NodeServiceResource(CustomResource, frozen=True, kw_only=True):
    """The base of every kind of a service on nodes."""

    spec: NodeServiceSpec = NodeServiceSpec()
    status: NodeServiceStatus = NodeServiceStatus()

    @property
    def node_name(self) -> str:
        """The node that it is for."""
        return self.spec.dataplaneNodeName or self.metadata.name

    @property
    def has_begun(self) -> bool:
        """Whether a run of the service has begun on its machine; before that, nobody knows it by a name."""
        record = self.status.deployment
        return self.status.running is not None or (record is not None and bool(record.run))
