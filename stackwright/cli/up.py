"""`stackwright up`: from an empty machine to a cluster that runs our images."""

import click

from stackwright.cli.asking import asking
from stackwright.cli.local import named


@click.command()
@named
@click.option("--yes", is_flag=True, help="Install what is missing without asking.")
def up(name: str, yes: bool) -> None:  # noqa: FBT001  click's way
    """Bring up a Kubernetes on this machine with all images in it.

    Gets or compiles Kubernetes, builds the images, starts the cluster, loads the images and tries a Deployment.
    What is there already is left alone, so a second call takes seconds.
    """
    import time  # noqa: PLC0415  only to say how long it took

    from stackwright.local import journey  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.progress import Shown, duration  # noqa: PLC0415  likewise

    began = time.monotonic()
    with Shown() as progress:
        cluster = journey.travel(name, ask=asking(yes=yes), progress=progress)
    click.echo(f"The cluster {name} is up and runs our images, after {duration(time.monotonic() - began)}.")
    click.echo(f"Use it:  export KUBECONFIG={cluster.layout.kubeconfig}")
    click.echo("State:   stackwright local status     End it: stackwright local down")
