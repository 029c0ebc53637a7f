"""The end-to-end ring: one cluster, and one cloud in it that all tests ask.

A test leaves the cloud as it was, so that the order of the tests does not matter. Two groups cannot: the marks
`as_installed` and `at_the_end` say so, and are the only order that there is.
"""

import pytest

from tests.e2e.fixtures import cloud, cluster, kubectl, kubectl_program

__all__ = ["cloud", "cluster", "kubectl", "kubectl_program"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the marked tests where their marks say; all others stay as they are."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    if mark := item.get_closest_marker("at_the_end"):
        return int(mark.args[0])
    return -1 if item.get_closest_marker("as_installed") else 0
