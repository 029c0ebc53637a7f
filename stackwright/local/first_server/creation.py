"""Runs the Job that creates the first server, and reads what became of it."""

import asyncio
import time
from collections.abc import Iterable

import msgspec

from stackwright.kube.builtin import Job, Pod
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.local.errors import ClusterFailed
from stackwright.local.first_server import objects, ping
from stackwright.local.progress import Progress, duration

# Between two looks at the Job, in seconds.
_ASKED = 1.0
# How long the server may take to boot, once it is active; an emulated one is there after some twenty seconds.
_BOOT = 180.0
# How long one that was there before has for an answer.
_MOMENT = 3.0


class FirstServer(msgspec.Struct, frozen=True):
    """What became of the first server."""

    server: str
    host: str
    """The machine that it runs on."""
    address: str
    """Its floating IP."""
    console: str = ""
    """What a browser opens, for some minutes."""


async def begin(client: Client, job: JsonObject) -> bool:
    """Run the Job; return False where it was done before, because nobody wants a server back that he has deleted."""
    metadata = job["metadata"]
    present = await client.find(Job, metadata["name"], metadata["namespace"])
    if present is not None and _has(present, "Failed"):
        await client.delete(Job, metadata["name"], metadata["namespace"], uid=present.metadata.uid)
        while await client.find(Job, metadata["name"], metadata["namespace"]) is not None:  # noqa: ASYNC110  soon gone
            await asyncio.sleep(_ASKED)
        present = None
    if present is None:
        await client.create(Job, job)
    return present is None or not _has(present, "Complete")


async def recall(client: Client, namespace: str) -> FirstServer | None:
    """Return the server that was created before, if it is still there to answer a ping."""
    server = _told(read_message(await client.list(Pod, namespace, labels=f"app={objects.NAME}")))
    if server is None:
        return None
    # It may have moved since, and the URL of its console was good for some minutes only.
    here = await asyncio.to_thread(ping.answers, server.address, _MOMENT)
    return msgspec.structs.replace(server, host="", console="") if here else None


async def await_answer(client: Client, namespace: str, progress: Progress) -> FirstServer | None:
    """Wait until the server is active and answers a ping, and return what became of it, as far as its Job tells."""
    began = time.monotonic()
    while True:
        job = await client.get(Job, objects.NAME, namespace)
        if _has(job, "Complete") or _has(job, "Failed"):
            break
        progress.update(f"Waiting for the first server to be active, {duration(time.monotonic() - began)} so far")
        await asyncio.sleep(_ASKED)
    said = read_message(await client.list(Pod, namespace, labels=f"app={objects.NAME}"))
    if not _has(job, "Complete"):
        raise ClusterFailed(f"The first server was not created. The end of what its Job says:\n{said}")
    if (server := _told(said)) is None:
        return None
    progress.say(f"The server {server.server} is active on {server.host}.")
    progress.update(f"Waiting for an answer of {server.address}.")
    if not await asyncio.to_thread(ping.answers, server.address, _BOOT):
        raise ClusterFailed(
            f"The server {server.server} is active on {server.host}, and {server.address} does not answer a ping after "
            f"{duration(_BOOT)}. Its console may say why: openstack console log show {server.server}"
        )
    return server


def read_message(pods: Iterable[Pod]) -> str:
    """Return what the last container of the Job said when it ended; pure."""
    ended = [
        state["terminated"]
        for pod in pods
        for container in pod.status.get("containerStatuses", ())
        if "terminated" in (state := container.get("state", {}))
    ]
    if not ended:
        return "nothing; its pods are gone"
    return str(max(ended, key=lambda one: str(one.get("finishedAt", ""))).get("message", "")).strip()


def _told(said: str) -> FirstServer | None:
    try:
        return msgspec.json.decode(said, type=FirstServer)
    except msgspec.DecodeError:
        # Somebody has removed the Job's pod, and with it what it said.
        return None


def _has(job: Job, condition: str) -> bool:
    return any(one["type"] == condition and one["status"] == "True" for one in job.status.get("conditions", ()))
