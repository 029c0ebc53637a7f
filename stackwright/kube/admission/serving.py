"""Serves admission webhooks with all that they need: the server, its certificate, and the registration.

    await serve(client, Serving(WEBHOOKS, registration, SecretSettings("webhooks", "system", target.names)))

A process may do this beside its controllers or alone; replicas need no leader, they agree through the Secret.
"""

import asyncio
from dataclasses import dataclass
from functools import partial
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


async def serve(client: Client, serving: Serving) -> None:
    """Serve until cancelled."""
    async with WebhookServer(serving.webhooks, host=serving.host, port=serving.port) as server:
        publish = partial(registration.register, client, serving.webhooks, serving.registration)
        if isinstance(serving.certificates, Path):
            async with asyncio.TaskGroup() as group:
                group.create_task(FileCertificates(serving.certificates, use=server.use).run())
                group.create_task(_register(client, serving))
        else:
            await SecretCertificates(client, serving.certificates, use=server.use, publish=publish).run()


async def _register(client: Client, serving: Serving) -> None:
    while True:
        try:
            await registration.register(client, serving.webhooks, serving.registration)
        except (ApiError, Unreachable) as error:
            _log.warning("the webhooks could not be registered", error=str(error))
            await asyncio.sleep(_PAUSE)
        else:
            return
