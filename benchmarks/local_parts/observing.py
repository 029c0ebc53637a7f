"""Watches a cluster come up from outside, ours and the other by the same eyes."""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from stackwright.kube import config
from stackwright.kube.builtin import Deployment, Node, Plain
from stackwright.kube.client import Client
from stackwright.kube.errors import KubeError
from stackwright.local.cluster import settling

NAME = "kubernetes.default.svc.cluster.local"
# How often something that is not there yet is asked for, in seconds.
ASKED = 0.05


@dataclass(frozen=True)
class Target:
    """How a cluster is reached: by its administrator's kubeconfig, its node's name, and who answers for names."""

    kubeconfig: Path
    node: str
    nameserver: str


@dataclass(frozen=True)
class Times:
    """When a cluster was how far, in seconds since it was asked for."""

    ready: float
    """The node is Ready."""
    answering: float
    """The name of a Service is answered for, at the address that Pods ask."""
    available: float
    """The Deployment is Available."""


async def observe(find: Callable[[], Target | None], deployment: str, began: float) -> Times:
    """Return when the cluster was how far; `find` returns where it is, as soon as that is known."""
    while (target := find()) is None:  # noqa: ASYNC110  a file tells of it, and nobody tells of the file
        await asyncio.sleep(ASKED)
    async with await _client(target) as client:
        ready, answering, available = await asyncio.gather(
            _timed(_holds(client, Node, target.node, "Ready"), began),
            _timed(_answers(target.nameserver), began),
            _timed(_holds(client, Deployment, deployment, "Available"), began),
        )
    return Times(ready, answering, available)


async def _client(target: Target) -> Client:
    while True:
        with contextlib.suppress(KubeError):
            return Client(config.load(target.kubeconfig))
        await asyncio.sleep(ASKED)


async def _timed(work: Awaitable[None], began: float) -> float:
    await work
    return time.monotonic() - began


async def _holds(client: Client, kind: type[Plain], name: str, condition: str) -> None:
    namespace = "default" if kind.kind.namespaced else ""
    while True:
        with contextlib.suppress(KubeError):
            events = client.watch(kind, namespace, fields=f"metadata.name={name}", initial=True, timeout=60)
            async with contextlib.aclosing(events):
                async for event in events:
                    if event.type in ("ADDED", "MODIFIED") and settling.holds(event.object, condition):
                        return
        await asyncio.sleep(ASKED)


async def _answers(nameserver: str) -> None:
    while True:
        # Each question from another port: the kernel remembers for a while that there was no way for the last one.
        with contextlib.suppress(OSError, TimeoutError):
            if await _ask(nameserver):
                return
        await asyncio.sleep(ASKED)


async def _ask(nameserver: str) -> bool:
    """Ask for an address of the API server's Service, and return whether there was one in the answer."""
    labels = b"".join(struct.pack("B", len(label)) + label.encode() for label in NAME.split("."))
    question = struct.pack("!6H", 1, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, 1, 1)
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(0)
        await loop.sock_connect(asking, (nameserver, 53))
        await loop.sock_sendall(asking, question)
        answer = await asyncio.wait_for(loop.sock_recv(asking, 512), 0.2)
    header: tuple[int, ...] = struct.unpack_from("!6H", answer)
    return header[1] & 0xF == 0 and header[3] > 0
