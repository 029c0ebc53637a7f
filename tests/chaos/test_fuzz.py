"""Random creations and updates of every kind, on a real API server: nothing fails, nothing loops, nothing grows.

Services come up as far as the simulator plays their pods. The seed is printed with the figures; $FUZZ_SEED repeats a
run, $FUZZ_OPERATIONS and $FUZZ_SECONDS make it longer.
"""

import asyncio
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stackwright.kube.builtin import Secret, StorageClass
from stackwright.kube.client import Client
from stackwright.kube.errors import Invalid
from stackwright.kube.pace import SILENCE
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.simulator import Script, simulated, storage_class
from tests.chaos.fuzzing import watched
from tests.chaos.fuzzing.fuzzer import Fuzzer
from tests.chaos.fuzzing.operator import EVERY_SECONDS, NAME
from tests.chaos.fuzzing.watched import Operator
from tests.functional.conftest import (
    kubernetes,
    private_apiserver,
    private_client,
    private_namespace,
    second_apiserver,
)
from tests.functional.crds.samples import LEAST
from tests.functional.definitions import defined

__all__ = ["kubernetes", "private_apiserver", "private_client", "private_namespace", "second_apiserver"]

OPERATIONS = int(os.environ.get("FUZZ_OPERATIONS", "1500"))
SECONDS = float(os.environ.get("FUZZ_SECONDS", "240"))
# How long the operator may work on what was written at last.
SETTLING = 120.0
# For how long nothing may happen before that is the end of its work.
CALM = SILENCE + 2.0
# For how long it is watched then, in seconds, and how many passes a controller may end in that time for each of its
# resources: what cannot be watched is looked at again, and what fails is tried again with growing pauses.
WINDOW = 30.0
PASSES = 5
MEGABYTES = 400
RECONCILES = "controller_runtime_reconcile_total"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


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


@pytest.mark.parametrize("webhooks", [pytest.param(True, id="webhooks-on"), pytest.param(False, id="webhooks-off")])
async def test_whatever_is_written_nothing_fails_and_nothing_goes_on_for_ever(
    kubernetes: dict[str, Path],
    private_apiserver: ApiServer,
    private_client: Client,
    private_namespace: str,
    tmp_path: Path,
    tell: Callable[[str], None],
    webhooks: bool,
) -> None:
    client, namespace, audit = private_client, private_namespace, private_apiserver.audit_log
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbelow(2**32))
    await surroundings(client, namespace)
    port = free_port() if webhooks else 0
    running = watched.operating(
        private_apiserver.kubeconfig, namespace, kubernetes["helm"], tmp_path / "operator", port
    )
    async with simulated(client, namespace, Script()):
        with running as operator:
            await operator.until(lambda: "all caches are complete" in operator.log, "its caches are complete", 60.0)
            if webhooks:
                await asked(client, namespace)
            first = operator.memory()
            fuzzer = Fuzzer(client, namespace, seed)
            sent = await fuzzer.run(OPERATIONS, SECONDS)
            took = await settled(operator, audit)
            calm = datetime.now(UTC).isoformat()
            before = operator.counted(RECONCILES)
            await asyncio.sleep(WINDOW)  # That is the time in which too much must not happen.
            after = operator.counted(RECONCILES)
            last, most = operator.memory(), operator.memory("VmHWM")
            word = "on" if webhooks else "off"
            tell(
                f"fuzzed with webhooks {word}, seed {seed}: {sent} requests, {dict(sorted(fuzzer.answers.items()))}; "
                f"settled after {took or SETTLING:.0f} s; memory {first} MB before, {last} MB after, {most} MB at most"
            )
            passes = {name: after[name] - before.get(name, 0.0) for name in after}
            panics = operator.counted("controller_runtime_reconcile_panics_total")
            troubles = {
                "not settled": took is None,
                "answers that are failures of the server": fuzzer.failures,
                "failures of the server, whoever asked": watched.failures(audit),
                "requests of which a webhook could not say anything": watched.unasked(audit),
                "lines of the log that only a bug explains": operator.troubles,
                "bugs that controllers met": {name: count for name, count in panics.items() if count},
                # There are four names, so hardly more resources of a kind.
                "passes without end": {name: count for name, count in passes.items() if count > 4 * PASSES},
                "writes after all was settled": Counter(watched.writes(audit, NAME, calm)),
                "megabytes": most if most > MEGABYTES else 0,
            }
    assert {name: found for name, found in troubles.items() if found} == {}, f"seed {seed}"
    # Enough of both sorts got through to mean something.
    assert fuzzer.answers["create 201"] > 20, fuzzer.answers
    assert fuzzer.answers["update 200"] > sent / 10, fuzzer.answers
