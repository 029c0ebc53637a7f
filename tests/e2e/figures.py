"""Figures that tests tell: they are printed at the end of the run. A conftest.py imports both names."""

from collections.abc import Callable

import pytest

FIGURE = "figure"


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Tell a figure: it is printed at the end of the run, whether or not the test passes."""
    return lambda text: record_property(FIGURE, text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the tests have told."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    told = [
        text
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, text in report.user_properties
        if name == FIGURE
    ]
    if told:
        terminalreporter.section("figures")
    for text in told:
        terminalreporter.line(str(text))
