"""Tries a cluster with what everything else will ask of it: pods from our images, under the restricted profile."""

import asyncio
import contextlib
from pathlib import Path

from stackwright.kube import config
from stackwright.kube.builtin import Deployment, Namespace
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.kube.shapes.states import state_of
from stackwright.local.errors import ClusterFailed
from stackwright.local.progress import Progress

NAMESPACE = "stackwright-smoke"
NAME = "smoke"
PATIENCE = 180.0


def smoke(kubeconfig: Path, image: str, progress: Progress) -> None:
    """Run two pods of an image until both are ready, then remove them; raise ClusterFailed with the reason if not."""
    asyncio.run(_smoke(kubeconfig, image, progress))


async def _smoke(kubeconfig: Path, image: str, progress: Progress) -> None:
    async with Client(config.load(kubeconfig)) as client:
        await client.apply(Namespace, _namespace())
        await client.apply(Deployment, _deployment(image))
        try:
            await _available(client, progress)
        finally:
            await client.delete(Namespace, NAMESPACE)


async def _available(client: Client, progress: Progress) -> None:
    said = "nothing was heard of it"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            events = client.watch(Deployment, NAMESPACE, fields=f"metadata.name={NAME}", timeout=PATIENCE)
            async with contextlib.aclosing(events):
                async for event in events:
                    if event.type not in ("ADDED", "MODIFIED"):
                        continue
                    state = state_of(event.object)
                    if state.status == "True":
                        return
                    said = state.message
                    progress.update(said)
    raise ClusterFailed(
        f"The cluster is up, but a Deployment did not become available within {PATIENCE:.0f} s: {said}. "
        "Look at `stackwright local status`, and at the logs that it names."
    )


def _namespace() -> JsonObject:
    return {"metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}


def _deployment(image: str) -> JsonObject:
    labels = {"app": NAME}
    container = {
        "name": "memory",
        "image": image,
        "command": ["memcached", "-p", "11211"],
        "ports": [{"containerPort": 11211}],
        "readinessProbe": {"tcpSocket": {"port": 11211}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod = {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec}
