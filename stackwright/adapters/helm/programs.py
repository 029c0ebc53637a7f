"""The helm program: where it is, how it is run, and what it complains about."""

import asyncio
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackwright.adapters.errors import Unavailable

# Names the program where it is not on the PATH.
PROGRAM = "STACKWRIGHT_HELM"
# A value shorter than this says nothing, and hiding it would make holes in the words around it.
_SHORTEST_HIDDEN = 8


@dataclass(frozen=True)
class Done:
    """How a run of helm ended: a code below zero is the signal that ended it."""

    code: int
    printed: bytes = field(repr=False)
    complaint: str = field(repr=False)


def find(program: Path | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Return where helm is; raise Unavailable where it is not."""
    named = str(program) if program is not None else environment.get(PROGRAM, "")
    found = shutil.which(named or "helm", path=environment.get("PATH"))
    if found is None:
        where = f"{named} is not a program" if named else "helm is not on the PATH"
        raise Unavailable(f"Charts cannot be rendered: {where}; install helm 4, or name it in {PROGRAM}")
    return Path(found)


async def run(
    program: Path, words: Sequence[str], environment: Mapping[str, str], *, deadline: float, given: bytes = b""
) -> Done | None:
    """Run helm with an environment of its own and return how it ended; None where it took too long."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            program, *words, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environment)
        )
    except OSError as error:
        message = f"{program} does not start: {error.strerror}; install helm 4, or name it in {PROGRAM}"
        raise Unavailable(message) from error
    try:
        async with asyncio.timeout(deadline):
            printed, complaint = await process.communicate(given)
    except TimeoutError:
        return None
    finally:
        # A process that was not waited for, because we were cancelled or it took too long.
        if process.returncode is None:
            process.kill()
            # To wait alone would never end where it has printed more than a pipe holds.
            await process.communicate()
    return Done(process.returncode or 0, printed, complaint.decode(errors="replace"))


def complaint_of(printed: str, values: str = "{}") -> str:
    """Return what helm complains about in one line, without the values that it was given."""
    _, _, text = printed.rpartition("Error: ")
    lines = [line.strip() for line in text.splitlines() if not line.startswith("Use --debug")]
    complaint = " ".join(line for line in lines if line) or "helm failed and did not say why"
    for value in sorted(_texts(json.loads(values)), key=len, reverse=True):
        complaint = complaint.replace(value, "<value>")
    return complaint


def _texts(value: Any) -> Iterator[str]:
    """Yield every text among the values that is long enough to say something."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str) and len(value) >= _SHORTEST_HIDDEN:
        yield value
