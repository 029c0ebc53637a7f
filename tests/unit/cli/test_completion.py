"""Shell completion: quick, and without a cluster where none answers."""

import os
import shutil
import subprocess
import sys

import pytest

from stackwright.cli.main import COMMANDS


def complete(*words: str) -> list[str]:
    """Ask the program as the function of a bash does."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "_STACKWRIGHT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("stackwright", *words)),
        "COMP_CWORD": str(len(words)),
    }
    program = "import sys; sys.argv = ['stackwright']; from stackwright.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_commands_are_completed() -> None:
    assert complete("st") == ["status"]
    assert set(complete("")) == set(COMMANDS)


def test_without_a_cluster_no_name_is_completed_and_nobody_complains() -> None:
    assert complete("logs", "key") == []


def test_commands_are_listed_without_importing_them() -> None:
    program = (
        "import sys; from stackwright.cli.main import cli; import click;"
        "names = [item.value for item in cli.shell_complete(click.Context(cli), '')];"
        "assert 'status' in names; print(sorted(name for name in sys.modules if name.startswith('stackwright.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['stackwright.cli', 'stackwright.cli.exit_codes', 'stackwright.cli.main']"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_is_printed_is_a_program_of_that_shell(shell: str) -> None:
    program = "from stackwright.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "completion", shell], capture_output=True, text=True, check=True
    )
    assert "_STACKWRIGHT_COMPLETE" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)
