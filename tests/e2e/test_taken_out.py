"""Services that are taken out of the cloud come back with their data, each by its own section."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.e2e import kept
from tests.e2e.cloud import Cloud
from tests.e2e.kept import SERVICES
from tests.e2e.waiting import eventually


@contextlib.contextmanager
def taken_out(cloud: Cloud) -> Iterator[None]:
    """Have no such services for the time of the block; whatever happens in it, they are asked for again after it."""
    cloud.ask(**{key: {"enabled": False} for key in SERVICES})
    try:
        yield
    finally:
        cloud.ask(**{key: {"enabled": True} for key in SERVICES})


@pytest.fixture(scope="module")
def returned(cloud: Cloud) -> dict[str, str]:
    """What was left in each service, all of which were then taken out and added again at once."""
    left = kept.leave(cloud)
    with taken_out(cloud):
        for service in SERVICES.values():
            cloud.kubectl.wait(f"{service.kind}/{service.name}", "delete")
            cloud.kubectl.wait(f"deployment/{service.deployment}", "delete")
            # What holds data stays until somebody says that it is not wanted.
            cloud.kubectl("get", service.stays)
        eventually(lambda: cloud.catalog() == ["identity"], "all of them are out of the catalog")
    for service in SERVICES.values():
        cloud.ready(service.kind, service.name, service.listed)
    return left


@pytest.mark.parametrize("section", SERVICES)
def test_a_service_that_is_taken_out_comes_back_with_its_data(
    cloud: Cloud, returned: dict[str, str], section: str
) -> None:
    kept.find(cloud, section, returned[section])
