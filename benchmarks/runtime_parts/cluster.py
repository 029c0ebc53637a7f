"""What the benchmark does at the API server itself: objects made, statuses watched, writes counted."""

import asyncio
import re
import time
from collections.abc import Callable

from benchmarks.runtime_parts.kinds import Chore
from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.informer import Change, Informer
from stackwright.kube.resource import JsonObject, Key, R
from stackwright.kube.transport import Call
from stackwright.local.progress import Progress, share

# How many objects are made at once; more would only wait in the server.
AT_ONCE = 24
# The server counts an apply apart from other patches.
WRITES = ("APPLY", "PATCH", "PUT")


async def make(client: Client, kind: type[R], namespace: str, bodies: list[JsonObject], progress: Progress) -> None:
    """Make a namespace with these objects in it."""
    await client.create(Namespace, {"metadata": {"name": namespace}})
    began = time.monotonic()
    left = iter(bodies)
    done = 0

    async def work() -> None:
        nonlocal done
        for body in left:
            await client.create(kind, {**body, "metadata": {**body["metadata"], "namespace": namespace}})
            done += 1
            progress.update(f"Making {kind.kind.plural}: {share(done, len(bodies), time.monotonic() - began)}")

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())


async def written(client: Client, namespace: str, count: int, tell: Callable[[int], None]) -> None:
    """Wait until that many chores have the status of their generation."""
    done: set[Key] = set()
    all_done = asyncio.Event()

    def look(change: Change[Chore]) -> None:
        chore = change.resource
        if chore.status.phase and chore.status.observedGeneration == chore.metadata.generation:
            done.add(chore.key)
            tell(len(done))
        if len(done) == count:
            all_done.set()

    informer = Informer(client, Chore, namespace=namespace)
    informer.subscribe(look)
    following = asyncio.ensure_future(informer.run())
    try:
        await all_done.wait()
    finally:
        following.cancel()
        await asyncio.wait({following})


async def count_writes(client: Client) -> int:
    """Return how many changes of chores, and of their statuses, the server was asked for since it began."""
    reply = await client.transport.request(Call("GET", "/metrics", {}, accept="text/plain"))
    total = 0
    for line in reply.body.decode().splitlines():
        if line.startswith("apiserver_request_total{") and f'resource="{Chore.kind.plural}"' in line:
            verb = re.search(r'verb="(\w+)"', line)
            if verb is not None and verb.group(1) in WRITES:
                total += int(float(line.rpartition(" ")[2]))
    return total
