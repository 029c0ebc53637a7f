"""The script by which charts enter Keystone, on the real Keystone of the cluster."""

import pytest

from stackwright.adapters.identity import Credentials
from tests.contracts.identity import Where
from tests.contracts.identity_script import IdentityScriptContract
from tests.e2e.cloud import Cloud


@pytest.fixture
def where(cloud: Cloud) -> Where:
    """The cloud's own Keystone, from this machine."""
    cloud.reached()
    return Where(cloud.endpoint("public"), Credentials("admin", cloud.password(), "admin"))


class TestRealKeystone(IdentityScriptContract):
    """The script keeps its promises."""
