"""All checks of a deployment, in the order in which their findings are told."""

import asyncio
import importlib.metadata
from collections.abc import Iterable

from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.controllers.controlplane.resolution import Identity
from stackwright.foresight.checks import capacity, cluster, images, inputs, names, storage
from stackwright.foresight.checks import world as worlds
from stackwright.foresight.checks.findings import Finding, Level
from stackwright.foresight.checks.imagined_cloud import TOPIC, Plan
from stackwright.foresight.checks.world import World
from stackwright.foresight.pod_security import needed_profile
from stackwright.kube import clock
from stackwright.kube.client import Client
from stackwright.kube.resource import CustomResource, JsonObject, Resource


def check_cluster(plan: Plan, world: World, oldest: tuple[int, int]) -> Iterable[Finding]:
    """Return what there is to say of a cluster for a deployment. Pure but for the version of this program."""
    version = importlib.metadata.version("stackwright")
    return (
        cluster.kubernetes(world, oldest),
        *cluster.definitions(world),
        *cluster.operators(world, version, clock.now()),
        cluster.namespace(world, *needed_profile(release.resource for release in plan.releases)),
    )


def check_plan(plan: Plan, world: World) -> Iterable[Finding]:
    """Return what there is to say of a deployment. Pure."""
    return (
        *names.planes(plan, world),
        *names.lengths(plan),
        *names.objects(plan, world),
        *names.releases(plan, world),
        *storage.storage(plan, world),
        *images.images(plan, world),
        *capacity.capacity(plan, world),
        *inputs.umbrella(plan, world),
        *inputs.own_passwords(plan, world),
        *inputs.references(plan, world),
    )


def check_files(
    given: Iterable[Resource], invalid: tuple[Finding, ...], plan: Plan, unsure: tuple[Finding, ...]
) -> Iterable[Finding]:
    """Return what there is to say of files without a cluster; `unsure` is what is not known of images. Pure."""
    sentence = "No cluster is named, and none runs on this machine: only the files were checked."
    return (
        Finding(Level.UNKNOWN, "cluster", sentence),
        *(invalid or _valid(given)),
        *plan.findings,
        *unsure,
        *names.lengths(plan),
        *images.images(plan, None),
        *inputs.references(plan, None),
    )


def find_foreign(world: World, planes: Iterable[OpenStackControlPlane]) -> set[Identity]:
    """Return the resources that somebody else made: a control plane uses them as they are. Pure."""
    wanted = {plane.metadata.name for plane in planes}
    uids = {item.metadata.uid for item in world.planes if item.metadata.name in wanted}
    return {
        (item.kind.name, item.metadata.name)
        for item in world.resources
        if (owner := item.metadata.controller) is None or owner.uid not in uids
    }


async def try_manifests(
    client: Client, world: World, bodies: Iterable[tuple[Resource, JsonObject]]
) -> tuple[Finding, ...]:
    """Return what the server says to the manifests, without keeping them."""
    every = [(item, body) for item, body in bodies]
    if not every:
        return ()
    there = {item.metadata.name for item in world.definitions or ()}
    known = [one for one in every if not isinstance(one[0], CustomResource) or one[0].kind.crd_name in there]
    if world.here is None or (world.definitions is not None and len(known) < len(every)):
        lacks = f"namespace {world.namespace}" if world.here is None else "our kinds"
        labels = ", ".join(_label(item) for item, _ in every)
        sentence = f"{labels}: matches our kinds; the server is not asked, because it lacks {lacks}."
        return (Finding(Level.UNKNOWN, TOPIC, sentence),)
    answers = await asyncio.gather(*(worlds.try_out(client, world.namespace, *one) for one in every))
    refused = [
        Finding(Level.PROBLEM, TOPIC, f"{_label(item)}: the server would refuse it: {answer}")
        for (item, _), answer in zip(every, answers, strict=True)
        if answer
    ]
    labels = ", ".join(_label(item) for item, _ in every)
    return tuple(refused) or (Finding(Level.OK, TOPIC, f"{labels}: the server would accept it."),)


def _valid(given: Iterable[Resource]) -> tuple[Finding, ...]:
    labels = ", ".join(_label(item) for item in given)
    return (Finding(Level.OK, TOPIC, f"{labels}: matches our kinds."),) if labels else ()


def _label(resource: Resource) -> str:
    return f"{resource.kind.name} {resource.metadata.name}"
