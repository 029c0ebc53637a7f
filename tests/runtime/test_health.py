"""The health server, asked over HTTP, and the watchdog of the event loop."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp
import pytest
import structlog

from stackwright.kube import metrics
from stackwright.kube.clock import Clock
from stackwright.kube.health import HealthServer, watch_lag


class Probe:
    """Asks one health server."""

    def __init__(self, server: HealthServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def get(self, path: str) -> tuple[int, str]:
        url = f"http://{self.server.host}:{self.server.port}{path}"
        async with self._session.get(url) as response:
            return response.status, await response.text()


@pytest.fixture
async def probe() -> AsyncIterator[Probe]:
    async with HealthServer(host="127.0.0.1", port=0) as health, aiohttp.ClientSession() as session:
        yield Probe(health, session)


async def test_a_process_without_checks_is_well(probe: Probe) -> None:
    assert await probe.get("/healthz") == (200, "ok")
    assert await probe.get("/readyz") == (200, "ok")


async def test_a_check_that_fails_is_named_with_its_reason(probe: Probe) -> None:
    why = "caches are not filled"
    probe.server.ready("informers", lambda: why)
    status, text = await probe.get("/readyz")
    assert status == 500
    assert text.splitlines() == [
        "[+]ping ok",
        "[-]informers failed: caches are not filled",
        "readyz check failed",
    ]
    assert await probe.get("/healthz") == (200, "ok")
    why = ""
    assert await probe.get("/readyz") == (200, "ok")


async def test_verbose_lists_what_is_well(probe: Probe) -> None:
    probe.server.live("loop", lambda: "")
    assert await probe.get("/healthz?verbose") == (200, "[+]ping ok\n[+]loop ok\nhealthz check passed\n")


async def test_a_note_is_shown_and_no_check_fails_by_it(probe: Probe) -> None:
    probe.server.note("definitions", "They are older than this operator")
    assert await probe.get("/readyz") == (200, "ok")
    said = "[+]ping ok\n[!]definitions: They are older than this operator\nreadyz check passed\n"
    assert await probe.get("/readyz?verbose") == (200, said)


async def test_a_check_can_be_asked_alone_or_left_out(probe: Probe) -> None:
    probe.server.ready("informers", lambda: "not yet")
    assert await probe.get("/readyz/ping") == (200, "ok")
    assert await probe.get("/readyz/informers") == (500, "not yet\n")
    assert (await probe.get("/readyz/nonsense"))[0] == 404
    assert await probe.get("/readyz?exclude=informers") == (200, "ok")


async def test_a_check_that_breaks_is_a_check_that_fails(probe: Probe) -> None:
    def broken() -> str:
        raise ZeroDivisionError("secret")

    probe.server.ready("broken", broken)
    status, text = await probe.get("/readyz")
    assert status == 500
    assert "ZeroDivisionError" in text
    assert "secret" not in text


async def test_metrics_are_scraped_under_their_names(probe: Probe) -> None:
    metrics.controller("widget").success.inc()
    metrics.queue("widget").depth.set(3)
    status, text = await probe.get("/metrics")
    assert status == 200
    assert 'controller_runtime_reconcile_total{controller="widget",result="success"} 1.0' in text
    assert 'workqueue_depth{controller="widget",name="widget"} 3.0' in text
    assert "event_loop_lag_seconds" in text
    assert "_created" not in text


async def test_the_worst_lag_of_the_window_is_exported_and_said() -> None:
    # The loop is late by these, one after the other.
    lags = [0.0, 0.1, 0.8, 0.2, 0.1, 0.1]
    time = 0.0
    exported: list[float] = []

    async def sleep(seconds: float) -> None:
        nonlocal time
        exported.append(metrics.event_loop_lag_seconds._value.get())
        if not lags:
            raise asyncio.CancelledError
        time += seconds + lags.pop(0)

    clock = Clock(monotonic=lambda: time, now=lambda: datetime.now(UTC), sleep=sleep)
    metrics.event_loop_lag_seconds.set(0)
    with structlog.testing.capture_logs() as logs, pytest.raises(asyncio.CancelledError):
        await watch_lag(interval=0.25, window=0.75, threshold=0.5, clock=clock)
    assert exported == pytest.approx([0.0, 0.0, 0.1, 0.8, 0.8, 0.8, 0.2])
    assert [(entry["event"], entry["seconds"]) for entry in logs] == [("the event loop was blocked", 0.8)]
