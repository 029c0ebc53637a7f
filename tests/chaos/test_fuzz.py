"""Random creations and updates of every kind, on a real API server: nothing fails, nothing loops, nothing grows.

Services come up as far as the simulator plays their pods. The seed is printed with the figures; $FUZZ_SEED repeats a
run, $FUZZ_OPERATIONS and $FUZZ_SECONDS make it longer.
"""

import asyncio
import os
import secrets
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stackwright.kube.client import Client
from stackwright.local.apiserver.server import ApiServer
from tests.chaos.fuzzing import watched
from tests.chaos.fuzzing.fuzzer import Fuzzer
from tests.chaos.fuzzing.operator import NAME
from tests.chaos.fuzzing.scene import SETTLING, operated, settled

OPERATIONS = int(os.environ.get("FUZZ_OPERATIONS", "1500"))
SECONDS = float(os.environ.get("FUZZ_SECONDS", "240"))
# For how long it is watched then, in seconds, and how many passes a controller may end in that time for each of its
# resources: what cannot be watched is looked at again, and what fails is tried again with growing pauses.
WINDOW = 30.0
PASSES = 5
MEGABYTES = 400
RECONCILES = "controller_runtime_reconcile_total"


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
    running = operated(
        private_apiserver, client, namespace, kubernetes["helm"], tmp_path / "operator", webhooks=webhooks
    )
    async with running as operator:
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
