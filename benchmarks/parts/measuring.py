"""What a measured program says about itself. It uses the standard library alone: every environment has that.

A measured program makes a Meter when its imports are done, works, and calls `report` when whoever started it
closes its standard input. What it says is one line of JSON, the last that it prints.
"""

import asyncio
import json
import resource
import sys
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reading:
    """What a program used: processor time of user and system in seconds, resident memory in bytes."""

    cpu: float
    """Since the Meter was made."""
    cpu_whole: float
    """Since the process began, so with the start of Python and all imports."""
    resident: int
    """Now."""
    resident_before: int
    """When the Meter was made."""
    peak: int
    """The most at any time."""


class Meter:
    """Measures this process from now on."""

    def __init__(self) -> None:
        self._cpu = _cpu()
        self._resident = _memory("VmRSS")

    def reading(self) -> Reading:
        """Return what was used until now."""
        cpu = _cpu()
        return Reading(
            cpu=cpu - self._cpu,
            cpu_whole=cpu,
            resident=_memory("VmRSS"),
            resident_before=self._resident,
            peak=_memory("VmHWM"),
        )

    async def report(self) -> None:
        """Wait until standard input ends, and say what was used until then."""
        await _input_ended()
        reading = self.reading()
        print(json.dumps(asdict(reading)), flush=True)


def say(word: str) -> None:
    """Tell whoever started this program how far it is."""
    print(word, flush=True)


async def _input_ended() -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _memory(field: str) -> int:
    # The kernel's own count. The peak in getrusage would also count the process that started this one.
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise LookupError(f"/proc/self/status has no {field}")
