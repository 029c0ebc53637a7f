"""The administrator's clouds.yaml: where Keystone is in a ConfigMap, the password in a Secret."""

import base64
from collections.abc import Iterable

import yaml

from stackwright.api.base import ObjectMeta
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import Resource
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.settings import KeystoneFacts

CONFIG = "openstack-config"
SECRET = "openstack-config-secret"  # noqa: S105  the name of a Secret
CLOUD = "default"


def resources(resource: KeystoneAPI, facts: KeystoneFacts) -> Iterable[Resource]:
    """Return both objects, once the endpoints are known."""
    if facts.endpoints is None:
        return
    spec = resource.spec
    auth = {
        "auth_url": f"{facts.endpoints.public}/v3",
        "project_name": spec.adminProject,
        "username": spec.adminUser,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    cloud = {"auth": auth, "region_name": spec.region, "identity_api_version": 3, "interface": "public"}
    clouds = yaml.safe_dump({"clouds": {CLOUD: cloud}}, sort_keys=True)
    password = {"clouds": {CLOUD: {"auth": {"password": facts.passwords["admin"]}}}}
    secure = yaml.safe_dump(password, sort_keys=True)
    yield ConfigMap(metadata=ObjectMeta(name=CONFIG), data={"clouds.yaml": clouds})
    yield Secret(metadata=ObjectMeta(name=SECRET), data={"secure.yaml": base64.b64encode(secure.encode()).decode()})
