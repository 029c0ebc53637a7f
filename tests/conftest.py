"""The rule for all rings: on a person's machine a missing part is a skip with its reason, in CI a skip is a failure."""

import os
from collections.abc import Generator

import pytest


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An expected failure is reported as a skip as well, and is none.
    if report.skipped and in_ci() and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{reason_of(report)}\nThis was a skip, and in CI a skip is a failure."
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
