"""Webhooks that the real API server asks, over TLS, by URL."""

import asyncio
import base64
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from stackwright.kube import clock
from stackwright.kube.admission import registration
from stackwright.kube.admission.certificate_sources import SecretCertificates, SecretSettings
from stackwright.kube.admission.certificates import Lifetimes, advance, to_secret
from stackwright.kube.admission.registration import Settings, UrlTarget
from stackwright.kube.admission.server import WebhookServer
from stackwright.kube.admission.serving import Serving, serve
from stackwright.kube.builtin import (
    CustomResourceDefinition,
    MutatingWebhookConfiguration,
    Secret,
    ValidatingWebhookConfiguration,
)
from stackwright.kube.client import Client
from stackwright.kube.clock import Clock
from stackwright.kube.errors import ApiError, Invalid, KindNotInstalled, KubeError
from stackwright.kube.resource import JsonObject
from stackwright.local.apiserver.server import Shared
from tests.runtime.widgets import CRD, WEBHOOK, Widget

PATIENCE = 120.0
# Short enough that an authority made two days ago is due, and is believed by the real clock for a day more.
LIFETIMES = Lifetimes(authority=timedelta(days=3), serving=timedelta(days=3), settle=timedelta(seconds=6))


@dataclass
class Hooks:
    """Webhooks of one namespace, and what they are registered with."""

    client: Client
    namespace: str
    server: WebhookServer
    settings: Settings
    source: SecretCertificates = field(init=False)
    behind: timedelta = timedelta()
    """How far the clock of the certificates is behind."""

    def now(self) -> datetime:
        return clock.now() - self.behind

    async def publish(self, bundle: bytes) -> None:
        await registration.register(self.client, (WEBHOOK,), self.settings, bundle)

    async def start(self) -> None:
        """Publish, and wait until the API server asks."""
        await self.source.refresh()
        async with asyncio.timeout(PATIENCE):
            while not await self.refuses():
                await asyncio.sleep(0.05)  # What the API server has read of its own objects cannot be watched.

    async def refuses(self) -> bool:
        """Whether the API server asked us about a widget that must be refused."""
        try:
            await self.client.apply(Widget, self.widget("probe", {"size": 11}), dry_run=True)
        except Invalid:
            return True
        except ApiError as error:
            # It may still hold the former bundle.
            if "failed calling webhook" not in error.message:
                raise
        return False

    def widget(self, name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
        return {"metadata": {"name": name, "namespace": self.namespace, **metadata}, "spec": spec}


async def installed(client: Client, namespace: str) -> None:
    """Install the widgets' CRD and wait until it is served; other tests do the same at the same time."""
    await client.apply(CustomResourceDefinition, CRD)
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(KindNotInstalled):
                await client.list(Widget, namespace)
                return
            await asyncio.sleep(0.05)  # Discovery cannot be watched.


@pytest.fixture
async def hooks(client: Client, namespace: str) -> AsyncIterator[Hooks]:
    await installed(client, namespace)
    async with WebhookServer([WEBHOOK], host="127.0.0.1", port=0) as server:
        settings = Settings(
            name=namespace,
            suffix="admission.example.org",
            target=UrlTarget(f"https://127.0.0.1:{server.port}"),
            # A call that is lost shall be seen, not passed over.
            failure_policy="Fail",
            namespaces={"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        )
        secret = SecretSettings("webhooks", namespace, ("127.0.0.1",), LIFETIMES)
        hooks = Hooks(client, namespace, server, settings)
        hooks.source = SecretCertificates(
            client, secret, use=server.use, publish=hooks.publish, clock=Clock(now=hooks.now)
        )
        yield hooks
        for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
            await client.delete(kind, namespace)


async def test_a_refusal_is_one_422_with_a_cause_for_each_field(hooks: Hooks) -> None:
    await hooks.start()
    with pytest.raises(Invalid) as refusal:
        await hooks.client.create(Widget, hooks.widget("a", {"size": 11, "mode": "forbidden"}))
    assert refusal.value.code == 422
    assert [(cause.field, cause.reason, cause.message) for cause in refusal.value.causes] == [
        ("spec.size", "FieldValueInvalid", "Invalid value: 11: must be at most 10"),
        ("spec.mode", "FieldValueForbidden", "Forbidden: is not for you"),
    ]
    assert refusal.value.message.endswith(
        'denied the request: Widget.admission.example.org "a" is invalid: '
        "[spec.size: Invalid value: 11: must be at most 10, spec.mode: Forbidden: is not for you]"
    )
    assert "vwidget-v1.admission.example.org" in refusal.value.message
    assert await hooks.client.find(Widget, "a", hooks.namespace) is None


async def test_what_is_missing_is_filled_in_beside_the_schemas_defaults(hooks: Hooks) -> None:
    await hooks.start()
    made = await hooks.client.create(Widget, hooks.widget("a", {}))
    assert (made.spec.mode, made.spec.size) == ("plain", 1)
    assert made.metadata.annotations["example.org/filled-in"] == "yes"
    applied = await hooks.client.apply(Widget, hooks.widget("b", {"mode": "fancy"}))
    assert applied.spec.mode == "fancy"


async def test_an_update_is_compared_with_what_was_there(hooks: Hooks) -> None:
    await hooks.start()
    await hooks.client.apply(Widget, hooks.widget("a", {"mode": "one"}))
    with pytest.raises(Invalid, match="cannot change"):
        await hooks.client.apply(Widget, hooks.widget("a", {"mode": "two"}))


async def test_a_wrong_object_from_before_can_still_be_kept_and_deleted(hooks: Hooks) -> None:
    annotations = {"example.org/filled-in": "yes"}
    wrong = hooks.widget("a", {"size": 99, "mode": "x"}, finalizers=["example.org/a"], annotations=annotations)
    await hooks.client.create(Widget, wrong)
    await hooks.start()
    finalizers = ["example.org/a", "example.org/b"]
    await hooks.client.patch(Widget, "a", hooks.namespace, {"metadata": {"finalizers": finalizers}})
    with pytest.raises(Invalid):
        await hooks.client.patch(Widget, "a", hooks.namespace, {"metadata": {"labels": {"c": "d"}}})
    await hooks.client.delete(Widget, "a", hooks.namespace)
    await hooks.client.patch(Widget, "a", hooks.namespace, {"metadata": {"finalizers": None}})
    assert await hooks.client.find(Widget, "a", hooks.namespace) is None


async def test_a_warning_reaches_who_writes(hooks: Hooks, apiserver: Shared, kubernetes: dict[str, Path]) -> None:
    await hooks.start()
    body = {"apiVersion": "admission.example.org/v1", "kind": "Widget", **hooks.widget("a", {"size": 0})}
    kubectl = await asyncio.create_subprocess_exec(
        kubernetes["kubectl"],
        f"--kubeconfig={apiserver.kubeconfig}",
        "create",
        "--filename=-",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        stdout, stderr = await kubectl.communicate(json.dumps(body).encode())
    assert stderr.decode().strip() == "Warning: spec.size: a widget of size 0 cannot be seen"
    assert "created" in stdout.decode()


async def test_a_bug_in_a_webhook_is_a_webhook_that_is_down(hooks: Hooks) -> None:
    await hooks.start()
    with pytest.raises(ApiError) as failure:
        await hooks.client.create(Widget, hooks.widget("a", {"mode": "bug"}))
    assert failure.value.code == 500
    assert "failed calling webhook" in failure.value.message
    assert "secret" not in failure.value.message
    # Nothing is lost where a webhook that is down is passed over.
    hooks.settings = replace(hooks.settings, failure_policy="Ignore")
    await hooks.source.refresh()
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(ApiError):
                await hooks.client.create(Widget, hooks.widget("a", {"mode": "bug"}))
                break


async def test_a_rotation_of_the_authority_loses_no_request(hooks: Hooks) -> None:
    hooks.behind = timedelta(days=2, hours=1)
    await hooks.start()
    before = await secret(hooks)
    answered = 0
    lost: list[str] = []
    over = asyncio.Event()

    async def ask() -> None:
        nonlocal answered
        while not over.is_set():
            try:
                await hooks.client.create(Widget, hooks.widget("a", {"size": 11}))
            except Invalid as refusal:
                answered += "must be at most 10" in refusal.message
            except KubeError as error:
                lost.append(str(error))
            else:
                lost.append("nobody was asked")

    # More at once than the API server keeps connections, so that it connects anew all the time.
    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(ask())
        try:
            hooks.behind = timedelta()
            async with asyncio.timeout(PATIENCE):
                await hooks.source.refresh()
                staged = await secret(hooks)
                while (await secret(hooks))["tls.crt"] == staged["tls.crt"]:
                    await asyncio.sleep(0.1)  # Real time must pass: the API server's clock is not ours to turn.
                    await hooks.source.refresh()
                rotated = answered
                while answered < rotated + 100:
                    await asyncio.sleep(0.05)
        finally:
            over.set()
    after = await secret(hooks)
    authorities = x509.load_pem_x509_certificates(after["ca.crt"])
    assert lost == []
    assert len(authorities) == 2
    assert authorities[0] in x509.load_pem_x509_certificates(before["ca.crt"])
    x509.load_pem_x509_certificate(staged["tls.crt"]).verify_directly_issued_by(authorities[0])
    x509.load_pem_x509_certificate(after["tls.crt"]).verify_directly_issued_by(authorities[1])


async def secret(hooks: Hooks) -> dict[str, bytes]:
    """Return what the Secret with the certificates holds."""
    found = await hooks.client.get(Secret, "webhooks", hooks.namespace)
    return {name: base64.b64decode(value) for name, value in found.data.items()}


async def test_with_an_injector_the_bundle_of_others_is_left_alone(hooks: Hooks) -> None:
    await hooks.source.refresh()
    given = await hooks.client.get(ValidatingWebhookConfiguration, hooks.namespace)
    other = {"metadata": {"name": hooks.namespace}, "webhooks": [dict(given.webhooks[0])]}
    await hooks.client.apply(ValidatingWebhookConfiguration, other, field_manager="injector")
    annotations = registration.injected_from("certificate", hooks.namespace)
    hooks.settings = replace(hooks.settings, annotations=annotations)
    await hooks.publish(b"")
    (webhook,) = (await hooks.client.get(ValidatingWebhookConfiguration, hooks.namespace)).webhooks
    assert webhook["clientConfig"]["caBundle"] == given.webhooks[0]["clientConfig"]["caBundle"]


async def test_a_webhook_that_is_no_more_is_taken_out(hooks: Hooks) -> None:
    await hooks.source.refresh()
    await registration.register(hooks.client, (), hooks.settings, b"")
    assert (await hooks.client.get(ValidatingWebhookConfiguration, hooks.namespace)).webhooks == ()
    assert (await hooks.client.get(MutatingWebhookConfiguration, hooks.namespace)).webhooks == ()


@pytest.mark.parametrize("kept", ["by us", "by others"])
async def test_webhooks_are_served_alone(hooks: Hooks, tmp_path: Path, kept: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = UrlTarget(f"https://127.0.0.1:{port}")
    certificates: SecretSettings | Path = SecretSettings("webhooks", hooks.namespace, ("127.0.0.1",))
    if kept == "by others":
        certificates = tmp_path
        made = advance(None, clock.now(), names=("127.0.0.1",))
        for name, value in to_secret(made).items():
            (tmp_path / name).write_bytes(value)
    settings = replace(hooks.settings, target=target)
    serving = Serving((WEBHOOK,), settings, certificates, host="127.0.0.1", port=port, look_again=0.1)
    task = asyncio.create_task(serve(hooks.client, serving))
    if kept == "by others":
        # Who keeps the files also says whom to believe.
        bundle = (tmp_path / "ca.crt").read_bytes()
        for kind, body in (
            (MutatingWebhookConfiguration, registration.mutating((WEBHOOK,), settings, bundle)),
            (ValidatingWebhookConfiguration, registration.validating((WEBHOOK,), settings, bundle)),
        ):
            await hooks.client.apply(kind, body, field_manager="injector")
    async with asyncio.timeout(PATIENCE):
        while not await hooks.refuses():
            await asyncio.sleep(0.05)  # What the API server has read of its own objects cannot be watched.
    if kept == "by us":
        await _mended(hooks)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _mended(hooks: Hooks) -> None:
    """Take the registration away, and its content, and see that both come back."""
    for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
        await hooks.client.delete(kind, hooks.namespace)
        await _until_registered(hooks)
        await hooks.client.patch(kind, hooks.namespace, "", {"webhooks": []})
        await _until_registered(hooks)


async def _until_registered(hooks: Hooks) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            changing = await hooks.client.find(MutatingWebhookConfiguration, hooks.namespace)
            checking = await hooks.client.find(ValidatingWebhookConfiguration, hooks.namespace)
            if changing is not None and checking is not None and changing.webhooks and checking.webhooks:
                return
            await asyncio.sleep(0.05)  # Two kinds are looked at until both are there.
