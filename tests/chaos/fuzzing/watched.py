"""The operator's process as others see it: its memory, its log, its counters, and what the server's audit says."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stackwright.kube.resource import JsonObject
from tests.chaos.fuzzing.operator import COUNTERS, EVERY_SECONDS, NAME

ROOT = Path(__file__).parents[3]
# What a log must not have in it, whatever is written.
TROUBLES = ("Traceback", "never retrieved", "was never awaited", "Unclosed", "InternalError")
MISFIT = "failed to create typed patch object"
# These need a kubelet, and there is none.
WITH_KUBELETS = frozenset({"log", "exec", "portforward", "attach", "proxy"})


@dataclass(frozen=True)
class Operator:
    """An operator that runs."""

    process: "subprocess.Popen[bytes]"
    folder: Path

    @property
    def log(self) -> str:
        """All that it has said."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def troubles(self) -> list[str]:
        """The lines of its log that only a bug explains."""
        return [line[:3000] for line in self.log.splitlines() if any(word in line for word in TROUBLES)]

    def memory(self, which: str = "VmRSS") -> int:
        """Return its memory in megabytes; `VmHWM` is the most that it ever had."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) // 1024 for line in text.splitlines() if line.startswith(which))

    def counted(self, name: str) -> dict[str, float]:
        """Return a counter by controller."""
        found: dict[str, float] = {}
        # The library's own parser takes a second for the whole file.
        for line in (self.folder / COUNTERS).read_text().splitlines():
            if line.startswith(f"{name}{{"):
                labels, _, value = line.rpartition(" ")
                controller = labels.partition('controller="')[2].partition('"')[0]
                found[controller] = found.get(controller, 0.0) + float(value)
        return found

    async def until(self, holds: Callable[[], bool], what: str, patience: float) -> float:
        """Wait until something holds of it, which dies of nothing meanwhile; return how many seconds that took."""
        began = time.monotonic()
        while not holds():
            assert self.process.poll() is None, f"the operator has ended:\n{self.log[-3000:]}"
            assert time.monotonic() < began + patience, f"not within {patience:g} s: {what}\n{self.log[-3000:]}"
            await asyncio.sleep(EVERY_SECONDS)  # A file cannot be watched with the standard library.
        return time.monotonic() - began


@contextlib.contextmanager
def operating(kubeconfig: Path, namespace: str, helm: Path, folder: Path, port: int) -> Iterator[Operator]:
    """Run an operator for the time of a block; it has to end when it is told to."""
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.chaos.fuzzing.operator"]
    arguments = [str(kubeconfig), namespace, str(helm), str(folder), str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield Operator(process, folder)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def audited(log: Path) -> Iterator[JsonObject]:
    """Yield every request that the server has answered; a line that is not whole yet comes the next time."""
    for line in log.read_text().splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def failures(log: Path) -> list[str]:
    """Return the requests of whomever that ended with a failure of the server itself."""
    return [
        f"{entry['verb']} {entry['requestURI']}: {entry.get('responseStatus')}"
        for entry in audited(log)
        if entry.get("responseStatus", {}).get("code", 0) >= 500 and not _is_known(entry)
    ]


def _is_known(entry: JsonObject) -> bool:
    """Return whether a failure is no news: without kubelets, while the server starts, of somebody who went away.

    What does not fit its schema Kubernetes refuses with a 500 when it is applied; who applies that is to blame. The
    fuzzer may, the operator may not.
    """
    said = entry["responseStatus"].get("message", "")
    return (
        entry.get("objectRef", {}).get("subresource") in WITH_KUBELETS
        or entry["requestURI"].startswith(("/readyz", "/livez", "/healthz"))
        or "context canceled" in said
        or (MISFIT in said and entry.get("impersonatedUser", {}).get("username") != NAME)
    )


def unasked(log: Path) -> list[str]:
    """Return the requests that were let through because a webhook did not answer as it should."""
    return [
        f"{entry['verb']} {entry['requestURI']}: {name}"
        for entry in audited(log)
        for name in entry.get("annotations", {})
        if name.startswith("failed-open.")
    ]


def writes(log: Path, user: str, after: str) -> list[str]:
    """Return what a user wrote after a time, but for events."""
    return [
        f"{entry['verb']} {entry['requestURI']}"
        for entry in audited(log)
        if entry["requestReceivedTimestamp"] > after
        and entry["verb"] in {"create", "update", "patch", "delete"}
        and entry.get("impersonatedUser", {}).get("username") == user
        and entry.get("objectRef", {}).get("resource") != "events"
    ]
