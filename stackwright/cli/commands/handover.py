"""`stackwright give` and `stackwright take`: between the operator and who works by hand; nothing unseen is reverted."""

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import click

from stackwright import services
from stackwright.api.annotations import PAUSED, RELEASE_OWNER
from stackwright.cli import exit_codes, resource_names
from stackwright.cli.connection import Where, client_of, cloud_options
from stackwright.cli.parameters import Duration
from stackwright.cli.printing import overrides_report
from stackwright.cli.waits import Late, wait_until
from stackwright.controllers import release
from stackwright.foresight import overrides
from stackwright.foresight.kinds import service_kinds
from stackwright.foresight.overrides import Override
from stackwright.kube import conditions
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import CustomResource, JsonObject, Key
from stackwright.kube.shapes import pausing

# Whose the annotation is.
FIELD_MANAGER = "stackwright-handing"
OPERATOR, HELM = "operator", "helm"
# Who applies: the operators' own field manager.
APPLIER = "stackwright"


@dataclass(frozen=True)
class Options:
    """What stands on the command line."""

    yes: bool
    dry_run: bool
    timeout: float


_yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
_dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
_timeout = click.option(
    "--timeout", type=Duration(), default="5m", show_default=True, help="How long to wait: 90s, 10m, 1h30m."
)


@click.command(epilog=exit_codes.TABLE)
@click.argument("resource", shell_complete=resource_names.complete_resource)
@_yes
@_dry_run
@_timeout
@cloud_options
def give(*, where: Where, resource: str, yes: bool, dry_run: bool, timeout: float) -> None:
    """Hand a service's Helm release over to manual use of helm.

    No pod restarts. The operator does nothing more for the service until it is taken back with `stackwright take`.
    """
    _end(asyncio.run(_give(where, resource, Options(yes, dry_run, timeout))))


@click.command(epilog=exit_codes.TABLE)
@click.argument("resource", shell_complete=resource_names.complete_resource)
@_yes
@_dry_run
@_timeout
@cloud_options
def take(*, where: Where, resource: str, yes: bool, dry_run: bool, timeout: float) -> None:
    """Revert what others changed by hand, after showing it.

    If helm has the release, or somebody upgraded it with helm, it goes back to the operator. Otherwise the operator
    takes back the fields that somebody else set and that it therefore leaves alone (status.overridden).
    """
    _end(asyncio.run(_take(where, resource, Options(yes, dry_run, timeout))))


def _end(code: int) -> None:
    if code:
        raise click.exceptions.Exit(code)


async def _give(where: Where, word: str, options: Options) -> int:
    async with client_of(where, field_manager=FIELD_MANAGER) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        resource = await resource_names.find(client, word, namespace, service_kinds())
        name = resource.metadata.name
        if reason_of(resource) == release.GIVEN:
            click.echo(f"The release {name} belongs to helm already.", err=True)
            return exit_codes.DONE
        history = await _history(client, resource)
        if not history:
            raise resource_names.NotThere(
                f"{resource_names.label(resource)} has no Helm release yet; wait until it is deployed."
            )
        objects = len(history[-1].objects)
        click.echo(
            f"The release {name} (revision {history[-1].version}) is handed over to helm with its {objects} objects."
        )
        click.echo("No pod restarts. The operator does nothing more for it, rotates no keys and repairs nothing,")
        click.echo(f"until it is taken back: stackwright take {word}")
        if not _confirm(options, "Hand it over to helm?"):
            return exit_codes.DONE
        await _annotate(client, resource, HELM)
        _tell_paused(resource)
        await wait_until(client, resource, lambda seen: reason_of(seen) == release.GIVEN, options.timeout)
        click.echo(f"Done: you can use helm upgrade {name} now.", err=True)
        return exit_codes.DONE


async def _take(where: Where, word: str, options: Options) -> int:
    async with client_of(where, field_manager=FIELD_MANAGER) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        kinds = (*service_kinds(), services.control_plane())
        resource = await resource_names.find(client, word, namespace, kinds)
        if is_helms(resource):
            resource = await _current(client, resource, options)
        found = await overrides.read(client, resource)
        _show(resource, found)
        if not found and not is_helms(resource):
            return exit_codes.DONE
        if not _confirm(options, "Take it back?"):
            return exit_codes.DONE
        _tell_paused(resource)
        if is_helms(resource):
            left = await _take_release(client, resource, options.timeout)
        else:
            left = await _take_fields(client, resource, found, options.timeout)
        click.echo("Done.", err=True)
        for entry in overrides.entries_of(left):
            click.echo(f"Set by {entry.manager} and left alone: {entry.resource} {entry.field}", err=True)
        return exit_codes.DONE


async def _current(client: Client, resource: CustomResource, options: Options) -> CustomResource:
    """Return the resource once its operator has looked at the newest revision: what it shows is of that one."""
    history = await _history(client, resource)
    return await wait_until(
        client, resource, lambda seen: release.named(history) in message_of(seen) or not is_helms(seen), options.timeout
    )


async def _take_release(client: Client, resource: CustomResource, timeout: float) -> CustomResource:
    """Have the operator take a release over; its word is needed no longer when the records go with the resource."""
    said = resource.metadata.annotations.get(RELEASE_OWNER)
    await _annotate(client, resource, OPERATOR)

    async def is_adopted() -> bool:
        return all(revision.owner == resource.metadata.uid for revision in await _history(client, resource))

    try:
        taken = await wait_until(client, resource, lambda seen: not is_helms(seen), timeout, is_adopted)
    except Late as late:
        note = f"The annotation {RELEASE_OWNER}: {OPERATOR} stays, and the operator continues to follow it."
        raise Late(f"{late.message} {note}") from None
    if said != OPERATOR:
        await _annotate(client, resource, None)
    return taken


async def _take_fields(
    client: Client, resource: CustomResource, found: list[Override], timeout: float
) -> CustomResource:
    await take_back(client, resource, found)
    gone = {(override.entry.resource, override.entry.field, override.entry.manager) for override in found}

    def is_taken(seen: CustomResource) -> bool:
        return not gone & {(entry.resource, entry.field, entry.manager) for entry in overrides.entries_of(seen)}

    return await wait_until(client, resource, is_taken, timeout)


async def take_back(client: Client, resource: CustomResource, found: Iterable[Override]) -> None:
    """Take fields from those who set them: the operator makes them its own with its next apply."""
    by_label: dict[str, list[tuple[str, str]]] = {}
    for override in found:
        by_label.setdefault(override.entry.resource, []).append((override.entry.manager, override.entry.field))
    for label, entries in by_label.items():
        kind, name = overrides.kind_and_name(label)
        which = (kind, Key(resource.metadata.namespace if kind.namespaced else "", name))
        await release.take_fields(client, which, entries, APPLIER)


def _show(resource: CustomResource, found: list[Override]) -> None:
    label = f"{resource.kind.name} {resource.metadata.name}"
    if is_helms(resource):
        click.echo(f"{label}: {message_of(resource).partition(';')[0]}")
        _, unknown, why = message_of(resource).partition(release.UNKNOWN)
        if unknown:
            click.echo(f"{label}: {unknown}{why}")
            return
    if found:
        click.echo(f"{label}: what others set, and what it becomes when the operator takes it back:")
    else:
        click.echo(f"{label}: nothing differs from what the operator asks for.")
    for line in overrides_report.lines(found):
        click.echo(line)


def _confirm(options: Options, question: str) -> bool:
    """Return whether to go on; where nobody can be asked, --yes has to be said."""
    if options.dry_run:
        return False
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on; add --yes to do what is shown above, or --dry-run")
    return click.confirm(question, default=False, err=True)


def _tell_paused(resource: CustomResource) -> None:
    if pausing.is_paused(PAUSED, resource):
        note = f"{resource_names.label(resource)} is paused: nothing happens until the annotation {PAUSED} is removed."
        click.echo(note, err=True)


async def _annotate(client: Client, resource: CustomResource, owner: str | None) -> None:
    metadata = resource.metadata
    body: JsonObject = {"metadata": {"annotations": {RELEASE_OWNER: owner}}}
    await client.patch(type(resource), metadata.name, metadata.namespace, body)


async def _history(client: Client, resource: CustomResource) -> tuple[release.Revision, ...]:
    metadata = resource.metadata
    records = await client.list(Secret, metadata.namespace, labels=f"owner=helm,name={metadata.name}")
    return release.history_of(records, metadata.name)


def reason_of(resource: CustomResource) -> str:
    """Return why a resource is as it is, as one word. Pure."""
    ready = conditions.find(resource.status.conditions, conditions.READY)
    return ready.reason if ready is not None else ""


def message_of(resource: CustomResource) -> str:
    """Return why a resource is as it is, as a sentence. Pure."""
    ready = conditions.find(resource.status.conditions, conditions.READY)
    return ready.message if ready is not None else ""


def is_helms(resource: CustomResource) -> bool:
    """Return whether a release is in helm's hands, or was changed by them. Pure."""
    return reason_of(resource) in (release.GIVEN, release.CONTESTED)
