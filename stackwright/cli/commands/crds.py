"""`stackwright crds`: the definitions of our kinds, to read, to apply by hand, or to keep as files."""

import asyncio
from pathlib import Path

import click

from stackwright import services
from stackwright.cli.connection import client_on, connection_options
from stackwright.kube import config
from stackwright.kube.config import Connection
from stackwright.kube.crd import generate, install
from stackwright.kube.resource import CustomResource

# The oldest Kubernetes whose schemas know all that ours say; charts/stackwright/Chart.yaml says the same.
OLDEST_KUBERNETES = (1, 30)

HEADER = "# Generated from the types by `make crds`; do not edit.\n"


@click.command()
@click.option("--kind", "wanted", multiple=True, help="Only this kind: its name, plural or short name; repeatable.")
@click.option(
    "--write",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file for each kind to this directory instead, and remove the files of removed kinds.",
)
@click.option("--install", "installs", is_flag=True, help="Install them into the cluster, or upgrade them there.")
@connection_options
def crds(
    *,
    wanted: tuple[str, ...],
    directory: Path | None,
    installs: bool,
    kubeconfig: Path | None,
    context: str | None,
    request_timeout: float,
) -> None:
    """Print the CustomResourceDefinitions as YAML, or install them.

    Installing is all or nothing: definitions of another operator are never overwritten.
    """
    kinds = _choose(wanted)
    if installs:
        asyncio.run(_install(kinds, config.load(kubeconfig, context), request_timeout))
        return
    if directory is None:
        click.echo(generate.text([generate.manifest(kind) for kind in kinds]), nl=False)
        return
    if wanted:
        raise click.UsageError("--write keeps a directory of all kinds; leave --kind away")
    write(directory)


async def _install(kinds: list[type[CustomResource]], connection: Connection, patience: float) -> None:
    async with client_on(connection, patience) as client:
        await client.require_version(OLDEST_KUBERNETES)
        for change in await install.install(client, [generate.manifest(kind) for kind in kinds]):
            click.echo(change)


def files() -> dict[str, str]:
    """Return the text of each kind's file by its name; they are part of the chart that installs the operators."""
    kinds = services.kinds()
    return {f"{kind.kind.crd_name}.yaml": HEADER + generate.text([generate.manifest(kind)]) for kind in kinds}


def write(directory: Path) -> None:
    """Make a directory hold exactly these files, and leave those that somebody else wrote."""
    texts = files()
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.yaml"):
        if path.name not in texts and _is_ours(path):
            path.unlink()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")


def _is_ours(path: Path) -> bool:
    """Return whether this command wrote a file: a wrong directory may hold the user's own."""
    if not path.is_file():
        return False
    header = HEADER.encode()
    with path.open("rb") as file:
        return file.read(len(header)) == header


def _choose(wanted: tuple[str, ...]) -> list[type[CustomResource]]:
    """Return the kinds that were asked for, all when none was."""
    kinds = services.kinds()
    names = {name: kind for kind in kinds for name in _names(kind)}
    for name in wanted:
        if name.lower() not in names:
            known = ", ".join(kind.kind.name for kind in kinds)
            raise click.BadParameter(f"there is no kind {name}; there are {known}", param_hint="--kind")
    return [names[name.lower()] for name in wanted] or list(kinds)


def _names(kind: type[CustomResource]) -> set[str]:
    """Return all names by which `kubectl` would know a kind."""
    names = generate.manifest(kind)["spec"]["names"]
    return {kind.kind.name.lower(), kind.kind.plural, kind.kind.crd_name, *names.get("shortNames", ())}
