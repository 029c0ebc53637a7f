"""The kind of one run of Ansible, in a pod of the execution image."""

from typing import Annotated, Any, ClassVar, Literal

from stackwright.api.base import (
    INT32,
    VERSION,
    Column,
    CustomResource,
    Definition,
    JsonObject,
    Kind,
    Rule,
    Status,
    Value,
    describe,
    list_map,
    max_items,
    max_length,
    min_length,
    minimum,
    pattern,
    rule,
    shown,
)
from stackwright.api.dataplane_service import ONE_TO_RUN, PLAYBOOK, DataSource
from stackwright.api.embedded import embedded
from stackwright.api.embedded.pods import DnsConfig
from stackwright.api.forms import OBJECT_NAME, ImageReference
from stackwright.api.node_sections import Environment, ExtraMounts, Names, OptionalName

GROUP = "ansibleee.openstack.org"
INPUT_READY, JOB_READY = "InputReady", "JobReady"
# How far a run is: no pod of it has begun to work yet, one has, all is applied, something is not, or none ever began.
PENDING, RUNNING, SUCCEEDED, FAILED, NOT_BEGUN = "Pending", "Running", "Succeeded", "Failed", "NotBegun"

HostState = Literal["Running", "Ok", "Failed", "Unreachable", "Unknown"]


class RunNode(Value, frozen=True, kw_only=True):
    """A node that a run touches."""

    name: Annotated[str, min_length(1), max_length(253), pattern(OBJECT_NAME), describe("The node's name.")]
    host: Annotated[str, max_length(253), describe("What it is called in the inventory; if absent, its name.")] = ""
    inputHash: Annotated[str, max_length(64), describe("Stands for all that the run applies to it.")] = ""
    address: Annotated[str, max_length(300), describe("Where its machine is reached, with the port, HOST:PORT.")] = ""

    @property
    def inventory_name(self) -> str:
        """What the node is called in the inventory, and so in the results."""
        return self.host or self.name


class OpenStackAnsibleEESpec(Value, frozen=True, kw_only=True):
    """What is run, on which machines, and with which files."""

    validations: ClassVar[tuple[Rule, ...]] = (
        ONE_TO_RUN,
        rule("self == oldSelf", message="a run does not change; create another one"),
    )

    playbook: Annotated[
        str, max_length(253), pattern(PLAYBOOK), describe("A playbook of a collection, or a file in the image.")
    ] = ""
    playbookContents: Annotated[str, max_length(262144), describe("The text of a playbook.")] = ""
    role: Annotated[str, max_length(253), pattern(PLAYBOOK), describe("A role of Ansible, applied to all hosts.")] = ""
    image: Annotated[
        ImageReference, describe("The image that runs Ansible; if absent, the one of the image manifest.")
    ] = ""
    nodes: Annotated[
        tuple[RunNode, ...],
        list_map("name"),
        max_items(1000),
        describe("The nodes that it touches. Of two runs with the same node, one waits for the other."),
    ] = ()
    service: Annotated[OptionalName, describe("The service that it applies.")] = ""
    sequence: Annotated[
        int,
        minimum(0),
        INT32,
        describe("Its number among the runs of its nodes. Nodes do not record yours if it is above 1000000000."),
    ] = 0
    inventory: Annotated[str, max_length(262144), describe("The inventory, as text. It has no secrets.")] = ""
    inventorySecretName: Annotated[
        OptionalName, describe("A Secret with the inventory under the key hosts.yaml, where it has secrets.")
    ] = ""
    sshKeySecretName: Annotated[OptionalName, describe("The Secret with the SSH key, under ssh-privatekey.")] = ""
    extraVars: Annotated[dict[str, Any], describe("Variables that win over all others. They are no secrets.")] = {}
    cmdLine: Annotated[str, max_length(4096), describe("Further options of ansible-playbook.")] = ""
    dataSources: Annotated[
        tuple[DataSource, ...],
        max_items(128),
        describe("ConfigMaps and Secrets whose keys become files in /var/lib/openstack/configs/SERVICE."),
    ] = ()
    serviceType: Annotated[OptionalName, describe("The name of the folder with these files.")] = ""
    env: Environment = ()
    extraMounts: ExtraMounts = ()
    networkAttachments: Annotated[Names, max_items(32), describe("Networks that the pod is attached to.")] = ()
    serviceAccountName: Annotated[OptionalName, describe("The service account of the pod.")] = ""
    dnsConfig: Annotated[
        JsonObject | None, embedded(DnsConfig), describe("The DNS configuration of the pod, as in a pod.")
    ] = None
    backoffLimit: Annotated[
        int, minimum(0), INT32, describe("How often a pod that was killed is replaced before the run has failed.")
    ] = 6


class HostResult(Value, frozen=True, kw_only=True):
    """How a run goes on one machine."""

    host: Annotated[str, describe("What it is called in the inventory.")]
    state: Annotated[HostState, describe("How far it is, or how it ended.")] = "Running"
    task: Annotated[str, describe("The task that runs, or that failed.")] = ""
    message: Annotated[str, describe("Why it failed.")] = ""


class OpenStackAnsibleEEStatus(Status, frozen=True, kw_only=True):
    """How a run goes, machine by machine."""

    unhurried: ClassVar[frozenset[str]] = frozenset({"hosts"})

    jobStatus: Annotated[
        str, describe("Pending, Running, Succeeded, Failed; or NotBegun, if it was given up and touched no machine.")
    ] = ""
    hosts: Annotated[tuple[HostResult, ...], list_map("host"), describe("The machines.")] = ()
    hostKeys: Annotated[
        tuple[str, ...], describe("The keys of machines that SSH met for the first time, as lines of known_hosts.")
    ] = ()
    released: Annotated[
        dict[str, str],
        describe("The nodes that it is through with although it goes on with others, each with when that was seen."),
    ] = {}
    finishedAt: Annotated[str, describe("When it ended; empty while it has not.")] = ""


class OpenStackAnsibleEE(CustomResource, frozen=True, kw_only=True):
    """One run of Ansible. Its pod is replaced if it dies; a run that has ended is not repeated."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OpenStackAnsibleEE", "openstackansibleees")
    definition: ClassVar[Definition] = shown(
        Column("Service", ".spec.service", description="The service that it applies"),
        Column("Status", ".status.jobStatus", description="How far it is"),
        short_names=("osaee",),
    )
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, JOB_READY)

    spec: OpenStackAnsibleEESpec
    status: OpenStackAnsibleEEStatus = OpenStackAnsibleEEStatus()

    @property
    def finished(self) -> bool:
        """Whether it has ended, well or not."""
        return bool(self.status.finishedAt)

    def ended_at(self, node: str) -> str:
        """Return when it was through with one of its nodes; "" while it is not."""
        return self.status.released.get(node, "") or self.status.finishedAt


KINDS: tuple[type[CustomResource], ...] = (OpenStackAnsibleEE,)
