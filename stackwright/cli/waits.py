"""Waiting until a resource is as somebody wants it, woken by a watch."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

import click

from stackwright.cli import exit_codes, resource_names
from stackwright.kube import conditions
from stackwright.kube.client import Client
from stackwright.kube.errors import Gone, Unreachable
from stackwright.kube.resource import CustomResource

C = TypeVar("C", bound=CustomResource)

# How long until a watch that broke is opened again.
AGAIN = 1.0


class Late(click.ClickException):
    """It did not come in time; the message says so."""

    exit_code = exit_codes.NOT_READY


async def _always() -> bool:
    return True


async def wait_until(
    client: Client,
    resource: C,
    holds: Callable[[C], bool],
    timeout: float,
    further: Callable[[], Awaitable[bool]] = _always,
) -> C:
    """Return the resource as soon as it is so, and what else is asked is too; raise Late when that takes too long."""
    seen = resource
    try:
        async with asyncio.timeout(timeout), aclosing(watch_resource(client, resource)) as states:
            async for seen in states:
                if holds(seen) and await further():
                    return seen
    except TimeoutError:
        pass
    raise Late(describe_lateness(seen, timeout))


def describe_lateness(seen: CustomResource, timeout: float) -> str:
    """Return that it took too long, and what the resource waits for, as far as it says so. Pure."""
    late = f"{resource_names.label(seen)}: the operator did not do it within {timeout:g} s"
    ready = conditions.find(seen.status.conditions, conditions.READY)
    if ready is None or ready.status == "True":
        return f"{late}; does one run?"
    return f"{late}; the resource says: {ready.reason}: {ready.message.rstrip('.')}."


async def watch_resource(client: Client, resource: C) -> AsyncGenerator[C]:
    """Yield a resource each time that it changes."""
    metadata = resource.metadata
    while True:
        events = client.watch(type(resource), metadata.namespace, fields=f"metadata.name={metadata.name}", initial=True)
        try:
            async with aclosing(events):
                async for event in events:
                    if event.type == "DELETED":
                        raise resource_names.NotThere(f"{resource_names.label(resource)} was deleted meanwhile.")
                    if event.type != "BOOKMARK":
                        yield event.object
        except (Gone, Unreachable):
            await asyncio.sleep(AGAIN)
