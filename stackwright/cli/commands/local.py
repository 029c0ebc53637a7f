"""`stackwright local`: a Kubernetes on this machine."""

from pathlib import Path

import click

from stackwright.cli.commands import local_node
from stackwright.cli.questions import asker


@click.group()
def local() -> None:
    """Run Kubernetes on this machine."""


local.add_command(local_node.node)

named = click.option(
    "--name", default="default", show_default=True, metavar="NAME", help="Which cluster; several can run side by side."
)


@local.command()
@named
@click.option("--yes", is_flag=True, help="Install missing packages without asking.")
def up(name: str, yes: bool) -> None:  # noqa: FBT001  click's way
    """Start a Kubernetes with one node. If it runs already, restart the programs that have ended.

    The cluster has its own namespaces, addresses, folders and kubeconfig. The node and its pods can reach this machine;
    they can reach other hosts only if this machine forwards packets for them.
    """
    import time  # noqa: PLC0415  only to say how long it took

    from stackwright.local import binaries as search  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.cluster import lifecycle  # noqa: PLC0415  likewise
    from stackwright.local.progress import Shown, duration  # noqa: PLC0415  likewise

    began = time.monotonic()
    with Shown() as progress:
        cluster = lifecycle.up(name, progress=progress, ask=asker(yes=yes))
    took = duration(time.monotonic() - began)
    click.echo(f"The cluster {name} is up{f' after {took}' if cluster.new else ''}, at {cluster.settings.url}.")
    click.echo(f"Use it:  export KUBECONFIG={cluster.layout.kubeconfig}")
    kubectl = search.find(["kubectl"])["kubectl"]
    click.echo(f"kubectl: {kubectl}")


@local.command()
@named
@click.option("--keep-data", is_flag=True, help="Keep etcd, volumes and images for the next time.")
def down(name: str, keep_data: bool) -> None:  # noqa: FBT001  click's way
    """Stop a cluster, and remove everything that it created."""
    from stackwright.local.cluster import lifecycle  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.progress import Shown  # noqa: PLC0415  likewise

    with Shown() as progress:
        there = lifecycle.down(name, keep_data=keep_data, progress=progress)
    if not there:
        click.echo(f"There is no cluster {name}.")
    elif keep_data:
        click.echo(f"The cluster {name} is down; its data is kept for the next up.")
    else:
        click.echo(f"The cluster {name} is gone.")


@local.command()
@named
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def status(name: str, output: str) -> None:
    """Show each program of a cluster: its health, memory and log. Exit with 1 unless all are ready."""
    import msgspec  # noqa: PLC0415  a help text needs none of it

    from stackwright.local.cluster import status as statuses  # noqa: PLC0415  likewise

    found = statuses.read(name)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        click.echo("\n".join(statuses.lines(found)))
    if not found.ready:
        raise click.exceptions.Exit(1)


@local.command()
@named
def network(name: str) -> None:
    """Print the addresses of a cluster's spare network, as lines for a shell.

    \b
      source <(stackwright local network)

    The node has a spare interface that Kubernetes does not use (SPARE_INTERFACE). A workload may take it for networks
    of its own. This machine is SPARE_HOST in that network; SPARE_FIRST to SPARE_LAST are free.
    """  # noqa: D301  click keeps the lines after its mark as they are
    from stackwright.local.cluster import layout, spare_network  # noqa: PLC0415  a help text needs none of it

    settings = layout.of(name).read_settings()
    if settings is None:
        raise click.ClickException(f"There is no cluster {name}; start one with `stackwright local up`.")
    for line in spare_network.shell_lines(settings.network.spare):
        click.echo(line)


@local.command()
@named
def registry(name: str) -> None:
    """Run a container registry in a cluster, and print its address.

    Machines beside the cluster (`stackwright local node`) and its pods pull images from it. `stackwright image push`
    fills it. It has neither TLS nor passwords: only this machine and the machines beside it reach it.
    """
    from stackwright.local.progress import Shown  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.registry import serving  # noqa: PLC0415  likewise

    with Shown() as progress:
        click.echo(serving.serve(name, progress=progress))


@local.command()
@click.argument("names", nargs=-1, metavar="[PROGRAM]...")
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    help="Use the programs in this folder; get only those that it lacks from elsewhere.",
)
@click.option(
    "--missing", is_flag=True, help="Download and build nothing; list what is missing, and exit with 1 if anything is."
)
def binaries(names: tuple[str, ...], directory: Path | None, missing: bool) -> None:  # noqa: FBT001  click's way
    """Get the programs of Kubernetes and print their paths.

    They come from the first place that has them: --directory or $STACKWRIGHT_KUBERNETES_BINARIES, $KUBEBUILDER_ASSETS,
    the cache (~/.cache/stackwright/kubernetes), the official releases, or a build with Go.
    """
    # Compilers and downloads are not needed to print a help text.
    from stackwright.local import binaries as search  # noqa: PLC0415  see above
    from stackwright.local.programs import ALL  # noqa: PLC0415  see above
    from stackwright.local.progress import Shown  # noqa: PLC0415  see above

    if unknown := [name for name in names if name not in ALL]:
        raise click.BadParameter(f"there is no program {unknown[0]}; there are {', '.join(ALL)}", param_hint="PROGRAM")
    wanted = names or tuple(ALL)
    if missing:
        found = search.find(wanted, directory=directory)
    else:
        with Shown() as progress:
            found = search.ensure(wanted, directory=directory, progress=progress)
    _table(wanted, found)
    if len(found) < len(set(wanted)):
        raise click.exceptions.Exit(1)


def _table(wanted: tuple[str, ...], found: dict[str, Path]) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  only to print

    from stackwright.local import binaries as search  # noqa: PLC0415  only to print
    from stackwright.local import versions  # noqa: PLC0415  only to print
    from stackwright.local.programs import ALL  # noqa: PLC0415  only to print

    pinned = versions.pinned()
    with ThreadPoolExecutor() as pool:
        said = dict(zip(found, pool.map(search.version_of, found, found.values()), strict=True))
    width = max(len(name) for name in wanted)
    for name in wanted:
        if name not in found:
            click.echo(f"{name:{width}}  missing")
            continue
        expected = pinned.of(ALL[name].component)
        note = "" if said[name] == expected else f"  (tested with {expected})"
        click.echo(f"{name:{width}}  {said[name]:8}  {found[name]}{note}")
