"""Manifests of charts that may be anybody's."""

import time

import pytest

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm import manifests

LIMITS = manifests.Limits(objects=3, values=100)


def laughs(levels: int) -> str:
    """Return ten aliases of ten aliases of ten aliases."""
    lines = ["a0: &a0 x"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels + 1)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param("---\nkind: A\n" * 4, "renders 4 objects; it may render 3", id="many-objects"),
        pytest.param("a: [" + "b, " * 200 + "]", "more than 100 values", id="many-values-in-a-long-text"),
        pytest.param("a: [" + "b," * 110 + "]", "more than 100 values", id="many-values-in-a-short-text"),
        pytest.param(laughs(5), "more than 100 values, all aliases", id="aliases-of-aliases"),
        pytest.param("a: &a\n- *a\n", "more than 100 values", id="one-that-holds-itself"),
        pytest.param("a: [b", "not YAML", id="no-yaml"),
        pytest.param("[" * 60, "not YAML", id="without-end"),
        pytest.param("a: " + "[" * 70 + "]" * 70, "deeper than 64 levels", id="deep"),
        pytest.param("a: " + "[" * 9000 + "]" * 9000, "deeper than 64 levels", id="very-deep"),
        # The reader in C would end the program.
        pytest.param("a: " + "[" * 60_000 + "]" * 60_000, "deeper than 64 levels", id="deeper-than-the-stack"),
        pytest.param("- " * 60_000 + "a", "deeper than 64 levels", id="deeper-than-the-stack-by-lines"),
    ],
)
def test_a_manifest_that_holds_too_much_is_refused_at_once(manifest: str, said: str) -> None:
    began = time.monotonic()
    with pytest.raises(Rejected, match=said):
        manifests.bounded(manifest, LIMITS)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param("apiVersion: [v1]\nkind: Secret", "an object whose apiVersion is no text", id="a-version"),
        pytest.param("kind: {a: b}", "an object whose kind is no text", id="a-kind"),
        pytest.param("kind: A\nmetadata: [x]", "a A whose metadata is not a map", id="metadata"),
        pytest.param("kind: A\nmetadata: {name: [x]}", "a A whose metadata.name is no text", id="a-name"),
        pytest.param("kind: A\nmetadata: {namespace: 1}", "a A whose metadata.namespace is no text", id="a-namespace"),
        pytest.param("kind: A\nmetadata: {labels: x}", "a A whose metadata.labels is not a map", id="labels"),
        pytest.param("kind: A\nmetadata: {annotations: {a: [b]}}", "a value for a that is no text", id="annotations"),
    ],
)
def test_an_object_with_odd_types_is_refused(manifest: str, said: str) -> None:
    with pytest.raises(Rejected, match=said):
        manifests.bounded(manifest)


def test_what_says_nothing_counts_as_an_empty_text() -> None:
    text = "kind: A\nmetadata:\n  name:\n  labels:\n  annotations: {a: }\n"
    assert len(manifests.bounded(text)) == 1


def test_what_is_within_the_bounds_is_taken() -> None:
    text = "---\na: &a {b: 1}\nc: [*a, *a]\n---\n# nothing\n---\nd: 2026-11-15\n"
    assert manifests.bounded(text, LIMITS) == ({"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}, {"d": "2026-11-15"})


@pytest.mark.parametrize(
    ("number", "read"),
    [
        pytest.param("1e+06", 1_000_000, id="a-template-prints-a-million"),
        pytest.param("1.00077e+09", 1_000_770_000, id="a-large-user-id"),
        pytest.param("2.0", 2, id="a-whole-one"),
        pytest.param("-1.5", -1.5, id="with-a-fraction"),
        pytest.param("1e-07", 1e-07, id="a-small-one"),
        pytest.param("1e+21", 1e21, id="too-large-to-be-whole"),
        pytest.param('"1e+06"', "1e+06", id="a-text"),
        pytest.param("1e6a", "1e6a", id="a-name"),
        pytest.param("12e4567890", "12e4567890", id="a-hash-that-no-number-can-hold"),
        pytest.param("12:30", "12:30", id="a-time"),
        pytest.param("10:20:30:40:50:55", "10:20:30:40:50:55", id="the-address-of-a-card"),
        pytest.param("1:30.5", "1:30.5", id="a-time-with-a-fraction"),
        pytest.param("=", "=", id="an-operator"),
        pytest.param("09", 9, id="a-month"),
        pytest.param("0644", 0o644, id="a-mode"),
        pytest.param("0o644", 0o644, id="a-mode-of-today"),
        pytest.param("0x1F", 31, id="to-the-base-of-16"),
        pytest.param("0b_", "0b_", id="to-the-base-of-2-without-a-digit"),
        pytest.param("1_000", 1000, id="with-a-line-to-read-it-by"),
        pytest.param("-.5", -0.5, id="without-a-whole-part"),
        pytest.param("y", True, id="a-letter-that-is-an-answer"),
        pytest.param("yes", True, id="an-answer"),
    ],
)
def test_numbers_are_read_as_helm_reads_them(number: str, read: object) -> None:
    """Helm makes JSON of a manifest: there a whole number has no fraction, and fields of Kubernetes take only that."""
    ((_, found),) = manifests.bounded(f"a: {number}")[0].items()
    assert found == read
    assert type(found) is type(read)
