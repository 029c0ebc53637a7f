"""`stackwright up`: from an empty machine to a cloud that answers; and `stackwright down`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stackwright.cli.commands.local import named
from stackwright.cli.connection import DEFAULT_CLUSTER, client_on, connection_options
from stackwright.cli.parameters import Duration
from stackwright.cli.places import Place
from stackwright.cli.questions import asker

if TYPE_CHECKING:
    # A help text needs none of it.
    from stackwright.cli.clouds import Cloud
    from stackwright.cli.machines import Fleet
    from stackwright.local.first_server.creation import FirstServer
    from stackwright.local.progress import Progress

NONE = "none"
# The cloud that is deployed where none is named: with machines that run servers, and without.
SERVERS, EXAMPLE = "examples/cloud/servers.yaml", "examples/cloud/openstack.yaml"
# How many machines that cloud gets.
NODES = 2
# What creates a server in the cloud without machines, with all that a server needs.
FIRST_SERVER = "examples/first-server.sh"


@dataclass(frozen=True)
class Options:
    """What stands on the command line."""

    name: str | None
    yes: bool
    cloud: str | None
    nodes: int | None
    namespace: str
    cluster_wide: bool
    images: Path | None
    timeout: float
    kubeconfig: Path | None
    context: str | None
    request_timeout: float


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
    help=f"The manifests of the cloud to deploy; {NONE} deploys only the operators.  [default: {SERVERS}]",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, 16),
    metavar="NUMBER",
    help=f"Number of machines to start beside the cluster as computes. With 0 and without --cloud, {EXAMPLE} is "
    f"deployed, whose compute only pretends to run servers.  [default: {NODES}; with --cloud 0]",
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
    operators and deploys the cloud. Meanwhile it starts machines beside the cluster, which become computes. It waits
    until everything is ready, and creates a first server. It skips what exists already, so a second call takes seconds.

    With --kubeconfig or --context it uses that cluster instead: it takes the images from --images and starts nothing on
    this machine. $KUBECONFIG alone is not enough, so that no cluster is changed by accident.
    """
    import asyncio  # noqa: PLC0415  a help text needs none of it
    import time  # noqa: PLC0415  only to say how long it took

    from stackwright.cli import deployment  # noqa: PLC0415  a help text needs none of it
    from stackwright.cli.deployment import Wish  # noqa: PLC0415  likewise
    from stackwright.local.progress import Shown, duration  # noqa: PLC0415  likewise

    asked = Options(**options)
    began = time.monotonic()
    elsewhere = asked.kubeconfig is not None or asked.context is not None
    if elsewhere and asked.name is not None:
        raise click.UsageError("--name is a cluster on this machine; remove it, or remove --kubeconfig and --context")
    if elsewhere and asked.nodes:
        raise click.UsageError("--nodes are machines beside a cluster on this machine; remove it")
    count = _count(asked, elsewhere=elsewhere)
    cloud = _cloud(asked.cloud, asked.namespace, with_nodes=count > 0)
    fleet = _gather(asked, count, cloud)
    with Shown() as progress:
        place = _elsewhere(asked.kubeconfig, asked.context) if elsewhere else _here(asked, fleet, cloud, progress)
        # Asked before anything is fetched or compiled for it.
        asyncio.run(_reach(place, asked.request_timeout))
        wish = Wish(cloud, fleet, asked.namespace, asked.timeout, asked.images, asked.cluster_wide)
        server = deployment.deploy(place, wish, asker(yes=asked.yes), progress)
    took = duration(time.monotonic() - began)
    click.echo(f"The {'cloud is ready' if cloud else 'operators are up'}, after {took}.")
    example = cloud is not None and cloud.example and fleet is None
    for line in (*server_hints(place, server), *hints(place, cloud is not None, with_example=example)):
        click.echo(line)


def _count(asked: Options, *, elsewhere: bool) -> int:
    """Return how many machines there are to be."""
    if asked.nodes is not None:
        return asked.nodes
    return NODES if asked.cloud is None and not elsewhere else 0


def _gather(asked: Options, count: int, cloud: "Cloud | None") -> "Fleet | None":
    from stackwright.cli import machines  # noqa: PLC0415  a help text needs none of it

    if not count:
        return None
    if cloud is None:
        raise click.UsageError("--nodes are for a cloud; remove --cloud none, or use --nodes 0")
    return machines.gather(asked.name or DEFAULT_CLUSTER, count, cloud)


def _here(asked: Options, fleet: "Fleet | None", cloud: "Cloud | None", progress: "Progress") -> Place:
    from stackwright.cli import machines  # noqa: PLC0415  a help text needs none of it
    from stackwright.controllers.dataplane.preparation import IMAGE as EXECUTION  # noqa: PLC0415  likewise
    from stackwright.local import first_server, journey  # noqa: PLC0415  likewise
    from stackwright.local.images import building  # noqa: PLC0415  likewise
    from stackwright.local.machine import lifecycle as nodes  # noqa: PLC0415  likewise

    name, ask = asked.name or DEFAULT_CLUSTER, asker(yes=asked.yes)
    also, beside = [], []
    if fleet is not None:
        also, beside = [EXECUTION], machines.images_beside(building.catalogue())
        also += [first_server.IMAGE] if cloud is not None and cloud.example else []
    arrived = journey.travel(name, ask=ask, progress=progress, also=also, beside=beside)
    if fleet is not None:
        machines.prepare(ask, progress)
    hint = "" if name == DEFAULT_CLUSTER else f" --name {name}"
    place = arrived.cluster.layout
    spare = arrived.cluster.settings.network.spare
    return Place(place.kubeconfig, None, hint, arrived.images, spare, place.machines / nodes.FIRST_SERVER_KEY)


def _elsewhere(kubeconfig: Path | None, context: str | None) -> Place:
    options = (("--kubeconfig", kubeconfig), ("--context", context))
    hint = "".join(f" {option} {value}" for option, value in options if value is not None)
    return Place(kubeconfig, context, hint, {})


def _cloud(cloud: str | None, namespace: str, *, with_nodes: bool) -> "Cloud | None":
    from stackwright.cli import artifacts, clouds  # noqa: PLC0415  a help text needs none of it

    if cloud == NONE:
        return None
    if cloud is not None:
        return clouds.read(Path(cloud), namespace)
    return clouds.read(artifacts.CHECKOUT / (SERVERS if with_nodes else EXAMPLE), namespace, example=True)


async def _reach(place: Place, patience: float) -> None:
    """Raise an error when the cluster does not answer in time, or is too old."""
    from stackwright.cli.commands.crds import OLDEST_KUBERNETES  # noqa: PLC0415  a help text needs none of it
    from stackwright.kube import config  # noqa: PLC0415  likewise

    async with client_on(config.load(place.kubeconfig, place.context), patience) as client:
        await client.require_version(OLDEST_KUBERNETES)


def server_hints(place: Place, server: "FirstServer | None") -> list[str]:
    """Return how the first server is used, each command so that it can be copied. Pure."""
    if server is None:
        return []
    again = f"source <(stackwright openrc{place.hint}); openstack console url show {server.server}"
    where = f" runs on {server.host}" if server.host else ""
    console = [server.console, f"for ten minutes; then: {again}"] if server.console else [again]
    return [
        f"Server:   {server.server}{where}; {server.address} answers a ping (curl http://{server.address})",
        f"Log in:   ssh -i {place.key} -o StrictHostKeyChecking=accept-new root@{server.address}",
        f"Console:  {console[0]}",
        *(f"          {line}" for line in console[1:]),
    ]


def hints(place: Place, with_cloud: bool, *, with_example: bool = False) -> list[str]:  # noqa: FBT001  whether there is a cloud to use
    """Return what to do next, each command so that it can be copied. Pure."""
    lines = []
    if with_cloud:
        lines += [f"Use it:   source <(stackwright openrc{place.hint}); openstack token issue"]
    if with_example and place.spare:
        lines += [f"Server:   {FIRST_SERVER}{place.hint}"]
    lines += [f"Look:     stackwright status{place.hint}"]
    if not place.built:
        return lines
    if place.spare:
        from stackwright.local.cluster import spare_network  # noqa: PLC0415  a help text needs none of it

        lines += [f"Network:  {spare_network.sentence(place.spare)} (source <(stackwright local network{place.hint}))"]
    lines += [f"kubectl:  export KUBECONFIG={place.kubeconfig}"]
    return [*lines, f"End it:   stackwright down{place.hint}"]


@click.command()
@named
@click.option("--keep-data", is_flag=True, help="Keep etcd, volumes and images for the next time.")
def down(name: str, keep_data: bool) -> None:  # noqa: FBT001  click's way
    """Remove the cluster on this machine and the cloud in it."""
    from stackwright.cli.commands.local import down as end  # noqa: PLC0415  the same command, under a shorter name

    click.get_current_context().invoke(end, name=name, keep_data=keep_data)
