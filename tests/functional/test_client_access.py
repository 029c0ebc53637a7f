"""Who may reach the real API server, and what is said when it cannot be reached: one sentence each."""

import asyncio
import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stackwright.kube import config
from stackwright.kube.builtin import ConfigMap, Namespace, Secret
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.errors import ConfigError, Denied, Gone, Unreachable
from stackwright.local.apiserver.server import ApiServer, Shared


def certificate(*, days: int) -> tuple[str, str]:
    """Return a certificate of an authority that the server does not know, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "admin")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


@pytest.fixture
def nobody(connection: Connection) -> Connection:
    """A way to the server without credentials."""
    return replace(connection, client_certificate="", client_key="", token="", source="the test")


async def test_a_wrong_token_is_denied_with_a_sentence(nobody: Connection) -> None:
    async with Client(replace(nobody, token="wrong")) as client:
        with pytest.raises(Denied, match="did not accept our credentials from the test: they are wrong or have exp"):
            await client.list(Namespace)


async def test_a_certificate_of_another_authority_is_denied_with_a_sentence(nobody: Connection) -> None:
    pem, key = certificate(days=1)
    async with Client(replace(nobody, client_certificate=pem, client_key=key)) as client:
        with pytest.raises(Denied, match="did not accept our credentials from the test"):
            await client.list(Namespace)
        with pytest.raises(Denied, match="did not accept our credentials from the test"):
            await anext(client.watch(Namespace))


async def test_what_we_may_not_do_is_denied_with_a_sentence(connection: Connection) -> None:
    somebody = replace(connection, impersonate=(("Impersonate-User", "somebody"),))
    async with Client(somebody) as client:
        with pytest.raises(Denied, match=r'User "somebody" cannot list resource "namespaces".*an RBAC role must allow'):
            await client.list(Namespace)


async def test_a_server_with_another_authority_is_one_sentence(connection: Connection) -> None:
    pem, _ = certificate(days=1)
    async with Client(replace(connection, certificate_authority=pem)) as client:
        with pytest.raises(Unreachable, match="presents a certificate that our certificate authority did not sign"):
            await client.server_version()


def test_a_certificate_that_expired_is_one_sentence(apiserver: Shared, tmp_path: Path) -> None:
    content = yaml.safe_load(apiserver.kubeconfig.read_text())
    pem, key = certificate(days=-1)
    content["users"][0]["user"] = {
        "client-certificate-data": base64.b64encode(pem.encode()).decode(),
        "client-key-data": base64.b64encode(key.encode()).decode(),
    }
    broken = tmp_path / "config"
    broken.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=r"expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC; get new credentials"):
        config.load(broken)


def test_a_broken_kubeconfig_is_one_sentence(apiserver: Shared, tmp_path: Path) -> None:
    broken = tmp_path / "config"
    broken.write_text(apiserver.kubeconfig.read_text()[:-30] + "\n  - {")
    with pytest.raises(ConfigError, match=r"is not valid YAML: line \d+: ") as caught:
        config.load(broken)
    assert "\n" not in str(caught.value)


async def test_the_server_tells_its_version(client: Client) -> None:
    version = await client.server_version()
    assert version.major == 1
    assert str(version).startswith(f"v1.{version.minor}.")
    assert await client.require_version((1, 30)) == version
    with pytest.raises(ConfigError, match=rf"is Kubernetes {version}, and 1\.{version.minor + 1} or newer is needed"):
        await client.require_version((1, version.minor + 1))


# A server that goes away and comes back.


async def test_a_server_that_is_killed_is_unreachable_until_it_is_back(
    private_apiserver: ApiServer, private_client: Client, private_namespace: str
) -> None:
    made = await private_client.create(Secret, {"metadata": {"name": "a", "namespace": private_namespace}})
    events = private_client.watch(Secret, private_namespace, initial=True)
    assert (await anext(events)).object == made
    assert (await anext(events)).initial_events_end
    await asyncio.to_thread(private_apiserver.kill, "kube-apiserver")
    with pytest.raises(Unreachable, match="closed the connection"):
        await anext(events)
    with pytest.raises(Unreachable, match=r"refuses connections; check that it runs"):
        await private_client.get(Secret, "a", private_namespace)
    await asyncio.to_thread(private_apiserver.start, "kube-apiserver")
    assert await private_client.get(Secret, "a", private_namespace) == made
    # The new server has no history from before its start.
    with pytest.raises(Gone, match="too old resource version"):
        await anext(private_client.watch(Secret, private_namespace, resource_version="1"))


async def test_a_server_that_stands_still_is_unreachable(private_apiserver: ApiServer, private_namespace: str) -> None:
    async with Client(config.load(private_apiserver.kubeconfig), timeout=5) as client:
        events = client.watch(ConfigMap, private_namespace, initial=True, silence=5)
        while not (await anext(events)).initial_events_end:
            pass
        await asyncio.to_thread(private_apiserver.pause, "kube-apiserver")
        try:
            with pytest.raises(Unreachable, match="did not answer in time"):
                await client.create(ConfigMap, {"metadata": {"name": "a", "namespace": private_namespace}})
            with pytest.raises(Unreachable, match="did not answer in time"):
                await anext(events)
        finally:
            await asyncio.to_thread(private_apiserver.resume, "kube-apiserver")
        # The create was sent once; the server carried it out or not, and did not get a second one.
        assert len(await client.list(ConfigMap, private_namespace, fields="metadata.name=a")) <= 1
