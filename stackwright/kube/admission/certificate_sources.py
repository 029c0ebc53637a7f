"""Where a webhook server's certificate comes from: a Secret that we fill and rotate, or files that others do.

SecretCertificates   our own authority; replicas share one Secret, whoever comes first writes it
FileCertificates     a mounted directory, kept by cert-manager or by hand; the authority is not our business
"""

import asyncio
import base64
import binascii
import random
import ssl
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from stackwright.kube.admission import certificates
from stackwright.kube.admission.certificates import Lifetimes, Material
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.clock import REAL, Clock
from stackwright.kube.errors import AlreadyExists, ApiError, Conflict, Unreachable
from stackwright.kube.resource import JsonObject

_log = structlog.get_logger()

# Takes a certificate chain and its key, as PEM. WebhookServer.use is one.
Use = Callable[[bytes, bytes], None]
# Tells the API server which authority to trust.
Publish = Callable[[bytes], Awaitable[None]]

# The wait after a failure, and the shortest time between two reads of a Secret, so that no fault makes us spin.
_PAUSE = 5.0
# The bundle is published again at least this often, in case somebody changed the registration.
_LONGEST_WAIT = 3600.0


@dataclass(frozen=True)
class SecretSettings:
    """Which Secret holds the certificates, and for which names and addresses they are."""

    name: str
    namespace: str
    names: tuple[str, ...]
    lifetimes: Lifetimes = certificates.DEFAULT_LIFETIMES


class SecretCertificates:
    """Keeps our own authority and serving certificate in a Secret, and rotates them in time.

    Every replica runs this. They agree through the Secret: one that is there is never created twice, and an
    update names the version it is made from, so that the slower one reads what the faster one wrote.
    """

    def __init__(
        self,
        client: Client,
        settings: SecretSettings,
        *,
        use: Use,
        publish: Publish,
        clock: Clock = REAL,
    ) -> None:
        self._client = client
        self._settings = settings
        self._use = use
        self._publish = publish
        self._clock = clock
        self._published = b""
        self._version = ""

    async def run(self) -> None:
        """Maintain the certificates until cancelled."""
        while True:
            try:
                seconds = await self.refresh()
            # A disk may be full for a moment.
            except (ApiError, Unreachable, OSError) as error:
                _log.warning("the certificates of the webhooks could not be kept", error=str(error))
                await self._pause()
            else:
                await self._changed(seconds)

    async def refresh(self) -> float:
        """Bring the Secret, the server and the registration up to date; return the seconds until more is due."""
        while True:
            material = await self._agree()
            # Serve first, then publish: once the API server trusts an authority, we can answer with it.
            self._use(material.serving.certificate_pem, material.serving.key_pem)
            await self._publish(material.bundle)
            self._published = material.bundle
            if self._advanced(material) is material:
                remaining = certificates.due(material, self._settings.lifetimes) - self._clock.now()
                return min(max(remaining.total_seconds(), _PAUSE), _LONGEST_WAIT)

    async def _agree(self) -> Material:
        """Return what the Secret holds, after writing what is due."""
        while True:
            secret = await self._client.find(Secret, self._settings.name, self._settings.namespace)
            # A Secret without data was created for us to fill.
            held = None if secret is None or not secret.data else self._read(secret)
            material = self._advanced(held)
            if secret is not None and material is held:
                self._version = secret.metadata.resourceVersion
                return material
            try:
                written = await self._write(secret, material)
            except (AlreadyExists, Conflict):
                continue  # Another replica was faster; what it wrote is as good.
            _log.info("certificates of the webhooks were renewed", secret=self._settings.name)
            self._version = written.metadata.resourceVersion
            return material

    def _advanced(self, material: Material | None) -> Material:
        return certificates.advance(
            material,
            self._clock.now(),
            names=self._settings.names,
            published=material is not None and material.bundle == self._published,
            lifetimes=self._settings.lifetimes,
        )

    def _read(self, secret: Secret) -> Material | None:
        try:
            data = {name: base64.b64decode(value, validate=True) for name, value in secret.data.items()}
            return certificates.from_secret(data)
        except (ValueError, binascii.Error) as error:
            _log.warning(
                "a Secret held no usable certificates and is filled anew", secret=str(secret.key), error=str(error)
            )
            return None

    async def _write(self, secret: Secret | None, material: Material) -> Secret:
        data = {name: base64.b64encode(value).decode() for name, value in certificates.to_secret(material).items()}
        name, namespace = self._settings.name, self._settings.namespace
        if secret is None:
            body: JsonObject = {
                "metadata": {"name": name, "namespace": namespace},
                "type": "kubernetes.io/tls",
                "data": data,
            }
            return await self._client.create(Secret, body)
        version = {"resourceVersion": secret.metadata.resourceVersion}
        return await self._client.patch(Secret, name, namespace, {"metadata": version, "data": data})

    async def _changed(self, seconds: float) -> None:
        """Return when the Secret has changed, or the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not await self._differs():
                    continue

    async def _differs(self) -> bool:
        """Return True when the Secret is not what it was, False when a watch has ended and it still is.

        The watch begins with what is there, not from the Secret's version: that is seldom written, and the server
        soon has forgotten what is minutes old.
        """
        name, namespace = self._settings.name, self._settings.namespace
        events = self._client.watch(Secret, namespace, fields=f"metadata.name={name}")
        try:
            async with aclosing(events):
                async for event in events:
                    if event.type != "BOOKMARK" and not self._is_known(event.type, event.object):
                        return True
            # If it was deleted before the watch began, no event came.
            found = await self._client.find(Secret, name, namespace)
            return found is None or not self._is_known("MODIFIED", found)
        except (ApiError, Unreachable):
            # Watches break. The Secret is read again in any case, and an error there is reported.
            await self._pause()
            return True

    def _is_known(self, change: str, secret: Secret) -> bool:
        return change != "DELETED" and secret.metadata.resourceVersion == self._version

    async def _pause(self) -> None:
        await self._clock.sleep(_PAUSE * random.uniform(1.0, 2.0))  # noqa: S311  spreads replicas, hides nothing


class FileCertificates:
    """Serves with the certificate in a directory (`tls.crt`, `tls.key`), and with each that takes its place.

    A timer looks at the files' times: a mounted Secret changes by swapping a link, at most once in a minute or
    so, and notifications of that would need one more dependency for nothing.
    """

    def __init__(self, directory: Path, *, use: Use, interval: float = 10.0) -> None:
        self._certificate = directory / "tls.crt"
        self._key = directory / "tls.key"
        self._use = use
        self._interval = interval
        self._seen: tuple[int, int] | None = None
        self._complaint = ""

    async def run(self) -> None:
        """Keep the server's certificate until cancelled."""
        while True:
            self.refresh()
            await asyncio.sleep(self._interval)

    def refresh(self) -> bool:
        """Pass on the files if they changed; return False if they did not, or cannot be used yet."""
        try:
            times = (self._certificate.stat().st_mtime_ns, self._key.stat().st_mtime_ns)
            if times == self._seen:
                return False
            self._use(self._certificate.read_bytes(), self._key.read_bytes())
        except (OSError, ssl.SSLError) as error:
            # The files do not exist yet, or were read while they were being replaced. The previous certificate stays in
            # use.
            if str(error) != self._complaint:
                self._complaint = str(error)
                _log.warning(
                    "certificate files cannot be used yet", directory=str(self._certificate.parent), error=str(error)
                )
            return False
        self._seen, self._complaint = times, ""
        return True
