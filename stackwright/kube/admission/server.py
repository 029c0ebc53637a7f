"""The TLS server that the API server asks: `/mutate/<group>/<version>/<plural>` and `/validate/...`.

It runs in the operators' process or alone. The certificate is handed to it while it serves: connections that
exist go on, new ones get the new certificate.
"""

import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import structlog
from aiohttp import web
from cryptography import x509

from stackwright.kube import metrics
from stackwright.kube.admission import bounds, reviews
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.admission.load import Load, TooMuch
from stackwright.kube.admission.reviews import AdmissionRequest, AdmissionResponse
from stackwright.kube.resource import Kind, Resource
from stackwright.kube.sockets import Listening

_log = structlog.get_logger()

Answer = Callable[[Webhook[Any], AdmissionRequest], AdmissionResponse]
_Handler = Callable[[web.Request], Awaitable[web.Response]]


def path(verb: str, kind: Kind) -> str:
    """Return where the webhook of a kind listens; `verb` is mutate or validate."""
    return f"/{verb}/{kind.group or 'core'}/{kind.version}/{kind.plural}"


class WebhookServer:
    """Answers admission reviews of the given kinds, from entering the context to leaving it.

    Before `use` was called for the first time every TLS handshake fails, which to the API server is a webhook
    that is down.
    """

    def __init__(self, webhooks: Iterable[Webhook[Any]], *, host: str = "0.0.0.0", port: int = 9443) -> None:  # noqa: S104  in a pod the API server comes from outside
        self.host = host
        self.port = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        application, load = web.Application(), Load()
        for webhook in webhooks:
            # The first review of each kind would have to wait for them.
            kind: type[Resource] = webhook.kind
            bounds.of_kind(kind)
            if webhook.mutate is not None:
                place = path("mutate", webhook.kind.kind)
                application.router.add_post(place, _handler(place, webhook, reviews.mutation, load))
            if webhook.validate is not None:
                place = path("validate", webhook.kind.kind)
                application.router.add_post(place, _handler(place, webhook, reviews.validation, load))
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=5.0)

    def use(self, certificate: bytes, key: bytes) -> None:
        """Use this certificate chain and key (PEM) from now on; raise ssl.SSLError if they do not match."""
        # Python loads them only from files. The directory is ours, and is removed before anything else happens.
        with tempfile.TemporaryDirectory(prefix="webhook-") as directory:
            chain, secret = Path(directory, "tls.crt"), Path(directory, "tls.key")
            chain.write_bytes(certificate)
            secret.touch(mode=0o600)
            secret.write_bytes(key)
            # A pair that does not match would leave the context without a key, so it is tried on another context first.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, secret)
            self._context.load_cert_chain(chain, secret)
        expiry = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        metrics.webhook_certificate_expiry_seconds.set(expiry.timestamp())

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        self._listening = Listening(self.host, self.port)
        site = web.SockSite(self._runner, self._listening, ssl_context=self._context)
        await site.start()
        self.port = self._runner.addresses[0][1]
        _log.info("admission webhooks are served", host=self.host, port=self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._runner.cleanup()
        finally:
            await self._listening.release()


def _handler(place: str, webhook: Webhook[Any], answer: Answer, load: Load) -> _Handler:
    """Return the function that answers the requests of one webhook, and counts them."""
    in_flight = metrics.webhook_requests_in_flight.labels(place)
    latency = metrics.webhook_latency_seconds.labels(place)

    async def handle(request: web.Request) -> web.Response:
        with in_flight.track_inprogress(), latency.time():
            try:
                with load.room() as room:
                    body = await load.read(request, room)
                    async with load.turn(room):
                        response = _respond(webhook, answer, body)
            except TooMuch as error:
                again = {"Retry-After": "1"} if error.status == 503 else None
                response = web.Response(status=error.status, text=str(error), headers=again)
        metrics.webhook_requests_total.labels(place, str(response.status)).inc()
        return response

    return handle


def _respond(webhook: Webhook[Any], answer: Answer, body: bytes) -> web.Response:
    try:
        request = reviews.decode(body)
    except msgspec.DecodeError as error:
        return web.Response(status=400, text=f"This is not an AdmissionReview of admission.k8s.io/v1: {error}.")
    try:
        response = answer(webhook, request)
    except Exception:  # noqa: BLE001  a bug of ours must not take the server down; it is loud in the log
        _log.exception("an admission webhook failed", kind=str(webhook.kind.kind), name=request.name, uid=request.uid)
        # For the API server this is a webhook that could not be asked, so failurePolicy decides what happens.
        return web.Response(status=500, text="The webhook failed; its log has the reason.")
    if not response.allowed:
        _log.info("an object was refused", kind=str(webhook.kind.kind), namespace=request.namespace, name=request.name)
    return web.Response(body=reviews.encode(response), content_type="application/json")
