"""`stackwright local node`: machines of their own beside the cluster on this machine."""

import click

from stackwright.cli.questions import asker


@click.group()
def node() -> None:
    """Run machines beside the local cluster, which become nodes of the data plane.

    Each is a Debian with systemd and an SSH server in namespaces of its own. It is not part of the cluster.
    """


beside = click.option(
    "--cluster",
    default="default",
    show_default=True,
    metavar="NAME",
    help="The cluster whose network the node shares, as in `stackwright local up --name`.",
)
in_role = click.option(
    "--role", default="", metavar="NAME", help="The OpenStackDataPlaneRole that the printed manifests name."
)


@node.command()
@click.argument("name")
@beside
@in_role
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "yaml"]),
    default="text",
    show_default=True,
    help="Print how to reach the node, or manifests for kubectl: a Secret with the SSH key, an OpenStackDataPlaneNode.",
)
@click.option("--yes", is_flag=True, help="Install missing packages without asking.")
def add(name: str, cluster: str, role: str, output: str, yes: bool) -> None:  # noqa: FBT001  click's way
    """Start a machine. One that runs already is left alone; one that was stopped gets its disk back.

    The first call builds the root file system from the machine's Debian archive, and keeps it in the cache
    (~/.cache/stackwright/machines).
    """
    from stackwright.local.machine import entry, lifecycle  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.machine.root_files import USER  # noqa: PLC0415  likewise
    from stackwright.local.progress import Shown  # noqa: PLC0415  likewise

    with Shown() as progress:
        made = lifecycle.add(cluster, name, progress=progress, ask=asker(yes=yes))
    if output == "yaml":
        known_hosts = lifecycle.known_hosts(lifecycle.find(cluster))
        click.echo(entry.text(entry.manifests([made], role=role, known_hosts=known_hosts)), nl=False)
        return
    key = made.folder.directory.parent / lifecycle.KEY
    click.echo(f"The node {name} {'is up' if made.new else 'was up already'}, at {made.settings.address}.")
    click.echo(f"Log in:  ssh -i {key} {USER}@{made.settings.address}")
    click.echo(f"For kubectl apply:  stackwright local node add {name} --cluster {cluster} -o yaml")


@node.command(name="list")
@beside
@in_role
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="yaml prints manifests for kubectl, as `add` does.",
)
def list_nodes(cluster: str, role: str, output: str) -> None:
    """List the nodes beside a cluster: name, state and address."""
    import json  # noqa: PLC0415  a help text needs none of it

    from stackwright.local.machine import entry, lifecycle  # noqa: PLC0415  likewise

    found = lifecycle.find(cluster)
    rows = [lifecycle.describe(machine) for machine in found]
    if output == "yaml":
        known_hosts = lifecycle.known_hosts(found)
        click.echo(entry.text(entry.manifests(found, role=role, known_hosts=known_hosts)), nl=False)
    elif output == "json":
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo(f"There are no nodes beside the cluster {cluster}.")
    else:
        width = max(len(row["name"]) for row in rows)
        click.echo(f"{'NAME':{max(width, 4)}}  STATE    ADDRESS")
        for row in rows:
            click.echo(f"{row['name']:{max(width, 4)}}  {row['state']:7}  {row['address']}")


@node.command()
@click.argument("name")
@beside
def remove(name: str, cluster: str) -> None:
    """Stop a node, and remove everything that it created."""
    from stackwright.local.machine import lifecycle  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.progress import Shown  # noqa: PLC0415  likewise

    with Shown() as progress:
        there = lifecycle.remove(cluster, name, progress=progress)
    if there:
        click.echo(f"The node {name} is gone.")
        return
    others = ", ".join(machine.settings.name for machine in lifecycle.find(cluster))
    raise click.BadParameter(
        f'there is no node "{name}" beside the cluster {cluster}; there is {others or "none"}', param_hint="NAME"
    )
