"""`stackwright openrc` on a real API server."""

import asyncio
import base64
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import manifest
from stackwright.local.apiserver.server import Shared
from stackwright.services.keystone import clouds
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.settings import KeystoneFacts
from tests.functional.commands import command

PASSWORD = 'it\'s $a `nasty` "word"'


pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture
def kubeconfig(apiserver: Shared) -> Path:
    return apiserver.kubeconfig


async def keystone(client: Client, namespace: str) -> KeystoneAPI:
    spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
    return await client.apply(
        KeystoneAPI, {"metadata": {"name": "keystone", "namespace": namespace}, "spec": spec}, field_manager="user"
    )


async def login(client: Client, resource: KeystoneAPI) -> None:
    """Leave what the operator leaves once Keystone has its endpoints: made by the service's own function."""
    namespace = resource.metadata.namespace
    facts = KeystoneFacts(
        name="keystone",
        namespace=namespace,
        image="",
        endpoints=Endpoints("http://192.0.2.7:30500", f"http://keystone-internal.{namespace}.svc:5000"),
        passwords={"admin": PASSWORD},
        database=DatabaseFacts("", 0, "", "", ""),
        cache=CacheFacts(()),
        notifications=None,
    )
    for item in clouds.resources(resource, facts):
        body = manifest(item)
        body["metadata"]["namespace"] = namespace
        await client.apply(type(item), body)


async def test_a_shell_is_told_how_to_log_in(client: Client, namespace: str, kubeconfig: Path) -> None:
    await login(client, await keystone(client, namespace))
    done = await command(kubeconfig, namespace, "openrc")
    assert done.exit_code == 0, done.stderr
    script = done.stdout + 'printf "%s|%s" "$OS_AUTH_URL" "$OS_PASSWORD"'
    shell = await asyncio.to_thread(
        subprocess.run,
        ["sh", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert shell.stdout == f"http://192.0.2.7:30500/v3|{PASSWORD}"


async def test_a_whole_clouds_yaml_is_printed(client: Client, namespace: str, kubeconfig: Path) -> None:
    resource = await keystone(client, namespace)
    await login(client, resource)
    internal = f"http://keystone-internal.{namespace}.svc:5000"
    body = {
        "metadata": {"name": "keystone", "namespace": namespace},
        "status": {"apiEndpoints": {"internal": internal}},
    }
    await client.apply(KeystoneAPI, body, subresource="status")
    done = await command(kubeconfig, namespace, "openrc", "--clouds-yaml", "--internal")
    auth = yaml.safe_load(done.stdout)["clouds"]["default"]["auth"]
    assert (auth["auth_url"], auth["password"], auth["username"]) == (f"{internal}/v3", PASSWORD, "admin")


async def test_before_keystone_is_that_far_it_says_so(client: Client, namespace: str, kubeconfig: Path) -> None:
    nothing = await command(kubeconfig, namespace, "openrc")
    assert nothing.exit_code == 3
    assert "There is no KeystoneAPI" in nothing.stderr
    await keystone(client, namespace)
    early = await command(kubeconfig, namespace, "openrc")
    assert (early.exit_code, early.stdout) == (3, "")
    assert "KeystoneAPI keystone is not ready for logins: its operator has not reported on it yet" in early.stderr


async def test_half_a_login_is_none(client: Client, namespace: str, kubeconfig: Path) -> None:
    await login(client, await keystone(client, namespace))
    empty = base64.b64encode(b"clouds: {}").decode()
    name = ObjectMeta(name=clouds.SECRET, namespace=namespace)
    await client.apply(Secret, Secret(metadata=name, data={"secure.yaml": empty}))
    done = await command(kubeconfig, namespace, "openrc")
    assert (done.exit_code, done.stdout) == (3, "")
