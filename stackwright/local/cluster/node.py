"""A node from inside: its view of the machine, then its programs until it is ended."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from stackwright import tasks
from stackwright.local.cluster import isolation, preparation
from stackwright.local.cluster.layout import Layout, ProcessKey, Settings
from stackwright.local.cluster.supervisor import Supervisor
from stackwright.local.errors import LocalError


def run(layout: Layout, settings: Settings, first: ProcessKey, *, connected: Callable[[], bool]) -> int:
    """Run the node whose first process we are, and return its exit code.

    `connected` waits until the node has its cable and its control groups, and says whether it ever will.
    """
    try:
        isolation.enter(
            layout.root(settings.node),
            layout.var(settings.node),
            hostname=settings.node.name,
            needed=_needed(layout, settings),
        )
        programs = preparation.prepare(layout, settings)
    except (LocalError, OSError) as error:
        print(error, file=sys.stderr, flush=True)  # noqa: T201  standard error is our log
        # The process that connects us would not understand why we are gone; it reads our log when it is done.
        connected()
        return 1
    if not connected():
        return 1
    asyncio.run(_run(Supervisor(layout, programs, first)))
    return 0


def _needed(layout: Layout, settings: Settings) -> Iterable[Path]:
    """Return the folders that the node's programs are pointed at, and where they are behind links."""
    named = [
        layout.directory,
        Path(settings.cni),
        *(Path(path).resolve().parent for path in settings.binaries.values()),
    ]
    named += [Path(path) for path in (sys.prefix, sys.base_prefix, *sys.path) if path]
    yield from named
    yield from (path.resolve() for path in named if path.is_dir())


async def _run(supervisor: Supervisor) -> None:
    """Run the programs until somebody asks for an orderly end; a quick one needs no asking."""
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    running = tasks.start(supervisor.run())
    end = tasks.start(ending.wait())
    await asyncio.wait({running, end}, return_when=asyncio.FIRST_COMPLETED)
    running.cancel()
    try:
        with suppress(asyncio.CancelledError):
            await running
    finally:
        # Also after a bug of ours: the kernel would kill etcd and all pods with us.
        await supervisor.stop(_containers)


def _containers() -> Iterable[int]:
    """Return the processes that run in pods: those that are in process namespaces below ours."""
    own = Path("/proc/1/ns/pid").readlink()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and (folder / "ns" / "pid").readlink() != own:
                yield int(folder.name)
