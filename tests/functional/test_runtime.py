"""A controller on the real API server: it makes children, notes what it did, and survives the server's restarts.

The controller copies every ConfigMap with a `content` into a Secret that it owns, and notes the content in an
annotation, as others write a status.
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic

import pytest

from stackwright.kube import metrics
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.informer import Change, Informer
from stackwright.kube.resource import JsonObject, Key, ObjectMeta, R, owner_reference
from stackwright.kube.runtime import Runtime
from stackwright.local.apiserver.server import ApiServer

NOTE = "example.org/copied"
PATIENCE = 180.0


@dataclass
class Copier:
    """The controller, and how often it wrote."""

    applied: int = 0
    noted: int = 0
    # What a test does in the middle of a run, between the two writes.
    between: Callable[[Key], None] = field(default=lambda _key: None)

    async def reconcile(self, key: Key, context: Context) -> Result | None:
        source = context.store(ConfigMap).get(key)
        if source is None or "content" not in source.data:
            return None
        copy = context.store(Secret).get(key)
        wanted = base64.b64encode(source.data["content"].encode()).decode()
        if copy is None or copy.data != {"content": wanted}:
            self.applied += 1
            metadata = {"name": key.name, "namespace": key.namespace, "ownerReferences": [owner_reference(source)]}
            await context.client.apply(Secret, {"metadata": metadata, "data": {"content": wanted}})
        self.between(key)
        if source.metadata.annotations.get(NOTE) != source.data["content"]:
            self.noted += 1
            note = {"metadata": {"annotations": {NOTE: source.data["content"]}}}
            await context.client.patch(ConfigMap, key.name, key.namespace, note)
        return None

    def controller(self) -> Controller:
        return Controller(name="copier", kind=ConfigMap, reconcile=self.reconcile, owns=(Secret,), workers=4)


class View(Generic[R]):
    """What the server has of a kind, and a way to wait for it to be so."""

    def __init__(self, client: Client, kind: type[R], namespace: str) -> None:
        self.informer = Informer(client, kind, namespace=namespace)
        self.informer.subscribe(self._changed)
        self._more = asyncio.Event()

    def _changed(self, _change: Change[R]) -> None:
        self._more.set()

    async def until(self, holds: Callable[[dict[str, R]], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.informer.synced()
            while not holds({item.metadata.name: item for item in self.informer.store.list()}):
                self._more.clear()
                await self._more.wait()


@dataclass
class Copies:
    """Both kinds as they are on the server."""

    sources: View[ConfigMap]
    copies: View[Secret]

    async def until(self, contents: dict[str, str]) -> None:
        """Wait until exactly these contents are copied and noted."""
        encoded = {name: base64.b64encode(content.encode()).decode() for name, content in contents.items()}
        await self.copies.until(lambda found: {name: item.data["content"] for name, item in found.items()} == encoded)
        await self.sources.until(
            lambda found: (
                {name: item.metadata.annotations.get(NOTE) for name, item in found.items() if "content" in item.data}
                == contents
            )
        )


@contextlib.asynccontextmanager
async def watching(client: Client, namespace: str) -> AsyncIterator[Copies]:
    copies = Copies(View(client, ConfigMap, namespace), View(client, Secret, namespace))
    tasks = [asyncio.create_task(view.informer.run()) for view in (copies.sources, copies.copies)]
    try:
        yield copies
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@contextlib.asynccontextmanager
async def running(runtime: Runtime) -> AsyncIterator[None]:
    task = asyncio.create_task(runtime.run())
    try:
        yield
    finally:
        runtime.stop()
        async with asyncio.timeout(PATIENCE):
            await task


def source(name: str, namespace: str, content: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": namespace}, "data": {"content": content}}


async def create(client: Client, namespace: str, names: Iterable[str], content: str = "first") -> None:
    await asyncio.gather(*(client.create(ConfigMap, source(name, namespace, content)) for name in names))


async def test_children_are_made_changed_made_again_and_collected(client: Client, namespace: str) -> None:
    names = [f"item-{number}" for number in range(20)]
    await create(client, namespace, names[:10])
    copier = Copier()
    runtime = Runtime(client, (copier.controller(),), namespace=namespace)
    async with watching(client, namespace) as copies, running(runtime):
        await create(client, namespace, names[10:])
        contents = dict.fromkeys(names, "first")
        await copies.until(contents)
        assert (copier.applied, copier.noted) == (20, 20), "one write each: the cache is waited for"

        await client.apply(ConfigMap, source("item-1", namespace, "second"))
        await copies.until(contents | {"item-1": "second"})

        first = await client.get(Secret, "item-2", namespace)
        await client.delete(Secret, "item-2", namespace)
        await copies.copies.until(
            lambda found: "item-2" in found and found["item-2"].metadata.uid != first.metadata.uid
        )

        await client.delete(ConfigMap, "item-3", namespace)
        del contents["item-3"]
        await copies.until(contents | {"item-1": "second"})  # The garbage collector took the copy.
        assert all(informer._streaming for informer in runtime.informers.all()), "this server lists in a stream"


async def test_lists_in_pages_give_the_same(client: Client, namespace: str) -> None:
    names = [f"item-{number}" for number in range(5)]
    await create(client, namespace, names)
    runtime = Runtime(client, (Copier().controller(),), namespace=namespace)
    for informer in runtime.informers.all():
        informer._streaming = False
    async with watching(client, namespace) as copies, running(runtime):
        await copies.until(dict.fromkeys(names, "first"))
        await client.delete(ConfigMap, "item-0", namespace)
        await copies.until(dict.fromkeys(names[1:], "first"))


@pytest.mark.parametrize("crash_at", [1, 3])
async def test_a_crash_between_two_writes_and_a_restart_converge(client: Client, namespace: str, crash_at: int) -> None:
    names = [f"item-{number}" for number in range(6)]
    await create(client, namespace, names)
    reached = 0
    task: asyncio.Task[None] | None = None

    def crash(_key: Key) -> None:
        nonlocal reached
        reached += 1
        if reached == crash_at:
            assert task is not None
            task.cancel()

    task = asyncio.create_task(Runtime(client, (Copier(between=crash).controller(),), namespace=namespace).run())
    with pytest.raises(asyncio.CancelledError):
        await task
    async with watching(client, namespace) as copies:
        await copies.sources.until(lambda found: any(NOTE not in item.metadata.annotations for item in found.values()))
        async with running(Runtime(client, (Copier().controller(),), namespace=namespace)):
            await copies.until(dict.fromkeys(names, "first"))


async def test_a_killed_server_is_waited_for(
    private_apiserver: ApiServer, private_client: Client, private_namespace: str
) -> None:
    client, namespace = private_client, private_namespace
    names = [f"item-{number}" for number in range(30)]
    copier = Copier()
    async with (
        watching(client, namespace) as copies,
        running(Runtime(client, (copier.controller(),), namespace=namespace)),
    ):
        await create(client, namespace, names[:10])
        await copies.until(dict.fromkeys(names[:10], "first"))

        # Killed while it is written to, twice.
        contents = dict.fromkeys(names[:10], "first")
        for wave in (names[10:20], names[20:]):
            await create(client, namespace, wave)
            await asyncio.to_thread(private_apiserver.kill, "kube-apiserver")
            await asyncio.to_thread(private_apiserver.start, "kube-apiserver")
            contents |= dict.fromkeys(wave, "first")
            await copies.until(contents)

        # And it goes on as before.
        await client.apply(ConfigMap, source("item-0", namespace, "second"))
        await client.delete(ConfigMap, "item-1", namespace)
        del contents["item-1"]
        await copies.until(contents | {"item-0": "second"})
    await forgotten_versions_are_listed_anew(client, namespace)


async def forgotten_versions_are_listed_anew(client: Client, namespace: str) -> None:
    """A server that was restarted says 410 to versions from before; the missed deletes are reported all the same."""
    before = [await client.get(ConfigMap, name, namespace) for name in ("item-5", "item-6")]
    await client.apply(ConfigMap, source("item-6", namespace, "second"))
    gone = ConfigMap(metadata=ObjectMeta(name="gone", namespace=namespace, uid="gone", resourceVersion="1"))
    # As a process that slept for long: it knows three objects, and a version of which the history is gone.
    informer = Informer(client, ConfigMap, namespace=namespace)
    for known in (*before, gone):
        informer._put(known)
    informer._must_list = False
    informer._progress.advance(1)
    changes: dict[str, bool] = {}
    informer.subscribe(lambda change: changes.update({change.resource.metadata.name: change.new is None}))
    changes.clear()
    task = asyncio.create_task(informer.run())
    await asyncio.wait_for(informer.synced(), PATIENCE)
    task.cancel()
    await asyncio.wait((task,))
    assert changes["gone"] is True
    assert changes["item-6"] is False
    assert "item-5" not in changes, "it did not change"
    assert metrics.informer_relists_total.labels("ConfigMap", "gone")._value.get() >= 1
