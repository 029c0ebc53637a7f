"""The administrator's clouds.yaml: where Keystone is in a ConfigMap, the password in a Secret."""

from collections.abc import Iterable, Mapping

import yaml

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.secret_values import encode
from stackwright.kube import documents
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import Resource
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.settings import KeystoneFacts

CONFIG = "openstack-config"
SECRET = "openstack-config-secret"  # noqa: S105  the name of a Secret
CLOUD = "default"


def resources(resource: KeystoneAPI, facts: KeystoneFacts) -> Iterable[Resource]:
    """Return both objects, once the endpoints are known."""
    if facts.endpoints is not None:
        yield from _files(resource, facts.endpoints.public, facts.passwords["admin"])


def elsewhere(resource: KeystoneAPI, passwords: Mapping[str, str]) -> Iterable[Resource]:
    """Return both objects for a Keystone that runs elsewhere, where its administrator's password is known."""
    public = resource.spec.override.service["public"].endpointURL
    if public and "admin" in passwords:
        yield from _files(resource, public, passwords["admin"])


def _files(resource: KeystoneAPI, public: str, password: str) -> Iterable[Resource]:
    spec = resource.spec
    auth = {
        "auth_url": f"{public}/v3",
        "project_name": spec.adminProject,
        "username": spec.adminUser,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    cloud = {"auth": auth, "region_name": spec.region_name, "identity_api_version": 3, "interface": "public"}
    clouds = yaml.dump({"clouds": {CLOUD: cloud}}, Dumper=documents.Dumper, sort_keys=True)
    secure = yaml.dump({"clouds": {CLOUD: {"auth": {"password": password}}}}, Dumper=documents.Dumper, sort_keys=True)
    yield ConfigMap(metadata=ObjectMeta(name=CONFIG), data={"clouds.yaml": clouds})
    yield Secret(metadata=ObjectMeta(name=SECRET), data=encode({"secure.yaml": secure}))
