"""The same cache as a user of kubernetes_asyncio writes it: a list in pages into a dict, then a watch.

Objects are kept as the library gives them. A thrifty user would drop a part of each; that is measured too.
"""

import asyncio
import contextlib
import os
from typing import Any

from kubernetes_asyncio import (  # type: ignore[import-not-found, unused-ignore]  # only its own environment has it
    client,
    config,
    watch,
)

from benchmarks.parts.measuring import Meter, say
from benchmarks.runtime_parts.names import GROUP, NODES, SYNCED, THRIFTY_VARIABLE, VERSION, namespace

Cache = dict[tuple[str, str], dict[str, Any]]
THRIFTY = THRIFTY_VARIABLE in os.environ


def key_of(item: dict[str, Any]) -> tuple[str, str]:
    """Return which object this is."""
    return item["metadata"]["namespace"], item["metadata"]["name"]


def keep(cache: Cache, item: dict[str, Any]) -> None:
    """Put an object into the cache."""
    if THRIFTY:
        item["metadata"].pop("managedFields", None)
    cache[key_of(item)] = item


async def fill(api: Any, cache: Cache) -> str:
    """List all nodes into the cache; return the version of the list."""
    token = ""
    while True:
        page = await api.list_namespaced_custom_object(
            GROUP, VERSION, namespace(), NODES, limit=500, **({"_continue": token} if token else {})
        )
        for item in page["items"]:
            keep(cache, item)
        token = page["metadata"].get("continue", "")
        if not token:
            return str(page["metadata"]["resourceVersion"])


async def follow(api: Any, cache: Cache, version: str) -> None:
    """Keep the cache as the server has it."""
    stream = watch.Watch().stream(
        api.list_namespaced_custom_object, GROUP, VERSION, namespace(), NODES, resource_version=version
    )
    async with stream as events:
        async for event in events:
            item = event["object"]
            if event["type"] == "DELETED":
                cache.pop(key_of(item), None)
            else:
                keep(cache, item)


async def main() -> None:
    """Fill the cache, follow, and be measured."""
    meter = Meter()
    await config.load_kube_config()
    async with client.ApiClient() as connection:
        api = client.CustomObjectsApi(connection)
        cache: Cache = {}
        version = await fill(api, cache)
        following = asyncio.ensure_future(follow(api, cache, version))
        say(SYNCED)
        await meter.report()
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


if __name__ == "__main__":
    asyncio.run(main())
