"""The end-to-end ring: one cluster, and one cloud in it that all tests ask.

A test leaves the cloud as it was, so that the order of the tests does not matter. Two groups cannot: the marks
`as_installed` and `at_the_end` say so, and are the only order that there is.
"""

import contextlib
import subprocess
from collections.abc import Generator

import pytest

from tests.e2e import cloud as clouds
from tests.e2e.fixtures import cloud, cluster, kubectl, kubectl_program

__all__ = ["cloud", "cluster", "kubectl", "kubectl_program"]

# Whether a test failed, and the one after it has not begun yet.
FAILED = pytest.StashKey[bool]()
# How long the cloud is given after that; what is broken for good must not use up the time of the ring.
REST = "180s"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.session.stash[FAILED] = True
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """After a failure, begin when the cloud is at rest: what is still under way must not fail the next test, too."""
    if follows_failure(item):
        # It may be broken for good, and the test is not about that.
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            clouds.stackwright("status", "--wait", "--timeout", REST)


def follows_failure(item: pytest.Item) -> bool:
    """Return whether a test of the cloud is the first one after a failure."""
    if "cloud" not in getattr(item, "fixturenames", ()) or not item.session.stash.get(FAILED, False):
        return False
    item.session.stash[FAILED] = False
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the marked tests where their marks say; all others stay as they are."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    if mark := item.get_closest_marker("at_the_end"):
        return int(mark.args[0])
    return -1 if item.get_closest_marker("as_installed") else 0
