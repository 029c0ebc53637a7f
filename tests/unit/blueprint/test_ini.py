"""oslo.config's files, written and read."""

import time
import timeit
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.blueprint import ini
from stackwright.blueprint.ini import Interpolated, Problem, Repeated, Unwritable

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=20)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        pytest.param({}, "", id="nothing-is-an-empty-file"),
        pytest.param(
            {"token": {"provider": "fernet"}, "DEFAULT": {"b": 1, "a": True}, "cache": {}},
            "[DEFAULT]\na = true\nb = 1\n\n[token]\nprovider = fernet\n",
            id="default-comes-first-and-all-is-in-order",
        ),
        pytest.param({"a": {"b": ""}}, "[a]\nb =\n", id="an-empty-text-is-a-value"),
        pytest.param({"a": {"b": None}}, "", id="none-leaves-the-option-out"),
        pytest.param({"a": {"b": "x$y"}}, "[a]\nb = x$$y\n", id="a-dollar-is-only-a-dollar"),
        pytest.param({"a": {"b": Interpolated("$y")}}, "[a]\nb = $y\n", id="an-option-can-be-referred-to"),
        pytest.param({"a": {"b": ("x", 2)}}, "[a]\nb = x,2\n", id="a-sequence-is-a-list-with-commas"),
        pytest.param({"a": {"b": Repeated(("x", False))}}, "[a]\nb = x\nb = false\n", id="a-repeated-option"),
        pytest.param({"a": {"b": "x\ny"}}, "[a]\nb = x\n    y\n", id="several-lines"),
        pytest.param({"a": {"b": " x"}}, '[a]\nb = " x"\n', id="outer-blanks-are-kept-by-quotes"),
        pytest.param({"a": {"b": "'x'"}}, "[a]\nb = \"'x'\"\n", id="outer-quotes-are-kept-by-quotes"),
    ],
)
def test_settings_become_a_file(settings: dict[str, Any], text: str) -> None:
    assert ini.render(settings) == text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"a": {"b": "x\n\ny"}}, r"^\[a\] b: of a value with several lines", id="an-empty-line-in-a-value"),
        pytest.param({"a": {"b": "x\n y"}}, r"^\[a\] b: of a value with several lines", id="a-line-with-outer-blanks"),
        pytest.param({"a": {"b": "x\ry"}}, "carriage return", id="a-carriage-return"),
        pytest.param({"a": {"b": "\\$y"}}, "backslash", id="a-backslash-before-a-dollar"),
        pytest.param({"a": {"b": ["x,y"]}}, "comma", id="a-comma-in-a-list"),
        pytest.param({"a": {"b=c": 1}}, "not a valid name of an option", id="an-equals-sign-in-a-name"),
        pytest.param({"a": {"#b": 1}}, "not a valid name of an option", id="a-name-that-would-be-a-comment"),
        pytest.param({"a\n": {"b": 1}}, "not a valid name of a section", id="a-line-break-in-a-section"),
    ],
)
def test_what_no_file_can_say_is_refused_without_the_value(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Unwritable, match=message) as refused:
        ini.render(settings)
    assert not {"x", "y"} & set(str(refused.value).split())


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        pytest.param("", {}, id="an-empty-snippet"),
        pytest.param("[a]\n", {"a": {}}, id="a-section-without-options"),
        pytest.param("[a]\nb=c\nd: e = f\n", {"a": {"b": ("c",), "d": ("e = f",)}}, id="equals-sign-or-colon"),
        pytest.param("[a]\nb = c\nb = d\n", {"a": {"b": ("c", "d")}}, id="repeated-options-are-all-kept"),
        pytest.param(
            "# x\n; y\n[a]\n# z\nb = c # d\n", {"a": {"b": ("c # d",)}}, id="comments-have-lines-of-their-own"
        ),
        pytest.param("[a]\nb = c\n  d\n\te\n", {"a": {"b": ("c\nd\ne",)}}, id="a-value-goes-on"),
        pytest.param("[a]\nb = ' c '\n", {"a": {"b": (" c ",)}}, id="quotes-are-taken-away"),
        pytest.param("[a]\nb =\n", {"a": {"b": ("",)}}, id="an-empty-value"),
        pytest.param("[a]\r\nb = c\r\n", {"a": {"b": ("c",)}}, id="line-ends-of-another-world"),
        pytest.param("[a]\nb = 1\n[c]\n[a]\nd = 2", {"a": {"b": ("1",), "d": ("2",)}, "c": {}}, id="a-section-again"),
    ],
)
def test_a_snippet_is_read(text: str, sections: dict[str, Any]) -> None:
    assert ini.parse(text) == sections


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[a]\nb = c\nfoo\n", 'line 3: "foo" is neither a section nor option = value', id="a-bare-word"),
        pytest.param(
            "debug = true\n",
            'line 1: the option "debug" is before any section; write [DEFAULT] above it',
            id="an-option-before-any-section",
        ),
        pytest.param("\n[a\n", 'line 2: the section "[a" does not end with ]', id="a-section-without-its-end"),
        pytest.param("[]\n", "line 1: the section [] has no name", id="a-section-without-a-name"),
        pytest.param("[a]\n= b\n", 'line 2: there is no option name before "="', id="a-value-of-nothing"),
        pytest.param(
            "[a]\nb = c\n\n  d\n",
            'line 4: "d" begins with a blank, but there is no option above that it could continue',
            id="an-empty-line-ends-a-value",
        ),
        pytest.param(
            "[a]\nb = c\n# d\n  e\n",
            'line 4: "e" begins with a blank, but there is no option above that it could continue',
            id="a-comment-ends-a-value",
        ),
        pytest.param(
            "[a]\n" + "x" * 50,
            f'line 2: "{"x" * 40}…" is neither a section nor option = value',
            id="a-long-line-is-cut",
        ),
    ],
)
def test_a_broken_snippet_is_told_by_line(text: str, problem: str) -> None:
    found = ini.parse(text)
    assert isinstance(found, Problem)
    assert str(found) == problem


@given(st.dictionaries(st.sampled_from(["DEFAULT", "a", "b c"]), st.dictionaries(st.sampled_from(["x", "y.z"]), TEXT)))
def test_what_is_written_is_read_back(settings: dict[str, dict[str, str]]) -> None:
    try:
        text = ini.render(settings)
    except Unwritable:
        values = [value for options in settings.values() for value in options.values()]
        assert any("\n" in value or "\\$" in value for value in values)
        return
    expected = {
        section: {option: (value.replace("$", "$$"),) for option, value in options.items()}
        for section, options in settings.items()
        if options
    }
    assert ini.parse(text) == expected


def _least_seconds(text: str) -> float:
    return min(timeit.repeat(lambda: ini.parse(text), timer=time.process_time, number=1, repeat=7))


@pytest.mark.parametrize("line", ["workers = 1\n", " and more\n"], ids=["an-option", "a-value-over-many-lines"])
def test_a_text_of_any_length_is_read_in_time_or_refused(line: str) -> None:
    """What admission reads, it reads while everybody else waits, and it is not asked at all after five seconds."""
    begin = "[DEFAULT]\nfirst = 1\n"
    fits = begin + line * (ini.MOST_LINES - 2)
    quarter = begin + line * (ini.MOST_LINES // 4)
    # Four times as many lines take about four times as long, and not sixteen times: no line is read again for each that
    # follows. It is the time of this process that is measured, whatever else the machine does.
    assert _least_seconds(fits) < 10 * _least_seconds(quarter)
    assert not isinstance(ini.parse(fits), ini.Problem)
    refused = ini.parse(fits + line)
    assert isinstance(refused, ini.Problem)
    assert str(ini.MOST_LINES) in refused.message
    # A sample file with its comments is long, and says little.
    assert not isinstance(ini.parse(begin + "# a word\n" * 2 * ini.MOST_LINES), ini.Problem)
