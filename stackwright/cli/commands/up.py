"""`stackwright up`: from an empty machine to a cloud that answers; and `stackwright down`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stackwright.cli.commands.local import named
from stackwright.cli.connection import DEFAULT_CLUSTER, client_on, connection_options
from stackwright.cli.parameters import Duration
from stackwright.cli.questions import asker

if TYPE_CHECKING:
    # A help text needs none of it.
    from stackwright.cli.clouds import Cloud
    from stackwright.kube.resource import JsonObject
    from stackwright.local.operator_chart import Helm
    from stackwright.local.progress import Progress

NONE = "none"
EXAMPLE = "examples/cloud/openstack.yaml"
# What creates a server in that cloud, with all that a server needs.
FIRST_SERVER = "examples/first-server.sh"


@dataclass(frozen=True)
class Options:
    """What stands on the command line."""

    name: str | None
    yes: bool
    cloud: str | None
    namespace: str
    cluster_wide: bool
    images: Path | None
    timeout: float
    kubeconfig: Path | None
    context: str | None
    request_timeout: float


@dataclass(frozen=True)
class Place:
    """A cluster: the way there, what to add to further commands, and the references of images that were made for it."""

    kubeconfig: Path | None
    context: str | None
    hint: str
    built: Mapping[str, str]
    network: str = ""
    """How the network is reached that the cluster has for workloads."""


@click.command()
@click.option(
    "--name",
    metavar="NAME",
    help=f"Which cluster on this machine; several can run side by side.  [default: {DEFAULT_CLUSTER}]",
)
@click.option("--yes", is_flag=True, help="Install missing packages without asking.")
@click.option(
    "--cloud",
    metavar="FILE|none",
    help=f"The manifests of the cloud to deploy; {NONE} deploys only the operators.  [default: {EXAMPLE}]",
)
@click.option(
    "-n", "--namespace", default="openstack", show_default=True, help="The cloud's namespace; the operators work there."
)
@click.option(
    "--cluster-wide",
    is_flag=True,
    help="Let the operators work on all namespaces of the cluster from now on, with rights in all of them.",
)
@click.option(
    "--images",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file in the format of images/manifest.yaml, which overrides the images that are built here.",
)
@click.option("--timeout", type=Duration(), default="15m", show_default=True, help="How long to wait for the cloud.")
@connection_options
def up(**options: Any) -> None:
    """Start a Kubernetes on this machine with a cloud in it.

    It downloads or compiles Kubernetes, builds the images, starts the cluster, loads the images, installs the
    operators, deploys the cloud and waits until it is ready. It skips what exists already, so a second call takes
    seconds.

    With --kubeconfig or --context it uses that cluster instead: it takes the images from --images and starts nothing on
    this machine. $KUBECONFIG alone is not enough, so that no cluster is changed by accident.
    """
    import time  # noqa: PLC0415  only to say how long it took

    from stackwright.local.progress import Shown, duration  # noqa: PLC0415  a help text needs none of it

    asked = Options(**options)
    began = time.monotonic()
    cloud = _cloud(asked.cloud, asked.namespace)
    elsewhere = asked.kubeconfig is not None or asked.context is not None
    if elsewhere and asked.name is not None:
        raise click.UsageError("--name is a cluster on this machine; remove it, or remove --kubeconfig and --context")
    with Shown() as progress:
        place = _elsewhere(asked.kubeconfig, asked.context) if elsewhere else _here(asked, progress)
        _install(place, asked, cloud, progress)
    took = duration(time.monotonic() - began)
    click.echo(f"The {'cloud is ready' if cloud else 'operators are up'}, after {took}.")
    for line in hints(place, cloud is not None, with_example=cloud is not None and cloud.example):
        click.echo(line)


def _here(asked: Options, progress: "Progress") -> Place:
    from stackwright.local import journey  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.cluster import spare_network  # noqa: PLC0415  likewise

    name = asked.name or DEFAULT_CLUSTER
    arrived = journey.travel(name, ask=asker(yes=asked.yes), progress=progress)
    hint = "" if name == DEFAULT_CLUSTER else f" --name {name}"
    network = spare_network.sentence(arrived.cluster.settings.network.spare)
    return Place(arrived.cluster.layout.kubeconfig, None, hint, arrived.images, network)


def _elsewhere(kubeconfig: Path | None, context: str | None) -> Place:
    options = (("--kubeconfig", kubeconfig), ("--context", context))
    hint = "".join(f" {option} {value}" for option, value in options if value is not None)
    return Place(kubeconfig, context, hint, {})


def _cloud(cloud: str | None, namespace: str) -> "Cloud | None":
    from stackwright.cli import artifacts, clouds  # noqa: PLC0415  a help text needs none of it

    if cloud == NONE:
        return None
    if cloud is not None:
        return clouds.read(Path(cloud), namespace)
    return clouds.read(artifacts.CHECKOUT / EXAMPLE, namespace, example=True)


def _install(place: Place, asked: Options, cloud: "Cloud | None", progress: "Progress") -> None:
    import asyncio  # noqa: PLC0415  a help text needs none of it

    from stackwright.cli import artifacts, clouds  # noqa: PLC0415  likewise
    from stackwright.local import binaries, reach  # noqa: PLC0415  likewise
    from stackwright.local.operator_chart import RESTRICTED, Helm  # noqa: PLC0415  likewise

    # Asked before anything is fetched or compiled for it.
    asyncio.run(_reach(place, asked.request_timeout))
    values = artifacts.chart_values(artifacts.component_images(asked.images, built=place.built))
    # The operators get rights in this namespace, beside those that they have already, and in no other.
    values[reach.NAMESPACES] = [asked.namespace]
    if asked.cluster_wide:
        values[reach.CLUSTER_WIDE] = True
    if cloud is not None:
        values |= clouds.chart_values(cloud)
    helm = Helm(binaries.ensure(["helm"], progress=progress)["helm"], place.kubeconfig, place.context or "")
    profile = clouds.profile_of(cloud) if cloud is not None else RESTRICTED
    asyncio.run(_operators(place, helm, values, profile, progress))
    if cloud is not None:
        asyncio.run(_deploy(place, cloud, asked.timeout, progress))


async def _reach(place: Place, patience: float) -> None:
    """Raise an error when the cluster does not answer in time, or is too old."""
    from stackwright.cli.commands.crds import OLDEST_KUBERNETES  # noqa: PLC0415  a help text needs none of it
    from stackwright.kube import config  # noqa: PLC0415  likewise

    async with client_on(config.load(place.kubeconfig, place.context), patience) as client:
        await client.require_version(OLDEST_KUBERNETES)


async def _operators(place: Place, helm: "Helm", values: "JsonObject", profile: str, progress: "Progress") -> None:
    from stackwright.cli import artifacts  # noqa: PLC0415  a help text needs none of it
    from stackwright.kube import config  # noqa: PLC0415  likewise
    from stackwright.kube.client import Client  # noqa: PLC0415  likewise
    from stackwright.local import operator_chart  # noqa: PLC0415  likewise

    async with Client(config.load(place.kubeconfig, place.context)) as client:
        await operator_chart.install(
            client, helm, artifacts.charts() / "stackwright", values, progress, profile=profile
        )


async def _deploy(place: Place, cloud: "Cloud", timeout: float, progress: "Progress") -> None:
    from stackwright.cli import clouds  # noqa: PLC0415  a help text needs none of it
    from stackwright.kube import config  # noqa: PLC0415  likewise
    from stackwright.kube.client import Client  # noqa: PLC0415  likewise

    async with Client(config.load(place.kubeconfig, place.context)) as client:
        wanted = await clouds.apply(client, cloud, progress)
        await clouds.wait(client, cloud.namespace, wanted, timeout, progress)


def hints(place: Place, with_cloud: bool, *, with_example: bool = False) -> list[str]:  # noqa: FBT001  whether there is a cloud to use
    """Return what to do next, each command so that it can be copied. Pure."""
    lines = []
    if with_cloud:
        lines += [f"Use it:   source <(stackwright openrc{place.hint}); openstack token issue"]
    if with_example and place.network:
        lines += [f"Server:   {FIRST_SERVER}{place.hint}"]
    lines += [f"Look:     stackwright status{place.hint}"]
    if not place.built:
        return lines
    if place.network:
        lines += [f"Network:  {place.network} (source <(stackwright local network{place.hint}))"]
    lines += [f"kubectl:  export KUBECONFIG={place.kubeconfig}"]
    return [*lines, f"End it:   stackwright down{place.hint}"]


@click.command()
@named
@click.option("--keep-data", is_flag=True, help="Keep etcd, volumes and images for the next time.")
def down(name: str, keep_data: bool) -> None:  # noqa: FBT001  click's way
    """Stop the Kubernetes on this machine and the cloud in it."""
    from stackwright.cli.commands.local import down as end  # noqa: PLC0415  the same command, under a shorter name

    click.get_current_context().invoke(end, name=name, keep_data=keep_data)
