"""Release records: packed, unpacked, and changed in nothing but what was meant."""

import base64
import gzip
import json
import time
import tracemalloc
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm import Chart, Rendered, records
from stackwright.adapters.helm.records import Record

NOW = datetime(2026, 11, 15, 10, 0, 0, 500, tzinfo=UTC)
CHART = Chart("digest", {"metadata": {"name": "small", "version": "0.1.0"}, "templates": [], "values": {}})
RENDERED = Rendered("small", "here", "kind: ConfigMap\n", ({"kind": "ConfigMap"},), CHART)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def made(version: int = 3, first: str = "") -> Record:
    return records.record_of(
        RENDERED, {"replicas": 1}, version=version, description="Made", first_deployed=first, now=NOW
    )


@settings(max_examples=50)
@given(st.dictionaries(st.text(), json_values))
def test_what_is_packed_is_unpacked(body: dict[str, object]) -> None:
    record = Record({**body, "version": 1})
    assert records.decode(records.encode(record)) == record


def test_a_record_says_what_was_deployed() -> None:
    record = made()
    assert (record.version, record.status, record.description) == (3, "deployed", "Made")
    assert (record.manifest, record.values) == ("kind: ConfigMap\n", {"replicas": 1})
    assert record.first_deployed == "2026-11-15T10:00:00.000500Z"
    assert made(first="2026-01-01T00:00:00Z").first_deployed == "2026-01-01T00:00:00Z"


def test_the_same_record_is_always_packed_the_same() -> None:
    assert records.encode(made()) == records.encode(made())


def test_another_status_changes_nothing_else() -> None:
    changed = made().become("superseded")
    assert changed.status == "superseded"
    assert changed.become("deployed") == made()


def test_helm_finds_a_record_by_its_labels() -> None:
    assert records.labels_of(made(), NOW) == {
        "owner": "helm",
        "name": "small",
        "version": "3",
        "status": "deployed",
        "modifiedAt": "1794736800",
    }
    assert records.secret_name("small", 3) == "sh.helm.release.v1.small.v3"


def test_a_record_of_a_very_old_helm_is_not_compressed() -> None:
    plain = base64.b64encode(base64.b64encode(b'{"version": 7}')).decode()
    assert records.decode(plain).version == 7


def packed(body: bytes) -> str:
    return base64.b64encode(base64.b64encode(gzip.compress(body))).decode()


def bomb(unit: bytes, length: int = records.LONGEST_READ) -> str:
    """Return a record of a few KB that has millions of values where nobody needs them."""
    start, end = b'{"version":901,"info":{"description":"x"},"x":[', b"{}]}"
    return packed(start + unit * ((length - len(start) - len(end)) // len(unit)) + end)


@pytest.mark.parametrize("unit", [b"{},", b"[[]],", b'{"a":{}},'], ids=["maps", "lists", "maps-in-maps"])
def test_values_that_nobody_needs_take_neither_memory_nor_time(unit: bytes) -> None:
    data = bomb(unit)
    started = time.process_time()
    tracemalloc.start()
    try:
        excerpt, manifest = records.read(data)
        with pytest.raises(Rejected, match="not a record of a Helm release"):
            records.decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (excerpt.description, manifest) == ("x", "")
    # What is unpacked, and nothing beside it.
    assert peak < 40 * 2**20
    assert time.process_time() - started < 1


def test_values_of_the_user_are_bounded_too() -> None:
    with pytest.raises(Rejected, match="not a record of a Helm release"):
        records.read(packed(b'{"version":1,"config":{"a":[' + b"{}," * 2**19 + b"{}]}}"))


def test_an_excerpt_says_the_same_as_the_record() -> None:
    record = made()
    excerpt, manifest = records.read(records.encode(record))
    assert (excerpt.description, excerpt.first_deployed) == (record.description, record.first_deployed)
    assert (excerpt.chart, manifest) == (("small", "0.1.0"), record.manifest)
    assert excerpt.digest == records.digest_of(record.manifest, b'{"replicas":1}')


@pytest.mark.parametrize("body", [b'{"version":1,"info":["x"]}', b'{"version":1,"info":"x"}'])
def test_a_record_with_odd_types_is_rejected(body: bytes) -> None:
    for read in (records.read, records.decode):
        with pytest.raises(Rejected, match="not a record of a Helm release"):
            read(packed(body))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("", id="nothing"),
        pytest.param("%%%", id="no-base64"),
        pytest.param(base64.b64encode(base64.b64encode(b"\x1f\x8b\x08broken")).decode(), id="a-broken-archive"),
        pytest.param(base64.b64encode(base64.b64encode(gzip.compress(b"[]"))).decode(), id="another-json"),
        pytest.param(base64.b64encode(base64.b64encode(json.dumps({}).encode())).decode(), id="no-version"),
        pytest.param(
            base64.b64encode(base64.b64encode(gzip.compress(b'{"version": 1}' + b" " * records.LONGEST))).decode(),
            id="packed-very-well",
        ),
        pytest.param(base64.b64encode(base64.b64encode(b"\xff\xfe")).decode(), id="no-text"),
    ],
)
def test_what_is_no_record_is_rejected(data: str) -> None:
    with pytest.raises(Rejected, match="not a record of a Helm release"):
        records.decode(data)
