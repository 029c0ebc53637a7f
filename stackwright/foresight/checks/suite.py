"""All checks of a deployment, in the order in which their results are printed."""

import importlib.metadata
from collections.abc import Iterable

from stackwright import tasks
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.foresight.checks import advice, capacity, cluster, cluster_state, images, inputs, names, storage
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import TOPIC, ImaginedCloud
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.pod_security import needed_profile
from stackwright.kube import clock
from stackwright.kube.client import Client
from stackwright.kube.resource import CustomResource, JsonObject, Resource, ResourceName


def check_cluster(cloud: ImaginedCloud, state: ClusterState, oldest: tuple[int, int]) -> Iterable[CheckResult]:
    """Return what there is to say of a cluster for a deployment. Pure but for the version of this program."""
    version = importlib.metadata.version("stackwright")
    # What is there already has its pods in the namespace too; what the deployment says of it counts more.
    resources = (*state.resources, *(release.resource for release in cloud.releases))
    return (
        cluster.kubernetes(state, oldest),
        *cluster.definitions(state),
        *cluster.operators(state, version, clock.now()),
        cluster.namespace(state, *needed_profile(resources)),
    )


def check_cloud(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Return what there is to say of a deployment. Pure."""
    return (
        *names.planes(cloud, state),
        *names.lengths(cloud),
        *names.objects(cloud, state),
        *names.releases(cloud, state),
        *storage.storage(cloud, state),
        *images.images(cloud, state),
        *capacity.capacity(cloud, state),
        *inputs.umbrella(cloud, state),
        *inputs.own_passwords(cloud, state),
        *inputs.references(cloud, state),
        *advice.advice(cloud, state),
    )


def check_files(
    given: Iterable[Resource], invalid: tuple[CheckResult, ...], cloud: ImaginedCloud, unsure: tuple[CheckResult, ...]
) -> Iterable[CheckResult]:
    """Return what there is to say of files without a cluster; `unsure` is what is not known of them. Pure."""
    sentence = "No cluster is named, and none runs on this machine: only the files were checked."
    return (
        CheckResult(Level.UNKNOWN, "cluster", sentence),
        *(invalid or _valid(given)),
        *cloud.results,
        *unsure,
        *names.lengths(cloud),
        *images.images(cloud, None),
        *inputs.references(cloud, None),
        *advice.advice(cloud, None),
    )


def find_foreign(state: ClusterState, planes: Iterable[OpenStackControlPlane]) -> set[ResourceName]:
    """Return the resources that somebody else made: a control plane uses them as they are. Pure."""
    wanted = {plane.metadata.name for plane in planes}
    uids = {item.metadata.uid for item in state.planes if item.metadata.name in wanted}
    return {
        (item.kind.name, item.metadata.name)
        for item in state.resources
        if (owner := item.metadata.controller) is None or owner.uid not in uids
    }


async def try_manifests(
    client: Client, state: ClusterState, bodies: Iterable[tuple[Resource, JsonObject]]
) -> tuple[CheckResult, ...]:
    """Return what the server says to the manifests, without keeping them."""
    every = [(item, body) for item, body in bodies]
    if not every:
        return ()
    there = {item.metadata.name for item in state.definitions or ()}
    known = [one for one in every if not isinstance(one[0], CustomResource) or one[0].kind.crd_name in there]
    if state.here is None or (state.definitions is not None and len(known) < len(every)):
        lacks = f"namespace {state.namespace}" if state.here is None else "our kinds"
        labels = ", ".join(_label(item) for item, _ in every)
        sentence = f"{labels}: matches our kinds; the server is not asked, because it lacks {lacks}."
        return (CheckResult(Level.UNKNOWN, TOPIC, sentence),)
    answers = await tasks.together(*(cluster_state.try_out(client, state.namespace, *one) for one in every))
    refused = [
        CheckResult(Level.PROBLEM, TOPIC, f"{_label(item)}: the server would refuse it: {answer}")
        for (item, _), answer in zip(every, answers, strict=True)
        if answer
    ]
    labels = ", ".join(_label(item) for item, _ in every)
    return tuple(refused) or (CheckResult(Level.OK, TOPIC, f"{labels}: the server would accept it."),)


def _valid(given: Iterable[Resource]) -> tuple[CheckResult, ...]:
    labels = ", ".join(_label(item) for item in given)
    return (CheckResult(Level.OK, TOPIC, f"{labels}: matches our kinds."),) if labels else ()


def _label(resource: Resource) -> str:
    return f"{resource.kind.name} {resource.metadata.name}"
