"""`stackwright image`: the container images, from the recipes in images/."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from stackwright.cli.questions import asker

F = Callable[..., None]


def debian_option(command: F) -> F:
    """Add --from to a command that has to know which images there are."""
    return click.option(
        "--from",
        "debian",
        envvar="STACKWRIGHT_DEBIAN_IMAGE",
        default="",
        metavar="REFERENCE",
        help="Build on this image of Debian 13 from a registry, such as debian:trixie-slim, "
        "instead of one from the machine's package archive. Also $STACKWRIGHT_DEBIAN_IMAGE.",
    )(command)


@click.group()
def image() -> None:
    """Build the container images, and load or push them."""


@image.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@debian_option
@click.option("--yes", is_flag=True, help="Install missing packages of the distribution without asking.")
def build(names: tuple[str, ...], debian: str, yes: bool) -> None:  # noqa: FBT001  click's way
    """Build the images that are missing or whose recipe changed, in the right order.

    They are kept in the cache (~/.cache/stackwright/images), tagged with a hash of all their inputs.
    """
    from stackwright.local.images import building  # noqa: PLC0415  not needed to print a help text
    from stackwright.local.progress import Shown  # noqa: PLC0415  likewise

    with Shown() as progress:
        for made in building.build(names, building.catalogue(debian=debian), ask=asker(yes=yes), progress=progress):
            click.echo(made.reference)


@image.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@debian_option
@click.option("--name", "instance", default="default", help="The cluster's name, as in `stackwright local up --name`.")
def load(names: tuple[str, ...], debian: str, instance: str) -> None:
    """Load the images that the cluster on this machine does not have yet."""
    from stackwright.local.images import building, loading  # noqa: PLC0415  not needed to print a help text
    from stackwright.local.progress import Shown  # noqa: PLC0415  likewise

    first = loading.node_of(instance)
    with Shown() as progress:
        wanted = building.chosen(building.catalogue(debian=debian), names)
        for loaded in loading.load(wanted, first, progress=progress):
            click.echo(loaded.reference)


@image.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@debian_option
@click.option(
    "--to",
    metavar="REGISTRY[/PATH]",
    help="Where to push, such as registry.example.com/openstack.  [default: the registry of the local cluster]",
)
@click.option("--tag", default="", help="Give all images this tag.  [default: the hash of each]")
@click.option("--name", "instance", default="default", help="The local cluster, if its registry is used.")
@click.option("--plain-http", is_flag=True, help="The registry speaks no TLS.")
@click.option("--ca-file", type=click.Path(exists=True, dir_okay=False), help="Trust the certificates in this file.")
@click.option(
    "--authfile",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file with the login, as podman login writes it.  [default: where podman and docker keep theirs]",
)
def push(names: tuple[str, ...], debian: str, instance: str, **options: Any) -> None:
    """Push built images to a registry. What the registry has already is not sent again.

    \b
      stackwright image push
      stackwright image push --to registry.example.com/openstack --tag 2026.2

    Without --to the registry of the cluster on this machine is started if necessary, and filled.
    """  # noqa: D301  click keeps the lines after its mark as they are
    import asyncio  # noqa: PLC0415  not needed to print a help text

    from stackwright.local.images import archives, building, logins, pushing  # noqa: PLC0415  likewise
    from stackwright.local.progress import Shown  # noqa: PLC0415  likewise
    from stackwright.local.registry import serving  # noqa: PLC0415  likewise

    with Shown() as progress:
        wanted = building.chosen(building.catalogue(debian=debian), names)
        archives.require_built(wanted)
        here = None if options["to"] else serving.serve(instance, progress=progress)
        plain = options["plain_http"] or here is not None
        target = pushing.parse(here or options["to"], plain_http=plain, authorities=options["ca_file"] or "")
        login = logins.find(target.place.host, target.path, options["authfile"])
        work = pushing.push(wanted, target, login=login, tag=options["tag"], progress=progress)
        for reference in asyncio.run(work):
            click.echo(reference)


@image.command(name="list")
@debian_option
def list_images(debian: str) -> None:
    """List the images: name, tag, whether it is built, its size, and what it is."""
    from stackwright.local.images import building  # noqa: PLC0415  not needed to print a help text

    known = building.catalogue(debian=debian)
    rows = [("NAME", "TAG", "BUILT", "SIZE", "WHAT")]
    for one in sorted(known.images.values(), key=lambda one: (one.intermediate, one.name)):
        size = f"{one.archive.stat().st_size / 1e6:,.0f} MB" if one.built else ""
        built = "yes" if one.built else "for others" if one.intermediate else "no"
        rows.append((one.name, one.hash, built, size, known.recipes[one.name].description))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = [
            text.rjust(width) if column == 3 else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


@image.command()
@debian_option
@click.option(
    "--images",
    "overlay",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file in the format of images/manifest.yaml, which overrides it.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "values"]),
    default="table",
    show_default=True,
    help="Print a table, or values for the operators' chart.",
)
def manifest(debian: str, overlay: Path | None, output: str) -> None:
    """Print which image each component runs."""
    from stackwright.cli import artifacts  # noqa: PLC0415  not needed to print a help text
    from stackwright.local.images import building  # noqa: PLC0415  likewise

    built = {one.name: one.reference for one in building.catalogue(debian=debian).images.values()}
    resolved = artifacts.component_images(overlay, built=built)
    if output == "values":
        import yaml  # noqa: PLC0415  only this needs it

        from stackwright.kube.documents import Dumper  # noqa: PLC0415  likewise

        click.echo(yaml.dump(artifacts.chart_values(resolved), Dumper=Dumper, sort_keys=False), nl=False)
        return
    width = max(len(component) for component in resolved)
    for component, found in resolved.items():
        click.echo(f"{component:{width}}  {found.reference}{'  (starts with sudo)' if found.sudo else ''}")
