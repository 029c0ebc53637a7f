"""The rules for all rings.

On a person's machine a missing part is a skip with its reason, in CI a skip is a failure. A task that failed and that
nobody asked is a failure too, of the test in which asyncio noticed it. A failure is named when it happens, so that a
ring which is ended has said what failed.
"""

import gc
import logging
import os
import sys
from collections.abc import Generator

import pytest
import structlog
from hypothesis import HealthCheck, settings

# No test is about time: on a machine that is busy with something else, an example may take long.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if "CI" not in os.environ:
    # There hypothesis chooses a profile that is as patient, and takes the same examples each time.
    settings.load_profile("patient")

LOST = "exception was never retrieved"


class Lost(logging.Handler):
    """Keeps what asyncio says of tasks and futures that failed, and that nobody asked how they ended."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if LOST in (message := record.getMessage()):
            self.found.append(f"{message}\n{record.exc_info}")

    def take(self) -> str:
        """Return what was found since the last time."""
        found, self.found = "\n".join(self.found), []
        return found


LOST_TASKS = Lost()


class AtOnce:
    """Names each failure in the moment in which it is known, with the first line of its reason."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message if crash else str(report.longrepr)
            lines = reason.strip().splitlines() or [""]
            self.terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}): {lines[0][:300]}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if isinstance(terminal := config.pluginmanager.getplugin("terminalreporter"), pytest.TerminalReporter):
        config.pluginmanager.register(AtOnce(terminal))
    logging.getLogger("asyncio").addHandler(LOST_TASKS)
    # A command that runs in this process has standard output to itself; what is played beside it logs elsewhere.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Look once more at the end: a failure is noticed when its task is collected, and not before."""
    gc.collect()
    if lost := LOST_TASKS.take():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        raise pytest.UsageError(f"A task failed, and nobody asked how it ended:\n{lost}")


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An expected failure is reported as a skip as well, and is none.
    if report.skipped and in_ci() and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{reason_of(report)}\nThis was a skip, and in CI a skip is a failure."
    if report.when == "teardown" and (lost := LOST_TASKS.take()):
        report.outcome = "failed"
        report.longrepr = f"A task failed, and nobody asked how it ended:\n{lost}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped and in_ci():
        report.outcome = "failed"
        report.longrepr = f"{reason_of(report)}\nThis was a skip, and in CI a skip is a failure."
    return report


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        path, line, reason = report.longrepr
        return f"{path}:{line}: {reason}"
    return str(report.longrepr)
