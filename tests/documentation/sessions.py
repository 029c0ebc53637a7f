"""Runs the blocks of a page as somebody does who reads it: one shell, one directory, one command after the other."""

import os
import re
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.documentation import answers
from tests.documentation.blocks import ROOT, Block, Command

# How many seconds one page may take.
PATIENCE = 900
# How many seconds it may take to put right what a page that failed has changed.
TIDYING = 300
# What an interrupt by `timeout` exits with: the command had not ended by itself.
INTERRUPTED = 124
_SIGN = "== documentation"
_ENDED = re.compile(rf"^{_SIGN} (\d+) (\d+)$", re.MULTILINE)
# A file that a page shows; who reads it has it.
_SHOWN_FILE = re.compile(r"cat (\S+)$")
# What is not put into the reader's directory: environments, caches and results are his own.
_LEFT_OUT = frozenset({"dist", "build"})


@dataclass(frozen=True)
class Reader:
    """Somebody with a directory like a checkout, a home of his own, and programs in his path."""

    directory: Path
    environment: Mapping[str, str]

    def follow(self, blocks: Iterable[Block], otherwise: Mapping[str, str] | None = None) -> str:
        """Run the blocks in their order; the first that does not do what its page says fails the test.

        `otherwise` has what this test says in place of what stands in the page. Returns what was printed.
        """
        steps = [step for block in blocks for step in steps_of(block)]
        script = "".join(step.script(number) for number, step in enumerate(steps))
        for said, instead in (otherwise or {}).items():
            assert said in script, f"no block says {said!r} any more"
            script = script.replace(said, instead)
        printed = self._run(script, PATIENCE)
        try:
            judge(steps, printed)
        except AssertionError:
            # What the page would have put right in the end is put right all the same: others use this cloud after it.
            done = endings(printed)
            tidying = [step for number, step in enumerate(steps) if step.tidies and number not in done]
            self._run("".join(f"{step.command.text}\n" for step in tidying), TIDYING)
            raise
        return printed

    def _run(self, script: str, patience: float) -> str:
        """Run a script as this reader; return what was printed, also if it had not ended in time."""
        # By a file, and not by standard input, which commands would read; of a name that nobody else has.
        file = self.directory / f".session-{secrets.token_hex(4)}.sh"
        file.write_text(f"shopt -s expand_aliases; set -uo pipefail; exec 2>&1\n{script}")
        try:
            return subprocess.run(
                ["bash", str(file)],
                cwd=self.directory,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=patience,
                check=False,
            ).stdout
        except subprocess.TimeoutExpired as error:
            return (error.stdout or b"").decode()


@dataclass(frozen=True)
class Step:
    """A command of a page, or what a mark has done before and after it."""

    where: str
    command: Command
    exits: int = 0
    strict: bool = False
    """Whether it is a script that ends at its first failure."""
    interrupted: str = ""
    compared: bool = True
    tidies: bool = False
    """Whether it puts right what the page has changed."""

    def script(self, number: int) -> str:
        """Return what the shell is told."""
        text = self.command.text
        if (file := _SHOWN_FILE.match(text)) and self.command.output:
            shown = "\n".join(self.command.output)
            text = f"[ -e {file[1]} ] || install -D /dev/stdin {file[1]} <<'SHOWN'\n{shown}\nSHOWN\n{text}"
        if self.interrupted:
            text = f"timeout --signal=INT {self.interrupted} bash -c {shlex.quote(text)}"
        # Commands are typed one by one, and the next one is typed whatever the last one said; a script ends.
        told = f"printf '\\n{_SIGN} %d %d\\n' {number}"
        if self.strict:
            return f"trap '{_trap(told)}' EXIT\nset -e\n{text}\nset +e\ntrap - EXIT\n{told} 0\n"
        return f"{text}\ncode=$?; {told} $code; [ $code = {self.exits} ] || exit\n"


def _trap(told: str) -> str:
    return f"code=$?; {told} $code".replace("'", "'\\''")


def steps_of(block: Block) -> list[Step]:
    """Return what is run for a block."""
    mark = block.mark
    assert mark is not None
    steps = []
    if mark.before:
        steps.append(Step(f"{block.place}, before it", Command(block.line, mark.before), strict=True))
    for command in block.commands:
        last = command is block.commands[-1]
        steps.append(
            Step(
                f"{block.page}:{command.line}",
                command,
                exits=INTERRUPTED if last and mark.interrupted else mark.exits if last else 0,
                strict=block.language != "console",
                interrupted=mark.interrupted if last else "",
                compared=not mark.output,
            )
        )
    if mark.after:
        after = Command(block.line, mark.after)
        steps.append(Step(f"{block.place}, after it", after, strict=True, tidies=True))
    return steps


def endings(printed: str) -> dict[int, tuple[int, str]]:
    """Return of each step that ended its exit code, and what it printed."""
    parts = _ENDED.split(printed)
    # Between the texts stand the number and the exit code of the step that ended there.
    return {int(parts[index]): (int(parts[index + 1]), parts[index - 1]) for index in range(1, len(parts) - 1, 3)}


def judge(steps: list[Step], printed: str) -> None:
    """Compare what was printed with what the page promises."""
    __tracebackhide__ = True
    done = endings(printed)
    for number, step in enumerate(steps):
        command = step.command.text
        if number not in done:
            trouble = f"the shell ended here, or stood still for {PATIENCE} s"
            raise AssertionError(f"{step.where}: {trouble}\n{command}\n{_ENDED.split(printed)[-1]}")
        code, said = done[number]
        assert code == step.exits, f"{step.where}: ended with {code}, not {step.exits}\n{command}\n{said}"
        lost = answers.missing(step.command.output, said) if step.compared else []
        assert not lost, f"{step.where}: the page shows what was not printed: {lost}\n{command}\n{said}"


def reader(folder: Path, programs: Path, kubeconfig: Path | None = None, **more: str) -> Reader:
    """Return somebody with a new directory; `programs` are the first in his path."""
    directory, home = folder / "checkout", folder / "home"
    directory.mkdir(parents=True)
    home.mkdir()
    for entry in ROOT.iterdir():
        if not entry.name.startswith(".") and entry.name not in _LEFT_OUT:
            (directory / entry.name).symlink_to(entry)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
        # What the machine has already, and how it reaches its package index, is not the page's matter.
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
        "XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config"),
        "HELM_CONFIG_HOME": str(home / "helm"),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}),
        **more,
    }
    return Reader(directory, environment)


def equip(folder: Path, found: Mapping[str, Path]) -> Path:
    """Make a folder with kubectl, helm and our own program; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("kubectl", "helm"):
        (folder / name).symlink_to(found[name])
    ours = folder / "stackwright"
    ours.write_text(f'#!/bin/sh\nexec {sys.executable} -m stackwright.cli "$@"\n')
    ours.chmod(0o755)
    return folder
