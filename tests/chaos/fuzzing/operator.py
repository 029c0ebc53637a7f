"""The operator of the fuzzer, in a process of its own: the real one, but for whom it talks to outside of Kubernetes.

A MariaDB in memory answers it; all other servers are dialled on this machine, where nobody listens. Once in a while it
writes its counters to a file.
"""

import asyncio
import contextlib
import dataclasses
import sys
from pathlib import Path
from typing import TextIO

from prometheus_client import REGISTRY, write_to_textfile

from stackwright.adapters.helm import Renderer
from stackwright.adapters.mariadb import MariaDB, ServerLogin
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.cli import log_lines
from stackwright.cli.commands.crds import OLDEST_KUBERNETES
from stackwright.controllers import database, operator_process, roster
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.operator_process import Operation, Webhooks
from stackwright.controllers.service import Environment
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.runtime import serve
from tests.fakes.mariadb import FakeMariaDB
from tests.functional.cloud import IMAGES, ROOT, everybody_holds

NAME = "fuzzed-operator"
COUNTERS = "counters.prom"
EVERY_SECONDS = 0.5


class Here(Dialler):
    """Finds every server on this machine."""

    async def address(self, hostname: str) -> str:  # noqa: ARG002  whoever is asked for
        """Return this machine's address."""
        return "127.0.0.1"


class Trusting(FakeMariaDB):
    """Lets root in with whatever stands in the Secret: it was set up with that."""

    def connect(self, login: ServerLogin) -> MariaDB:
        """Return a way to this server."""
        self.password = login.password
        return super().connect(login)


async def run(kubeconfig: Path, namespace: str, helm: Path, folder: Path, port: int) -> None:
    """Run until a signal ends it; with a port it serves webhooks there."""
    environment = Environment(IMAGES, ROOT / "charts", holds=everybody_holds, renderer=Renderer(helm))
    operation = Operation(
        environment,
        namespace,
        OLDEST_KUBERNETES,
        inside=False,
        namespaces=(namespace,),
        election=False,
        health_port=0,
        webhooks=Webhooks(port=port) if port else None,
    )
    # By its name the server's audit tells it from the others of this run.
    groups = (("Impersonate-User", NAME), ("Impersonate-Group", "system:masters"))
    async with Client(dataclasses.replace(config.load(kubeconfig), impersonate=groups)) as client:
        dialler = Here(client, inside=True)
        played = (MariaDBDatabase, MariaDBAccount)
        controllers = (
            *(one for one in roster.assemble(dialler, environment) if one.kind not in played),
            *database.controllers(dialler, Trusting().connect),
        )
        runtime = operator_process._runtime(client, client, controllers, operation)
        counting = asyncio.create_task(_count(folder / COUNTERS))
        try:
            await serve(runtime)
        finally:
            counting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await counting


async def _count(path: Path) -> None:
    while True:
        write_to_textfile(str(path), REGISTRY)
        await asyncio.sleep(EVERY_SECONDS)


def main(arguments: list[str], log: TextIO = sys.stdout) -> None:
    """Read kubeconfig, namespace, helm, folder and port, and run."""
    kubeconfig, namespace, helm, folder, port = arguments
    log_lines.configure(log)
    asyncio.run(run(Path(kubeconfig), namespace, Path(helm), Path(folder), int(port)))


if __name__ == "__main__":
    main(sys.argv[1:])
