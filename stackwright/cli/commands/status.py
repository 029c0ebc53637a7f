"""`stackwright status`: a cloud as a tree of resources, each with its state and what it waits for."""

import asyncio
import sys

import click
from rich.console import Console
from rich.live import Live

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.cli import exit_codes, log_lines, resource_names
from stackwright.cli.connection import Where, client_of, cloud_options
from stackwright.cli.parameters import Duration
from stackwright.cli.printing import cloud_report
from stackwright.cli.printing.progress import tell_until
from stackwright.cli.unseen import tell_unseen
from stackwright.foresight import mirror, tree
from stackwright.foresight.kinds import service_kinds
from stackwright.foresight.mirror import Mirror
from stackwright.foresight.objects import Objects, resource_name_of
from stackwright.foresight.tree import Branch, State
from stackwright.kube import clock
from stackwright.kube.resource import ResourceName
from stackwright.local.progress import Progress, Shown

TABLE, JSON = "table", "json"
# How long a terminal shows the same times.
TICK = 1.0


@click.command(epilog=exit_codes.TABLE)
@click.argument("resource", required=False, shell_complete=resource_names.complete_resource)
@click.option("-w", "--watch", is_flag=True, help="Show every change, until interrupted.")
@click.option("--wait", is_flag=True, help="Wait until everything is ready, and report changes on standard error.")
@click.option("--timeout", type=Duration(), default="15m", show_default=True, help="How long to wait: 90s, 10m, 1h30m.")
@click.option("-o", "--output", type=click.Choice([TABLE, JSON]), default=TABLE, show_default=True)
@cloud_options
def status(*, where: Where, resource: str | None, watch: bool, wait: bool, timeout: float, output: str) -> None:
    """Show a cloud as a tree: what is ready, and what waits for what.

    RESOURCE is a part of the cloud, such as keystone or galera/openstack; without it, the whole cloud is shown. With
    --wait, an error does not end the wait: it may recover, or somebody may fix it.
    """
    if watch and wait:
        raise click.UsageError("--watch and --wait exclude each other")
    if watch:
        asyncio.run(_watch(where, resource, output))
        return
    code = asyncio.run(_wait(where, resource, timeout, output) if wait else _once(where, resource, output))
    if code:
        raise click.exceptions.Exit(code)


async def _once(where: Where, word: str | None, output: str) -> int:
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        objects = await mirror.read(client, namespace)
        await tell_unseen(client, namespace)
    nodes = select(objects, word)
    _print(namespace, nodes, output)
    return code_of(nodes)


async def _wait(where: Where, word: str | None, timeout: float, output: str) -> int:
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        await tell_unseen(client, namespace)
        with Shown() as progress:
            log_lines.silence()
            async with mirror.follow(client, namespace) as found:
                if missing := _missing(found.objects, word):
                    progress.say(f"{missing} It is waited for.")
                try:
                    async with asyncio.timeout(timeout):
                        await _until_ready(found, word, progress)
                except TimeoutError:
                    pass
                objects = found.objects
    nodes = _patient(objects, word)
    _print(namespace, nodes, output, word)
    return code_of(nodes)


async def _until_ready(found: Mirror, word: str | None, progress: Progress) -> None:
    trouble = ""

    async def changed() -> None:
        nonlocal trouble
        trouble = await _wait_for_change(found, trouble)

    await tell_until(
        lambda nodes: code_of(nodes) == exit_codes.DONE, lambda: _patient(found.objects, word), changed, progress
    )


async def _wait_for_change(found: Mirror, trouble: str) -> str:
    """Wait for a change; say on standard error when what is shown begins to be old, and return why."""
    await found.wait_for_change(within=TICK)
    if found.trouble and found.trouble != trouble:
        click.echo(found.trouble, err=True)
    return found.trouble


async def _watch(where: Where, word: str | None, output: str) -> None:
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        await tell_unseen(client, namespace)
        log_lines.silence()
        async with mirror.follow(client, namespace) as found:
            if output == JSON:
                await _watch_json(found, word, namespace)
            elif sys.stdout.isatty():
                await _watch_live(found, word)
            else:
                await _watch_lines(found, word)


async def _watch_json(found: Mirror, word: str | None, namespace: str) -> None:
    before = trouble = ""
    while True:
        after = cloud_report.report(namespace, _patient(found.objects, word), one_line=True)
        if after != before:
            click.echo(after)
        before = after
        trouble = await _wait_for_change(found, trouble)


async def _watch_lines(found: Mirror, word: str | None) -> None:
    nodes = _patient(found.objects, word)
    click.echo("\n".join(cloud_report.lines(nodes, clock.now())))
    before, trouble = cloud_report.describe(nodes), ""
    while True:
        trouble = await _wait_for_change(found, trouble)
        after = cloud_report.describe(_patient(found.objects, word))
        for line in cloud_report.compare(before, after):
            click.echo(f"{clock.now().astimezone():%H:%M:%S}  {line}")
        before = after


async def _watch_live(found: Mirror, word: str | None) -> None:

    with Live(auto_refresh=False) as live:
        while True:
            nodes = _patient(found.objects, word)
            footer = found.trouble or ("" if nodes else "There is no cloud here yet.")
            live.update(cloud_report.colour(nodes, clock.now(), live.console.width, footer), refresh=True)
            await found.wait_for_change(within=TICK)


def select(objects: Objects, word: str | None) -> tuple[Branch, ...]:
    """Return the trees, or the one that begins with the resource that a word means. Pure."""
    return tree.build(objects) if word is None else trees_below(objects, resource_name_of(choose(objects, word)))


def choose(objects: Objects, word: str) -> CustomResource:
    """Return the resource that a word means. Pure."""
    others = [kind for kind in services.kinds() if kind not in (*service_kinds(), services.control_plane())]
    order = [services.control_plane(), *service_kinds(), *others]
    there = [resource for resource in objects.all() if isinstance(resource, CustomResource)]
    return resource_names.choose(word, there, order)


def trees_below(objects: Objects, wanted: ResourceName) -> tuple[Branch, ...]:
    """Return the tree that begins with a resource. Pure."""
    found = tree.find(tree.build(objects), wanted)
    return (found,) if found is not None else ()


def _patient(objects: Objects, word: str | None) -> tuple[Branch, ...]:
    """Return what is shown while it is waited for; what is not there yet is nothing."""
    try:
        return select(objects, word)
    except resource_names.NotThere:
        return ()


def _missing(objects: Objects, word: str | None) -> str:
    """Return that what is waited for is not there yet, and what is: a misspelt name never comes."""
    try:
        if word is not None:
            choose(objects, word)
    except resource_names.NotThere as error:
        return error.message
    return ""


def code_of(nodes: tuple[Branch, ...]) -> int:
    """Return how a command ends that found the cloud so. Pure."""
    if not nodes:
        return exit_codes.NOT_READY
    state = tree.worst(nodes)
    if state is State.READY:
        return exit_codes.DONE
    return exit_codes.IN_ERROR if state is State.ERROR else exit_codes.NOT_READY


def _print(namespace: str, nodes: tuple[Branch, ...], output: str, word: str | None = None) -> None:
    if output == JSON:
        click.echo(cloud_report.report(namespace, nodes))
    elif not nodes:
        missing = f"There is no {word} in namespace {namespace} yet."
        cloud = f"There is no cloud in namespace {namespace}; create an OpenStackControlPlane there."
        click.echo(missing if word else cloud, err=True)
    elif sys.stdout.isatty():
        console = Console()
        console.print(cloud_report.colour(nodes, clock.now(), console.width))
    else:
        click.echo("\n".join(cloud_report.lines(nodes, clock.now())))
