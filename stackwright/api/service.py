"""What every service takes and reports: its template, user directed actions, credentials, the broker."""

from typing import Annotated, Literal

from stackwright.api.base import (
    CompositeStatus,
    Value,
    atomic,
    describe,
    list_map,
    max_items,
    max_length,
    maximum,
    min_length,
    minimum,
    pattern,
    string_format,
)
from stackwright.api.charts import Chart
from stackwright.api.forms import ImageReference, ObjectName
from stackwright.api.pods import PodOverride, PodTemplate, TopologyRef
from stackwright.api.start import KollaConfig

ContainerImage = Annotated[
    ImageReference, describe("The image that the pods run; absent or empty, the one of the release's image manifest.")
]


class Action(Value, frozen=True, kw_only=True):
    """Something that a user asks an operator to do once."""

    name: Annotated[
        str,
        min_length(1),
        max_length(63),
        pattern(r"^[a-z]([-a-z0-9]*[a-z0-9])?$"),
        describe("What to do: restart, sync-database, or what the service declares for itself."),
    ]
    id: Annotated[
        str,
        min_length(1),
        max_length(63),
        describe("A word of your choosing, such as a date or a ticket. An action runs once for each id."),
    ]


Actions = Annotated[
    tuple[Action, ...],
    list_map("id"),
    max_items(32),
    describe("What the operator is asked to do once, beside keeping the service as it is described here."),
]


class ActionStatus(Value, frozen=True, kw_only=True):
    """How far an action is, or how it went."""

    name: Annotated[str, describe("What was asked for.")]
    id: Annotated[str, describe("The id under which it was asked for.")]
    state: Annotated[str, describe("Pending, Running, Succeeded or Failed.")] = ""
    startTime: Annotated[str | None, string_format("date-time"), describe("When it began.")] = None
    completionTime: Annotated[str | None, string_format("date-time"), describe("When it ended.")] = None
    result: Annotated[str, describe("How it went, as a sentence.")] = ""
    log: Annotated[str, describe("The last lines of its log.")] = ""


ActionStatuses = Annotated[
    tuple[ActionStatus, ...], list_map("id"), describe("The actions that were asked for, and how they went.")
]

Provisioning = Annotated[
    Literal["InProcess", "Job"],
    describe(
        "Who makes database, users and roles: the operator itself (InProcess), or Jobs of the service's chart (Job)."
    ),
]

DefaultConfigOverwrite = Annotated[
    dict[str, str],
    describe(
        "Whole files for the service's configuration directory, by file name (policy.yaml, api-paste.ini, …); a file "
        "that we would write ourselves is replaced."
    ),
]


class ServiceTemplate(PodTemplate, frozen=True, kw_only=True):
    """What a user may say about each part of a service: how many, how configured, on which networks."""

    replicas: Annotated[
        int, minimum(0), maximum(32), describe("How many pods run; 0 stops the service and keeps its data.")
    ] = 1
    customServiceConfig: Annotated[
        str,
        describe(
            "A snippet in the format of the service's own configuration files. It is read after what we generate, so "
            "it wins."
        ),
    ] = ""
    networkAttachments: Annotated[
        tuple[str, ...], atomic, describe("Names of NetworkAttachmentDefinitions; the pods join these networks too.")
    ] = ()
    kollaConfig: Annotated[
        KollaConfig | None,
        describe("The component's own config.json: it is merged over ours, key by key, and starts the component."),
    ] = None
    override: PodOverride = PodOverride()


class ServiceSpec(ServiceTemplate, frozen=True, kw_only=True):
    """What every kind of an OpenStack service takes, beside what is its own."""

    secret: Annotated[
        ObjectName,
        describe("The Secret with the service's passwords, under the keys that passwordSelectors names."),
    ]
    containerImage: ContainerImage = ""
    chart: Chart = None
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    provisioning: Provisioning = "InProcess"
    preserveJobs: Annotated[
        bool,
        describe(
            "Whether finished Jobs stay. They stay either way: the last of each kind, until another takes its place, "
            "because pods that start look there whether the schema is made."
        ),
    ] = False
    actions: Actions = ()


class InfrastructureSpec(PodTemplate, frozen=True, kw_only=True):
    """What every kind of a database, broker or cache takes, beside what is its own."""

    containerImage: ContainerImage = ""
    chart: Chart = None
    actions: Actions = ()


class PasswordSelector(Value, frozen=True, kw_only=True):
    """Says under which key of the Secret a service's password stands; a service defaults it to its own."""

    service: Annotated[str, describe("The key of the password of the service's user.")] = ""


class ServiceAuth(Value, frozen=True, kw_only=True):
    """How a service's user logs in, where it is not by its password."""

    applicationCredentialSecret: Annotated[
        str, describe("The Secret with an application credential. Not supported yet.")
    ] = ""


class RabbitMqConfig(Value, frozen=True, kw_only=True):
    """Names a message broker and how to log in to it."""

    cluster: Annotated[ObjectName, describe("The name of the RabbitMq resource.")]
    user: Annotated[str, describe("The user; empty for the broker's default user.")] = ""
    vhost: Annotated[str, describe("The virtual host; empty for the broker's default one.")] = ""


class WorkloadStatus(CompositeStatus, frozen=True, kw_only=True):
    """What every kind that runs pods reports."""

    readyCount: Annotated[int, describe("How many pods are ready.")] = 0
    chart: Annotated[str, describe("Where the chart comes from that was rendered last; empty where it is ours.")] = ""
    hash: Annotated[dict[str, str], describe("Digests of what was last rolled out and done, by what they are of.")] = {}
    lastAppliedTopology: Annotated[TopologyRef | None, describe("The Topology that the pods were made with.")] = None
    actions: ActionStatuses = ()


class ServiceStatus(WorkloadStatus, frozen=True, kw_only=True):
    """What every OpenStack service reports."""

    networkAttachments: Annotated[
        dict[str, tuple[str, ...]], describe("The addresses of the pods on each attached network.")
    ] = {}
