"""How all tests on real clusters wait for what nobody tells them of."""

import time
from collections.abc import Callable

# A machine under load takes many times as long as a healthy one; a test that passes never waits that long.
PATIENCE = 300.0


def eventually(question: Callable[[], object], what: str | Callable[[], str], patience: float = PATIENCE) -> float:
    """Ask until the answer is yes; return after how many seconds it was.

    `what` is told if that does not happen in time; as a function it is asked then, and can tell what was there instead.
    """
    began = time.monotonic()
    while not question():
        if time.monotonic() > began + patience:
            raise AssertionError(f"not within {patience:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.5)
    return time.monotonic() - began
