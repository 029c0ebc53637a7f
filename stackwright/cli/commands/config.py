"""`stackwright config`: what a user has already, in Kolla's layout or in upstream's kinds."""

import asyncio
import contextlib
import difflib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.blueprint import kolla_layout
from stackwright.blueprint.kolla_layout import Imported
from stackwright.cli import exit_codes, manifests, resource_names
from stackwright.cli.commands import config_nodes
from stackwright.cli.connection import Where, client_of, cloud_options
from stackwright.foresight.objects import list_kind
from stackwright.kube.documents import Dumper
from stackwright.kube.errors import Conflict

# Options and policies are texts of a few lines; what is larger is something else.
MOST_BYTES = 256 * 1024


@click.group()
def config() -> None:
    """Import your own configuration, or upstream's node sets."""


@config.command(name="import", epilog=exit_codes.TABLE)
@click.argument(
    "sources",
    metavar="DIRECTORY|FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, allow_dash=True),
)
@click.option(
    "-f",
    "--file",
    "path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Change the OpenStackControlPlane in this file instead of the cluster; with a directory.",
)
@click.option(
    "--yes",
    is_flag=True,
    help="Do not ask for confirmation. Without a terminal, nothing is changed unless you pass this.",
)
@cloud_options
def import_configuration(*, sources: tuple[Path, ...], path: Path | None, yes: bool, where: Where) -> None:
    """Import a directory in Kolla's layout into the control plane, or upstream's node sets, after showing the result.

    \b
    DIRECTORY/global.conf               options of all services
    DIRECTORY/glance/glance-api.conf    options of a component
    DIRECTORY/glance/policy.yaml        a whole file of a service
    DIRECTORY/glance-api/config.json    how a component starts, and the files beside it that it copies

    An earlier import is replaced. What the command does not understand is listed and left out. Options that hold a
    secret are never written into the control plane. A file that is changed with -f loses its comments.

    Instead of a directory you can name files with upstream's later kinds of the data plane (OpenStackDataPlaneNodeSet,
    OpenStackDataPlaneDeployment, OpenStackDataPlaneService, and ConfigMaps that these read); - is standard input.
    The roles, nodes and services that they become are printed. Whatever is not converted is listed with its path.
    """  # noqa: D301  click keeps the lines after its mark as they are
    directories = [source for source in sources if source.is_dir()]
    if not directories:
        if path is not None:
            raise click.UsageError("-f names the file of a control plane; it goes with a directory")
        asyncio.run(config_nodes.import_files(sources, where, yes=yes))
        return
    if len(sources) > 1:
        raise click.UsageError("name one directory, or files")
    _import_directory(directories[0], path, where, yes=yes)


def _import_directory(directory: Path, path: Path | None, where: Where, *, yes: bool) -> None:
    files, unreadable = collect(directory)
    if not files:
        for line in _remarks(Imported({}), unreadable):
            click.echo(line, err=True)
        raise click.UsageError(f"{directory} has no files with configuration")
    if path is not None:
        _into_file(path, files, unreadable, yes=yes)
    else:
        asyncio.run(_into_cluster(where, files, unreadable, yes=yes))


def collect(directory: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts below a directory by their path, and why others are none."""
    files: dict[str, str] = {}
    others: dict[str, str] = {}
    for found in sorted(path for path in directory.rglob("*") if path.is_file()):
        name = found.relative_to(directory).as_posix()
        try:
            if found.stat().st_size > MOST_BYTES:
                others[name] = f"it is larger than {MOST_BYTES // 1024} KiB"
            else:
                files[name] = found.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            others[name] = "it is not text"
        except OSError as error:
            others[name] = f"it cannot be read: {error.strerror}"
    return files, others


def difference(before: str, after: str, label: str) -> str:
    """Return how two texts differ, as `diff -u` tells it; "" when they do not."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), label, f"{label} with the import", lineterm=""
    )
    return "\n".join(lines)


def _remarks(imported: Imported, unreadable: dict[str, str]) -> Iterator[str]:
    left = (*imported.left, *sorted(unreadable.items()))
    if left:
        yield "Not imported:"
        yield from (f"  {place}: {why}" for place, why in left)


def _refuse_broken(imported: Imported, unreadable: dict[str, str]) -> None:
    """Raise an error when nothing at all could be taken over: who imports wants at least something to change."""
    if imported.taken:
        return
    for line in _remarks(imported, unreadable):
        click.echo(line, err=True)
    raise click.ClickException("None of the files could be imported; nothing was changed. Fix them and import again.")


def _confirm(shown: str, imported: Imported, unreadable: dict[str, str], *, yes: bool) -> bool:
    """Show what would change, and return whether to do it."""
    for line in _remarks(imported, unreadable):
        click.echo(line, err=True)
    if not shown:
        click.echo("The control plane has all of it already; nothing changes.")
        return False
    click.echo(shown)
    if yes:
        return True
    if not sys.stdin.isatty():
        click.echo("Nothing was changed; pass --yes to apply it.", err=True)
        return False
    return click.confirm("Apply this change?", default=False, err=True)


def _into_file(path: Path, files: dict[str, str], unreadable: dict[str, str], *, yes: bool) -> None:
    text = manifests.text_of(path)
    # Read strictly first: what is wrong with the file is said before anything is done to it.
    manifests.parse(text, str(path))
    documents = manifests.documents_of(text, str(path))
    kind = services.control_plane().kind
    planes = [document for document in documents if document.get("kind") == kind.name]
    if len(planes) != 1:
        raise click.UsageError(f"{path} has {len(planes) or 'no'} {kind.name}; it needs one")
    plane = planes[0]
    imported = kolla_layout.read(files, plane.get("spec") or {}, services.sections())
    _refuse_broken(imported, unreadable)
    if imported.spec == plane.get("spec"):
        _confirm("", imported, unreadable, yes=yes)
        return
    plane["spec"] = imported.spec
    after = _yaml(documents)
    # A file that cannot be read back is not written.
    manifests.parse(after, str(path))
    if _confirm(difference(text, after, path.name), imported, unreadable, yes=yes):
        _write(path, after)
        click.echo(f"{path} is written.", err=True)


def _write(path: Path, text: str) -> None:
    """Write a user's file anew, with its mode and owner; whatever happens, it holds the old text or the new one."""
    # What is written is the file itself, and not a link to it.
    whole = path.resolve()
    try:
        before = whole.stat()
        number, beside = tempfile.mkstemp(prefix=f".{whole.name}.", dir=whole.parent)
        try:
            with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(PermissionError):
                os.chown(beside, before.st_uid, before.st_gid)
            Path(beside).chmod(stat.S_IMODE(before.st_mode))
            Path(beside).replace(whole)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise click.ClickException(
            f"{path} cannot be written: {error.strerror}; it is unchanged. Check who may write to its directory."
        ) from None


async def _into_cluster(where: Where, files: dict[str, str], unreadable: dict[str, str], *, yes: bool) -> None:
    kind = services.control_plane()
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        planes = await list_kind(client, kind, namespace)
        if len(planes) != 1:
            raise click.ClickException(f"There is no {kind.kind.name} in namespace {namespace}; create one, or use -f.")
        plane = planes[0]
        before: JsonObject = msgspec.to_builtins(plane.spec)
        imported = kolla_layout.read(files, before, services.sections())
        _refuse_broken(imported, unreadable)
        whole = {"apiVersion": kind.kind.api_version, "kind": kind.kind.name, "spec": imported.spec}
        # What the server would refuse is not shown as if it could be applied.
        manifests.resource_of({**whole, "metadata": {"name": plane.metadata.name}}, "With the import")
        shown = difference(_yaml([before]), _yaml([imported.spec]), f"openstackcontrolplane/{plane.metadata.name}")
        if not _confirm(shown, imported, unreadable, yes=yes):
            return
        changed = {name: value for name, value in imported.spec.items() if before.get(name) != value}
        metadata = {"resourceVersion": plane.metadata.resourceVersion}
        try:
            await client.patch(kind, plane.metadata.name, namespace, {"metadata": metadata, "spec": changed})
        except Conflict:
            raise click.ClickException("Somebody changed the control plane just now; import again.") from None
        click.echo(
            f"openstackcontrolplane/{plane.metadata.name} is changed; `stackwright status --watch` shows the rest."
        )


def _yaml(documents: Iterable[Any]) -> str:
    return yaml.dump_all(list(documents), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
