"""Serves admission webhooks with all that they need: the server, its certificate, and the registration.

    await serve(client, Serving(WEBHOOKS, registration, SecretSettings("webhooks", "system", target.names)))

A process may do this beside its controllers or alone; replicas need no leader, they agree through the Secret.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from stackwright.kube.admission import registration
from stackwright.kube.admission.certificate_sources import FileCertificates, SecretCertificates, SecretSettings
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.admission.server import WebhookServer
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, Unreachable

_log = structlog.get_logger()

# How long to wait before a registration that failed is tried again, in seconds.
_PAUSE = 5.0


@dataclass(frozen=True)
class Serving:
    """What is served, how it is registered, where the certificate is, and on which address.

    A Secret is filled and rotated by us. A directory is mounted and kept by somebody else, who also tells the
    API server whom to believe: cert-manager does so for a registration with `registration.injected_from`.
    """

    webhooks: tuple[Webhook[Any], ...]
    registration: registration.Settings
    certificates: SecretSettings | Path
    host: str = "0.0.0.0"  # noqa: S104  in a pod the API server comes from outside
    port: int = 9443
    look_again: float = 60.0
    """Seconds after which it is looked whether the registration is still there."""


async def serve(client: Client, serving: Serving) -> None:
    """Serve until cancelled."""
    async with WebhookServer(serving.webhooks, host=serving.host, port=serving.port) as server:
        registered = _Registration(client, serving)
        async with asyncio.TaskGroup() as group:
            if isinstance(serving.certificates, Path):
                group.create_task(FileCertificates(serving.certificates, use=server.use).run())
                group.create_task(registered.begin())
            else:
                source = SecretCertificates(client, serving.certificates, use=server.use, publish=registered.publish)
                group.create_task(source.run())
            group.create_task(registered.keep())


class _Registration:
    """Registers webhooks, and again where somebody deletes or changes that: without it, nobody asks us."""

    def __init__(self, client: Client, serving: Serving) -> None:
        self._client = client
        self._serving = serving
        # None before the first time.
        self._bundle: bytes | None = None

    async def publish(self, bundle: bytes) -> None:
        """Register, with the authority to believe."""
        await registration.register(self._client, self._serving.webhooks, self._serving.registration, bundle)
        self._bundle = bundle

    async def begin(self) -> None:
        """Register where somebody else says whom to believe, until it succeeds."""
        while True:
            try:
                await self.publish(b"")
            except (ApiError, Unreachable) as error:
                _log.warning("the webhooks could not be registered", error=str(error))
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def keep(self) -> None:
        """Look at the registration again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._serving.look_again)
            if self._bundle is None:
                continue
            try:
                await self._mend(self._bundle)
            except (ApiError, Unreachable) as error:
                name = self._serving.registration.name
                _log.warning("the registration of the webhooks is not kept", name=name, error=str(error))

    async def _mend(self, bundle: bytes) -> None:
        webhooks, settings = self._serving.webhooks, self._serving.registration
        if await registration.is_registered(self._client, webhooks, settings, bundle):
            return
        _log.warning("the registration of the webhooks was deleted or changed, and is made again", name=settings.name)
        await self.publish(bundle)
