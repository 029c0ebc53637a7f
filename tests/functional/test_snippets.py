"""Broken snippets of configuration are refused by the real API server, which asks our webhooks."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from stackwright.controllers import admission
from stackwright.kube.admission import registration
from stackwright.kube.admission.certificate_sources import SecretCertificates, SecretSettings
from stackwright.kube.admission.registration import Settings, UrlTarget
from stackwright.kube.admission.server import WebhookServer
from stackwright.kube.builtin import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, Invalid
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera
from tests.functional.definitions import defined
from tests.functional.watching import PATIENCE
from tests.surroundings import nothing_known

KINDS = (KeystoneAPI, Galera)
SPECS: dict[type[Any], dict[str, str]] = {
    KeystoneAPI: {"secret": "osp-secret", "databaseInstance": "openstack"},
    Galera: {"storageClass": "local", "storageRequest": "1G"},
}


async def put(client: Client, namespace: str, kind: type[Any], snippet: str) -> None:
    """Ask the server whether it would take a resource with this snippet."""
    spec = {**SPECS[kind], "customServiceConfig": snippet}
    await client.apply(kind, {"metadata": {"name": "cloud", "namespace": namespace}, "spec": spec}, dry_run=True)


async def asks(client: Client, namespace: str) -> bool:
    """Whether the server asks us about both kinds; it may not have read our registration yet."""
    for kind in KINDS:
        try:
            await put(client, namespace, kind, "before any section")
        except Invalid:
            continue
        except ApiError as error:
            if "failed calling webhook" not in error.message:
                raise
        return False
    return True


@pytest.fixture
async def webhooks(client: Client, namespace: str) -> AsyncIterator[None]:
    """Our checks, for one namespace; a call that is lost is seen."""
    await defined(client, KINDS)
    checks = admission.webhooks(KINDS, nothing_known)
    async with WebhookServer(checks, host="127.0.0.1", port=0) as server:
        only = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        target = UrlTarget(f"https://127.0.0.1:{server.port}")
        settings = Settings(namespace, "snippets.example.org", target, failure_policy="Fail", namespaces=only)
        certificates = SecretSettings("webhooks", namespace, ("127.0.0.1",))
        publish = partial(registration.register, client, checks, settings)
        await SecretCertificates(client, certificates, use=server.use, publish=publish).refresh()
        async with asyncio.timeout(PATIENCE):
            while not await asks(client, namespace):
                await asyncio.sleep(0.05)  # What the API server has read of its own objects cannot be watched.
        yield
        for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
            await client.delete(kind, namespace)


@pytest.mark.usefixtures("webhooks")
async def test_a_broken_line_is_refused_with_its_number(client: Client, namespace: str) -> None:
    with pytest.raises(Invalid) as refusal:
        await put(client, namespace, KeystoneAPI, "[DEFAULT]\ndebug = true\nfoo\n")
    (cause,) = refusal.value.causes
    assert cause.field == "spec.customServiceConfig"
    assert cause.message == 'Invalid value: line 3: "foo" is neither a section nor option = value'
    await put(client, namespace, KeystoneAPI, "[DEFAULT]\ndebug = true\n")


@pytest.mark.usefixtures("webhooks")
async def test_a_database_is_asked_in_its_own_format(client: Client, namespace: str) -> None:
    await put(client, namespace, Galera, "[mysqld]\nskip-name-resolve\n")
    with pytest.raises(Invalid, match=r"line 1: the option .* is before any section; write .mysqld. above it"):
        await put(client, namespace, Galera, "skip-name-resolve\n")
