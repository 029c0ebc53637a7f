"""Everything of a cloud that a tree is made of: read once, or followed by watches."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog

from stackwright import services, tasks
from stackwright.cli import finding, showing, tree
from stackwright.cli.tree import WORKLOADS, Node, Seen, State
from stackwright.kube import discovery
from stackwright.kube.client import Client
from stackwright.kube.informer import Informer
from stackwright.kube.resource import Resource
from stackwright.local.progress import Progress


def kinds() -> tuple[type[Resource], ...]:
    """Return the kinds that stand in a tree."""
    return (*services.kinds(), *WORKLOADS)


async def read(client: Client, namespace: str) -> Seen:
    """Return what is there now."""
    return Seen(await finding.all_of(client, kinds(), namespace))


class Following:
    """What is there, kept up to date."""

    def __init__(self, informers: tuple[Informer[Any], ...]) -> None:
        self._informers = informers
        self._changed = asyncio.Event()
        for informer in informers:
            informer.subscribe(lambda _: self._changed.set())

    @property
    def seen(self) -> Seen:
        """What is there now."""
        return Seen(resource for informer in self._informers for resource in informer.store.list())

    @property
    def trouble(self) -> str:
        """Why what is shown may be old; "" when it is not. A kind that is not installed is no trouble."""
        troubles = (informer.trouble for informer in self._informers if informer.has_synced)
        return next(filter(None, troubles), "")

    async def changed(self, within: float | None = None) -> None:
        """Wait until something changed, or for some seconds: times go on, and trouble comes without an event."""
        try:
            async with asyncio.timeout(within):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()


@asynccontextmanager
async def following(client: Client, namespace: str) -> AsyncIterator[Following]:
    """Follow a namespace for the time of a block, which begins when all is there that was there before."""
    # What an informer has to say is shown in the tree's own words.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    # Asked once before it is followed: who may not look is told so at once, and does not wait for ever.
    await read(client, namespace)
    there = await installed(client)
    informers = tuple(Informer[Any](client, kind, namespace=namespace) for kind in kinds())
    found = Following(informers)
    running = [tasks.start(informer.run()) for informer in informers]
    try:
        await asyncio.gather(*(informer.synced() for informer in informers if informer.kind in there))
        yield found
    finally:
        await tasks.end(*running)


async def tell_until(
    ready: Callable[[tuple[Node, ...]], bool],
    look: Callable[[], tuple[Node, ...]],
    changed: Callable[[], Awaitable[None]],
    progress: Progress,
) -> None:
    """Say what changes in a tree until it is ready; what is ready from the start is not worth a line."""
    before: showing.Told = showing.told(
        node for node in tree.flat(look()) if node.state is State.READY and not node.children
    )
    while not ready(nodes := look()):
        after = showing.told(nodes)
        for line in showing.changes(before, after):
            progress.say(line)
        before = after
        await changed()


async def installed(client: Client) -> set[type[Resource]]:
    """Return those of the kinds that the cluster has."""
    known = {resource.kind for resource in await discovery.resources(client)}
    return {kind for kind in kinds() if kind.kind in known}
