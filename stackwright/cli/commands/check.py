"""`stackwright check`: what would go wrong with a deployment, said before it."""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from stackwright.adapters.helm import Renderer
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint.images import ComponentImage
from stackwright.cli import artifacts, manifests, node_ways, resource_names
from stackwright.cli.commands.crds import OLDEST_KUBERNETES
from stackwright.cli.connection import Where, client_on, cloud_options, connection_of
from stackwright.cli.printing import check_report
from stackwright.foresight.checks import cluster_state, images, imagined_cloud, suite, ways
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import Means
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.operators import describe_blindness
from stackwright.kube import handwritten
from stackwright.kube.client import Client
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import JsonObject, Resource

TEXT, JSON = "text", "json"
TOPIC = imagined_cloud.TOPIC


@click.command()
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="A file that you want to deploy; repeatable, - is standard input. By default what is in the namespace.",
)
@click.option("-o", "--output", type=click.Choice([TEXT, JSON]), default=TEXT, show_default=True)
@click.option(
    "--nodes/--no-nodes",
    default=True,
    show_default=True,
    help="Test whether nodes can reach the cloud, if their services do not run yet.",
)
@cloud_options
def check(*, where: Where, files: tuple[Path, ...], output: str, nodes: bool) -> None:
    """Find problems before a deployment. Nothing is changed.

    It checks the files against our kinds and, as a dry run, against the server; the cluster's version, our kinds and
    an operator in it; storage classes, images, free capacity, names, Helm releases, passwords, and what pods read. It
    lists what it cannot check.

    From nodes that are to become computes it tests connections to Keystone, the broker, OVN and the APIs, in a run of
    Ansible that connects with each and is deleted afterwards; not with -f.

    The exit code is 0 if there is no problem, and 1 if there is one.
    """
    namespace, found = asyncio.run(_check(where, files, nodes=nodes))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else check_report.ENDLESS
    click.echo(check_report.report(namespace, found) if output == JSON else "\n".join(check_report.lines(found, width)))
    if code := check_report.code_of(found):
        raise click.exceptions.Exit(code)


async def _check(where: Where, files: tuple[Path, ...], *, nodes: bool) -> tuple[str, tuple[CheckResult, ...]]:
    given, bodies, invalid, unknown = read(files)
    named = where.namespace or _namespace_of(given)
    given, bodies, invalid = _in_one_namespace(named, bodies, invalid)
    try:
        connection = connection_of(where)
    except ConfigError:
        # Files can be read without a cluster, unless one was meant.
        if not files or where != Where(namespace=where.namespace) or os.environ.get("KUBECONFIG"):
            raise
        namespace = named or resource_names.DEFAULT_NAMESPACE
        return await _offline(namespace, given, invalid, unknown)
    async with client_on(connection, where.patience) as client:
        namespace = named or await resource_names.namespace_of(client, None)
        state = await cluster_state.read(client, namespace)
        planes = tuple(item for item in (given if files else state.planes) if isinstance(item, OpenStackControlPlane))
        if not files and not planes:
            blind = describe_blindness(state.operators, namespace)
            lacks = f"Namespace {namespace} has no OpenStackControlPlane; name a file with -f."
            raise click.ClickException(" ".join(filter(None, (lacks, blind))))
        known, unsure = _images(state)
        cloud = await imagined_cloud.imagine(namespace, given, planes, suite.find_foreign(state, planes), _means(known))
        rendered = [body for release in cloud.releases for body in release.rendered.objects]
        state = replace(state, objects=await cluster_state.read_objects(client, namespace, rendered))
        tried = await suite.try_manifests(client, state, bodies)
        outside = await _try_ways(client, state) if nodes and not files else ()
    of_cluster = suite.check_cluster(cloud, state, OLDEST_KUBERNETES)
    return namespace, (
        *of_cluster,
        *invalid,
        *unknown,
        *cloud.results,
        *tried,
        *unsure,
        *suite.check_cloud(cloud, state),
        *outside,
    )


async def _try_ways(client: Client, state: ClusterState) -> tuple[CheckResult, ...]:
    trials, untried = ways.plan(state)
    if not trials:
        return untried
    click.echo(f"Trying the way to the cloud from {', '.join(trial.node for trial in trials)}…", err=True)
    answers = await node_ways.try_ways(client, state.namespace, trials)
    return (*untried, *ways.judge(trials, answers))


async def _offline(
    namespace: str, given: tuple[Resource, ...], invalid: tuple[CheckResult, ...], unknown: tuple[CheckResult, ...]
) -> tuple[str, tuple[CheckResult, ...]]:
    """Return what can be said of files without a cluster."""
    planes = tuple(item for item in given if isinstance(item, OpenStackControlPlane))
    known, unsure = _images(None)
    cloud = await imagined_cloud.imagine(namespace, given, planes, (), _means(known))
    return namespace, tuple(suite.check_files(given, invalid, cloud, (*unknown, *unsure)))


def read(
    files: Iterable[Path],
) -> tuple[
    tuple[Resource, ...],
    tuple[tuple[Resource, JsonObject], ...],
    tuple[CheckResult, ...],
    tuple[CheckResult, ...],
]:
    """Return what files have: as resources, each with its manifest, what is wrong with them, and what is not known."""
    found: list[tuple[Resource, JsonObject]] = []
    wrong: list[CheckResult] = []
    unknown: list[CheckResult] = []
    for path in files:
        label = str(path)
        try:
            documents = handwritten.read(manifests.text_of(path))
            bodies = [body for document in documents for body in manifests.objects_of(document, label)]
        except handwritten.Unreadable as error:
            wrong.append(_problem(f"{error.about(label).removesuffix('.')}; correct it."))
            continue
        except manifests.BadManifest as error:
            wrong.append(_problem(error.message))
            continue
        if not bodies:
            wrong.append(_problem(f"{path} has no resource in it."))
        for body in bodies:
            try:
                item = manifests.resource_of(body, label)
            except manifests.BadManifest as error:
                wrong += [_problem(problem) for problem in error.problems]
                continue
            if item is not None:
                found.append((item, body))
            else:
                sentence = f"{path}: {body['kind']} of {body['apiVersion']} is of no kind that is known here."
                unknown.append(CheckResult(Level.UNKNOWN, TOPIC, sentence))
    return tuple(item for item, _ in found), tuple(found), tuple(wrong), tuple(unknown)


def _problem(sentence: str) -> CheckResult:
    return CheckResult(Level.PROBLEM, TOPIC, sentence)


def _in_one_namespace(
    namespace: str, found: tuple[tuple[Resource, JsonObject], ...], wrong: tuple[CheckResult, ...]
) -> tuple[tuple[Resource, ...], tuple[tuple[Resource, JsonObject], ...], tuple[CheckResult, ...]]:
    """Return what of the files is for the namespace; a Secret in another one, say, is none that pods there can read."""
    foreign = [reason for item, _ in found if (reason := manifests.elsewhere(item, namespace))]
    kept = tuple((item, body) for item, body in found if not manifests.elsewhere(item, namespace))
    return tuple(item for item, _ in kept), kept, (*wrong, *map(_problem, foreign))


def _namespace_of(given: Iterable[Resource]) -> str:
    """Return the namespace that files name."""
    return next((item.metadata.namespace for item in given if item.metadata.namespace), "")


def _images(state: ClusterState | None) -> tuple[dict[str, ComponentImage], tuple[CheckResult, ...]]:
    """Return which images would be run: those that the cluster's operators say, else those of this checkout."""
    stated = cluster_state.images_of(state) if state is not None else None
    if stated is not None:
        return stated, ()
    try:
        return artifacts.component_images(), ()
    except ConfigError as error:
        return {}, (CheckResult(Level.UNKNOWN, images.TOPIC, str(error)),)


def _means(known: dict[str, ComponentImage]) -> Means:
    """Return the charts and the helm of this machine."""
    charts = artifacts.charts()
    return Means(known, charts, Renderer(artifacts.helm(), trusted=charts, compared=True))
