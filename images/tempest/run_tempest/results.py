"""What became of each test, from the events of a run. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .selection import plain

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_STATUS = {"success": PASSED, "xfail": PASSED, "skip": SKIPPED, "fail": FAILED, "uxsuccess": FAILED}
# What happens to a class as a whole is told under such a name.
_OF_CLASS = re.compile(r"(?P<step>setUpClass|tearDownClass) \((?P<name>[^)]+)\)")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(:|$)")
LONGEST_REASON, LONGEST_TRACE = 600, 12_000

Line = dict[str, Any]


class Results:
    """Turns the events of a run into one line for each test that was selected."""

    def __init__(self, tests: Iterable[str]) -> None:
        self._left = {plain(test) for test in tests}

    def lines(self, event: Mapping[str, Any]) -> Iterator[Line]:
        """Yield what one event says: of a test, or of all tests of a class."""
        status = _STATUS.get(str(event.get("status")))
        name = str(event.get("id", ""))
        if status is None:
            return
        texts = _texts(event.get("details") or {})
        said = {"status": status, "seconds": _seconds(event.get("timestamps") or ()), "reason": reason(status, texts)}
        if status == FAILED:
            said["trace"] = trace(texts)
        whole = _OF_CLASS.fullmatch(name)
        if whole is None:
            yield from self._line(plain(name), said)
        elif whole["step"] == "setUpClass":
            for test in sorted(test for test in self._left if test.startswith(f"{whole['name']}.")):
                yield from self._line(test, said)
        elif status == FAILED:
            # The tests themselves have their results already.
            yield {"test": name, **said}

    def _line(self, test: str, said: Line) -> Iterator[Line]:
        if test in self._left:
            self._left.remove(test)
            yield {"test": test, **said}

    @property
    def missing(self) -> Sequence[str]:
        """The tests of which nothing was told."""
        return sorted(self._left)


def _texts(details: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, content in details.items():
        try:
            found[str(name)] = content if isinstance(content, str) else str(content.as_text())
        except (AttributeError, ValueError):
            continue
    return found


def _seconds(times: Sequence[Any]) -> float:
    if len(times) < 2 or times[0] is None or times[1] is None:
        return 0.0
    return round(float((times[1] - times[0]).total_seconds()), 2)


def reason(status: str, texts: Mapping[str, str]) -> str:
    """Return why a test was skipped or failed, in a line."""
    if status == SKIPPED:
        return _short(texts.get("reason", ""))
    if status == FAILED:
        return _short(exception(_traceback(texts))) or "It says nothing of why."
    return ""


def trace(texts: Mapping[str, str]) -> str:
    """Return where a test failed; the end of it if it is long."""
    return _traceback(texts).strip()[-LONGEST_TRACE:]


def _traceback(texts: Mapping[str, str]) -> str:
    # What went wrong afterwards, while things were removed, is told as traceback-1 and so on.
    names = sorted(name for name in texts if name.startswith("traceback"))
    return texts[names[0]] if names else "\n".join(texts.values())


def exception(traceback: str) -> str:
    """Return the exception at the end of a traceback, with all that it says."""
    lines = [line.rstrip() for line in traceback.strip().splitlines()]
    indented = [number for number, line in enumerate(lines) if line.startswith("  ")]
    after = lines[indented[-1] + 1 :] if indented else lines
    # A message may have lines of its own, and some of them may be indented: the exception's line is the last that
    # follows code.
    for number in range(len(lines) - 1, 0, -1):
        if _EXCEPTION.match(lines[number]) and lines[number - 1].startswith("    "):
            return " ".join(line.strip() for line in lines[number:] if line.strip())
    return " ".join(line.strip() for line in after if line.strip())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
