"""A node that has logs: what an API server asks a kubelet for when somebody asks it for the log of a container."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stackwright.kube.builtin import Node, Pod
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.kube.sockets import Listening

NODE = "with-logs"


class Kubelet:
    """Says what it was told to say, container by container."""

    def __init__(self) -> None:
        self.logs: dict[tuple[str, str], bytes] = {}
        self.asked: list[dict[str, str]] = []
        self.piece = 7
        # A log ends while it is set.
        self.answers = asyncio.Event()
        self.answers.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Give a log; who follows it gets it in pieces that do not end with a line."""
        self.asked.append(dict(request.query))
        text = self.logs.get((request.match_info["pod"], request.match_info["container"]))
        if text is None:
            return web.Response(status=404, text="there is no such container")
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, len(text), self.piece):
            await response.write(text[start : start + self.piece])
        await self.answers.wait()
        return response


@contextlib.asynccontextmanager
async def kubelet(client: Client, folder: Path) -> AsyncIterator[Kubelet]:
    """Run a kubelet and register its node, for the time of a block."""
    found = Kubelet()
    application = web.Application()
    application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", found.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    listening = Listening("127.0.0.1", 0)
    site = web.SockSite(runner, listening, ssl_context=_context(folder))
    await site.start()
    port = runner.addresses[0][1]
    await client.create(Node, {"metadata": {"name": NODE}})
    status: JsonObject = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    await client.patch(Node, NODE, "", {"status": status}, subresource="status")
    try:
        yield found
    finally:
        await runner.cleanup()
        await listening.release()


async def run_pod(client: Client, body: JsonObject) -> Pod:
    """Make a pod on that node, all of whose containers run."""
    body["spec"]["nodeName"] = NODE
    pod = await client.create(Pod, body)
    statuses = [
        {"name": entry["name"], "image": entry["image"], "imageID": "", "ready": True, "restartCount": 0}
        | {"state": {"running": {}}}
        for entry in body["spec"]["containers"]
    ]
    change: JsonObject = {"status": {"phase": "Running", "containerStatuses": statuses}}
    return await client.patch(Pod, pod.metadata.name, pod.metadata.namespace, change, subresource="status")


def _context(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NODE)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    path = folder / "kubelet.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
