"""Every command of the program with arguments that fit it, and many of them run at once, each in a process of its own.

A command costs half a second of imports. So one process imports everything and forks for each run: a hundred of them
take seconds. `run` starts that process; this file is also what it runs.
"""

import importlib
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import yaml

# Seconds after which a command counts as one that never ends.
ENDLESS = 60.0

# What stands for files in the table below.
KOLLA, IMAGES, CLOUD, KEYSTONE = "<kolla>", "<images>", "<cloud>", "<keystone>"

# Every command that asks a server, with the arguments of each way that it asks.
ASKING: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("action", "list"): (("keystone",),),
    ("action", "run"): (("keystone", "restart"), ("keystone", "restart", "--no-wait", "-n", "openstack")),
    ("check",): ((), ("-f", CLOUD), ("-o", "json")),
    ("config", "import"): ((KOLLA, "--yes"),),
    ("crds",): (("--install",),),
    ("explain",): (("keystone",), ("keystone", "-o", "json", "-n", "openstack")),
    ("give",): (("keystone", "--yes"),),
    ("logs",): (("keystone",), ("keystone", "-f", "-n", "openstack")),
    ("openrc",): ((), ("--clouds-yaml", "--internal", "-n", "openstack")),
    ("operator",): (("--images", IMAGES, "--webhooks", "off", "--health-port", "0"),),
    ("status",): ((), ("-o", "json", "-n", "openstack"), ("--watch",), ("--wait", "--timeout", "2s")),
    ("take",): (("keystone", "--yes"),),
    ("up",): (("--cloud", "none", "--images", IMAGES, "--kubeconfig"),),
    ("validate",): ((), ("--list", "-o", "json", "-n", "openstack")),
}
# Every other command, with arguments by which it does nothing to this machine.
APART: dict[tuple[str, ...], tuple[str, ...]] = {
    ("chart", "package"): ("--charts", "/nowhere"),
    ("completion",): ("bash",),
    ("down",): ("--name", "nobody"),
    ("image", "build"): ("nothing",),
    ("image", "list"): (),
    ("image", "load"): ("--name", "nobody"),
    ("image", "manifest"): ("--images", "/nowhere"),
    ("image", "push"): ("nothing",),
    ("local", "binaries"): ("nothing",),
    ("local", "down"): ("--name", "nobody"),
    ("local", "network"): ("--name", "nobody"),
    ("local", "node", "add"): ("No Name",),
    ("local", "node", "list"): ("--cluster", "nobody"),
    ("local", "node", "remove"): ("nobody", "--cluster", "nobody"),
    ("local", "registry"): ("--name", "nobody"),
    ("local", "status"): ("--name", "nobody"),
    ("local", "up"): ("--name", "No Name"),
    ("render",): ("keystone", "-f", KEYSTONE, "--image", "keystone:1", "--values"),
}


@dataclass(frozen=True)
class Done:
    """How one run ended: exit code (None where it had to be killed), what it wrote, and how long it took."""

    words: tuple[str, ...]
    code: int | None
    stdout: str
    stderr: str
    seconds: float


@dataclass(frozen=True)
class Run:
    """One run: the words of the command line, and the kubeconfig that it is given."""

    words: tuple[str, ...]
    kubeconfig: str


def paths(group: click.Group) -> Iterator[tuple[str, ...]]:
    """Yield every command below a group, as the words by which it is called."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((name, *rest) for rest in paths(command))
        else:
            yield (name,)


def write_files(folder: Path) -> dict[str, str]:
    """Write what the commands of the table read; return where each is."""
    kolla = folder / "kolla"
    kolla.mkdir()
    (kolla / "keystone.conf").write_text("[token]\nexpiration = 7200\n")
    names = ("operator", "keystone", "mariadb", "rabbitmq", "memcached", "glance", "placement", "barbican")
    components = {name: {"reference": f"localhost/{name}:1"} for name in names}
    (folder / "images.yaml").write_text(yaml.safe_dump({"components": components}))
    spec: dict[str, Any] = {"secret": "osp-secret", "storageClass": "local", "keystone": {"enabled": True}}
    _resource(folder / "cloud.yaml", "core", "OpenStackControlPlane", "openstack", spec)
    own = {"secret": "osp-secret", "databaseInstance": "openstack"}
    _resource(folder / "keystone.yaml", "keystone", "KeystoneAPI", "keystone", own)
    places = {IMAGES: "images.yaml", CLOUD: "cloud.yaml", KEYSTONE: "keystone.yaml", KOLLA: "kolla"}
    return {word: str(folder / name) for word, name in places.items()}


def _resource(path: Path, group: str, kind: str, name: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": f"{group}.openstack.org/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    path.write_text(yaml.safe_dump(body))


def words(
    command: tuple[str, ...], arguments: tuple[str, ...], files: dict[str, str], kubeconfig: str, patience: int
) -> tuple[str, ...]:
    """Return the words of one way to call a command that asks a server."""
    said = [*command, "--request-timeout", f"{patience}s", *(files.get(word, word) for word in arguments)]
    return (*said, kubeconfig) if said[-1] == "--kubeconfig" else tuple(said)


def run(runs: Sequence[Run], folder: Path, *, at_once: int = 24) -> list[Done]:
    """Run all of them, many at once, and return how each ended."""
    given = json.dumps([asdict(one) for one in runs])
    # A cluster of whoever runs the tests is never asked.
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    done = subprocess.run(
        [sys.executable, __file__, str(folder), str(at_once)],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env={**environment, "COLUMNS": "200"},
    )
    return [Done(**{**entry, "words": tuple(entry["words"])}) for entry in json.loads(done.stdout)]


def _child(one: Run, out: Path, err: Path) -> None:
    """Be the command; never return."""
    for path, number in ((out, 1), (err, 2)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ["KUBECONFIG"] = one.kubeconfig
    sys.argv = ["stackwright", *one.words]
    code = 70
    try:
        from stackwright.cli.main import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:  # noqa: BLE001  what python itself would have done
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@dataclass
class _Going:
    """A run that has not ended."""

    one: Run
    out: Path
    err: Path
    began: float
    killed: bool = False

    def done(self, status: int) -> Done:
        code = None if self.killed else os.waitstatus_to_exitcode(status)
        return Done(self.one.words, code, self.out.read_text(), self.err.read_text(), time.monotonic() - self.began)


def _run_all(runs: Sequence[Run], folder: Path, at_once: int) -> list[Done]:
    """Fork for each run, so many at once. There is no other thread: a child would keep the locks that one holds."""
    results: dict[int, Done] = {}
    numbers: dict[int, int] = {}
    going: dict[int, _Going] = {}
    waiting = list(enumerate(runs))[::-1]
    while waiting or going:
        while waiting and len(going) < at_once:
            number, one = waiting.pop()
            out, err = folder / f"{number}.out", folder / f"{number}.err"
            process = os.fork()
            if process == 0:
                _child(one, out, err)
            numbers[process], going[process] = number, _Going(one, out, err, time.monotonic())
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            results[numbers[ended]] = going.pop(ended).done(status)
            continue
        time.sleep(0.01)
        for process, run_of in going.items():
            if not run_of.killed and time.monotonic() - run_of.began > ENDLESS:
                run_of.killed = True
                os.kill(process, 9)
    return [results[number] for number in range(len(runs))]


def _main() -> None:
    from stackwright import services
    from stackwright.cli import main

    folder, at_once = Path(sys.argv[1]), int(sys.argv[2])
    runs = [Run(tuple(entry["words"]), entry["kubeconfig"]) for entry in json.load(sys.stdin)]
    # Imported once, for all of them: also what a command imports only when it runs.
    list(paths(main.cli))
    for module in (
        "stackwright.controllers.operator_process",
        "stackwright.cli.log_lines",
        "stackwright.cli.artifacts",
    ):
        importlib.import_module(module)
    services.control_plane()
    json.dump([asdict(done) for done in _run_all(runs, folder, at_once)], sys.stdout)


if __name__ == "__main__":
    _main()
