"""What is there in a cluster, as far as a deployment depends on it; read once. None is what nobody lets us look at."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from stackwright import services, tasks
from stackwright.api.base import CustomResource
from stackwright.blueprint import images
from stackwright.blueprint.images import ComponentImage
from stackwright.foresight import operators as installed
from stackwright.foresight.objects import list_kinds
from stackwright.kube import discovery
from stackwright.kube.builtin import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    Lease,
    Namespace,
    Node,
    Pod,
    Secret,
    StorageClass,
)
from stackwright.kube.client import Client, Conflicts, ServerVersion
from stackwright.kube.crd import generate
from stackwright.kube.errors import ApiError, Denied, KindNotInstalled
from stackwright.kube.resource import JsonObject, Kind, R, Resource

_IMAGES = "images.yaml"


class Definition(CustomResourceDefinition, frozen=True, kw_only=True):
    """A definition as it is, or as it would be."""

    kind: ClassVar[Kind] = CustomResourceDefinition.kind


@dataclass(frozen=True)
class ClusterState:
    """A cluster as a deployment in one of its namespaces finds it."""

    namespace: str
    version: ServerVersion
    here: Namespace | None = None
    classes: tuple[StorageClass, ...] | None = None
    nodes: tuple[Node, ...] | None = None
    pods: tuple[Pod, ...] | None = None
    secrets: tuple[Secret, ...] | None = None
    configs: tuple[ConfigMap, ...] | None = None
    resources: tuple[CustomResource, ...] = ()
    operators: tuple[Deployment, ...] | None = None
    leases: tuple[Lease, ...] | None = None
    images: ConfigMap | None = None
    definitions: tuple[Definition, ...] | None = None
    """Our definitions as they are."""
    upgraded: tuple[Definition, ...] | None = None
    """The same as this version would make them."""
    objects: dict[tuple[str, str], Resource] = field(default_factory=dict)
    """Of the objects that would be made, those that are there, by kind and name."""

    @property
    def planes(self) -> tuple[CustomResource, ...]:
        """The control planes of the namespace."""
        return tuple(item for item in self.resources if isinstance(item, services.control_plane()))


async def read(client: Client, namespace: str) -> ClusterState:
    """Return what is there, but for the objects that would be made."""
    definitions, operators, version, here = await tasks.together(
        _list_definitions(client),
        installed.read(client),
        client.server_version(),
        _find_namespace(client, namespace),
    )
    classes, nodes, pods, leases = await tasks.together(
        _list(client, StorageClass), _list(client, Node), _list(client, Pod), _list(client, Lease)
    )
    secrets, configs, resources, upgraded, images_run = await tasks.together(
        _list(client, Secret, namespace),
        _list(client, ConfigMap, namespace),
        list_kinds(client, services.kinds(), namespace),
        _try_upgrade(client, definitions),
        _find_images(client, operators),
    )
    return ClusterState(
        namespace=namespace,
        version=version,
        here=here,
        classes=classes,
        nodes=nodes,
        pods=pods,
        secrets=secrets,
        configs=configs,
        resources=tuple(resources),
        operators=operators,
        leases=leases,
        images=images_run,
        definitions=definitions,
        upgraded=upgraded,
    )


async def _find_images(client: Client, operators: Iterable[Deployment] | None) -> ConfigMap | None:
    """Return what says which images the operators run; it lies beside them."""
    for operator in operators or ():
        beside = await _list(client, ConfigMap, operator.metadata.namespace, labels=installed.CHART)
        if found := next((item for item in beside or () if _IMAGES in item.data), None):
            return found
    return None


async def _find_namespace(client: Client, namespace: str) -> Namespace | None:
    try:
        return await client.find(Namespace, namespace)
    except Denied:
        # Who may not look at namespaces is in one.
        return Namespace()


async def _list(client: Client, kind: type[R], namespace: str = "", *, labels: str = "") -> tuple[R, ...] | None:
    try:
        return tuple(await client.list(kind, namespace, labels=labels))
    except Denied:
        return None


async def _list_definitions(client: Client) -> tuple[Definition, ...] | None:
    names = {kind.kind.crd_name for kind in services.kinds()}
    try:
        return tuple(item for item in await client.list(Definition) if item.metadata.name in names)
    except Denied:
        return None


async def _try_upgrade(client: Client, there: Iterable[Definition] | None) -> tuple[Definition, ...] | None:
    """Return our definitions as the server would keep them: what it adds by itself is no difference."""
    if there is None:
        return None
    present = {item.metadata.name for item in there}
    wanted = [generate.manifest(kind) for kind in services.kinds() if kind.kind.crd_name in present]
    try:
        return tuple(await tasks.together(*(client.apply(Definition, body, dry_run=True) for body in wanted)))
    except ApiError:
        return None


async def read_objects(client: Client, namespace: str, bodies: Iterable[JsonObject]) -> dict[tuple[str, str], Resource]:
    """Return those of the objects that are there already, by kind and name."""
    every = list(bodies)
    found = await tasks.together(*(_object(client, namespace, body) for body in every))
    return {
        (body["kind"], body["metadata"]["name"]): item
        for body, item in zip(every, found, strict=True)
        if item is not None
    }


async def _object(client: Client, namespace: str, body: JsonObject) -> Resource | None:
    try:
        kind = discovery.type_of(await discovery.kind_of(client, body["apiVersion"], body["kind"]))
        return await client.find(kind, body["metadata"]["name"], namespace if kind.kind.namespaced else "")
    except (Denied, KindNotInstalled):
        return None


async def try_out(client: Client, namespace: str, resource: Resource, body: JsonObject) -> str:
    """Return what the server says to a manifest without keeping it: "" where it would take it."""
    kind = type(resource)
    placed = {**body, "metadata": {**body["metadata"], "namespace": namespace}}
    try:
        result = await client.try_apply(kind, placed, field_manager="stackwright-check", dry_run=True)
    except ApiError as error:
        return error.message
    if isinstance(result, Conflicts):
        conflict = result.fields[0]
        return f"{conflict.field} was set by {conflict.manager}, and the file has another value"
    return ""


def images_of(state: ClusterState) -> dict[str, ComponentImage] | None:
    """Return which images the operators of a cluster run; None where there are none that say it. Pure."""
    if state.images is None:
        return None
    return images.resolve(images.parse(state.images.data[_IMAGES], state.images.metadata.name), {})
