"""Everything of a cloud that a tree is made of: read once, or followed by watches."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from stackwright import tasks
from stackwright.foresight.kinds import tree_kinds
from stackwright.foresight.objects import Objects, list_kinds
from stackwright.kube import discovery
from stackwright.kube.client import Client
from stackwright.kube.informer import Informer
from stackwright.kube.resource import Resource


async def read(client: Client, namespace: str) -> Objects:
    """Return what is there now."""
    return Objects(await list_kinds(client, tree_kinds(), namespace))


class Mirror:
    """What is there, kept up to date."""

    def __init__(self, informers: tuple[Informer[Any], ...]) -> None:
        self._informers = informers
        self._changed = asyncio.Event()
        for informer in informers:
            informer.subscribe(lambda _: self._changed.set())

    @property
    def objects(self) -> Objects:
        """What is there now."""
        return Objects(resource for informer in self._informers for resource in informer.store.list())

    @property
    def trouble(self) -> str:
        """Why what is shown may be old; "" when it is not. A kind that is not installed is no trouble."""
        troubles = (informer.trouble for informer in self._informers if informer.has_synced)
        return next(filter(None, troubles), "")

    async def wait_for_change(self, within: float | None = None) -> None:
        """Wait until something changed, or for some seconds: times go on, and trouble comes without an event."""
        try:
            async with asyncio.timeout(within):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()


@asynccontextmanager
async def follow(client: Client, namespace: str) -> AsyncIterator[Mirror]:
    """Follow a namespace for the time of a block, which begins when all is there that was there before."""
    # Asked once before it is followed: who may not look is told so at once, and does not wait for ever.
    await read(client, namespace)
    there = await list_installed(client)
    informers = tuple(Informer[Any](client, kind, namespace=namespace) for kind in tree_kinds())
    found = Mirror(informers)
    running = [tasks.start(informer.run()) for informer in informers]
    try:
        await tasks.together(*(informer.synced() for informer in informers if informer.kind in there))
        yield found
    finally:
        await tasks.end(*running)


async def list_installed(client: Client) -> set[type[Resource]]:
    """Return those of the kinds that the cluster has."""
    known = {resource.kind for resource in await discovery.resources(client)}
    return {kind for kind in tree_kinds() if kind.kind in known}
