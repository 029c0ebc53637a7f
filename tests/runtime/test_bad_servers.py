"""Every command against servers that are no Kubernetes: one sentence on standard error, nothing else, and it ends."""

from pathlib import Path

import pytest
import yaml

from stackwright.cli import exit_codes
from stackwright.cli.main import cli
from tests import commands
from tests.commands import APART, ASKING, Done, Run
from tests.runtime import bad_servers

# Seconds that each server has for its answer. A command that has not ended after commands.ENDLESS has no exit code.
PATIENCE = 2
# One that answers at once is waited for only on a loaded machine, and what it says must be heard there too.
LONGER = {"not-found": 20}

# The servers on which all ways are tried; on the others it is the first.
THOROUGH = {"nobody", "silent", "a-web-page"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return commands.write_files(tmp_path_factory.mktemp("given"))


def kubeconfig_of(url: str, path: Path) -> str:
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bad",
        "contexts": [{"name": "bad", "context": {"cluster": "bad", "user": "me"}}],
        "clusters": [{"name": "bad", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": "never-printed"}}],
    }
    path.write_text(yaml.safe_dump(body))
    return str(path)


@pytest.fixture(scope="module")
def ended(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Done]]:
    """Every command against every server, all at once: what is asserted below is read from it."""
    folder = tmp_path_factory.mktemp("runs")
    with bad_servers.all_of_them() as urls:
        kubeconfigs = {name: kubeconfig_of(url, folder / f"{name}.yaml") for name, url in urls.items()}
        runs = [
            (
                server,
                Run(commands.words(command, arguments, files, kubeconfig, LONGER.get(server, PATIENCE)), kubeconfig),
            )
            for server, kubeconfig in kubeconfigs.items()
            for command, ways in ASKING.items()
            for arguments in (ways if server in THOROUGH else ways[:1])
        ]
        done = commands.run([run for _, run in runs], folder)
    by_server: dict[str, list[Done]] = {name: [] for name in kubeconfigs}
    for (server, _), one in zip(runs, done, strict=True):
        by_server[server].append(one)
    return by_server


def test_every_command_has_a_row() -> None:
    assert set(commands.paths(cli)) == {*ASKING, *APART}


@pytest.mark.parametrize("server", [*bad_servers.SAYS, *bad_servers.FURTHER])
def test_a_server_that_is_no_kubernetes_gets_one_sentence_on_standard_error(
    ended: dict[str, list[Done]], server: str
) -> None:
    for done in ended[server]:
        said = f"{done.words} {done.code} after {done.seconds:.1f} s\n{done.stdout}\n{done.stderr}"
        assert done.stdout == "", said
        assert "Traceback" not in done.stderr, said
        assert "never-printed" not in done.stderr, said
        assert len(done.stderr.strip().splitlines()) == 1, said
        # A server that has none of our kinds has no cloud: these say so, and that it is not ready.
        without = server == "not-found" and done.words[0] in {"status", "validate"}
        assert without or done.stderr.startswith("Error: "), said
        assert done.code == (exit_codes.NOT_READY if without else exit_codes.FAILED), said


def test_a_command_that_asks_no_server_logs_nothing_either(files: dict[str, str], tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    runs = [Run((*command, *(files.get(word, word) for word in words)), nowhere) for command, words in APART.items()]
    for done in commands.run(runs, tmp_path):
        assert "Traceback" not in done.stderr, done
        assert "debug" not in done.stdout, done
        if done.code:
            assert done.stderr.startswith(("Error: ", "Usage: ")) or "local" in done.words, done
            assert done.stdout == "" or "local" in done.words, done
