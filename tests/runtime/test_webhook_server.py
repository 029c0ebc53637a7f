"""The webhook server, asked over TLS as the API server asks it."""

import asyncio
import io
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import structlog
from aiohttp import web

from stackwright.kube import clock
from stackwright.kube.admission import bounds, certificates, load
from stackwright.kube.admission.certificate_sources import FileCertificates
from stackwright.kube.admission.certificates import Material
from stackwright.kube.admission.checks import Objections, Webhook
from stackwright.kube.admission.server import WebhookServer
from tests.runtime.widgets import WEBHOOK, Widget

VALIDATE = "/validate/admission.example.org/v1/widgets"
MUTATE = "/mutate/admission.example.org/v1/widgets"


def material() -> Material:
    return certificates.advance(None, clock.now(), names=("127.0.0.1",))


def use(server: WebhookServer, made: Material) -> None:
    server.use(made.serving.certificate_pem, made.serving.key_pem)


@pytest.fixture
async def server() -> AsyncIterator[WebhookServer]:
    async with WebhookServer([WEBHOOK], host="127.0.0.1", port=0) as server:
        yield server


async def post(server: WebhookServer, path: str, body: bytes, believed: bytes) -> tuple[int, bytes]:
    trust = ssl.create_default_context(cadata=believed.decode())
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session,
        session.post(f"https://127.0.0.1:{server.port}{path}", data=io.BytesIO(body)) as response,
    ):
        return response.status, await response.read()


def review(spec: Any) -> bytes:
    widget = {"apiVersion": "admission.example.org/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}
    request = {"uid": "u", "name": "a", "operation": "CREATE", "object": widget, "oldObject": None}
    return json.dumps({"request": request}).encode()


async def test_a_review_is_answered(server: WebhookServer) -> None:
    made = material()
    use(server, made)
    status, body = await post(server, VALIDATE, review({"size": 11}), made.bundle)
    assert status == 200
    assert json.loads(body)["response"]["status"]["code"] == 422
    status, body = await post(server, MUTATE, review({"size": 1}), made.bundle)
    assert json.loads(body)["response"]["patchType"] == "JSONPatch"


async def test_a_bug_is_loud_in_the_log_and_silent_in_the_answer(server: WebhookServer) -> None:
    made = material()
    use(server, made)
    with structlog.testing.capture_logs() as logs:
        status, body = await post(server, VALIDATE, review({"mode": "bug"}), made.bundle)
    assert status == 500
    assert b"secret" not in body
    assert b"ZeroDivisionError" not in body
    (entry,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert entry["exc_info"]
    assert (await post(server, VALIDATE, review({"size": 1}), made.bundle))[0] == 200


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}"])
async def test_nonsense_is_a_bad_request(server: WebhookServer, body: bytes) -> None:
    made = material()
    use(server, made)
    assert (await post(server, VALIDATE, body, made.bundle))[0] == 400


async def test_a_large_object_is_read_whole(server: WebhookServer) -> None:
    made = material()
    use(server, made)
    status, _ = await post(server, VALIDATE, review({"mode": "x" * 3_000_000}), made.bundle)
    assert status == 200


async def test_what_no_api_server_sends_is_not_read(server: WebhookServer) -> None:
    made = material()
    use(server, made)
    status, _ = await post(server, VALIDATE, review({"mode": "x" * load.LARGEST}), made.bundle)
    assert status == 413


async def test_many_large_reviews_take_a_bounded_part_of_the_memory(
    server: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = material()
    use(server, made)
    most = 0
    read = load.Load.read

    async def noting(self: load.Load, request: web.Request, room: load.Room) -> bytes:
        nonlocal most
        try:
            return await read(self, request, room)
        finally:
            most = max(most, self.held)

    monkeypatch.setattr(load.Load, "read", noting)
    large = review({"mode": "x" * (3 * 2**20)})
    answers = await asyncio.gather(*(post(server, VALIDATE, large, made.bundle) for _ in range(40)))
    assert {status for status, _ in answers} <= {200, 503}
    assert 200 in {status for status, _ in answers}
    # What the last piece of each brings comes on top.
    assert 0 < most <= load.MOST + 40 * 2**18
    assert (await post(server, VALIDATE, review({"size": 1}), made.bundle))[0] == 200


async def test_slow_reviews_leave_time_to_everything_else() -> None:
    def slow(_: Widget | None, __: Widget) -> Objections:
        time.sleep(0.15)
        return Objections()

    made = material()
    async with WebhookServer([Webhook(Widget, validate=slow)], host="127.0.0.1", port=0) as server:
        use(server, made)
        asking = asyncio.gather(*(post(server, VALIDATE, review({}), made.bundle) for _ in range(8)))
        longest, last = 0.0, time.monotonic()
        while not asking.done():
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        assert {status for status, _ in asking.result()} == {200}
    # One review at a time, and what was waiting comes in between.
    assert longest < 0.5


async def test_a_body_that_does_not_arrive_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load.Load.__init__, "__kwdefaults__", {"largest": 100, "most": 100, "patience": 0.05})
    made = material()
    async with WebhookServer([WEBHOOK], host="127.0.0.1", port=0) as server:
        use(server, made)
        trust = ssl.create_default_context(cadata=made.bundle.decode())
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trust)
        writer.write(f"POST {VALIDATE} HTTP/1.1\r\nHost: here\r\nContent-Length: 50\r\n\r\n{{".encode())
        async with asyncio.timeout(5):
            assert b" 408 " in await reader.readline()
        writer.close()


async def test_after_a_slow_review_the_next_one_waits_for_a_moment_only() -> None:
    under_load = load.Load()
    with under_load.room() as room:
        async with under_load.turn(room):
            await asyncio.sleep(0.8)
        began = time.monotonic()
        async with under_load.turn(room):
            assert 0.2 < time.monotonic() - began < 0.6


async def test_a_request_has_one_deadline_for_its_body_and_its_turn() -> None:
    under_load = load.Load(patience=0.5)
    with under_load.room() as first, under_load.room() as second:
        async with under_load.turn(first):
            await asyncio.sleep(0.4)
            began = time.monotonic()
            with pytest.raises(load.TooMuch):
                await under_load.turn(second).__aenter__()
            assert time.monotonic() - began < 0.3


async def test_who_is_sent_away_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load.Load.__init__, "__kwdefaults__", {"largest": 100, "most": 0, "patience": 4.0})
    made = material()
    async with WebhookServer([WEBHOOK], host="127.0.0.1", port=0) as server:
        use(server, made)
        trust = ssl.create_default_context(cadata=made.bundle.decode())
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session,
            session.post(f"https://127.0.0.1:{server.port}{VALIDATE}", data=b"{}") as response,
        ):
            assert (response.status, response.headers.get("Retry-After")) == (503, "1")


def test_the_bounds_of_a_kind_are_known_before_its_first_review() -> None:
    bounds.of_kind.cache_clear()
    WebhookServer([WEBHOOK])
    before = bounds.of_kind.cache_info().misses
    bounds.of_kind(Widget)
    assert bounds.of_kind.cache_info().misses == before


async def test_an_unknown_kind_is_not_found(server: WebhookServer) -> None:
    made = material()
    use(server, made)
    assert (await post(server, "/validate/example.org/v1/others", review({}), made.bundle))[0] == 404


async def test_a_new_certificate_is_served_to_new_connections_while_old_ones_go_on(server: WebhookServer) -> None:
    first, second = material(), material()
    use(server, first)
    trust = ssl.create_default_context(cadata=first.bundle.decode())
    url = f"https://127.0.0.1:{server.port}{VALIDATE}"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust, limit=1)) as session:
        async with session.post(url, data=review({"size": 1})) as response:
            assert response.status == 200
            await response.read()
        use(server, second)
        async with session.post(url, data=review({"size": 1})) as response:
            assert response.status == 200
            await response.read()
    assert (await post(server, VALIDATE, review({"size": 1}), second.bundle))[0] == 200
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await post(server, VALIDATE, review({"size": 1}), first.bundle)


async def test_a_key_that_does_not_fit_is_refused_and_the_server_goes_on(server: WebhookServer) -> None:
    first, second = material(), material()
    use(server, first)
    with pytest.raises(ssl.SSLError):
        server.use(second.serving.certificate_pem, first.serving.key_pem)
    assert (await post(server, VALIDATE, review({"size": 1}), first.bundle))[0] == 200


async def test_files_are_served_and_served_anew_when_they_change(server: WebhookServer, tmp_path: Path) -> None:
    source = FileCertificates(tmp_path, use=server.use)
    assert source.refresh() is False
    for made in (material(), material()):
        (tmp_path / "tls.key").write_bytes(made.serving.key_pem)
        # Until both are there, what was served before is served on.
        source.refresh()
        (tmp_path / "tls.crt").write_bytes(made.serving.certificate_pem)
        assert source.refresh() is True
        assert source.refresh() is False
        assert (await post(server, VALIDATE, review({"size": 1}), made.bundle))[0] == 200


async def test_files_are_looked_at_again_and_again(tmp_path: Path) -> None:
    used = asyncio.Event()
    source = FileCertificates(tmp_path, use=lambda _certificate, _key: used.set(), interval=0.001)
    run = asyncio.create_task(source.run())
    made = certificates.advance(None, clock.now() - timedelta(days=1), names=("127.0.0.1",))
    (tmp_path / "tls.key").write_bytes(made.serving.key_pem)
    (tmp_path / "tls.crt").write_bytes(made.serving.certificate_pem)
    async with asyncio.timeout(5):
        await used.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


async def test_a_server_that_ends_waits_for_no_farewell() -> None:
    made = material()
    trust = ssl.create_default_context(cadata=made.bundle.decode())

    def greet(port: int) -> socket.socket:
        """Ask for something, take the answer, and never say anything more."""
        speaking = trust.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
        speaking.sendall(f"GET {VALIDATE} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        assert speaking.recv(65536).startswith(b"HTTP/1.1 405")
        return socket.socket(fileno=speaking.detach())

    async with WebhookServer([WEBHOOK], host="127.0.0.1", port=0) as server:
        use(server, made)
        silent = await asyncio.to_thread(greet, server.port)
    with silent:
        # What is sent over TLS at the end may come, and then nothing: the socket is closed.
        silent.settimeout(5)
        while await asyncio.to_thread(silent.recv, 65536):
            pass
