"""What a service on nodes is, as data. A folder lists its own in `node_services.py`, as `NODE_SERVICES`.

Adding an agent for nodes takes such a value, its kind, and its playbook in the collection.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.base import CustomResource, JsonObject, Resource
from stackwright.api.dataplane_service import DataSource, OpenStackDataPlaneServiceSpec
from stackwright.api.node_sections import ObjectReference
from stackwright.api.node_service import NodeServiceResource
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
    """An image of the service: the variable that Ansible gets, and the component of the manifest to take it from."""

    variable: str
    component: str


@dataclass(frozen=True)
class Sign:
    """How one sees that a service is up: an API is asked, by its type in the catalog.

    `judge` gets the answer and the host name of the machine; it returns "" if the service is up there, else why not.
    `version` is the microversion, where the answer depends on it.
    """

    type: str
    path: str
    judge: Callable[[JsonObject, str], str]
    version: str = ""


@dataclass(frozen=True)
class Call:
    """A request that changes something in the API of the sign."""

    method: str
    path: str
    body: JsonObject | None = None


def _no_calls(_: JsonObject, __: str) -> Iterable[Call]:
    return ()


@dataclass(frozen=True)
class Removal:
    """How a service leaves a machine. `variables` make its playbook remove what it made.

    `close` and `forget` get what the sign's API says and the host name. They return what keeps new work away from the
    host, and what lets the API forget it once nothing runs there any more; nothing where that is done. `occupants` is a
    path with {host} in its query that lists what is still on the host, under a key of the same name.
    """

    variables: Mapping[str, str]
    forget: Callable[[JsonObject, str], Iterable[Call]]
    close: Callable[[JsonObject, str], Iterable[Call]] = _no_calls
    occupants: tuple[str, Mapping[str, str]] | None = None


@dataclass(frozen=True)
class Binding:
    """A value of the annotation that a node keeps: `field` of the spec has it, and `why` says why it cannot change.

    It is the name of a resource of the kind `of`.
    """

    field: str
    of: type[CustomResource]
    why: str


def _no_waits(_: Any, __: Sight) -> Iterable[Wait]:
    return ()


def _nothing(_: str, __: Sight) -> Iterable[Files | Wait]:
    return ()


@dataclass(frozen=True)
class NodeService:
    """A service on nodes.

    `annotation` on a node or its role asks for it: with `true`, or with the value of its `binding`. Where neither has
    the annotation, the service `follows` the one that `brings` what the word stands for. What such a service `hands_on`
    for a value of its binding is among the files of those that follow it.
    `files` yields what Ansible gets, `waits` what has to be there before the first run; both get the resource. `words`
    and `looks` are the providers and kinds that they look at. `override` is the file with customServiceConfig.
    `roles` are roles of the collection that do the same as the playbook.
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
    brings: str = ""
    hands_on: Callable[[str, Sight], Iterable[Files | Wait]] = _nothing
    follows: str = ""
    words: tuple[str, ...] = ()
    looks: tuple[type[Resource], ...] = ()
    roles: tuple[str, ...] = ()

    def is_run_by(self, spec: OpenStackDataPlaneServiceSpec) -> bool:
        """Return whether an OpenStackDataPlaneService runs the same."""
        return spec.playbook == self.playbook or (bool(spec.role) and spec.role in self.roles)

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
