"""Waits for something to become true: in the cluster woken by a watch and never by a clock, elsewhere by asking."""

import asyncio
import contextlib
import inspect
from collections.abc import Callable
from typing import Any

from stackwright.kube.builtin import Event
from stackwright.kube.client import Client
from stackwright.kube.conditions import is_true
from stackwright.kube.resource import Key, R

# How long a loaded machine may take; a test that passes never waits that long.
PATIENCE = 180.0


async def eventually(
    client: Client,
    kind: type[R],
    name: str,
    namespace: str,
    holds: Callable[[R], object],
    *,
    patience: float = PATIENCE,
) -> R:
    """Return the object as soon as `holds` says so of it; fail with its last state when that does not come."""
    last: R | None = None
    events = client.watch(kind, namespace, fields=f"metadata.name={name}", initial=True)
    try:
        async with asyncio.timeout(patience), contextlib.aclosing(events):
            async for event in events:
                if event.type in {"ADDED", "MODIFIED"}:
                    last = event.object
                    if holds(last):
                        return last
    except TimeoutError:
        pass
    raise AssertionError(f"{kind.kind} {name} did not come to be as expected within {patience:g} s: {last}")


def is_ready(resource: Any) -> bool:
    """Return whether a resource is ready as it was asked for last."""
    current = resource.status.observedGeneration == resource.metadata.generation
    return current and is_true(resource.status.conditions)


def is_false(words: str, condition: str = "") -> Callable[[Any], bool]:
    """Return what holds of a resource one of whose conditions, or the one that is named, is false with these words."""

    def holds(resource: Any) -> bool:
        return any(
            found.status == "False" and words in found.message
            for found in resource.status.conditions
            if condition in ("", found.type)
        )

    return holds


async def until(ask: Callable[[], Any], holds: Callable[[Any], object] = bool) -> Any:
    """Ask again and again until the answer, which may have to be awaited, is right: for what cannot be watched."""
    found: Any = None
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = ask()
                found = await answer if inspect.isawaitable(answer) else answer
                if holds(found):
                    return found
                await asyncio.sleep(0.05)
    except TimeoutError:
        pass
    raise AssertionError(f"the answer did not come to be as expected: {found}")


async def gone(client: Client, kind: type[Any], name: str, namespace: str) -> None:
    """Return when an object is not there any more; fail when it stays."""
    events = client.watch(kind, namespace, fields=f"metadata.name={name}", initial=True)
    try:
        async with asyncio.timeout(PATIENCE), contextlib.aclosing(events):
            if await client.find(kind, name, namespace) is None:
                return
            async for event in events:
                if event.type == "DELETED" or await client.find(kind, name, namespace) is None:
                    return
    except TimeoutError:
        pass
    raise AssertionError(f"{kind.kind} {name} did not go within {PATIENCE:g} s")


async def some(
    client: Client, kind: type[R], namespace: str, holds: Callable[[list[R]], object], *, labels: str = ""
) -> list[R]:
    """Return all objects of a kind as soon as `holds` says so of them together."""
    found: dict[Key, R] = {}
    listed = False
    events = client.watch(kind, namespace, labels=labels, initial=True)
    try:
        async with asyncio.timeout(PATIENCE), contextlib.aclosing(events):
            async for event in events:
                listed = listed or event.initial_events_end
                if event.type == "DELETED":
                    found.pop(event.object.key, None)
                elif event.type != "BOOKMARK":
                    found[event.object.key] = event.object
                if listed and holds(list(found.values())):
                    return list(found.values())
    except TimeoutError:
        pass
    raise AssertionError(f"the objects of {kind.kind} did not come to be as expected: {list(found.values())}")


async def told(client: Client, namespace: str, of: str, reason: str, note: str = "") -> Event:
    """Return the first event with that reason about an object of that name, once somebody tells it."""
    found = await some(
        client,
        Event,
        namespace,
        lambda events: any(_matches(event, of, reason, note) for event in events),
    )
    return next(event for event in found if _matches(event, of, reason, note))


def _matches(event: Event, of: str, reason: str, note: str) -> bool:
    return event.reason == reason and event.regarding.get("name", "") == of and note in event.note


async def names(client: Client, kind: type[R], namespace: str) -> set[str]:
    """Return the names of all objects of a kind in a namespace."""
    return {item.metadata.name for item in await client.list(kind, namespace)}
