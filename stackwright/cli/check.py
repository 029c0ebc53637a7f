"""`stackwright check`: what would go wrong with a deployment, said before it."""

import asyncio
import importlib.metadata
import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click
import yaml

from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint.images import ComponentImage
from stackwright.cli import finding, manifests, places
from stackwright.cli.checks import capacity, cluster, images, inputs, names, planning, storage
from stackwright.cli.checks import findings as checked
from stackwright.cli.checks import world as worlds
from stackwright.cli.checks.findings import Finding, Level
from stackwright.cli.checks.planning import Plan
from stackwright.cli.checks.world import World
from stackwright.cli.connection import Where, client_on, cloud_options, connection_of
from stackwright.cli.crds import OLDEST_KUBERNETES
from stackwright.controllers.controlplane.resolution import Identity
from stackwright.kube import clock
from stackwright.kube.client import Client
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import CustomResource, JsonObject, Resource

TEXT, JSON = "text", "json"
TOPIC = planning.TOPIC


@click.command()
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="A file with what you want to deploy; repeatable, - is standard input. Else what is in the namespace.",
)
@click.option("-o", "--output", type=click.Choice([TEXT, JSON]), default=TEXT, show_default=True)
@cloud_options
def check(*, where: Where, files: tuple[Path, ...], output: str) -> None:
    """Say before a deployment what would go wrong. Nothing is changed.

    Looked at are: the files against our kinds and, as a trial, against the server; the cluster's version, our kinds
    and an operator in it; storage classes, images, room on the nodes, names, Helm releases, passwords, and what pods
    read. What cannot be known is said. It ends with 0 when there is no problem, and with 1 when there is one.
    """
    namespace, found = asyncio.run(_check(where, files))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else checked.ENDLESS
    click.echo(checked.report(namespace, found) if output == JSON else "\n".join(checked.lines(found, width)))
    if code := checked.code_of(found):
        raise click.exceptions.Exit(code)


async def _check(where: Where, files: tuple[Path, ...]) -> tuple[str, tuple[Finding, ...]]:
    given, bodies, invalid = read(files)
    try:
        connection = connection_of(where)
    except ConfigError:
        # Files can be read without a cluster, unless one was meant.
        if not files or where != Where(namespace=where.namespace):
            raise
        return await _offline(where.namespace or "", given, invalid)
    async with client_on(connection, where.patience) as client:
        namespace = where.namespace or _said(given) or await finding.namespace_of(client, None)
        world = await worlds.read(client, namespace)
        planes = tuple(item for item in (given if files else world.planes) if isinstance(item, OpenStackControlPlane))
        if not files and not planes:
            raise click.ClickException(f"Namespace {namespace} has no OpenStackControlPlane; name a file with -f.")
        known, unsure = _images(world)
        plan = await planning.plan(namespace, given, planes, foreign(world, planes), planning.means(known))
        rendered = [body for release in plan.releases for body in release.rendered.objects]
        world = replace(world, objects=await worlds.read_objects(client, namespace, rendered))
        tried = await _tried(client, world, bodies)
    return namespace, (*of_cluster(world), *invalid, *plan.findings, *tried, *unsure, *of_plan(plan, world))


async def _offline(
    asked: str, given: tuple[Resource, ...], invalid: tuple[Finding, ...]
) -> tuple[str, tuple[Finding, ...]]:
    """Return what can be said of files without a cluster."""
    namespace = asked or _said(given) or finding.DEFAULT_NAMESPACE
    planes = tuple(item for item in given if isinstance(item, OpenStackControlPlane))
    known, unsure = _images(None)
    plan = await planning.plan(namespace, given, planes, (), planning.means(known))
    sentence = "No cluster is named, and none runs on this machine: only the files were looked at."
    return namespace, (
        Finding(Level.UNKNOWN, "cluster", sentence),
        *(invalid or _well(given)),
        *plan.findings,
        *unsure,
        *names.lengths(plan),
        *images.images(plan, None),
        *inputs.references(plan, None),
    )


def of_cluster(world: World) -> Iterable[Finding]:
    """Return what there is to say of a cluster, whatever is deployed. Pure but for the version of this program."""
    version = importlib.metadata.version("stackwright")
    return (
        cluster.kubernetes(world, OLDEST_KUBERNETES),
        *cluster.definitions(world),
        *cluster.operators(world, version, clock.now()),
        cluster.namespace(world),
    )


def of_plan(plan: Plan, world: World) -> Iterable[Finding]:
    """Return what there is to say of a deployment. Pure."""
    return (
        *names.planes(plan, world),
        *names.lengths(plan),
        *names.objects(plan, world),
        *names.releases(plan, world),
        *storage.storage(plan, world),
        *images.images(plan, world),
        *capacity.capacity(plan, world),
        *inputs.umbrella(plan, world),
        *inputs.own_passwords(plan, world),
        *inputs.references(plan, world),
    )


def read(
    files: Iterable[Path],
) -> tuple[tuple[Resource, ...], tuple[tuple[Resource, JsonObject], ...], tuple[Finding, ...]]:
    """Return what files have: as resources, each with its manifest, and what is wrong with them."""
    found: list[tuple[Resource, JsonObject]] = []
    wrong: list[Finding] = []
    for path in files:
        try:
            text = manifests.text_of(path)
            documents = [body for body in yaml.safe_load_all(text) if body is not None]
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" (line {mark.line + 1})" if mark else ""
            wrong.append(Finding(Level.PROBLEM, TOPIC, f"{path} is not YAML{where}; correct it."))
            continue
        except manifests.BadManifest as error:
            wrong.append(Finding(Level.PROBLEM, TOPIC, error.message))
            continue
        for body in documents:
            try:
                found += [(item, body) for item in manifests.parse(yaml.safe_dump(body), str(path))]
            except manifests.BadManifest as error:
                wrong.append(Finding(Level.PROBLEM, TOPIC, error.message))
    return tuple(item for item, _ in found), tuple(found), tuple(wrong)


def foreign(world: World, planes: Iterable[OpenStackControlPlane]) -> set[Identity]:
    """Return the resources that somebody else made: a control plane uses them as they are. Pure."""
    wanted = {plane.metadata.name for plane in planes}
    uids = {item.metadata.uid for item in world.planes if item.metadata.name in wanted}
    return {
        (item.kind.name, item.metadata.name)
        for item in world.resources
        if (owner := item.metadata.controller) is None or owner.uid not in uids
    }


def _said(given: Iterable[Resource]) -> str:
    """Return the namespace that files name."""
    return next((item.metadata.namespace for item in given if item.metadata.namespace), "")


def _images(world: World | None) -> tuple[dict[str, ComponentImage], tuple[Finding, ...]]:
    """Return which images would be run: those that the cluster's operators say, else those of this checkout."""
    told = worlds.images_of(world) if world is not None else None
    if told is not None:
        return told, ()
    try:
        return places.component_images(), ()
    except ConfigError as error:
        return {}, (Finding(Level.UNKNOWN, images.TOPIC, str(error)),)


async def _tried(client: Client, world: World, bodies: Iterable[tuple[Resource, JsonObject]]) -> tuple[Finding, ...]:
    """Return what the server says to the manifests, without keeping them."""
    every = [(item, body) for item, body in bodies]
    if not every:
        return ()
    there = {item.metadata.name for item in world.definitions or ()}
    known = [one for one in every if not isinstance(one[0], CustomResource) or one[0].kind.crd_name in there]
    if world.here is None or (world.definitions is not None and len(known) < len(every)):
        lacks = f"namespace {world.namespace}" if world.here is None else "our kinds"
        labels = ", ".join(_label(item) for item, _ in every)
        sentence = f"{labels}: fits our kinds; the server is not asked while it lacks {lacks}."
        return (Finding(Level.UNKNOWN, TOPIC, sentence),)
    answers = await asyncio.gather(*(worlds.try_out(client, world.namespace, *one) for one in every))
    refused = [
        Finding(Level.PROBLEM, TOPIC, f"{_label(item)}: the server would refuse it: {answer}")
        for (item, _), answer in zip(every, answers, strict=True)
        if answer
    ]
    labels = ", ".join(_label(item) for item, _ in every)
    return tuple(refused) or (Finding(Level.OK, TOPIC, f"{labels}: the server would take it."),)


def _well(given: Iterable[Resource]) -> tuple[Finding, ...]:
    labels = ", ".join(_label(item) for item in given)
    return (Finding(Level.OK, TOPIC, f"{labels}: fits our kinds."),) if labels else ()


def _label(resource: Resource) -> str:
    return f"{resource.kind.name} {resource.metadata.name}"
