"""Upstream's resources on a real server with our webhook: taken as they are, or refused for a reason we document."""

import asyncio
import json
import re
import secrets
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from stackwright.controllers import admission
from stackwright.controllers.controlplane import check
from stackwright.kube import config, fields
from stackwright.kube.admission import registration
from stackwright.kube.admission.certificate_sources import SecretCertificates, SecretSettings
from stackwright.kube.admission.registration import Settings, UrlTarget
from stackwright.kube.admission.server import WebhookServer
from stackwright.kube.builtin import MutatingWebhookConfiguration, Namespace, ValidatingWebhookConfiguration
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.local.apiserver.server import Shared
from tests.functional.crds.kubectl import PATIENCE, Kubectl
from tests.functional.crds.samples import KINDS, ROOT
from tests.functional.crds.upstream import ROWS, Row
from tests.surroundings import nothing_known

PAGE = ROOT / "docs" / "coming-from-upstream.md"


async def serve(apiserver: Shared, namespace: str, ready: threading.Event, done: asyncio.Event) -> None:
    """Answer for all kinds in one namespace, until somebody is done with it."""
    umbrella = KINDS["OpenStackControlPlane"]
    checks = admission.webhooks(KINDS.values(), nothing_known, {umbrella: (check,)})
    async with Client(config.load(apiserver.kubeconfig)) as client:
        await client.create(Namespace, {"metadata": {"name": namespace}})
        async with WebhookServer(checks, host="127.0.0.1", port=0) as server:
            only = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
            target = UrlTarget(f"https://127.0.0.1:{server.port}")
            settings = Settings(namespace, "upstream.example.org", target, failure_policy="Fail", namespaces=only)
            certificates = SecretSettings("webhooks", namespace, ("127.0.0.1",))
            publish = partial(registration.register, client, checks, settings)
            await SecretCertificates(client, certificates, use=server.use, publish=publish).refresh()
            ready.set()
            await done.wait()
        for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
            await client.delete(kind, namespace)


@pytest.fixture(scope="module")
def webhook(apiserver: Shared, definitions: None) -> Iterator[str]:
    """Our webhook for all kinds, in a namespace of its own; it answers beside the tests, which wait for kubectl."""
    namespace = f"upstream-{secrets.token_hex(3)}"
    ready, loop, done = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve(apiserver, namespace, ready, done)))
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield namespace
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(PATIENCE)
        loop.close()


@pytest.fixture
def asked(webhook: str, kubectl: Kubectl) -> str:
    """The namespace, once the server asks us: what it has read of its own objects cannot be watched."""
    probe = body_of(Row("MariaDBAccount", {"userName": "root", "secret": "a"}), webhook)
    deadline = time.monotonic() + PATIENCE
    while "is the server's own" not in apply(kubectl, probe)[1]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return webhook


def body_of(row: Row, namespace: str) -> JsonObject:
    kind = KINDS[row.kind].kind
    metadata = {"name": row.name or "sample", "namespace": namespace}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": row.spec}


def apply(kubectl: Kubectl, body: JsonObject) -> tuple[JsonObject | None, str]:
    """Return what the server would store, None where it refuses, and what it says; no unknown field is let pass."""
    words = ("create", "--validate=strict", "--dry-run=server", "--output=json", "--filename=-")
    done = kubectl.run(*words, stdin=json.dumps(body))
    return (json.loads(done.stdout) if done.returncode == 0 else None), done.stderr


@pytest.mark.parametrize("row", [pytest.param(row, id=name.replace(" ", "-")) for name, row in ROWS.items()])
def test_a_resource_of_upstream_is_taken_as_it_is_or_refused_by_its_fields(
    kubectl: Kubectl, asked: str, row: Row
) -> None:
    stored, said = apply(kubectl, body_of(row, asked))
    if row.refused:
        assert stored is None
        for path in row.refused:
            assert path in said, said
        return
    assert stored is not None, said
    warnings = [line.removeprefix("Warning: ") for line in said.splitlines() if line.startswith("Warning: ")]
    assert sorted(re.split(r" (?:has no effect|is kept)|: ", line)[0] for line in warnings) == sorted(row.warned)
    # None of its fields is lost.
    assert fields.covers(stored, {"spec": row.spec})


@pytest.mark.parametrize(
    "path",
    sorted({path for row in ROWS.values() for path in (*row.refused, *row.warned)}),
)
def test_the_page_names_what_is_refused_and_what_has_no_effect(path: str) -> None:
    name = re.sub(r"\[[^]]*]", "", path).rpartition(".")[-1]
    assert re.search(rf"`[^`]*\b{name}\b[^`]*`", Path(PAGE).read_text(encoding="utf-8")), name
