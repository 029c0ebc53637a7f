"""The program itself: what it lists, how it ends, and what a user sees when something is wrong."""

import pwd
import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stackwright.cli.main import COMMANDS, cli, main, sentence
from stackwright.local.errors import ClusterFailed
from tests.commands import paths
from tests.unit.cli.program import run


def test_every_listed_command_is_there_and_says_the_same_of_itself() -> None:
    listed = run("--help").stdout
    for name, (_, words) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(words)}$", listed, re.MULTILINE)
        # One program has loaded them all by now: a start for each would take a second.
        assert words in CliRunner().invoke(cli, [name, "--help"]).stdout.replace("\n  ", " ")


def test_an_unknown_command_is_a_wrong_call() -> None:
    done = run("nonsense")
    assert done.returncode == 2
    assert "No such command 'nonsense'" in done.stderr


def test_the_exit_code_of_a_command_is_that_of_the_program() -> None:
    done = run("local", "status", "--name", "nobody")
    assert (done.returncode, done.stdout) == (1, "The cluster nobody is not running.\n")


@pytest.mark.parametrize("words", [(), ("status",), ("action", "run")], ids=["program", "command", "subcommand"])
def test_a_help_text_tells_the_exit_codes(words: tuple[str, ...]) -> None:
    done = run(*words, "--help")
    assert "\n    3    not ready yet, or not within --timeout\n    4    something is in error\n" in done.stdout


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("a: [b", "is not valid YAML: line 2", id="broken-yaml"),
        pytest.param("apiVersion: v1\nkind: Config\n", "has no current-context", id="no-context"),
        pytest.param(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts: []\n", '"here"', id="unknown-context"
        ),
    ],
)
def test_a_bad_kubeconfig_is_one_sentence(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    done = run("crds", "--install", "--kubeconfig", str(path))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert expected in done.stderr
    assert str(path) in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("status",), id="the-cluster-on-this-machine"),
        pytest.param(("crds", "--install", "--kubeconfig", "~/config"), id="a-kubeconfig"),
        pytest.param(("crds", "--install", "--context", "here"), id="a-context"),
    ],
)
def test_a_user_without_a_home_directory_is_told_so(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    # As in a container that runs with a user whom nobody has listed.
    monkeypatch.setattr(pwd, "getpwuid", lambda number: {}[number])
    monkeypatch.setattr(sys, "argv", ["stackwright", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert (said.startswith("Error: "), said.count("\n"), "set HOME" in said) == (True, 1, True)


def test_no_cluster_is_used_by_surprise() -> None:
    done = run("crds", "--install")
    assert done.returncode == 1
    assert "No cluster is named" in done.stderr


@pytest.mark.parametrize("words", list(paths(cli)), ids=" ".join)
def test_a_command_accepts_what_it_takes_by_default(words: tuple[str, ...]) -> None:
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    context = click.Context(command)
    for parameter in command.params:
        stated = parameter.get_default(context)
        if isinstance(parameter, click.Option) and isinstance(stated, str):
            # A file that does not exist, say, would make every call without the option a wrong one.
            parameter.type.convert(stated, parameter, context)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(ClusterFailed("Use sudo."), "Use sudo.", id="ours"),
        pytest.param(OSError(28, "No space left", "/state"), "/state: No space left", id="of-a-file"),
        pytest.param(OSError(28, "No space left"), "No space left", id="of-no-file"),
        pytest.param(TimeoutError(), "", id="a-deadline-of-ours-that-nobody-expected"),
        pytest.param(ValueError("7"), "", id="a-bug"),
    ],
)
def test_what_the_machine_refuses_is_a_sentence_and_a_bug_is_not(error: Exception, said: str) -> None:
    assert sentence(error) == said


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "stackwright/trial/settings.json"
    path.mkdir(parents=True)
    done = run("local", "network", "--name", "trial", environment={"XDG_STATE_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (1, f"Error: {path}: Is a directory\n")
