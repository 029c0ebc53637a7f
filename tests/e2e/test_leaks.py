"""No secret stands where it must not, after all that the tests did."""

import base64

import pytest

from tests.e2e import leaking
from tests.e2e.cloud import Cloud


@pytest.mark.at_the_end(1)
def test_no_secret_is_told_to_anybody(cloud: Cloud) -> None:
    services = ("keystone", "glance", "placement", "barbican", "nova", "neutron", "rabbitmq", "openstack")
    assert leaking.found_beside(cloud, *services) == []


def test_a_planted_leak_is_found(cloud: Cloud) -> None:
    password = cloud.password()
    for form in (password, base64.b64encode(password.encode()).decode()):
        assert list(leaking.leaks(leaking.values(cloud.kubectl), {"a log": f"login with {form} failed"})) != []
