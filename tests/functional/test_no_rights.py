"""Every command with a kubeconfig of somebody who may do nothing: a sentence, and no answer that is none."""

import asyncio
from pathlib import Path

import yaml

from stackwright.cli import exit_codes
from stackwright.local.apiserver.server import Shared
from tests import commands
from tests.commands import ASKING, Run

# Longer than a loaded server takes; it answers, so nobody waits for that long.
PATIENCE = 30


def kubeconfig_of_nobody(admin: Path, path: Path, namespace: str) -> str:
    """Write the administrator's kubeconfig as a ServiceAccount to which nobody gave a role."""
    content = yaml.safe_load(admin.read_text())
    for user in content["users"]:
        user["user"]["as"] = f"system:serviceaccount:{namespace}:default"
        user["user"]["as-groups"] = ["system:serviceaccounts", "system:authenticated"]
    path.write_text(yaml.safe_dump(content))
    return str(path)


async def test_who_may_do_nothing_gets_one_sentence_from_every_command(
    apiserver: Shared, namespace: str, tmp_path: Path
) -> None:
    kubeconfig = kubeconfig_of_nobody(apiserver.kubeconfig, tmp_path / "nobody.yaml", namespace)
    given, ran = tmp_path / "given", tmp_path / "ran"
    given.mkdir()
    ran.mkdir()
    files = commands.write_files(given)
    runs = [
        Run(commands.words(command, arguments, files, kubeconfig, PATIENCE), kubeconfig)
        for command, ways in ASKING.items()
        for arguments in ways
    ]
    for done in await asyncio.to_thread(commands.run, runs, ran, at_once=4):
        said = f"{done.words} {done.code}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, said
        if done.words[0] == "check" and "-f" in done.words:
            # It answers with what it could look at, and says of the rest that it could not.
            assert "debug" not in done.stdout, said
            continue
        assert done.stdout == "", said
        assert done.stderr.startswith("Error: "), said
        assert len(done.stderr.strip().splitlines()) == 1, said
        assert done.code == exit_codes.FAILED, said
