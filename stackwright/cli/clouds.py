"""A cloud as a file of manifests: applied to a cluster, and waited for until it is ready."""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint.workloads import Profile
from stackwright.cli import exit_codes, log_lines
from stackwright.cli.printing.progress import tell_until
from stackwright.foresight import tree
from stackwright.foresight.checks import imagined_cloud
from stackwright.foresight.mirror import Mirror, follow
from stackwright.foresight.pod_security import needed_profile
from stackwright.foresight.tree import Branch, State
from stackwright.kube import discovery, handwritten
from stackwright.kube.client import Client, Conflicts
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import JsonObject, Resource, ResourceName
from stackwright.local.progress import Progress, duration

# Whose the fields are that a file of ours sets.
FIELD_MANAGER = "stackwright-up"
# What both the control plane and the operators' chart call operatorMode; of other words the server says what is wrong.
SHARED, PER_SERVICE = "shared", "perService"
MODES = (SHARED, PER_SERVICE)


class NotReady(click.ClickException):
    """The cloud did not become ready in time; the message says what it waits for."""

    exit_code = exit_codes.NOT_READY


@dataclass(frozen=True)
class Cloud:
    """Manifests for one namespace. An `example` gives way to a cloud that is there already."""

    manifests: tuple[JsonObject, ...]
    namespace: str
    example: bool = False


def read(path: Path, namespace: str, *, example: bool = False) -> Cloud:
    """Return the cloud that a file describes, or say what is wrong with it."""
    try:
        documents = handwritten.read(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such file; name a file of manifests, or none, with --cloud.") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except handwritten.Unreadable as error:
        raise ConfigError(error.about(str(path))) from error
    for position, body in enumerate(documents, 1):
        _check(body, f"{path}, document {position}", namespace)
    return Cloud(tuple(documents), namespace, example)


def _check(body: object, at: str, namespace: str) -> None:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(metadata, dict) or not metadata.get("name"):
        raise ConfigError(f"{at} is not a manifest: it needs apiVersion, kind and metadata.name.")
    for field in ("apiVersion", "kind"):
        if not isinstance(body.get(field), str):
            raise ConfigError(f"{at} has no {field}.")
    if metadata.get("namespace", namespace) != namespace:
        raise ConfigError(
            f"{at} is for namespace {metadata['namespace']}, and the cloud is for {namespace}; "
            "use --namespace, or remove metadata.namespace."
        )


def chart_values(cloud: Cloud) -> JsonObject:
    """Return what the operators' chart has to know of a cloud: who serves its services. Pure.

    An example gives way to what is there, and says nothing of it.
    """
    specs = [body.get("spec") for body in cloud.manifests if body["kind"] == OpenStackControlPlane.kind.name]
    modes = [spec.get("operatorMode", SHARED) for spec in specs if isinstance(spec, dict)]
    return {"operatorMode": modes[0]} if modes and modes[0] in MODES and not cloud.example else {}


def profile_of(cloud: Cloud) -> Profile:
    """Return the strictest pod security profile that allows the pods of a cloud. Pure.

    What is wrong with a manifest, the server says when it is applied.
    """
    types = {(kind.kind.api_version, kind.kind.name): kind for kind in services.kinds()}
    given: list[CustomResource] = []
    for body in cloud.manifests:
        if kind := types.get((body["apiVersion"], body["kind"])):
            with contextlib.suppress(msgspec.ValidationError):
                given.append(msgspec.convert(body, kind))
    planes = [item for item in given if isinstance(item, OpenStackControlPlane)]
    resources, _ = imagined_cloud.resources_of(imagined_cloud.instances_of(planes, ())[0], given)
    return needed_profile(resources)[0]


async def apply(client: Client, cloud: Cloud, progress: Progress) -> list[ResourceName]:
    """Make a cluster have the cloud; return which resources of ours that is."""
    ours = {(kind.kind.api_version, kind.kind.name) for kind in services.kinds()}
    wanted: list[ResourceName] = []
    for body in cloud.manifests:
        kind = discovery.type_of(await discovery.kind_of(client, body["apiVersion"], body["kind"]))
        name = body["metadata"]["name"]
        found = await client.list(kind, cloud.namespace) if cloud.example else []
        if not found:
            await _apply(client, kind, body, cloud)
        elif name not in (there := [one.metadata.name for one in found]):
            progress.say(f"Namespace {cloud.namespace} has {kind.kind.name} {there[0]} already; it is left unchanged.")
            name = there[0]
        if (body["apiVersion"], body["kind"]) in ours:
            wanted.append((kind.kind.name, name))
    return wanted


async def _apply(client: Client, kind: type[Resource], body: JsonObject, cloud: Cloud) -> None:
    metadata = body["metadata"] | ({"namespace": cloud.namespace} if kind.kind.namespaced else {})
    result = await client.try_apply(kind, {**body, "metadata": metadata}, field_manager=FIELD_MANAGER)
    if isinstance(result, Conflicts):
        conflict = result.fields[0]
        raise ConfigError(
            f"{kind.kind.name} {metadata['name']}: {conflict.field} was set by {conflict.manager}, and the file says "
            "otherwise; leave it out of the file, or change it there."
        )


async def wait(
    client: Client, namespace: str, wanted: Iterable[ResourceName], timeout: float, progress: Progress
) -> None:
    """Wait until resources are ready, and say meanwhile what they wait for; raise NotReady when that takes too long."""
    names = tuple(wanted)
    log_lines.silence()
    async with follow(client, namespace) as found:
        try:
            async with asyncio.timeout(timeout):
                await _until_ready(found, names, progress)
        except TimeoutError:
            nodes = _parts(found, names)
            said = next((node.message for node in nodes if node.state is not State.READY), "its state is not known")
            raise NotReady(f"The cloud is not ready after {duration(timeout)}: {said}") from None


async def _until_ready(found: Mirror, names: tuple[ResourceName, ...], progress: Progress) -> None:
    def ready(nodes: tuple[Branch, ...]) -> bool:
        return len(nodes) == len(names) and all(node.state is State.READY for node in nodes)

    await tell_until(ready, lambda: _parts(found, names), found.wait_for_change, progress)


def _parts(found: Mirror, names: Iterable[ResourceName]) -> tuple[Branch, ...]:
    nodes = tree.build(found.objects)
    parts = (tree.find(nodes, name) for name in names)
    return tuple(part for part in parts if part is not None)
