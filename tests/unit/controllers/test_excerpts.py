"""Of a long text the end is kept, in whole words."""

import pytest

from stackwright.controllers import excerpts


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("short\nenough", "short enough", id="what-fits-is-one-line"),
        pytest.param("a much longer text that ends so", "… text that ends so", id="at-a-word"),
        pytest.param("a long text that is kept to here", "… is kept to here", id="no-half-of-a-word"),
        pytest.param("x" * 30, f"… {'x' * 18}", id="a-word-that-is-too-long"),
    ],
)
def test_the_end_is_kept(text: str, kept: str) -> None:
    assert excerpts.keep_end(text, 20) == kept
    assert len(kept) <= 20


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("it is short", "it is short", id="what-fits"),
        pytest.param("what it is about, and much else, and the end", "what it is … and the end", id="both-ends"),
        pytest.param("what is very long, and so on, and the end", "what is … and the end", id="no-half-of-a-word"),
        pytest.param("x" * 50, f"{'x' * 10} … {'x' * 11}", id="a-word-that-is-too-long"),
    ],
)
def test_both_ends_are_kept(text: str, kept: str) -> None:
    assert excerpts.keep_ends(text, 24, 10) == kept
