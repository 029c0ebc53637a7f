"""`stackwright chart`: the charts as packages, to put them into a registry or to change them."""

import asyncio
from pathlib import Path

import click

from stackwright.cli import artifacts, exit_codes
from stackwright.controllers.translation import translated


@click.group()
def chart() -> None:
    """Package the charts."""


@chart.command(epilog=exit_codes.TABLE)
@click.option(
    "-d",
    "--destination",
    type=click.Path(path_type=Path, file_okay=False),
    default="dist",
    show_default=True,
    help="Where the packages go.",
)
@click.option("--charts", type=click.Path(path_type=Path, file_okay=False), help="The folder of the charts.")
def package(*, destination: Path, charts: Path | None) -> None:
    """Package every chart with its library, and print the path of each package.

    The same files always give the same package, byte for byte.
    """
    folder = artifacts.charts(charts)
    destination.mkdir(parents=True, exist_ok=True)
    for path in asyncio.run(_pack(sorted(found.parent for found in folder.glob("*/Chart.yaml")), destination)):
        click.echo(path)


async def _pack(charts: list[Path], destination: Path) -> list[Path]:
    from stackwright.adapters.helm import packing  # noqa: PLC0415  a help text needs none of it

    with translated():
        return [await packing.pack(chart, destination, artifacts.helm()) for chart in charts]
