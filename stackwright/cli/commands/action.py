"""`stackwright action`: user directed actions, from the command line."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import datetime
from typing import Any

import click
import msgspec

from stackwright import services
from stackwright.api.annotations import PAUSED
from stackwright.api.base import CustomResource
from stackwright.api.service import Action, ActionStatus
from stackwright.blueprint import actions as blueprint_actions
from stackwright.blueprint import service_fields
from stackwright.blueprint.service import Action as Means
from stackwright.blueprint.service import RotateKeys, RunJob
from stackwright.cli import exit_codes, resource_names, waits
from stackwright.cli.connection import Where, client_of, cloud_options
from stackwright.cli.parameters import Duration
from stackwright.foresight.durations import spell_since
from stackwright.foresight.kinds import service_kinds
from stackwright.kube import clock
from stackwright.kube.client import Client, Conflicts
from stackwright.kube.errors import Conflict, KubeError
from stackwright.kube.field_managers import ManagedMeta
from stackwright.kube.resource import JsonObject, Resource
from stackwright.kube.shapes import pausing

# The field manager of our entries in spec.actions; the author of the resource has another one.
FIELD_MANAGER = "stackwright-action"
# How often a resource that others change at the same time is tried.
TRIES = 5


class _Managed(Resource, frozen=True, kw_only=True):
    """Any resource with actions, as far as we write it."""

    metadata: ManagedMeta = ManagedMeta()
    spec: JsonObject = {}
    status: JsonObject = {}


@click.group()
def action() -> None:
    """Run an action of an operator once, and show its result."""


@action.command(name="list", epilog=exit_codes.TABLE)
@click.argument("resource", shell_complete=resource_names.complete_resource)
@cloud_options
def list_actions(*, where: Where, resource: str) -> None:
    """List the actions of a resource, and those that were requested."""
    found = asyncio.run(_found(where, resource))
    for line in listing(known_of(type(found)), service_fields.status_of(found).actions, clock.now()):
        click.echo(line)


@action.command(epilog=exit_codes.TABLE)
@click.argument("resource", shell_complete=resource_names.complete_resource)
@click.argument("name", metavar="ACTION")
@click.option(
    "--id", "identifier", help="An id of your choice; an action runs once for each id. By default the current time."
)
@click.option("--no-wait", is_flag=True, help="Do not wait for the result.")
@click.option("--timeout", type=Duration(), default="15m", show_default=True, help="How long to wait: 90s, 10m, 1h30m.")
@cloud_options
def run(*, where: Where, resource: str, name: str, identifier: str | None, no_wait: bool, timeout: float) -> None:
    """Request an action, and wait for its result.

    The request is added to the resource's spec.actions, next to the entries of others. If you use an id again, the
    action does not run again; the command reports how it went.
    """
    # Two may be asked for within a second.
    asked = Action(name=name, id=identifier or clock.microseconds(clock.now()))
    code = asyncio.run(_run(where, resource, asked, None if no_wait else timeout))
    if code:
        raise click.exceptions.Exit(code)


async def _found(where: Where, word: str) -> CustomResource:
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        return await resource_names.find(client, word, namespace, service_kinds())


async def _run(where: Where, word: str, asked: Action, timeout: float | None) -> int:
    async with client_of(where, field_manager=FIELD_MANAGER) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        resource = await resource_names.find(client, word, namespace, service_kinds())
        known = known_of(type(resource))
        if asked.name not in known:
            raise click.UsageError(blueprint_actions.unknown(asked.name, known))
        new = await _ask(client, resource, asked)
        click.echo(
            f"{'Asked' if new else 'Was asked'} for {asked.name} of {resource_names.label(resource)}, id {asked.id}.",
            err=True,
        )
        if pausing.is_paused(PAUSED, resource):
            click.echo(
                f"{resource_names.label(resource)} is paused: it begins once the annotation {PAUSED} is removed.",
                err=True,
            )
        if timeout is None:
            return exit_codes.DONE
        return await _tell_end(client, resource, asked, timeout)


async def _tell_end(client: Client, resource: CustomResource, asked: Action, timeout: float) -> int:
    """Wait for how an action goes, print that, and return how to end."""
    last = ActionStatus(name=asked.name, id=asked.id)
    try:
        async with asyncio.timeout(timeout):
            async with aclosing(_statuses(client, resource, asked.id)) as statuses:
                async for last in statuses:
                    if last.state in blueprint_actions.DONE:
                        break
    except TimeoutError:
        state = last.state or "not seen by an operator: is one running?"
        click.echo(f"{asked.name} did not finish in time; it is {state}", err=True)
        return exit_codes.NOT_READY
    if last.log:
        click.echo(last.log)
    click.echo(f"{last.state}: {last.result}" if last.result else last.state, err=True)
    return exit_codes.DONE if last.state == blueprint_actions.SUCCEEDED else exit_codes.IN_ERROR


async def _statuses(client: Client, resource: CustomResource, identifier: str) -> AsyncGenerator[ActionStatus]:
    """Yield what the resource says of an action, each time that it changes."""
    async with aclosing(waits.watch_resource(client, resource)) as states:
        async for seen in states:
            if (status := status_of(seen, identifier)) is not None:
                yield status


async def _ask(client: Client, resource: CustomResource, asked: Action) -> bool:
    """Write an action into a resource; return False where it was there already."""
    of = _managed_type(type(resource))
    for _ in range(TRIES):
        present = await client.get(of, resource.metadata.name, resource.metadata.namespace)
        entries, told = present.spec.get("actions") or [], present.status.get("actions") or []
        # An entry that is done may have gone from the spec; the status remembers it.
        if (before := next((entry for entry in (*entries, *told) if entry.get("id") == asked.id), None)) is not None:
            if before.get("name") != asked.name:
                message = f"the id {asked.id} was used for {before.get('name')}; choose another"
                raise click.BadParameter(message, param_hint="--id")
            return False
        done = {entry.get("id") for entry in told if entry.get("state") in blueprint_actions.DONE}
        body = {
            "metadata": {
                "name": present.metadata.name,
                "namespace": present.metadata.namespace,
                # Who asks at the same time must not lose what the other asked for.
                "resourceVersion": present.metadata.resourceVersion,
            },
            "spec": {"actions": entries_of(entries, ours(present.metadata.managedFields) - done, asked)},
        }
        try:
            applied = await client.try_apply(of, body)
        except Conflict:
            continue
        if isinstance(applied, Conflicts):
            raise KubeError(
                f"{resource_names.label(resource)}: somebody else is requesting the same right now; try again."
            )
        return True
    raise KubeError(f"{resource_names.label(resource)} is being changed by others right now; try again.")


def _managed_type(kind: type[CustomResource]) -> type[_Managed]:
    made = msgspec.defstruct(
        kind.kind.name, [], bases=(_Managed,), namespace={"kind": kind.kind}, frozen=True, kw_only=True
    )
    assert issubclass(made, _Managed)  # noqa: S101  tells mypy what its base is
    return made


def ours(managers: Iterable[JsonObject]) -> set[str]:
    """Return the ids of the entries that this command wrote, as the server remembers it. Pure."""
    found: set[str] = set()
    for entry in managers:
        if entry.get("manager") != FIELD_MANAGER or entry.get("operation") != "Apply":
            continue
        keys = entry.get("fieldsV1", {}).get("f:spec", {}).get("f:actions", {})
        found |= {msgspec.json.decode(key[2:])["id"] for key in keys if key.startswith("k:")}
    return found


def entries_of(there: Iterable[JsonObject], kept: set[str], asked: Action) -> list[JsonObject]:
    """Return all entries that are ours from now on: those that are not done, and the new one. Pure."""
    before = [{"name": entry["name"], "id": entry["id"]} for entry in there if entry.get("id") in kept]
    return [*before, {"name": asked.name, "id": asked.id}]


def known_of(kind: type[CustomResource]) -> dict[str, Means]:
    """Return the actions of a kind by name. Pure."""
    blueprint = services.blueprint_of(kind)
    return blueprint.known_actions if blueprint is not None else {}


def status_of(resource: Any, identifier: str) -> ActionStatus | None:
    """Return what a resource says of an action. Pure."""
    return next((entry for entry in resource.status.actions if entry.id == identifier), None)


def listing(known: dict[str, Means], told: Iterable[ActionStatus], now: datetime) -> list[str]:
    """Return what can be asked for, and what was. Pure."""
    width = max((len(name) for name in known), default=0)
    lines = ["ACTION".ljust(width) + "  WHAT IT DOES"] if known else ["There are no actions here."]
    lines += [f"{name.ljust(width)}  {meaning(known[name])}" for name in sorted(known)]
    rows = [("ID", "ACTION", "STATE", "ENDED", "RESULT")]
    rows += [(entry.id, entry.name, entry.state, _ago(entry, now), entry.result) for entry in told]
    if len(rows) == 1:
        return lines
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    table = [
        "  ".join((*(cell.ljust(size) for cell, size in zip(row, widths, strict=False)), row[4])).rstrip()
        for row in rows
    ]
    return [*lines, "", *table]


def _ago(entry: ActionStatus, now: datetime) -> str:
    age = spell_since(entry.completionTime or "", now)
    return f"{age} ago" if age else ""


def meaning(means: Means) -> str:
    """Return what an action does, as a few words. Pure."""
    match means:
        case RunJob(job):
            return f"runs the Job {job} once more"
        case RotateKeys(ring):
            return f"rotates the keys of {ring}"
        case _:
            return "restarts all pods, one after the other"
