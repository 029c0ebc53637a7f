"""What an operator under test meets, and the end of its work."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stackwright.kube.builtin import Secret, StorageClass
from stackwright.kube.client import Client
from stackwright.kube.errors import Invalid
from stackwright.kube.pace import SILENCE
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.simulator import Script, simulated, storage_class
from tests.chaos.fuzzing import watched
from tests.chaos.fuzzing.operator import EVERY_SECONDS, NAME
from tests.chaos.fuzzing.watched import Operator
from tests.functional.crds.samples import LEAST
from tests.functional.definitions import defined
from tests.ports import free_port

# How long the operator may work on what was written at last.
SETTLING = 120.0
# For how long nothing may happen before that is the end of its work.
CALM = SILENCE + 2.0


async def surroundings(client: Client, namespace: str) -> None:
    """Make what resources refer to, some of it as it should not be."""
    await defined(client)
    for name in ("local", "openstack"):
        await client.apply(StorageClass, storage_class(name))
    keys = ("AdminPassword", "GlancePassword", "PlacementPassword", "BarbicanPassword", "BarbicanSimpleCryptoKEK")
    good, bad = dict.fromkeys(keys, "wonderland"), dict.fromkeys(keys, " ends in a newline\n")
    for name, content in (("osp-secret", good), ("other", bad), ("keystone", {})):
        body = {"metadata": {"name": name, "namespace": namespace}, "stringData": content}
        await client.apply(Secret, body, field_manager="user")


async def asked(client: Client, namespace: str) -> None:
    """Wait until the API server asks the operator's webhooks, which alone refuse a broken snippet."""
    spec = {**LEAST["KeystoneAPI"], "customServiceConfig": "no section here"}
    body = {"metadata": {"name": "asked", "namespace": namespace}, "spec": spec}
    async with asyncio.timeout(60.0):
        while True:
            try:
                await client.apply(KeystoneAPI, body, dry_run=True)
            except Invalid:
                return
            await asyncio.sleep(0.2)  # What the API server has read of its own objects cannot be watched.


@contextlib.asynccontextmanager
async def operated(
    server: ApiServer, client: Client, namespace: str, helm: Path, folder: Path, *, webhooks: bool
) -> AsyncIterator[Operator]:
    """Run an operator, with pods that are played, for the time of a block; it begins when all is watched."""
    await surroundings(client, namespace)
    running = watched.operating(server.kubeconfig, namespace, helm, folder, free_port() if webhooks else 0)
    async with simulated(client, namespace, Script()):
        with running as operator:
            await operator.until(lambda: "all caches are complete" in operator.log, "its caches are complete", 60.0)
            if webhooks:
                await asked(client, namespace)
            yield operator


async def settled(operator: Operator, audit: Path) -> float | None:
    """Wait until no controller has anything to do, or has written; return after how many seconds, None for never.

    A status that was put off stands in no queue, and writing it may wake others. So it is the server that says whether
    anything was written for longer than the longest pause.
    """
    began, calm = time.monotonic(), 0.0
    while calm < CALM or watched.writes(audit, NAME, (datetime.now(UTC) - timedelta(seconds=CALM)).isoformat()):
        await operator.until(lambda: True, "it lives", 1.0)
        await asyncio.sleep(EVERY_SECONDS)  # A file cannot be watched with the standard library.
        depth = sum(operator.counted("workqueue_depth").values())
        working = sum(operator.counted("controller_runtime_active_workers").values())
        calm = calm + EVERY_SECONDS if depth == working == 0 else 0.0
        if time.monotonic() > began + SETTLING:
            return None
    return time.monotonic() - began
