"""Every command in the documentation runs in CI or in `make everything`, or says why it cannot."""

import importlib
import re
from pathlib import Path, PurePosixPath

import pytest

from stackwright import services
from tests.documentation import answers, blocks, sessions
from tests.documentation.blocks import Block, Command, Mark

ALL = blocks.everything()
# What `make test` and `make e2e` run, and with them CI; `long` is run by `make everything`.
RINGS = frozenset({"unit", "runtime", "functional", "charts", "images", "e2e", "long"})
NOTHING = "says neither where it runs nor why it does not; write a mark above it (CONTRIBUTING.md, Documentation)"
# Where a page holds text for people and programs that is no shell.
OTHERS = frozenset({"", "text", "yaml", "toml", "python", "json"})


def problem(block: Block) -> str | None:
    """Return what is wrong with the mark of a block."""
    mark = block.mark
    if mark is None:
        return f"{block.place}: the block {NOTHING}"
    if mark.not_run:
        lost = [name for name in re.findall(r"tests/[\w/]+\.py", mark.not_run) if not (blocks.ROOT / name).is_file()]
        return f"{block.place}: {lost[0]}, which the reason names, is not there" if lost else None
    if not block.commands:
        return f"{block.place}: the block has no command; a command begins with `$ ` or `# `"
    path = PurePosixPath(mark.run_in)
    if not (blocks.ROOT / path).is_file() or path.parts[:1] != ("tests",) or path.parts[1] not in RINGS:
        return f"{block.place}: {mark.run_in} is no test that CI or `make everything` runs"
    runner = importlib.import_module(".".join(path.with_suffix("").parts))
    if block not in getattr(runner, "PAGES", {}).get(block.page, []):
        return f"{block.place}: {mark.run_in} runs no pages; give it PAGES = blocks.run_in(__file__), and a test"
    return None


@pytest.mark.parametrize("block", ALL, ids=lambda block: block.place)
def test_every_block_runs_or_says_why_not(block: Block) -> None:
    assert problem(block) is None


def test_pages_say_how_many_kinds_there_are() -> None:
    stated = [count for page in blocks.pages() for count in re.findall(r"All (\d+) kinds are", page.read_text())]
    assert set(stated) == {str(len(services.kinds()))}


def test_there_are_blocks_and_most_of_them_run() -> None:
    run = [block for block in ALL if block.mark is not None and block.mark.run_in]
    assert len(run) > 0.7 * len(ALL) > 50


@pytest.mark.parametrize("page", blocks.pages(), ids=lambda page: page.relative_to(blocks.ROOT).as_posix())
def test_a_page_has_no_commands_beside_its_shell_blocks(page: Path) -> None:
    lines = page.read_text().splitlines()
    fences = [line.strip().removeprefix("```") for line in lines if line.strip().startswith("```")]
    assert {language for language in fences if language not in blocks.SHELL} <= OTHERS
    outside, inside = [], False
    for before, line in zip(["", *lines], lines, strict=False):
        inside ^= line.strip().startswith("```")
        if not inside and not before.strip() and re.match(r"    [a-z$#]", line):
            outside.append(line)
    assert outside == [], "a block of code stands between ``` with its language"


@pytest.mark.parametrize(
    ("mark", "wrong"),
    [
        pytest.param("", NOTHING, id="no-mark"),
        pytest.param("<!-- file: a.py -->", NOTHING, id="a-comment-that-is-none"),
        pytest.param(
            "<!-- run in: tests/nowhere.py -->", "is no test that CI or `make everything` runs", id="no-such-test"
        ),
        pytest.param(
            "<!-- run in: tests/chaos/test_keystone.py -->",
            "is no test that CI or `make everything` runs",
            id="not-in-ci",
        ),
        pytest.param("<!-- run in: tests/unit/test_house.py -->", "runs no pages", id="a-test-that-runs-none"),
        pytest.param("<!-- run in: tests/charts/test_documentation.py -->", "runs no pages", id="a-page-nobody-reads"),
        pytest.param("<!-- not run: tests/e2e/test_gone.py has it -->", "is not there", id="a-reason-that-is-gone"),
    ],
)
def test_what_is_wrong_with_a_mark_is_told_with_page_and_line(mark: str, wrong: str) -> None:
    (block,) = blocks.read("docs/page.md", f"# Page\n\n{mark}\n```console\n$ true\n```\n")
    said = problem(block)
    assert said is not None
    assert said.startswith("docs/page.md:4: ")
    assert wrong in said


@pytest.mark.parametrize(
    ("mark", "wrong"),
    [
        pytest.param("run in: a.py\nnot run: it is late", "one of `run in` and `not run`", id="both"),
        pytest.param("before: true", "one of `run in` and `not run`", id="neither"),
        pytest.param("run in: a.py\nexits: badly", "badly is no exit code", id="exit-code"),
    ],
)
def test_a_mark_that_cannot_be_read_is_told_with_page_and_line(mark: str, wrong: str) -> None:
    with pytest.raises(blocks.Unreadable, match=rf"^page\.md:2: .*{wrong}"):
        blocks.read("page.md", f"\n<!-- {mark} -->\n```console\n$ true\n```\n")


PAGE = """\
<!-- run in: tests/e2e/test_x.py
before: cat > a <<END
one
END
exits: 4
output: not compared, it is another day
-->
```console
$ cat a
# one
$ kubectl patch x \\
    --patch '{"a":
      1}'          # a comment that isn't one of ours
x patched
$ cat > b <<END
$ no command
END
```

```sh
one
two
```
"""


def test_a_page_is_read_into_commands_and_their_answers() -> None:
    first, second = blocks.read("page.md", PAGE)
    assert first.mark == Mark(
        run_in="tests/e2e/test_x.py",
        before="cat > a <<END\none\nEND",
        exits=4,
        output="not compared, it is another day",
    )
    patch = "kubectl patch x \\\n    --patch '{\"a\":\n      1}'          # a comment that isn't one of ours"
    assert first.commands == (
        Command(9, "cat a", ("# one",)),
        Command(11, patch, ("x patched",)),
        Command(15, "cat > b <<END\n$ no command\nEND"),
    )
    assert (second.line, second.mark, second.commands) == (20, None, (Command(21, "one\ntwo"),))


@pytest.mark.parametrize(
    ("shown", "printed", "lost"),
    [
        pytest.param("├─ Galera db  Ready  1 min 2 s  by X", "├─ Galera db  Ready  by X", False, id="ages"),
        pytest.param("└─ Job sync-2ab91  Ready", "└─ Job sync-99f   Ready", False, id="hashes"),
        pytest.param("Error: … is not there", "Error: the chart is not there", False, id="left-out"),
        pytest.param("…", "", False, id="all-left-out"),
        pytest.param("Galera db  Ready", "Galera db  Error", True, id="another-state"),
        pytest.param("a b", "b a", True, id="another-order"),
        pytest.param("a b", "a\nb", True, id="another-line"),
        pytest.param(
            "1  Sun Nov 15 11:18:46 2026  deployed  a-0.1.0  1.6",
            "1  Mon Feb  2 09:01:00 2027  deployed  a-0.2.0  1.7",
            False,
            id="recorded-on-another-day",
        ),
        pytest.param("a  Sun, 15 Nov 2026 11:18:46  b", "a  Mon, 2 Feb 2027 09:01:00  b", False, id="another-notation"),
        pytest.param("a 2026-11-15 11:18:46.566352 b", "a 2027-02-02 09:01:00.1 b", False, id="an-iso-date"),
        pytest.param("Memcached  12 min 3 s", "Memcached  1 h 2 min 4 s", False, id="another-age"),
        pytest.param("Sun shines on Nov", "Mon shines on Nov", True, id="a-day-that-is-no-date"),
        pytest.param(
            "3  Sun Nov 15 11:18:46 2026  deployed", "5  Mon Nov 16 11:18:46 2026  deployed", True, id="counts"
        ),
        pytest.param("Ready  1 of 1  9 s", "Ready  2 of 2  9 s", True, id="numbers-of-pods"),
        pytest.param("api  1/1  Running", "api  0/1  Running", True, id="ready-containers"),
        pytest.param("port 30500 open", "port 31234 open", False, id="ports"),
    ],
)
def test_answers_are_compared_by_the_words_that_last(shown: str, printed: str, lost: bool) -> None:
    assert answers.missing([shown], printed) == ([shown] if lost else [])


def run(tmp_path: Path, page: str) -> None:
    mark = "<!-- run in: tests/unit/test_house.py"
    text = page.replace("MARK", mark)
    somebody = sessions.reader(tmp_path, tmp_path / "programs")
    somebody.follow(blocks.read("page.md", text))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("MARK -->\n```console\n$ a=1\n$ echo $a\n1\n```\n", id="a-session-keeps-variables"),
        pytest.param("MARK\nexits: 3\n-->\n```console\n$ (exit 3)\n```\n", id="an-exit-code-that-is-said"),
        pytest.param("MARK -->\n```console\n$ false; echo gone on\ngone on\n```\n", id="typed-not-strict"),
        pytest.param("MARK -->\n```console\n$ cat sub/new\nhello\n```\n", id="a-shown-file-is-there"),
        pytest.param("MARK\nbefore: b=2\n-->\n```console\n$ test $b = 2\n```\n", id="before"),
        pytest.param("MARK\ninterrupted: 0.2\n-->\n```console\n$ sleep 60\n```\n", id="interrupted"),
        pytest.param("MARK -->\n```sh\nsay() { echo $1; }\n```\n\nMARK -->\n```sh\nsay x\n```\n", id="functions"),
    ],
)
def test_a_page_that_is_right_passes(tmp_path: Path, page: str) -> None:
    run(tmp_path, page)


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        pytest.param("MARK -->\n```console\n$ true\n$ (exit 3)\n$ rm x\n```\n", "page.md:4: ended with 3", id="code"),
        pytest.param("MARK\nexits: 3\n-->\n```console\n$ true\n```\n", "page.md:5: ended with 0, not 3", id="no-code"),
        pytest.param("MARK -->\n```console\n$ echo b\na\n```\n", "page.md:3: the page shows", id="output"),
        pytest.param("MARK -->\n```sh\nfalse\ntrue\n```\n", "page.md:3: ended with 1", id="strict-script"),
        pytest.param("MARK\nbefore: false\n-->\n```sh\ntrue\n```\n", "page.md:4, before it: ended", id="before"),
        pytest.param("MARK\ninterrupted: 9\n-->\n```console\n$ true\n```\n", "ended with 0, not 124", id="ended"),
        pytest.param("MARK -->\n```console\n$ echo $nobody\n```\n", "nobody: unbound variable", id="unset-variable"),
    ],
)
def test_a_page_that_is_wrong_fails_with_its_line(tmp_path: Path, page: str, wrong: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(wrong)):
        run(tmp_path, page)


def test_what_a_page_puts_right_in_the_end_is_put_right_when_it_fails(tmp_path: Path) -> None:
    first = "MARK\nafter: echo once >> first\n-->\n```console\n$ true\n```\n\n"
    second = "MARK\nafter: false; echo second > second\n-->\n```console\n$ (exit 3)\n```\n"
    with pytest.raises(AssertionError, match="ended with 3"):
        run(tmp_path, first + second)
    directory = tmp_path / "checkout"
    assert (directory / "first").read_text() == "once\n", "what was put right already is not done again"
    assert (directory / "second").read_text() == "second\n"
