"""The container in which the start scripts run."""

from pathlib import Path

import pytest

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
