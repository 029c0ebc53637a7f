"""Time, as it passes and as it is written.

What must be measured, such as a lease, is measured on the monotonic clock of one machine; wall clocks are for
people to read, and for certificates. Code that waits takes a Clock, so that a test can let an hour pass.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def now() -> datetime:
    """Return this moment, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Clock:
    """A monotonic clock in seconds, the wall's time, and a way to let time pass."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


REAL = Clock()


def microseconds(moment: datetime) -> str:
    """Return a moment as metav1.MicroTime has it: `2026-11-15T10:00:00.000000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds(moment: datetime) -> str:
    """Return a moment as metav1.Time has it: `2026-11-15T10:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
