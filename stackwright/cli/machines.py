"""Machines beside the local cluster, which `stackwright up` makes nodes of the cloud that it deploys."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

import click
import msgspec

from stackwright import services, tasks
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.blueprint.dataplane.wishes import wish_of
from stackwright.cli.clouds import FIELD_MANAGER, Cloud
from stackwright.kube import discovery
from stackwright.kube.client import Client
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import JsonObject, ResourceName
from stackwright.local.distribution import Ask
from stackwright.local.images import building, pushing
from stackwright.local.images.archives import Image
from stackwright.local.images.building import Catalogue
from stackwright.local.machine import entry, lifecycle, root_files
from stackwright.local.progress import Progress
from stackwright.local.registry import binary, serving

# How the machines are called, with a number.
NAME = "compute"


@dataclass(frozen=True)
class Fleet:
    """The machines of a cloud: beside which cluster, how many, and what they become."""

    cluster: str
    count: int
    role: OpenStackDataPlaneRole

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(f"{NAME}-{number}" for number in range(self.count))

    @property
    def resource(self) -> ResourceName:
        """The resource of their role."""
        return self.role.kind.name, self.role.metadata.name

    @property
    def resources(self) -> list[ResourceName]:
        """The resources that a cloud has for them: the nodes, and the services that these ask for."""
        found: list[ResourceName] = []
        known = services.node_services()
        for name in self.names:
            body = {"metadata": {"name": name}, "spec": {"role": self.role.metadata.name}}
            node = msgspec.convert(body, OpenStackDataPlaneNode)
            asked = (service.kind.kind for service in known if wish_of(service, node, self.role, known))
            found += [(kind.name, name) for kind in (OpenStackDataPlaneNode.kind, *asked)]
        return found


def gather(cluster: str, count: int, cloud: Cloud) -> Fleet:
    """Return the machines of a cloud, which are of the one role that it has. Pure."""
    kind = OpenStackDataPlaneRole.kind
    roles = [body for body in cloud.manifests if (body["apiVersion"], body["kind"]) == (kind.api_version, kind.name)]
    if len(roles) != 1:
        raise click.UsageError(
            f"--nodes needs to know what the machines become: the cloud's file has {len(roles)} resources of kind "
            f"{kind.name}, and one is needed; examples/cloud/servers.yaml has one"
        )
    try:
        return Fleet(cluster, count, msgspec.convert(roles[0], OpenStackDataPlaneRole))
    except msgspec.ValidationError as error:
        name = roles[0]["metadata"]["name"]
        raise ConfigError(f"{kind.name} {name} in the cloud's file is not valid: {error}; correct it.") from None


async def may_join(client: Client, cloud: Cloud, fleet: Fleet, progress: Progress) -> bool:
    """Return whether the machines are for this cloud: an example gives way to a cloud that is there already.

    One of another kind may not be reached from outside of the cluster, and machines would wait for that for ever.
    """
    if not cloud.example or await client.find(OpenStackDataPlaneRole, fleet.role.metadata.name, cloud.namespace):
        return True
    there = await client.list(OpenStackControlPlane, cloud.namespace)
    if there:
        progress.say(
            f"Namespace {cloud.namespace} has {there[0].kind.name} {there[0].metadata.name} already; no machines are "
            "added to it. docs/dataplane.md says how to add some."
        )
    return not there


def leave_out(cloud: Cloud, fleet: Fleet) -> Cloud:
    """Return a cloud without the role of machines. Pure."""
    kept = (body for body in cloud.manifests if (body["kind"], body["metadata"]["name"]) != fleet.resource)
    return replace(cloud, manifests=tuple(kept))


def components() -> frozenset[str]:
    """Return the components of the image manifest that machines run."""
    return frozenset(image.component for service in services.node_services() for image in service.images.values())


def images_beside(known: Catalogue) -> list[str]:
    """Return the names of the images on request that machines run, and pods do not."""
    return [image.name for image in building.on_request(known) if image.name in components()]


def prepare(ask: Ask, progress: Progress) -> None:
    """Make what all machines have in common, and what takes long where nothing is in the cache."""
    root_files.ensure(ask, progress)
    binary.ensure(progress)


async def join(client: Client, fleet: Fleet, namespace: str, ask: Ask, progress: Progress) -> None:
    """Start the machines, fill the registry that they pull from, and make them nodes of the cloud."""
    images = [image for image in building.catalogue().images.values() if image.name in components() and image.built]
    await tasks.together(
        asyncio.to_thread(_add, fleet, ask, progress), asyncio.to_thread(_push, fleet.cluster, images, progress)
    )
    found = [machine for machine in lifecycle.find(fleet.cluster) if machine.settings.name in fleet.names]
    known_hosts = lifecycle.known_hosts(lifecycle.find(fleet.cluster))
    for body in entry.manifests(found, role=fleet.role.metadata.name, known_hosts=known_hosts):
        kind = discovery.type_of(await discovery.kind_of(client, body["apiVersion"], body["kind"]))
        await client.apply(kind, _in(namespace, body), field_manager=FIELD_MANAGER)


def _add(fleet: Fleet, ask: Ask, progress: Progress) -> None:
    for name in fleet.names:
        lifecycle.add(fleet.cluster, name, progress=progress, ask=ask)


def _push(cluster: str, images: Iterable[Image], progress: Progress) -> None:
    target = pushing.parse(serving.serve(cluster, progress=progress), plain_http=True)
    asyncio.run(pushing.push(images, target, login=None, progress=progress))


def _in(namespace: str, body: JsonObject) -> JsonObject:
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}
