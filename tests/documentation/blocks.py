"""Reads the pages of the documentation: their shell blocks, the commands in them, and the mark above each block.

A mark is an HTML comment directly above a block. Its first line says where the block runs, or why it does not:

    <!-- run in: tests/e2e/test_pages.py -->
    <!-- not run: REASON -->

Further lines of a `run in` may say, each behind a word and a colon, what else is true of it (see `Mark`).
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELL = frozenset({"console", "sh", "bash", "shell"})
# What a console shows before a command: one who need not be root has the first, one who has to be the second. The first
# line of a block says which of them its commands have.
PROMPTS = ("$ ", "# ")
_FENCE = re.compile(r"\s*```(\w*)\s*$")
_KEY = re.compile(r"(run in|not run|before|after|exits|output|interrupted):\s*(.*)$")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")


class Unreadable(Exception):
    """A page says something that this module does not know; the text has page and line."""


@dataclass(frozen=True)
class Mark:
    """What a page says about a block; readers do not see it."""

    run_in: str = ""
    """The file of the test that runs the block."""
    not_run: str = ""
    """Why nobody does."""
    before: str = ""
    """A script that brings about what the page takes for granted."""
    after: str = ""
    """A script that puts right what the next blocks would stumble over."""
    exits: int = 0
    """The exit code of the last command."""
    output: str = ""
    """Why the output is not compared with what the page shows."""
    interrupted: str = ""
    """For how many seconds the last command runs on, before it is interrupted as by Ctrl-C."""


@dataclass(frozen=True)
class Command:
    """What is typed, and what the page shows as its answer."""

    line: int
    text: str
    output: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """A shell block of a page."""

    page: str
    line: int
    language: str
    commands: tuple[Command, ...]
    mark: Mark | None

    @property
    def place(self) -> str:
        """Where the block stands, as an editor knows it."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Return all pages that show commands to people."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("charts/*/README.md")]
    return sorted(found)


def everything() -> list[Block]:
    """Return the shell blocks of all pages."""
    return [block for page in pages() for block in read(page.relative_to(ROOT).as_posix(), page.read_text())]


def run_in(file: str) -> dict[str, list[Block]]:
    """Return the blocks whose marks name this file, by page; a test runs those of a page one after the other."""
    name = Path(file).resolve().relative_to(ROOT).as_posix()
    found: dict[str, list[Block]] = {}
    for block in everything():
        if block.mark is not None and block.mark.run_in == name:
            found.setdefault(block.page, []).append(block)
    return found


def read(page: str, text: str) -> list[Block]:
    """Return the shell blocks of a page."""
    lines = text.splitlines()
    found = []
    for start, end, language in _fences(lines):
        if language in SHELL:
            inside = lines[start + 1 : end]
            commands = _typed(inside, start + 2) if language == "console" else _script(inside, start + 2)
            found.append(Block(page, start + 1, language, tuple(commands), _mark(page, lines[:start])))
    return found


def _fences(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Give first line, last line and language of each fenced block."""
    start, language = None, ""
    for number, line in enumerate(lines):
        if (fence := _FENCE.match(line)) is None:
            continue
        if start is None:
            start, language = number, fence[1]
        else:
            yield start, number, language
            start = None


def _script(lines: list[str], first: int) -> list[Command]:
    """Return a block without prompts as what it is: one script."""
    return [Command(first, "\n".join(lines))]


def _typed(lines: list[str], first: int) -> list[Command]:
    """Return the commands of a block with prompts, each with the output below it."""
    # A line of output may begin as a prompt of the other kind does.
    prompt = next((prompt for prompt in PROMPTS if lines and lines[0].startswith(prompt)), PROMPTS)
    found: list[Command] = []
    number = 0
    while number < len(lines):
        start = number
        number += 1
        if not lines[start].startswith(prompt):
            if found:
                last = found[-1]
                found[-1] = Command(last.line, last.text, (*last.output, lines[start]))
            continue
        text = lines[start][2:]
        while not is_complete(text) and number < len(lines):
            text += "\n" + lines[number]
            number += 1
        found.append(Command(first + start, text))
    return found


def is_complete(text: str) -> bool:
    """Return whether a shell would run this, and not ask for another line."""
    last = text.rpartition("\n")[2]
    for _, word in _HEREDOC.findall(text):
        if word not in text.splitlines()[1:]:
            return False
    if _HEREDOC.search(text):
        return True
    if last.endswith("\\"):
        return False
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def _mark(page: str, above: list[str]) -> Mark | None:
    """Return what the comment directly above a block says."""
    if not above or not above[-1].rstrip().endswith("-->"):
        return None
    start = next((number for number in reversed(range(len(above))) if above[number].startswith("<!--")), None)
    if start is None:
        return None
    text = "\n".join(above[start:]).removeprefix("<!--").rstrip().removesuffix("-->")
    said: dict[str, str] = {}
    key = ""
    for line in text.strip().splitlines():
        if found := _KEY.match(line):
            key = found[1].replace(" ", "_")
            said[key] = found[2]
        elif key:
            said[key] += f"\n{line}"
        else:
            return None  # A comment that is no mark, such as the name of a file.
    where = f"{page}:{start + 1}"
    if ("run_in" in said) == ("not_run" in said):
        raise Unreadable(f"{where}: a mark has one of `run in` and `not run`")
    exits = said.pop("exits", "0")
    if not exits.strip().isdigit():
        raise Unreadable(f"{where}: exits: {exits} is no exit code")
    return Mark(exits=int(exits), **{name: value.strip() for name, value in said.items()})
