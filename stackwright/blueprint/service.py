"""The words in which a service's folder says what the service is.

A `Service` is data and small pure functions from a resource and the facts of its needs; the generic service
controller does the rest. If a service seems to need an `if` in the machinery, a word is missing here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject, Resource, Status
from stackwright.api.exposure import RoutedOverride
from stackwright.api.topology import FIELD
from stackwright.blueprint.children import Later
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.generated import Generated
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.need import Each, Need
from stackwright.blueprint.needs.topologies import Topologies
from stackwright.blueprint.network import Network
from stackwright.blueprint.providers import Provides, Sight
from stackwright.blueprint.service_fields import spec_of
from stackwright.blueprint.workloads import NOTHING, Host, Port, Profile, Workload
from stackwright.kube.conditions import Finding
from stackwright.kube.object_memory import ObjectMemory
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.child import Child

# The job that makes or upgrades the tables.
DB_SYNC = "db-sync"
# The field by which a user names an image, of a service or of one of its components.
IMAGE_FIELD = "containerImage"

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


def _spec(resource: CustomResource) -> Any:
    return spec_of(resource)


def _never(_: CustomResource) -> bool:
    return False


def _keeps(_: CustomResource, __: Facts | None, ___: Resource) -> bool:
    return False


def _no_files(_: CustomResource, __: Facts) -> "Iterable[ConfigFile]":
    return ()


def _no_advice(_: CustomResource, __: Sight) -> "Iterable[tuple[str, str]]":
    return ()


def _no_claims(_: CustomResource) -> "Iterable[Claim]":
    return ()


@dataclass(frozen=True)
class ConfigFile:
    """A file of the configuration Secret, and where the start contract copies it."""

    key: str
    content: str = field(repr=False)
    destination: str
    permissions: str = "0600"


@dataclass(frozen=True)
class Component(Generic[C, F]):
    """A part of the service that runs in pods of its own.

    `command` is what the start contract starts, and `files` are what it reads: a change of one of them rolls its pods,
    and no others. Without a command the chart has it, and there is no configuration. `template` is the part of the
    spec that says how many pods there are and how large. `values` are further values of the chart for it.

    All else does not depend on the resource. The chart's component template reads it (`blueprint/charts.py`):
    `description` is for people. `suffix` stands behind the release's name in that of the workload; None is
    the component's name. `named` is the whole name of the workload, and of its governing Service, for one that is not
    named after the release at all: a namespace then has it once. `nodes` does the same as the suffix for the governing
    Service of a StatefulSet. `probe` is the path under
    which an API tells whether it serves; `probes` are in Kubernetes' own words, by liveness, readiness and startup.
    `after` names the jobs that are done before a pod starts, where the chart has them. `data` is the directory of what
    the pods keep. `drain` is for how many seconds a pod still serves after the Services began to forget it, `finish`
    how many it then has to end. `user` is the number that it runs as where that is not
    the service's own; 0 is root. `own_values` describe those values of the chart that only this component has. `trial`
    is what a shell runs to try the image and the configuration of a StatefulSet, without its data, before pods that
    serve are replaced; without it only the image is tried.
    """

    name: str
    command: Callable[[C], str] | None = None
    files: Callable[[C, F], Iterable[ConfigFile]] = _no_files
    template: Callable[[C], Any] = _spec
    values: Callable[[C, F], JsonObject] | None = None
    description: str = ""
    workload: Workload = "Deployment"
    suffix: str | None = None
    named: str = ""
    nodes: str = ""
    ports: tuple[Port, ...] = ()
    probe: str = ""
    probes: Mapping[str, JsonObject] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    data: str = ""
    drain: int = 0
    finish: int = 30
    requests: Mapping[str, str] = field(default_factory=lambda: {"cpu": "100m", "memory": "256Mi"})
    user: int | None = None
    host: Host = NOTHING
    own_values: Mapping[str, JsonObject] = field(default_factory=dict)
    trial: str = ""

    def topology(self, resource: C) -> str:
        """Return the name of the Topology that says where its pods run; "" where there is none."""
        reference = getattr(self.template(resource), FIELD, None)
        return reference.name if reference is not None else ""

    @property
    def profile(self) -> Profile:
        """The strictest profile of pod security that allows its pods."""
        return "baseline" if self.user == 0 and self.host.profile == "restricted" else self.host.profile


@dataclass(frozen=True)
class Job(Generic[C, F]):
    """A command that runs once for each of its inputs, in a Job of the chart.

    `inputs` return what its name is the hash of, or None while that is not known; `values` are what the chart needs
    to know besides. It reads `files`, and starts when the jobs that `after` names are done. `key_rings` says whether it
    reads the service's keys. `password` is the variable of its environment that gets the password which the value
    `passwordSecret` names. `secret` is what stands behind the resource's name in that of the Secret with its files,
    where it has one of its own. `image` is the image that it runs, where that may be another than the service's own.
    `tables` says that it changes tables: it is not ended in the middle, nor is another such job started beside it.
    """

    name: str
    command: Callable[[C], str]
    inputs: Callable[[C, F], JsonObject | None]
    condition: str
    files: Callable[[C, F], Iterable[ConfigFile]]
    values: Callable[[C, F], JsonObject] | None = None
    description: str = ""
    after: tuple[str, ...] = ()
    key_rings: bool = True
    password: str = ""
    secret: str = ""
    image: Callable[[C, F], str] | None = None
    own_values: Mapping[str, JsonObject] = field(default_factory=dict)
    tables: bool = False


@dataclass(frozen=True)
class Schedule(Generic[C, F]):
    """A command that runs by the clock, in a CronJob of the chart; it reads files, and waits, as a job does."""

    name: str
    command: Callable[[C], str]
    when: Callable[[C], str]
    files: Callable[[C, F], Iterable[ConfigFile]]
    suspended: Callable[[C], bool] = _never
    description: str = ""
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyRing(Generic[C]):
    """Keys in a Secret of the service's own that is mounted as the repository: 0 is staged, the highest is primary.

    `size` is how many keys there are at most, `days` how many lie between two rotations by the clock (None: only when
    a user asks). `migrate` names the job that must be done with the keys as they are before they may turn again; `life`
    is for how many seconds something may be read that was written with a key: a ring that turns often is longer.
    """

    name: str
    path: str
    size: Callable[[C], int]
    days: Callable[[C], int] | None = None
    migrate: str = ""
    description: str = ""
    life: Callable[[C], int] | None = None


@dataclass(frozen=True)
class Endpoint:
    """An API of the service: a Service `<resource>-<interface>` for each of its interfaces, before what serves it.

    A service with several APIs gives each a `name`, which then stands between (`<resource>-<name>-public`), and what
    the user overrides of its Services; without, that is spec.override.service. One of them is `listed` in the catalog.
    """

    port: int
    name: str = ""
    public: str = "api"
    internal: str = "api"
    override: Mapping[str, RoutedOverride] | None = None
    listed: bool = True
    interfaces: tuple[str, ...] = (PUBLIC, INTERNAL)

    def component(self, interface: str) -> str:
        """Return the component that serves an interface."""
        return self.public if interface == PUBLIC else self.internal

    def key(self, interface: str) -> str:
        """Return what an interface is called in the chart; its Service has the name of the resource before it."""
        return f"{self.name}-{interface}" if self.name else interface

    def overrides(self, resource: CustomResource) -> Mapping[str, RoutedOverride]:
        """Return what the user says of the Services, by interface."""
        if self.override is not None:
            return self.override
        found: Mapping[str, RoutedOverride] = _spec(resource).override.service
        return found


@dataclass(frozen=True)
class Volume:
    """A volume of the service's own that several pods can mount; it outlives the resource as `<resource>-<name>`.

    Where nobody says its `size`, one that is there keeps its own, and a new one is of the `usual` size.
    """

    name: str
    size: str = ""
    usual: str = "10G"
    storage_class: str = ""
    shared: bool = False
    """Whether pods on several nodes write to it at once."""

    @property
    def access_mode(self) -> str:
        """How Kubernetes says that."""
        return "ReadWriteMany" if self.shared else "ReadWriteOnce"


@dataclass(frozen=True)
class Export:
    """A Secret for others: for a child, for another service, or for machines outside of the cluster.

    `content` is what it has, by key. It goes with the resource. `readers` are the resources of which it is known that
    they read it, as kind and name: what a credential in it was before is retired only when all of them have taken the
    present content (see `use.py`). `noted` is the key under which status.hash has the digest of its content.
    """

    name: str
    content: Mapping[str, str] = field(repr=False)
    condition: str = ""
    readers: tuple[tuple[str, str], ...] = ()
    noted: str = ""


# What a user can ask for by spec.actions.


@dataclass(frozen=True)
class RunJob:
    """Run a job of the service once more."""

    job: str


@dataclass(frozen=True)
class RotateKeys:
    """Turn a key ring by one."""

    ring: str


@dataclass(frozen=True)
class Restart:
    """Roll all pods."""


Action = RunJob | RotateKeys | Restart


@dataclass(frozen=True)
class Told(Generic[C]):
    """What a service reports of itself, besides what the machinery knows."""

    status: Status
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Service(Generic[C, F]):
    """A service, as data. `name` labels its pods; its `chart` and its `image` have the same name unless they are given.

    A folder may have several services, which share a chart and an image. One without components, jobs and schedules is
    only the parent of its children: it has neither. Components, endpoints and jobs that depend on
    what the user asks for are functions of the resource.
    `problems` are what is wrong with a spec beyond what its schema can say; `advice` is what its author should know of
    values that are taken. `limits` are refused only when they are newly asked for: a pass goes on with what was
    accepted before, and tells it. `elsewhere` says that the service runs
    somewhere else and is only used. `unread` are fields that upstream has and that nothing here reads yet. `options` is
    the file that lists the options of its configuration, where it has such a list.
    `needs` are what it needs of others, and `provides` what others need of it. `children` are resources of our own
    kinds that the service stands for: each is followed by its condition, and goes when the service does not ask for it
    any more; `owns` are their kinds. One that is created after others is a `Later`; one that has to wait for anything
    else is a `Wait` instead. `foreseen` are the children by the spec alone, before anything is known: the umbrella
    deploys what they need, and makes the passwords that they take. It matters if a child has needs that its parent does
    not have itself. Nothing goes while the service waits for something, but for children that are `forsaken`: whatever
    the missing facts are, nobody will ask for them. `exports` are Secrets for others.
    `forms` are what such components and jobs are to the chart: the name of a form may end in `*`, which stands for
    anything.
    `outside` is the Kubernetes Service, and its port, by which clients outside of the cluster may reach what is no API.
    `own_values` describe, as JSON Schema does, the values of its chart that other charts do not have.
    `image_fields` are where a resource names the image of its jobs: the first that says one counts.
    `objects` are names, behind that of the release, of objects in the chart that no other word here tells of; `fixed`
    are the objects of `resources` whose names do not depend on the resource's, so that a namespace has them once.
    `claims` are further things that are its own, also where it runs elsewhere.
    """

    name: str
    kind: type[C]
    facts: type[F]
    user: str
    components: tuple[Component[C, F], ...] | Callable[[C], tuple[Component[C, F], ...]]
    needs: tuple[Need | Each, ...] = ()
    provides: Provides[C] | None = None
    endpoints: tuple[Endpoint, ...] | Callable[[C], tuple[Endpoint, ...]] = ()
    outside: Callable[[C], tuple[str, int]] | None = None
    volumes: Callable[[C], Iterable[Volume]] | None = None
    network: Network = field(default_factory=Network)
    jobs: tuple[Job[C, F], ...] | Callable[[C], tuple[Job[C, F], ...]] = ()
    schedules: tuple[Schedule[C, F], ...] = ()
    key_rings: tuple[KeyRing[C], ...] = ()
    secrets: tuple[Generated[C], ...] = ()
    actions: Mapping[str, Action] = field(default_factory=dict)
    values: Callable[[C, F], JsonObject] | None = None
    resources: Callable[[C, F], Iterable[Resource]] | None = None
    children: Callable[[C, F], Iterable[Child | Later | Wait]] | None = None
    owns: tuple[type[CustomResource], ...] = ()
    foreseen: Callable[[C], Iterable[CustomResource]] | None = None
    forsaken: Callable[[C, F | None, Resource], bool] = _keeps
    exports: Callable[[C, F], Iterable[Export]] | None = None
    problems: Callable[[C, Look], Iterable[tuple[str, str]]] | None = None
    advice: Callable[[C, Sight], Iterable[tuple[str, str]]] = _no_advice
    limits: Callable[[C, Look], Iterable[tuple[str, str]]] | None = None
    elsewhere: Callable[[C], bool] = _never
    resources_elsewhere: Callable[[C, Mapping[str, str]], Iterable[Resource]] | None = None
    tell: Callable[[C, F | None, Look], Told[C]] | None = None
    unread: tuple[str, ...] = ()
    options: Path | None = None
    forms: tuple[Component[C, F] | Job[C, F], ...] = ()
    own_values: Mapping[str, JsonObject] = field(default_factory=dict)
    objects: tuple[str, ...] = ()
    fixed: tuple[tuple[type[Resource], str], ...] = ()
    claims: Callable[[C], Iterable[Claim]] = _no_claims
    chart: str = ""
    image: str = ""
    image_fields: tuple[str, ...] = (IMAGE_FIELD,)
    # Each pass over a resource asks for these many times.
    _components: ObjectMemory[tuple[Component[C, F], ...]] = field(default_factory=ObjectMemory, init=False, repr=False)
    _needs: ObjectMemory[tuple[Need, ...]] = field(default_factory=ObjectMemory, init=False, repr=False)
    _jobs: ObjectMemory[tuple[Job[C, F], ...]] = field(default_factory=ObjectMemory, init=False, repr=False)

    @property
    def has_chart(self) -> bool:
        """Whether anything of it runs in pods; else it only stands for its children, and nothing is rendered."""
        return bool(self.known_components or self.known_jobs or self.schedules)

    @property
    def chart_name(self) -> str:
        """The name of its chart."""
        return self.chart or self.name

    @property
    def image_name(self) -> str:
        """The name of its component in the image manifest."""
        return self.image or self.name

    def asked_image(self, resource: C) -> str:
        """Return the image that a resource names for itself; "" where it leaves that to the image manifest."""
        spec = _spec(resource)
        named = (found for path in self.image_fields for _, found in paths.find_all(spec, path))
        return next(filter(None, named), "")

    @property
    def known_actions(self) -> dict[str, Action]:
        """Every action of the service by its name: those of all services, and its own.

        Jobs that depend on the resource are run by actions that the service names itself.
        """
        # What is only made of other resources has no pods of its own.
        general: dict[str, Action] = {"restart": Restart()} if self.known_components else {}
        if not callable(self.jobs) and any(job.name == DB_SYNC for job in self.jobs):
            general["sync-database"] = RunJob(DB_SYNC)
        return general | dict(self.actions)

    def components_of(self, resource: C) -> tuple[Component[C, F], ...]:
        """Return the components that a resource has."""
        made = self.components
        return self._components.recall(resource, lambda: made(resource)) if callable(made) else made

    def needs_of(self, resource: C) -> tuple[Need, ...]:
        """Return the needs that a resource has."""
        return self._needs.recall(resource, lambda: self._list_needs(resource))

    def _list_needs(self, resource: C) -> tuple[Need, ...]:
        found: list[Need] = []
        for need in self.needs:
            found.extend(need.needs(resource) if isinstance(need, Each) else (need,))
        return (*found, Topologies(self.topologies_of)) if self.topologies_of(resource) else tuple(found)

    def topologies_of(self, resource: C) -> tuple[str, ...]:
        """Return the names of the Topologies that its components refer to, each once."""
        if self.elsewhere(resource):
            return ()
        named = (component.topology(resource) for component in self.components_of(resource))
        return tuple(dict.fromkeys(filter(None, named)))

    @property
    def need_types(self) -> frozenset[type[Need]]:
        """The types of all needs that a resource can have."""
        return frozenset(of for need in self.needs for of in (need.of if isinstance(need, Each) else (type(need),)))

    def jobs_of(self, resource: C) -> tuple[Job[C, F], ...]:
        """Return the jobs that a resource has."""
        made = self.jobs
        return self._jobs.recall(resource, lambda: made(resource)) if callable(made) else made

    @property
    def known_components(self) -> tuple[Component[C, F], ...]:
        """What the components are to the chart, whatever the resource says."""
        if not callable(self.components):
            return self.components
        return tuple(form for form in self.forms if isinstance(form, Component))

    @property
    def known_jobs(self) -> tuple[Job[C, F], ...]:
        """What the jobs are to the chart, whatever the resource says."""
        return tuple(form for form in self.forms if isinstance(form, Job)) if callable(self.jobs) else self.jobs

    def endpoints_of(self, resource: C) -> tuple[Endpoint, ...]:
        """Return the APIs that a resource has."""
        return self.endpoints(resource) if callable(self.endpoints) else self.endpoints

    def listed_endpoint(self, resource: C) -> Endpoint | None:
        """Return the API that the catalog lists, if there is one."""
        return next((endpoint for endpoint in self.endpoints_of(resource) if endpoint.listed), None)
