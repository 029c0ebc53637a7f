"""`stackwright config import FILE`: upstream's node sets become roles and nodes."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import click
import yaml

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.cli import artifacts, manifests, resource_names
from stackwright.cli.connection import Where, client_of
from stackwright.foresight.upstream import conversion
from stackwright.foresight.upstream.conversion import Conversion
from stackwright.foresight.upstream.documents import Broken
from stackwright.kube import documents
from stackwright.kube.client import Client, Conflicts

_WORD = re.compile(r"[a-z][a-z0-9_]+")


def convert(paths: Iterable[Path]) -> Conversion:
    """Return what files become, or raise an error that names the file and the line."""
    texts = {str(path): manifests.text_of(path) for path in paths}
    try:
        found = conversion.convert(texts, services.node_services(), known_variables())
    except Broken as error:
        raise manifests.BadManifest(str(error)) from None
    # What our own reader would refuse is not handed out.
    manifests.parse(render(found.manifests), "The converted resources")
    return found


def render(bodies: Iterable[JsonObject]) -> str:
    """Return manifests as YAML."""
    return yaml.dump_all(list(bodies), Dumper=documents.Dumper, sort_keys=False, allow_unicode=True, width=120)


def known_variables(checkout: Path = artifacts.CHECKOUT) -> frozenset[str] | None:
    """Return all words that the roles of our collection use; None where the collection is not at hand."""
    roles = checkout / "ansible" / "roles"
    texts = [path.read_text(encoding="utf-8") for path in roles.rglob("*") if path.suffix in (".yml", ".j2")]
    return frozenset(word for text in texts for word in _WORD.findall(text)) if texts else None


async def import_files(paths: Iterable[Path], where: Where, *, yes: bool) -> None:
    """Print what files become, and apply it if the user wants that."""
    found = convert(paths)
    if found.remarks:
        click.echo("Not converted, or different here:", err=True)
        for label in dict.fromkeys(remark.of for remark in found.remarks):
            click.echo(f"  {label}", err=True)
            for remark in found.remarks:
                if remark.of == label:
                    click.echo(f"    {remark}", err=True)
    if not found.manifests:
        raise click.ClickException("The files have no OpenStackDataPlaneNodeSet; nothing was changed.")
    shown = render(found.manifests).rstrip()
    if yes:
        # A program that reads the output gets what the server has.
        await _apply_all(where, found.manifests)
        click.echo(shown)
        return
    click.echo(shown)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("Nothing was changed; pass --yes to apply it.", err=True)
    elif click.confirm("Apply these resources?", default=False, err=True):
        await _apply_all(where, found.manifests)


async def _apply_all(where: Where, bodies: Iterable[JsonObject]) -> None:
    async with client_of(where) as client:
        await _apply(client, where, bodies)


async def _apply(client: Client, where: Where, bodies: Iterable[JsonObject]) -> None:
    kinds = {kind.kind.name: kind for kind in services.kinds()}
    for body in bodies:
        kind, metadata = kinds[body["kind"]], body["metadata"]
        namespace = where.namespace or metadata.get("namespace") or await resource_names.namespace_of(client, None)
        placed = {**body, "metadata": {**metadata, "namespace": namespace}}
        done = await client.try_apply(kind, placed)
        label = f"{kind.kind.name.lower()}/{metadata['name']}"
        if isinstance(done, Conflicts):
            conflict = done.fields[0]
            raise click.ClickException(
                f"{label}: {conflict.field} was set by {conflict.manager} to another value; the import ends here."
            )
        click.echo(f"{label} is applied.", err=True)
