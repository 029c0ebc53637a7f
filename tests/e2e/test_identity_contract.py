"""The identity adapter's promises on the real Keystone of the cluster."""

import base64
import json
from urllib.parse import urlsplit

import pytest

from stackwright.adapters.identity import Credentials
from tests.contracts.identity import IdentityContract, Where
from tests.e2e.conftest import Kubectl


@pytest.fixture
def where(kubectl: Kubectl) -> Where:
    """The first Keystone of the cluster that is ready, dialled by the address of its Service."""
    found = json.loads(kubectl("get", "keystoneapis.keystone.openstack.org", "--all-namespaces", "--output=json"))
    ready = [
        keystone for keystone in found["items"] if "internal" in keystone.get("status", {}).get("apiEndpoints", {})
    ]
    if not ready:
        pytest.skip("there is no Keystone in the cluster")
    metadata, spec, status = (ready[0][part] for part in ("metadata", "spec", "status"))
    place = Kubectl(kubectl.program, kubectl.kubeconfig, metadata["namespace"])
    key = spec.get("passwordSelectors", {}).get("admin", "AdminPassword")
    password = base64.b64decode(place.get(f"secret/{spec['secret']}", f"{{.data.{key}}}")).decode()
    url = status["apiEndpoints"]["internal"]
    host = urlsplit(url).hostname or ""
    address = place.get(f"service/{host.split('.')[0]}", "{.spec.clusterIP}")
    user, project = spec.get("adminUser", "admin"), spec.get("adminProject", "admin")
    return Where(url, Credentials(user, password, project), {host: address})


class TestRealKeystone(IdentityContract):
    """The real one keeps the contract."""
