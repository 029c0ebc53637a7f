"""How the administrator logs in."""

import os
import subprocess
from typing import Any

import pytest
import yaml

from stackwright.cli.commands import openrc
from tests.unit.foresight.clouds import keystone, ready

PASSWORD = "secret-word"
NASTY = """it's "so" $HOME `id` \\ ; | & é
and a line"""
CLOUDS = """
clouds:
  default:
    auth:
      {auth_url: "http://keystone.example:30500/v3", username: admin, project_name: admin,
       user_domain_name: Default, project_domain_name: Default}
    region_name: regionOne
    identity_api_version: 3
    interface: public
"""


def cloud(password: str = PASSWORD) -> dict[str, Any]:
    return openrc.merge(CLOUDS, yaml.safe_dump({"clouds": {"default": {"auth": {"password": password}}}}))


@pytest.mark.parametrize(
    "password", ["simple", NASTY, "", "-n", "a=b"], ids=["plain", "nasty", "empty", "dash", "equals"]
)
def test_a_shell_gets_exactly_the_password(password: str) -> None:
    if not password:
        with pytest.raises(openrc.NotReady):
            cloud(password)
        return
    script = openrc.as_openrc(cloud(password)) + 'printf "%s" "$OS_PASSWORD"; printf "%s" "${OS_CLOUD-unset}" >&2'
    environment = {"PATH": os.environ["PATH"], "OS_CLOUD": "left over"}
    done = subprocess.run(["sh", "-c", script], capture_output=True, env=environment, check=True, text=True)
    assert done.stdout == password
    assert done.stderr == "unset"


def test_a_shell_gets_all_that_the_client_needs() -> None:
    lines = set(openrc.as_openrc(cloud()).splitlines())
    assert lines >= {
        "export OS_AUTH_URL=http://keystone.example:30500/v3",
        "export OS_AUTH_TYPE=password",
        "export OS_USERNAME=admin",
        "export OS_PROJECT_NAME=admin",
        "export OS_USER_DOMAIN_NAME=Default",
        "export OS_PROJECT_DOMAIN_NAME=Default",
        "export OS_REGION_NAME=regionOne",
        "export OS_IDENTITY_API_VERSION=3",
        "export OS_INTERFACE=public",
        "unset OS_CACERT",
    }


def test_a_clouds_yaml_is_whole() -> None:
    read = yaml.safe_load(openrc.as_clouds_yaml(cloud(NASTY)))["clouds"]["default"]
    assert read["auth"]["password"] == NASTY
    assert read["auth"]["auth_url"] == "http://keystone.example:30500/v3"


def test_who_is_in_the_cluster_uses_the_internal_endpoint() -> None:
    there = keystone(status={**ready(), "apiEndpoints": {"internal": "http://keystone-internal.openstack.svc:5000"}})
    found = openrc.inside(cloud(), there)
    assert found["auth"]["auth_url"] == "http://keystone-internal.openstack.svc:5000/v3"
    assert found["interface"] == "internal"
    assert found["auth"]["password"] == "secret-word"


@pytest.mark.parametrize(
    ("there", "said"),
    [
        pytest.param([], "There is no KeystoneAPI in namespace openstack", id="no-keystone"),
        pytest.param([keystone(status={})], "its operator has not reported on it yet", id="nobody-looked"),
        pytest.param(
            [keystone(status=ready("False", "Error", "Secret osp-secret does not exist"))],
            "Secret osp-secret does not exist",
            id="keystone-waits",
        ),
    ],
)
def test_why_nobody_can_log_in_yet(there: list[Any], said: str) -> None:
    assert said in openrc.why_missing(there, "openstack")
