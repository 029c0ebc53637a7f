"""What a service on nodes is, as data. A folder lists its own in `node_services.py`, as `NODE_SERVICES`.

Adding an agent for nodes takes such a value, its kind, and its playbook in the collection.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackwright.api.base import CustomResource, JsonObject, Resource
from stackwright.api.dataplane_service import DataSource, OpenStackDataPlaneServiceSpec
from stackwright.api.node_sections import ObjectReference
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.ways import Way
from stackwright.blueprint.providers import Sight
from stackwright.kube.plan import Wait

# What a hypervisor brings to its node: agents that serve servers follow it.
SERVERS = "servers"


@dataclass(frozen=True)
class Files:
    """A ConfigMap or a Secret whose keys are files in /var/lib/openstack/configs/FOLDER of the pod that runs Ansible.

    Without a folder they are in that of the service.
    """

    source: DataSource
    folder: str = ""


@dataclass(frozen=True)
class Image:
    """An image of the service: the variable that Ansible gets, and the component of the manifest to take it from.

    `options` is the list of the options that its program knows, where it reads customServiceConfig.
    """

    variable: str
    component: str
    options: Path | None = None


def _anonymous(_: JsonObject, __: str) -> str:
    return ""


def _no_doubt(_: JsonObject, __: str) -> str:
    return ""


@dataclass(frozen=True)
class Sign:
    """How one sees that a service is up: an API is asked, by its type in the catalog.

    `judge` gets the answer and the host name of the machine; it returns "" if the service is up there, else why not.
    The answer is a list under `key`. `version` is the microversion, where the answer depends on it. `identify` returns
    what the API calls the service of a host, "" where it does not know it: a service that was deleted and comes back is
    another one. `doubt` returns why the API does not know how a host is, or what is on it; "" if it does. An answer in
    doubt is none.
    """

    type: str
    path: str
    key: str
    judge: Callable[[JsonObject, str], str]
    version: str = ""
    identify: Callable[[JsonObject, str], str] = _anonymous
    doubt: Callable[[JsonObject, str], str] = _no_doubt


@dataclass(frozen=True)
class Call:
    """A request that changes something in the API of the sign."""

    method: str
    path: str
    body: JsonObject | None = None


def name_entry(entry: JsonObject) -> str:
    """Return what an entry of a list is called; one that has no name counts as well."""
    return str(entry.get("name") or entry.get("id") or "one without a name")


@dataclass(frozen=True)
class Question:
    """Asks the sign's API what is on a host: a path, and a query with {host}.

    The answer is a list under `key`; `name` returns what an entry is called, "" for one that does not count.
    """

    path: str
    query: Mapping[str, str]
    key: str
    name: Callable[[JsonObject], str] = name_entry


def _no_calls(_: JsonObject, __: str) -> Iterable[Call]:
    return ()


@dataclass(frozen=True)
class Trace:
    """What another API keeps of a service: it has to be gone when the service is.

    While the service is up, `identify` finds its id in what the sign's API answers at `path`, by the host name; the
    status remembers it. The API of the type `type` lists it at `listed`, a path that ends with the key of the list and
    a query with {id}, and deletes it at `delete`. By the query `named`, with {host}, the same list has what is called
    like the host, with its id under `id_key`: for one whose id nobody knows. `used` is the path, with {id}, at which
    the API says by whom it is used: it ends with the key of a map by users, of which one is called `user`.
    """

    path: str
    identify: Callable[[JsonObject, str], str]
    type: str
    listed: tuple[str, Mapping[str, str]]
    delete: str
    named: Mapping[str, str]
    id_key: str
    used: str
    user: str


@dataclass(frozen=True)
class Removal:
    """How a service leaves a machine. `variables` make its playbook remove what it made.

    `close` and `forget` get what the sign's API says and the host name. They return what keeps new work away from the
    host, and what lets the API forget it once nothing runs there any more; nothing where that is done. `occupants` ask
    what is still on the host. `trace` is what another API should have forgotten then as well, and is deleted there if
    it has not. As long as something uses it, the host is not empty, even if the sign's API lists nothing.
    """

    variables: Mapping[str, str]
    forget: Callable[[JsonObject, str], Iterable[Call]]
    close: Callable[[JsonObject, str], Iterable[Call]] = _no_calls
    occupants: tuple[Question, ...] = ()
    trace: Trace | None = None


@dataclass(frozen=True)
class Binding:
    """A value of the annotation that a node keeps: `field` of the spec has it, and `why` says why it cannot change.

    It is the name of a resource of the kind `of`.
    """

    field: str
    of: type[CustomResource]
    why: str


@dataclass(frozen=True)
class Included:
    """A service of upstream that is a part of another one here.

    Alone, it is the playbook of its name in the collection: with the files of the ConfigMap `source`, and with the
    image in `variable`.
    """

    service: str
    variable: str
    source: str = ""


@dataclass(frozen=True)
class Counterpart:
    """The service of upstream's OpenStackDataPlaneNodeSet that a service on nodes takes the place of.

    `included` are services that run together with it here. Of a service with a binding, `known_by` is the Secret that
    its value is known by, as a pattern with {value}, and `value` that of upstream's own service. `written` are patterns
    of what the operators write and hand to it themselves. `extra` is the ConfigMap for a user's own configuration,
    whose keys count that match `files`.
    """

    service: str
    extra: str
    files: str
    included: tuple[Included, ...] = ()
    known_by: str = ""
    value: str = ""
    written: tuple[str, ...] = ()


def _no_waits(_: Any, __: Sight) -> Iterable[Wait]:
    return ()


def _joined(_: Any, __: str, ___: Sight) -> Iterable[Wait]:
    return ()


def _nothing(_: str, __: str, ___: Sight) -> Iterable[Files | Wait]:
    return ()


def _no_ways(_: Mapping[str, str], __: Sight) -> Iterable[Way]:
    return ()


@dataclass(frozen=True)
class NodeService:
    """A service on nodes.

    `annotation` on a node or its role asks for it: with `true`, or with the value of its `binding`. Where neither has
    the annotation, the service `follows` the one that `brings` what the word stands for. What such a service `hands_on`
    for a value of its binding is among the files of those that follow it; it gets their customServiceConfig, too.
    `files` yields what Ansible gets, `waits` what has to be there before the first run; both get the resource. `joins`
    yields why the cloud does not use a service yet that is up; it gets what the API calls the service, too. `words`
    and `looks` are the providers and kinds that they look at. `override` is the file with customServiceConfig.
    `roles` are roles of the collection that do the same as the playbook, or a part of it; `counterpart` is what
    upstream has for it.
    `ways` yields what a machine has to reach, from the texts of its files. `host_variables` are variables of Ansible,
    and `host_options` sections and options of the user's snippet, by which a user could give the machine another name
    in this service than the node has.
    """

    name: str
    kind: type[NodeServiceResource]
    annotation: str
    playbook: str
    folder: str
    override: str
    files: Callable[[Any, Sight], Iterable[Files | Wait]]
    sign: Sign
    removal: Removal
    images: Mapping[str, Image] = field(default_factory=dict)
    binding: Binding | None = None
    waits: Callable[[Any, Sight], Iterable[Wait]] = _no_waits
    joins: Callable[[Any, str, Sight], Iterable[Wait]] = _joined
    brings: str = ""
    hands_on: Callable[[str, str, Sight], Iterable[Files | Wait]] = _nothing
    follows: str = ""
    words: tuple[str, ...] = ()
    looks: tuple[type[Resource], ...] = ()
    roles: tuple[str, ...] = ()
    counterpart: Counterpart | None = None
    ways: Callable[[Mapping[str, str], Sight], Iterable[Way]] = _no_ways
    host_variables: tuple[str, ...] = ()
    host_options: tuple[tuple[str, str], ...] = ()

    def is_run_by(self, spec: OpenStackDataPlaneServiceSpec) -> bool:
        """Return whether an OpenStackDataPlaneService runs the same, or a part of it."""
        collection = self.playbook.rpartition(".")[0]
        included = self.counterpart.included if self.counterpart is not None else ()
        playbooks = (self.playbook, *(f"{collection}.{each.service}" for each in included))
        return spec.playbook in playbooks or (bool(spec.role) and spec.role in self.roles)

    def bound_to(self, resource: NodeServiceResource | None) -> str:
        """Return the value that a resource is bound to; "" without one."""
        if resource is None or self.binding is None:
            return ""
        return str(getattr(resource.spec, self.binding.field))


def of_secret(name: str) -> DataSource:
    """Return a Secret as a source of files."""
    return DataSource(secretRef=ObjectReference(name=name))


def of_config_map(name: str) -> DataSource:
    """Return a ConfigMap as a source of files."""
    return DataSource(configMapRef=ObjectReference(name=name))
