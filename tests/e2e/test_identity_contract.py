"""The identity adapter's promises on the real Keystone of the cluster."""

import base64
import json
from urllib.parse import urlsplit

import pytest

from stackwright.adapters.identity import Credentials
from tests.contracts.identity import IdentityContract, Where
from tests.e2e.cloud import Cloud


@pytest.fixture
def where(cloud: Cloud) -> Where:
    """The cloud's own Keystone, dialled by the address of its Service."""
    place = cloud.kubectl
    found = json.loads(place("get", "keystoneapi", "keystone", "--output=json"))
    spec, status = found["spec"], found["status"]
    key = spec.get("passwordSelectors", {}).get("admin", "AdminPassword")
    password = base64.b64decode(place.get(f"secret/{spec['secret']}", f"{{.data.{key}}}")).decode()
    url = status["apiEndpoints"]["internal"]
    host = urlsplit(url).hostname or ""
    address = place.get(f"service/{host.split('.')[0]}", "{.spec.clusterIP}")
    user, project = spec.get("adminUser", "admin"), spec.get("adminProject", "admin")
    return Where(url, Credentials(user, password, project), {host: address})


class TestRealKeystone(IdentityContract):
    """The real one keeps the contract."""
