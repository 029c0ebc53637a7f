"""YAML that people wrote."""

from typing import Any

import pytest
import yaml

from stackwright import yaml_words
from stackwright.kube import handwritten

WORDS = [
    ("52:54:00:12:34:56", "52:54:00:12:34:56"),
    ("12:30", "12:30"),
    ("2026-11-19", "2026-11-19"),
    ("2024-99-99", "2024-99-99"),
    ("1e5", 100000),
    ("0o17", 15),
    ("017", 15),
    ("0644", 420),
    ("12e4567890", "12e4567890"),
    ("=", "="),
    ("1.5", 1.5),
    ("3.0", 3),
    ("yes", True),
    ("y", True),
    ("~", None),
    ("9" * 5000, "9" * 5000),
    ('"12"', "12"),
    ("!!int 12", 12),
]


@pytest.mark.parametrize("reader", [yaml_words.Loader, yaml_words.SlowLoader])
@pytest.mark.parametrize(("word", "value"), WORDS, ids=[word[:20] for word, _ in WORDS])
def test_both_readers_know_the_words_of_kubectl(reader: Any, word: str, value: object) -> None:
    (found,) = yaml.load(f"- {word}\n", reader)  # noqa: S506  the readers are safe ones
    assert (found, type(found)) == (value, type(value))


def test_documents_are_read_without_the_empty_ones() -> None:
    assert handwritten.read("---\na: 1\n---\n---\n- b\n") == [{"a": 1}, ["b"]]
    # A merge, and what is named again, are no mistakes.
    assert handwritten.read("a: &x {b: 1}\nc: {<<: *x, d: 2}\ne: [*x, *x]") == [
        {"a": {"b": 1}, "c": {"b": 1, "d": 2}, "e": [{"b": 1}, {"b": 1}]}
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: 1\nb: [1\nc: 2\n", "x.yaml is not YAML (line 3).", id="no-yaml"),
        pytest.param("a: 1\nb: !!int abc", "x.yaml is not YAML (line 2).", id="no-number"),
        pytest.param("a: 1\nb: !!bool abc", "x.yaml is not YAML (line 2).", id="no-answer"),
        pytest.param("a: 1\nb: !!timestamp abc", "x.yaml is not YAML (line 2).", id="no-time"),
        pytest.param("a: 1\nb: !!timestamp 2024-99-99", "x.yaml is not YAML (line 2).", id="no-day"),
        pytest.param("a: 1\nb: !!python/name:os.system x", "x.yaml is not YAML (line 2).", id="a-program"),
        pytest.param('a: 1\nb: "\\ud800"', "x.yaml is not YAML (line 2).", id="half-a-character"),
        pytest.param("a: 1\nb: \x07", "x.yaml is not YAML (line 2).", id="a-bell"),
        pytest.param("a: 1\n? [b]\n: 2", "x.yaml is not YAML (line 2).", id="a-key-that-is-a-list"),
        pytest.param("a: 1\na: 2", "x.yaml, line 2: a is there twice.", id="a-key-twice"),
        pytest.param("a:\n- {b: 1,\n   b: 2}", "x.yaml, line 3: a[0].b is there twice.", id="a-key-twice-deep-inside"),
        pytest.param("a: &x {b: [*x]}", "x.yaml, line 1: a.b[0] contains itself.", id="a-circle"),
        pytest.param(
            "[" * 2000 + "]" * 2000, "x.yaml, line 1: it is nested deeper than any object of Kubernetes.", id="deep"
        ),
        # So deep that the reader in C would end the program.
        pytest.param("a:\n  " + "[" * 300000, "x.yaml, line 2: it is nested deeper", id="endless"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, said: str) -> None:
    with pytest.raises(handwritten.Unreadable) as raised:
        handwritten.read(text)
    assert raised.value.about("x.yaml").startswith(said)


def test_many_names_of_the_same_are_looked_at_once() -> None:
    levels = "".join(f"a{number}: &a{number} [*a{number - 1}, *a{number - 1}]\n" for number in range(1, 40))
    (found,) = handwritten.read(f"a0: &a0 1\n{levels}")
    assert found["a1"] == [1, 1]
