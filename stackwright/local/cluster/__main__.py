"""The first process of a node: makes the node's view of the machine, and runs its programs until it is ended."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from stackwright.local.cluster import isolation, preparation, processes
from stackwright.local.cluster.layout import CONNECTED, Layout, Settings
from stackwright.local.cluster.supervisor import Supervisor
from stackwright.local.errors import LocalError


def main() -> int:
    """Read the command line, say who we are, and run the node once it is connected."""
    parser = argparse.ArgumentParser(prog="python -m stackwright.local.cluster", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="the cluster's folder, with its settings.json")
    layout = Layout(parser.parse_args().directory)
    # /proc is still the host's, so this is who we are to it.
    first = processes.identity(int(Path("/proc/self").readlink().name))
    settings = layout.read_settings()
    if first is None or settings is None:
        return 1
    print(first.pid, first.started, flush=True)  # noqa: T201  who started us reads it
    # Who started us connects the node by its cable; when they end before that, so do we.
    if sys.stdin.readline().strip() != CONNECTED:
        return 1
    try:
        isolation.enter(
            layout.root(settings.node),
            layout.var(settings.node),
            hostname=settings.node.name,
            needed=_needed(layout, settings),
        )
        parts = preparation.prepare(layout, settings)
    except LocalError as error:
        print(error, file=sys.stderr, flush=True)  # noqa: T201  standard error is our log
        return 1
    asyncio.run(_run(Supervisor(layout, parts, first)))
    return 0


def _needed(layout: Layout, settings: Settings) -> Iterable[Path]:
    """Return the folders that the node's programs are pointed at."""
    yield layout.directory
    yield Path(settings.cni)
    yield from (Path(path).resolve().parent for path in settings.binaries.values())
    yield from (Path(path) for path in (sys.prefix, sys.base_prefix, *sys.path) if path)


async def _run(supervisor: Supervisor) -> None:
    """Run the programs until somebody asks for an orderly end; a quick one needs no asking."""
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    running = asyncio.ensure_future(supervisor.run())
    end = asyncio.ensure_future(ending.wait())
    await asyncio.wait({running, end}, return_when=asyncio.FIRST_COMPLETED)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    await supervisor.stop(_containers)


def _containers() -> Iterable[int]:
    """Return the processes that run in pods: those that are in process namespaces below ours."""
    own = Path("/proc/1/ns/pid").readlink()
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and (folder / "ns" / "pid").readlink() != own:
                yield int(folder.name)


if __name__ == "__main__":
    sys.exit(main())
