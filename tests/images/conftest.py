"""The containers of the tests: one in which the start scripts run, and one of the image of all services."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.images import built
from tests.images.built import Built
from tests.images.container import Container, why_not


@pytest.fixture(scope="session")
def mounts() -> None:
    """Skips where nothing can be mounted."""
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture
def container(mounts: None, tmp_path: Path) -> Container:
    """A container that has never been started."""
    return Container(tmp_path)


@pytest.fixture(scope="module")
def openstack() -> Iterator[Built]:
    """A container of the image of all services."""
    if reason := built.why_not_built(["openstack"]):
        pytest.skip(reason)
    with built.container("openstack") as made:
        yield made
