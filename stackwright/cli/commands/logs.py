"""`stackwright logs`: what the pods behind a resource say."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

import click

from stackwright import services
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.cli import exit_codes, resource_names
from stackwright.cli.connection import Where, client_of, cloud_options
from stackwright.cli.parameters import Duration
from stackwright.foresight import pod_logs
from stackwright.foresight.kinds import service_kinds
from stackwright.foresight.pod_logs import Selection, Source
from stackwright.kube import pods as pod_calls
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, Gone, Unreachable
from stackwright.kube.resource import is_controlled
from stackwright.kube.watch import Lines

# What has pods, in order of preference: services; what runs of Ansible say of a node, or of one service on a node; and
# one run, of all its nodes.
KINDS: tuple[type[CustomResource], ...] = (
    *service_kinds(),
    OpenStackDataPlaneNode,
    *(each.kind for each in services.node_services()),
    OpenStackAnsibleEE,
)
# How long until a watch that broke is opened again.
AGAIN = 1.0


@dataclass(frozen=True)
class Wanted:
    """Which part of the logs is wanted."""

    follow: bool = False
    since: float | None = None
    tail: int | None = None
    container: str = ""
    previous: bool = False
    # Seconds in which the server has to say something, where a log ends by itself.
    patience: float | None = None


@click.command(epilog=exit_codes.TABLE)
@click.argument("resource", shell_complete=resource_names.complete_resource)
@click.option("-f", "--follow", is_flag=True, help="Follow the logs, including those of pods that start later.")
@click.option("--since", type=Duration(), help="Only lines that are not older than this: 90s, 10m, 1h30m.")
@click.option("--tail", type=click.IntRange(min=0), help="Only the last lines of each container, this many.")
@click.option("-c", "--container", default="", help="Only this container of each pod.")
@click.option("-p", "--previous", is_flag=True, help="The logs of each container before its last restart.")
@cloud_options
def logs(  # noqa: PLR0913  its options
    *,
    where: Where,
    resource: str,
    follow: bool,
    since: float | None,
    tail: int | None,
    container: str,
    previous: bool,
) -> None:
    """Print the logs of the pods behind a resource.

    RESOURCE has pods, for example keystone, keystoneapi/keystone or galera/openstack. The command prints the logs of
    all its pods, and of the last pod of each of its Jobs (such as db-sync). If there are several pods, each line begins
    with the name of its pod. For a resource that stands for others, such as novacell/nova-cell1, it prints those of
    the others too. For a machine outside of the cluster, node/NAME, it prints what the runs of Ansible say of
    that machine; for a service on such a machine, such as novaexternalcompute/NAME, only the runs of that service.
    """
    if follow and previous:
        raise click.UsageError("the logs before a restart cannot be followed; remove --follow or --previous")
    asyncio.run(_logs(where, resource, Wanted(follow, since, tail, container, previous, where.patience)))


async def _logs(where: Where, word: str, wanted: Wanted) -> None:
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        resource = await resource_names.find(client, word, namespace, KINDS)
        selection = pod_logs.select(resource, await _below(client, resource))
        there = await client.list(Pod, namespace, labels=selection.labels)
        chosen = pod_logs.choose_pods(pod for pod in there if selection.has(pod))
        if not chosen and not wanted.follow:
            raise resource_names.NotThere(
                f"{resource_names.label(resource)} has no pods; `stackwright status` says what it waits for."
            )
        sources = [source for pod in chosen for source in pod_logs.sources(pod, wanted.container)]
        if chosen and not sources and not wanted.follow:
            names = sorted({source.container for pod in chosen for source in _containers(pod)})
            raise click.UsageError(f"no pod has a container {wanted.container}; there are {', '.join(names)}")
        if wanted.follow:
            await _Follower(client, namespace, wanted, selection).run(chosen)
            return
        by_name = {pod.metadata.name: pod for pod in chosen}
        read: list[bool] = []
        for source, prefix in prefixes(sources).items():
            if not pod_logs.has_begun(by_name[source.pod], source.container):
                click.echo(f"{source.pod}/{source.container} has not started yet.", err=True)
                continue
            read.append(await _print(client, namespace, source, prefix, wanted, selection))
        if read and not any(read):
            # Why not was said of each.
            raise click.exceptions.Exit(exit_codes.FAILED)


async def _below(client: Client, resource: CustomResource) -> list[CustomResource]:
    """Return the resources that one stands for, and those that these stand for."""
    blueprint = services.blueprint_of(type(resource))
    found: list[CustomResource] = []
    for kind in blueprint.owns if blueprint is not None else ():
        if kind in KINDS:
            there = await client.list(kind, resource.metadata.namespace)
            found.extend(each for each in there if is_controlled(each, resource))
    for each in tuple(found):
        found.extend(await _below(client, each))
    return found


def _containers(pod: Pod) -> list[Source]:
    names = [entry["name"] for key in ("initContainers", "containers") for entry in pod.spec.get(key) or ()]
    return [Source(pod.metadata.name, name) for name in names]


@dataclass
class _Follower:
    """Reads on from every container of the pods, as they come and go."""

    client: Client
    namespace: str
    wanted: Wanted
    selection: Selection
    reading: dict[tuple[str, str, int], "asyncio.Task[None]"] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    async def run(self, chosen: list[Pod]) -> None:
        """Follow until cancelled. Of the Jobs' pods that were there before only the chosen ones are read."""
        there = await self.client.list(Pod, self.namespace, labels=self.selection.labels)
        names = {pod.metadata.name for pod in chosen}
        # Older pods of Jobs have ended: they have nothing more to say.
        self.seen = {pod.metadata.uid for pod in there if pod.metadata.name not in names}
        try:
            async with asyncio.TaskGroup() as group:
                async for pod in self._pods():
                    self._begin(pod, group)
        except BaseExceptionGroup as errors:
            # The first one ended the others: a reader of ours that has gone, or a server that refuses.
            raise errors.exceptions[0] from None

    async def _pods(self) -> AsyncIterator[Pod]:
        while True:
            events = self.client.watch(Pod, self.namespace, labels=self.selection.labels, initial=True)
            try:
                async with aclosing(events):
                    async for event in events:
                        if event.type in ("ADDED", "MODIFIED") and self.selection.has(event.object):
                            yield event.object
            except (Gone, Unreachable):
                await asyncio.sleep(AGAIN)

    def _begin(self, pod: Pod, group: asyncio.TaskGroup) -> None:
        """Begin to read each container that has begun; one that began anew is read again."""
        if pod.metadata.uid in self.seen:
            return
        for source in pod_logs.sources(pod, self.wanted.container):
            life = (pod.metadata.uid, source.container, _restarts(pod, source.container))
            if life in self.reading or not pod_logs.has_begun(pod, source.container):
                continue
            first = not any(uid == pod.metadata.uid and name == source.container for uid, name, _ in self.reading)
            wanted = self.wanted if first else Wanted(follow=True)
            prefix = f"[{source.pod}/{source.container}] "
            self.reading[life] = group.create_task(self._read(source, prefix, wanted))

    async def _read(self, source: Source, prefix: str, wanted: Wanted) -> None:
        """Print a log to its end; where the stream breaks, go on from there when the server answers again."""
        while True:
            began = time.monotonic()
            try:
                await _print(self.client, self.namespace, source, prefix, wanted, self.selection)
            except Unreachable as error:
                click.echo(str(error), err=True)
                await asyncio.sleep(AGAIN)
                wanted = Wanted(follow=True, since=time.monotonic() - began)
            else:
                return


def _restarts(pod: Pod, container: str) -> int:
    statuses = (*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ()))
    return next((int(entry.get("restartCount", 0)) for entry in statuses if entry.get("name") == container), 0)


async def _print(
    client: Client, namespace: str, source: Source, prefix: str, wanted: Wanted, selection: Selection
) -> bool:
    """Print the log of one container in whole lines, so that those of several do not mix.

    Return whether it could be read.
    """
    pieces = pod_calls.logs(
        client,
        source.pod,
        namespace,
        container=source.container,
        tail=wanted.tail,
        follow=wanted.follow,
        previous=wanted.previous,
        since=wanted.since,
        silence=None if wanted.follow else wanted.patience,
    )
    lines = Lines()
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                _write(prefix, filter(selection.concerns, lines.feed(piece)))
        _write(prefix, filter(selection.concerns, lines.feed(b"\n")))
    except ApiError as error:
        # One container that has nothing to tell is no reason not to hear the others.
        click.echo(f"{source.pod}/{source.container}: {error.message}", err=True)
        return False
    return True


def prefixes(chosen: Iterable[Source]) -> dict[Source, str]:
    """Return the prefix of each container's lines: empty if there is only one, otherwise what distinguishes them."""
    every = list(chosen)
    if len(every) < 2:
        return dict.fromkeys(every, "")
    counts: dict[str, int] = {}
    for source in every:
        counts[source.pod] = counts.get(source.pod, 0) + 1
    return {
        source: f"[{source.pod}/{source.container}] " if counts[source.pod] > 1 else f"[{source.pod}] "
        for source in every
    }


def _write(prefix: str, lines: Iterable[bytes]) -> None:
    for line in lines:
        if line:
            sys.stdout.write(f"{prefix}{line.decode(errors='replace')}\n")
    sys.stdout.flush()
