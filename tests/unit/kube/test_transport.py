"""What is tried again and when, as a table; and the small readings of the server's words."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
import pytest

from stackwright.kube.answers import Lost, lost
from stackwright.kube.config import Connection
from stackwright.kube.conflicts import Conflicts, FieldConflict, conflicts_of
from stackwright.kube.errors import ApiError
from stackwright.kube.transport import ATTEMPTS, Call, Reply, pause, retry_after
from stackwright.kube.version import ServerVersion, require, version_of

SAFE = Call("GET", "/x", {})
UNSAFE = Call("POST", "/x", {}, safe=False)
TYPED = b'{"kind":"Status","message":"failed to create typed patch object (x): .spec.a: expected string"}'


@pytest.mark.parametrize(
    ("call", "outcome", "attempt", "expected"),
    [
        pytest.param(SAFE, Reply(429, b"", 3.0), 1, 3.0, id="the-servers-order-is-kept"),
        pytest.param(UNSAFE, Reply(429, b"", 3.0), 1, 3.0, id="what-was-not-handled-may-always-be-sent-again"),
        pytest.param(UNSAFE, Reply(503, b"", 1.0), 1, 1.0, id="a-503-with-an-order-was-not-handled"),
        pytest.param(UNSAFE, Reply(503, b"", None), 1, None, id="a-503-without-one-may-have-been"),
        pytest.param(UNSAFE, Reply(500, b"", None), 1, None, id="a-500-may-have-been-handled"),
        pytest.param(SAFE, Reply(500, TYPED, None), 1, None, id="no-retry-heals-a-schema"),
        pytest.param(SAFE, Reply(500, TYPED, 1.0), 1, None, id="not-even-one-that-is-asked-for"),
        pytest.param(SAFE, Reply(404, b"", None), 1, None, id="a-404-is-an-answer"),
        pytest.param(SAFE, Reply(409, b"", None), 1, None, id="a-conflict-is-an-answer"),
        pytest.param(SAFE, Reply(429, b"", 31.0), 1, None, id="a-long-wait-is-the-callers"),
        pytest.param(SAFE, Reply(429, b"", 1.0), ATTEMPTS, None, id="tries-end"),
        pytest.param(UNSAFE, Lost("", sent=True), 1, None, id="what-may-have-been-done-is-not-done-again"),
        pytest.param(SAFE, Lost("", hopeless=True), 1, None, id="a-wrong-certificate-stays-wrong"),
    ],
)
def test_what_is_tried_again(call: Call, outcome: Reply | Lost, attempt: int, expected: float | None) -> None:
    assert pause(call, outcome, attempt) == expected


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_gone_is_not_the_servers_fault(scheme: str) -> None:
    with pytest.raises(aiohttp.ClientError) as raised:
        async with aiohttp.ClientSession() as session:
            # Nobody listens at the port of discards.
            await session.get(f"{scheme}://192.0.2.1/", proxy="http://me:hunter2@127.0.0.1:9")
    said = lost(raised.value, "The server X").sentence
    assert said.startswith("The server X is reached by the proxy 127.0.0.1:9 (proxy-url), which refuses connections")
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("call", "outcome"),
    [
        pytest.param(SAFE, Reply(500, b"", None), id="a-500-of-what-may-be-done-twice"),
        pytest.param(SAFE, Lost("", sent=True), id="a-lost-answer-of-what-may-be-done-twice"),
        pytest.param(UNSAFE, Lost("", sent=False), id="what-never-left"),
    ],
)
@pytest.mark.parametrize("attempt", range(1, ATTEMPTS))
def test_pauses_double_with_jitter(call: Call, outcome: Reply | Lost, attempt: int) -> None:
    found = pause(call, outcome, attempt)
    assert found is not None
    assert 0.05 * 2 ** (attempt - 1) <= found <= 0.1 * 2 ** (attempt - 1)


@pytest.mark.parametrize(("text", "seconds"), [("7", 7), ("-7", 0)], ids=["seconds", "the-past"])
def test_retry_after_is_read(text: str, seconds: float) -> None:
    assert retry_after({"Retry-After": text}) == seconds


def test_retry_after_may_be_a_date() -> None:
    found = retry_after({"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=600))})
    assert found is not None
    assert 500 <= found <= 600


@pytest.mark.parametrize("headers", [pytest.param({}, id="none"), pytest.param({"Retry-After": "soon"}, id="words")])
def test_no_order_is_none(headers: dict[str, str]) -> None:
    assert retry_after(headers) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"major":"1","minor":"35","gitVersion":"v1.35.8"}', (1, 35), id="kubernetes"),
        pytest.param(b'{"major":"1","minor":"27+","gitVersion":"v1.27.3-gke"}', (1, 27), id="a-vendors"),
    ],
)
def test_a_version_is_read(body: bytes, expected: tuple[int, int]) -> None:
    version = version_of(body)
    assert (version.major, version.minor) == expected


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"major":"x","minor":"y"}'])
def test_something_else_has_no_version(body: bytes) -> None:
    with pytest.raises(ApiError, match="does not say its version"):
        version_of(body)


def test_a_major_version_counts_first() -> None:
    require(ServerVersion(2, 0), (1, 30), Connection(server="https://one"))


def test_conflicts_are_read() -> None:
    body = (
        b'{"kind":"Status","code":409,"reason":"Conflict","message":"Apply failed","details":{"causes":['
        b'{"reason":"FieldManagerConflict","message":"conflict with \\"kubectl\\" using apps/v1","field":".spec.a"},'
        b'{"reason":"FieldManagerConflict","message":"conflict with \\"b\\" with subresource \\"scale\\" using v1",'
        b'"field":".spec.b"}]}}'
    )
    assert conflicts_of(body) == Conflicts(
        (FieldConflict(".spec.a", "kubectl"), FieldConflict(".spec.b", "b")), "Apply failed"
    )


def test_a_conflict_of_versions_is_none_of_fields() -> None:
    assert conflicts_of(b'{"kind":"Status","code":409,"reason":"Conflict","message":"modified","details":{}}') is None
    assert conflicts_of(b"<html>") is None
