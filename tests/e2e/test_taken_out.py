"""Services that are taken out of the cloud come back with their data, each by its own section."""

import pytest

from tests.e2e import kept
from tests.e2e.cloud import Cloud
from tests.e2e.kept import SERVICES
from tests.e2e.waiting import eventually


@pytest.fixture(scope="module")
def returned(cloud: Cloud) -> dict[str, str]:
    """What was left in each service, all of which were then taken out and added again at once."""
    left = kept.leave(cloud)
    cloud.ask(**{key: {"enabled": False} for key in SERVICES})
    for service in SERVICES.values():
        cloud.kubectl("wait", "--for=delete", f"{service.kind}/{service.name}", "--timeout=60s")
        cloud.kubectl("wait", "--for=delete", f"deployment/{service.deployment}", "--timeout=120s")
        # What holds data stays until somebody says that it is not wanted.
        cloud.kubectl("get", service.stays)
    eventually(lambda: cloud.catalog() == ["identity"], "all of them are out of the catalog")
    cloud.ask(**{key: {"enabled": True} for key in SERVICES})
    for service in SERVICES.values():
        cloud.ready(service.kind, service.name, service.listed)
    return left


@pytest.mark.parametrize("section", SERVICES)
def test_a_service_that_is_taken_out_comes_back_with_its_data(
    cloud: Cloud, returned: dict[str, str], section: str
) -> None:
    kept.find(cloud, section, returned[section])
