"""The kinds of machines outside of the cluster: a data plane, its roles and its nodes.

They speak of reaching a machine (phase -1) and of preparing it (phase 0). No OpenStack service is named here: services
that need such a machine watch these kinds.
"""

from typing import Annotated, ClassVar, Literal, Self

from stackwright.api.base import (
    VERSION,
    Column,
    CompositeStatus,
    CustomResource,
    Definition,
    JsonObject,
    Kind,
    Value,
    describe,
    list_map,
    max_items,
    max_length,
    max_properties,
    min_length,
    minimum,
    pattern,
    rule,
    shown,
)
from stackwright.api.forms import LONGEST_NAME, OBJECT_NAME
from stackwright.api.node_sections import (
    HOST,
    HOST_NAME,
    DeployStrategy,
    Environment,
    Names,
    NodeSection,
    OptionalName,
)

GROUP = "dataplane.openstack.org"
INPUT_READY, SETUP_READY, DEPLOYMENT_READY = "InputReady", "SetupReady", "DeploymentReady"
# The label that says to which data plane a role or a node belongs.
DATA_PLANE_LABEL = "openstackdataplane"

# The keys of maps that become the names of resources.
WRONG_NAME = (
    f"a name has 1 to {LONGEST_NAME} lower case letters, digits, dashes and dots, "
    "and begins and ends with a letter or digit"
)
NAMES = rule(f"self.all(name, size(name) <= {LONGEST_NAME} && name.matches('{OBJECT_NAME}'))", message=WRONG_NAME)

# The services of phase 0, in order, where a role names none.
DEFAULT_SERVICES = ("configure-network", "validate-network", "install-os", "configure-os", "run-os")

ServiceState = Literal["Pending", "Applied", "Failed", "Unreachable", "Interrupted", "NotBegun"]


class ServiceRecord(Value, frozen=True, kw_only=True):
    """What is known of one service on one node."""

    name: Annotated[str, describe("The service.")]
    inputHash: Annotated[str, describe("Stands for the configuration, variables, image and playbook wanted now.")] = ""
    appliedHash: Annotated[str, describe("Stands for those that were applied last.")] = ""
    state: Annotated[ServiceState, describe("How far it is.")] = "Pending"
    task: Annotated[str, describe("The task that failed.")] = ""
    message: Annotated[str, describe("Why it failed.")] = ""
    run: Annotated[str, describe("The OpenStackAnsibleEE that ran last.")] = ""
    sequence: Annotated[int, describe("The number of that run among those of the node.")] = 0
    failures: Annotated[int, describe("How often in a row it failed with the same inputs.")] = 0
    failed: Annotated[
        bool,
        describe(
            "Whether what is wanted now failed while the machine answered, also if a later run could not reach it: the "
            "change may have cut it off."
        ),
    ] = False
    finishedAt: Annotated[str, describe("When the last run ended.")] = ""
    exports: Annotated[
        dict[str, str],
        describe(
            "The Secrets of other services that were applied, each with a digest of its content, or with the word "
            "rolling while nobody knows which content the machine has. A credential stays while a machine may use it."
        ),
    ] = {}


class RunningService(Value, frozen=True, kw_only=True):
    """What runs on a node right now."""

    name: Annotated[str, describe("The service.")] = ""
    run: Annotated[str, describe("The OpenStackAnsibleEE that applies it.")] = ""
    task: Annotated[str, describe("The task that it is at.")] = ""
    waits: Annotated[
        bool, describe("Whether the run has not begun, and only waits; if it is deleted, the machine is as before.")
    ] = False


def has_set_out(before: RunningService | None, now: RunningService | None) -> bool:
    """Return whether a run that only waited waits no more: if it is deleted now, nobody knows how far it was."""
    return before is not None and before.waits and not (now is not None and now.waits)


class OpenStackDataPlaneNodeStatus(CompositeStatus, frozen=True, kw_only=True):
    """How far a machine is."""

    # Nobody waits for a task; each change of it would be a write for each node of a run.
    unhurried: ClassVar[frozenset[str]] = frozenset({"running"})

    phase: Annotated[str, describe("Where it is: Waiting, Reaching, Deploying or Deployed.")] = ""
    service: Annotated[str, describe("The service that runs, waits or failed.")] = ""
    deployed: Annotated[bool, describe("Whether all services were applied as they are wanted now.")] = False
    firstDeployedAt: Annotated[
        str,
        describe("When all services had been applied for the first time; maxUnavailable counts the node since then."),
    ] = ""
    running: Annotated[RunningService | None, describe("What runs on it right now.")] = None
    services: Annotated[
        tuple[ServiceRecord, ...],
        list_map("name"),
        describe("The services of the node, in order; the first is the way to the machine."),
    ] = ()
    hostName: Annotated[str, describe("The host name of the machine.")] = ""
    inventoryConfigMapName: Annotated[str, describe("The ConfigMap with its inventory, without secrets.")] = ""
    sshKeySecretName: Annotated[str, describe("The Secret with its SSH key.")] = ""
    hostKeys: Annotated[
        tuple[str, ...], describe("The machine's own keys, as lines of known_hosts; recorded at the first contact.")
    ] = ()

    def misleads(self, now: Self) -> bool:
        """Return whether it says of a run that it only waits, and it does so no more."""
        return has_set_out(self.running, now.running)


class OpenStackDataPlaneNodeSpec(Value, frozen=True, kw_only=True):
    """A machine outside of the cluster."""

    role: Annotated[
        str, min_length(1), max_length(253), pattern(OBJECT_NAME), describe("The role that the node belongs to.")
    ]
    ansibleHost: Annotated[
        str,
        max_length(253),
        pattern(HOST),
        describe("The address at which Ansible reaches the machine. A node that has one is not provisioned."),
    ] = ""
    hostName: Annotated[
        str, max_length(253), pattern(HOST_NAME), describe("The machine's host name; if absent, the node's name.")
    ] = ""
    node: NodeSection = NodeSection()
    env: Environment = ()
    networkAttachments: Annotated[
        Names, max_items(32), describe("Networks that the pods which run Ansible are attached to.")
    ] = ()
    deployStrategy: DeployStrategy = DeployStrategy()


class OpenStackDataPlaneNode(CustomResource, frozen=True, kw_only=True):
    """A machine outside of the cluster: it is reached over SSH, and the services of its role are applied to it.

    Ready says that it was reached and prepared. OpenStack's own services on it are resources of their own.
    """

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OpenStackDataPlaneNode", "openstackdataplanenodes")
    definition: ClassVar[Definition] = shown(
        Column("Role", ".spec.role", description="The role that it belongs to"),
        Column("Host", ".spec.ansibleHost", description="Where it is reached"),
        Column("Phase", ".status.phase", description="How far it is"),
        Column("Service", ".status.service", description="The service that runs, waits or failed"),
        short_names=("osdpnode",),
    )
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, SETUP_READY, DEPLOYMENT_READY)

    spec: OpenStackDataPlaneNodeSpec
    status: OpenStackDataPlaneNodeStatus = OpenStackDataPlaneNodeStatus()


class OpenStackDataPlaneRoleStatus(CompositeStatus, frozen=True, kw_only=True):
    """How far the nodes of a role are."""

    unhurried: ClassVar[frozenset[str]] = frozenset({"nodes", "deployedNodes"})

    deployed: Annotated[bool, describe("Whether all its nodes are deployed.")] = False
    nodes: Annotated[int, describe("How many nodes it has.")] = 0
    deployedNodes: Annotated[int, describe("How many of them are deployed.")] = 0


class OpenStackDataPlaneRoleSpec(Value, frozen=True, kw_only=True):
    """What the nodes of a role have in common."""

    dataPlane: Annotated[OptionalName, describe("The data plane that the role belongs to.")] = ""
    nodeTemplate: NodeSection = NodeSection()
    services: Annotated[
        Names, max_items(64), describe("The services that are applied to each node, in this order.")
    ] = DEFAULT_SERVICES
    preProvisioned: Annotated[
        bool,
        describe("Whether the machines have an operating system. A node with ansibleHost has one in any case."),
    ] = False
    baremetalSetTemplate: Annotated[JsonObject | None, describe("How machines are provisioned; not used yet.")] = None
    env: Environment = ()
    networkAttachments: Annotated[
        Names, max_items(32), describe("Networks that the pods which run Ansible are attached to.")
    ] = ()
    deployStrategy: DeployStrategy = DeployStrategy()
    maxUnavailable: Annotated[
        int | str | None,
        minimum(1),
        pattern(r"^([1-9][0-9]*|[1-9][0-9]?%|100%)$"),
        describe(
            "How many deployed nodes may be changed at once, as a number or a percentage; all, if nobody says it. "
            "Nodes that are deployed for the first time are not counted."
        ),
    ] = None


class OpenStackDataPlaneRole(CustomResource, frozen=True, kw_only=True):
    """What some nodes have in common, and the runs of Ansible for them."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OpenStackDataPlaneRole", "openstackdataplaneroles")
    definition: ClassVar[Definition] = shown(
        Column("Nodes", ".status.nodes", "integer", description="How many nodes it has"),
        Column("Deployed", ".status.deployedNodes", "integer", description="How many of them are deployed"),
        short_names=("osdprole",),
    )
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, DEPLOYMENT_READY)

    spec: OpenStackDataPlaneRoleSpec = OpenStackDataPlaneRoleSpec()
    status: OpenStackDataPlaneRoleStatus = OpenStackDataPlaneRoleStatus()


class OpenStackDataPlaneSpec(Value, frozen=True, kw_only=True):
    """Roles and nodes of a data plane, by name."""

    roles: Annotated[
        dict[str, OpenStackDataPlaneRoleSpec],
        max_properties(64),
        NAMES,
        describe("The roles; the key is the name."),
    ] = {}
    nodes: Annotated[
        dict[str, OpenStackDataPlaneNodeSpec],
        max_properties(1000),
        NAMES,
        describe("The nodes; the key is the name."),
    ] = {}
    deployStrategy: Annotated[
        DeployStrategy, describe("Whether and how Ansible runs, for roles that do not say it.")
    ] = DeployStrategy()


class OpenStackDataPlaneStatus(CompositeStatus, frozen=True, kw_only=True):
    """How far a data plane is."""

    deployed: Annotated[bool, describe("Whether all its nodes are deployed.")] = False


class OpenStackDataPlane(CustomResource, frozen=True, kw_only=True):
    """Machines outside of the cluster, as roles and nodes in one resource."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OpenStackDataPlane", "openstackdataplanes")
    definition: ClassVar[Definition] = shown(short_names=("osdp", "osdataplane"))
    conditions: ClassVar[tuple[str, ...]] = (SETUP_READY, DEPLOYMENT_READY)

    spec: OpenStackDataPlaneSpec = OpenStackDataPlaneSpec()
    status: OpenStackDataPlaneStatus = OpenStackDataPlaneStatus()


KINDS: tuple[type[CustomResource], ...] = (OpenStackDataPlane, OpenStackDataPlaneRole, OpenStackDataPlaneNode)
