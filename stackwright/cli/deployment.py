"""Deploys the operators and a cloud to a cluster, with machines and a first server where these are wanted."""

import asyncio
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from stackwright import tasks
from stackwright.cli import artifacts, clouds, machines
from stackwright.cli.clouds import Cloud
from stackwright.cli.machines import Fleet
from stackwright.cli.places import Place
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.local import binaries, first_server, operator_chart, reach
from stackwright.local.cluster import layout
from stackwright.local.cluster.layout import Layout
from stackwright.local.distribution import Ask
from stackwright.local.first_server import creation, objects
from stackwright.local.first_server.creation import FirstServer
from stackwright.local.machine import keys
from stackwright.local.operator_chart import RESTRICTED, Helm
from stackwright.local.progress import Progress


@dataclass(frozen=True)
class Wish:
    """What is wanted in a cluster; without a cloud only the operators."""

    cloud: Cloud | None
    fleet: Fleet | None
    namespace: str
    timeout: float
    images: Path | None = None
    cluster_wide: bool = False


def deploy(place: Place, wish: Wish, ask: Ask, progress: Progress) -> FirstServer | None:
    """Make a cluster have what is wanted, and wait until it is ready; return the first server if there is one."""
    cloud = wish.cloud
    values = artifacts.chart_values(artifacts.component_images(wish.images, built=place.built))
    # The operators get rights in this namespace, beside those that they have already, and in no other.
    values[reach.NAMESPACES] = [wish.namespace]
    if wish.cluster_wide:
        values[reach.CLUSTER_WIDE] = True
    if cloud is not None:
        values |= clouds.chart_values(cloud)
    helm = Helm(binaries.ensure(["helm"], progress=progress)["helm"], place.kubeconfig, place.context or "")
    profile = clouds.profile_of(cloud) if cloud is not None else RESTRICTED
    with _alone(place, progress):
        asyncio.run(_operators(place, helm, values, profile, progress))
    return asyncio.run(_deploy(place, cloud, wish, ask, progress)) if cloud is not None else None


def _alone(place: Place, progress: Progress) -> AbstractContextManager[None]:
    """Let a second `up` of a cluster here wait: it would take the helm of the first one for one that was killed."""
    if place.kubeconfig is None or not place.built:
        return nullcontext()
    lock = Layout(place.kubeconfig.parent).operators_lock
    return layout.held(lock, lambda: progress.say("Another command installs the operators; waiting for it."))


async def _operators(place: Place, helm: Helm, values: JsonObject, profile: str, progress: Progress) -> None:
    async with Client(config.load(place.kubeconfig, place.context)) as client:
        await operator_chart.install(
            client, helm, artifacts.charts() / "stackwright", values, progress, profile=profile
        )


async def _deploy(place: Place, cloud: Cloud, wish: Wish, ask: Ask, progress: Progress) -> FirstServer | None:
    async with Client(config.load(place.kubeconfig, place.context)) as client:
        fleet = wish.fleet
        if fleet is not None and not await machines.may_join(client, cloud, fleet, progress):
            cloud, fleet = machines.leave_out(cloud, fleet), None
        wanted = await clouds.apply(client, cloud, progress)
        if fleet is None:
            await clouds.wait(client, cloud.namespace, wanted, wish.timeout, progress)
            return None
        # A role is ready when its machines are, which the cloud does not wait for.
        plane = [name for name in wanted if name != fleet.resource]
        await tasks.together(
            machines.join(client, fleet, cloud.namespace, ask, progress),
            clouds.wait(client, cloud.namespace, plane, wish.timeout, progress),
        )
        # It is created while the machines become ready.
        new = cloud.example and await _begin_server(client, place, cloud)
        await clouds.wait(client, cloud.namespace, [*wanted, *fleet.resources], wish.timeout, progress)
        if new:
            return await creation.await_answer(client, cloud.namespace, progress)
        return await creation.recall(client, cloud.namespace) if cloud.example else None


async def _begin_server(client: Client, place: Place, cloud: Cloud) -> bool:
    """Let the first server be created; return whether that was not done before."""
    if place.spare is None or place.key is None:
        return False
    public = keys.read(place.key).public
    job = objects.job(place.built[first_server.IMAGE], place.spare, public, cloud.namespace)
    return await creation.begin(client, job)
