"""The life of the pod that tries a cloud: created, followed, and removed whatever happens."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing

import click

from stackwright.cli import exit_codes
from stackwright.cli.validation import manifests, report
from stackwright.cli.validation.manifests import CONTAINER, GRACE, NAME, Login, Request
from stackwright.cli.validation.results import FAILED, Findings
from stackwright.foresight import pod_logs
from stackwright.kube import pods as pod_calls
from stackwright.kube.builtin import NetworkPolicy, Pod
from stackwright.kube.client import Client
from stackwright.kube.errors import AlreadyExists, Gone, NotFound, Unreachable
from stackwright.kube.watch import Lines
from stackwright.local.progress import Progress

# How long until a stream that broke is opened again.
AGAIN = 1.0
# How long a pod may take until its container runs: the image is large, and may have to be pulled.
STARTING = 600.0
# Why a container does not start, where waiting does not help.
STUCK = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerError",
        "CreateContainerConfigError",
    }
)
FINISHED = ("Succeeded", "Failed")


class Failed(click.ClickException):
    """It could not be tried; the message says why."""


class Late(click.ClickException):
    """It was not done in time."""

    exit_code = exit_codes.NOT_READY


async def validate(
    client: Client, namespace: str, image: str, login: Login, asked: Request, progress: Progress
) -> Findings:
    """Run the pod to its end, and return what it told; it is removed in any case."""
    found = Findings()
    await _make_room(client, namespace)
    try:
        pod = await client.create(Pod, manifests.pod(namespace, image, login, asked))
    except AlreadyExists:
        raise Failed(_runs_already(namespace)) from None
    try:
        await client.apply(NetworkPolicy, manifests.policy(pod))
        async with asyncio.timeout(asked.timeout):
            progress.update(f"Starting the pod {NAME}")
            await _until_begun(client, pod, image)
            await _follow(client, pod, found, progress)
    except TimeoutError:
        raise Late(f"The tests were not done after {asked.timeout:g} s; name fewer, or a longer --timeout.") from None
    finally:
        await _remove(client, pod, found, progress)
    if not (found.done or found.error or found.names):
        raise Failed(f"The pod {NAME} ended before its tests: {found.said or 'nobody knows why'}.")
    return found


def _runs_already(namespace: str) -> str:
    return (
        f"The cloud in namespace {namespace} is being validated already, in pod {NAME}. Wait until it is done, or "
        f"end it: kubectl delete pod {NAME} --namespace {namespace}"
    )


async def _make_room(client: Client, namespace: str) -> None:
    """Remove what a command that was killed has left; raise an error if tests run."""
    there = await client.find(Pod, NAME, namespace)
    if there is None:
        return
    if there.status.get("phase") not in FINISHED or there.metadata.deletionTimestamp:
        raise Failed(_runs_already(namespace))
    await client.delete(Pod, NAME, namespace, uid=there.metadata.uid, grace=0)
    await _until(client, there, _is_gone)


async def _until_begun(client: Client, pod: Pod, image: str) -> None:
    """Wait until the container runs; raise an error that says why it does not."""
    why = "it was not scheduled"

    def begun(seen: Pod | None) -> bool:
        nonlocal why
        if seen is None:
            raise Failed(f"Somebody removed the pod {NAME}.")
        state, message = trouble(seen)
        if state in STUCK:
            raise Failed(stuck(state, message, image))
        why = message or why
        return pod_logs.has_begun(seen, CONTAINER) or seen.status.get("phase") in FINISHED

    try:
        async with asyncio.timeout(STARTING):
            await _until(client, pod, begun)
    except TimeoutError:
        raise Failed(f"The pod {NAME} did not start within {STARTING:g} s: {why}") from None


def trouble(pod: Pod) -> tuple[str, str]:
    """Return why the pod's container waits, as a word and a sentence; empty if it does not. Pure."""
    for status in pod.status.get("containerStatuses") or ():
        if waiting := (status.get("state") or {}).get("waiting"):
            return str(waiting.get("reason", "")), str(waiting.get("message", ""))
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("reason", "")), str(condition.get("message", ""))
    return "", ""


def stuck(state: str, message: str, image: str) -> str:
    """Return why a container cannot start, and what to do. Pure."""
    if "Image" in state:
        return (
            f"The image {image} cannot be used ({state}: {message or 'no further word'}). Build it with `stackwright "
            "image build tempest` and push it to the registry of your images, or name another with --image."
        )
    return f"The container of pod {NAME} cannot start ({state}): {message}"


async def _follow(client: Client, pod: Pod, found: Findings, progress: Progress) -> None:
    """Take note of all that the pod says until it ends."""
    read, began = 0, time.monotonic()
    while True:
        seen = 0
        pieces = pod_calls.logs(client, NAME, pod.metadata.namespace, container=CONTAINER, follow=True)
        lines = Lines()
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    for line in lines.feed(piece):
                        seen += 1
                        # A stream that broke is read again from its beginning.
                        if seen > read:
                            read = seen
                            _tell(found, line, progress, time.monotonic() - began)
        except Unreachable:
            await asyncio.sleep(AGAIN)
            continue
        except NotFound:
            return
        now = await client.find(Pod, NAME, pod.metadata.namespace)
        if now is None or now.metadata.uid != pod.metadata.uid:
            return
        if now.status.get("phase") in FINISHED:
            found.said = found.said or ended(now)
            return
        await asyncio.sleep(AGAIN)


def ended(pod: Pod) -> str:
    """Return how the pod's container ended. Pure."""
    for status in pod.status.get("containerStatuses") or ():
        if over := (status.get("state") or {}).get("terminated"):
            return f"{over.get('reason', 'it ended')}, exit code {over.get('exitCode', 'unknown')}"
    return str(pod.status.get("message") or pod.status.get("reason") or "")


def _tell(found: Findings, line: bytes, progress: Progress, seconds: float) -> None:
    before = found.notes
    result = found.take(line)
    if found.notes != before:
        for note in found.notes:
            progress.say(note)
    if result is not None and result.status == FAILED:
        progress.say(f"failed: {result.test}: {result.reason}")
    if found.removing:
        progress.update("Removing what the tests made in the cloud")
    elif found.selected:
        progress.update(report.progress(found, seconds))


async def _remove(client: Client, pod: Pod, found: Findings, progress: Progress) -> None:
    """Remove the pod; one that is in the middle of its tests first removes what they made in the cloud."""
    there = await client.find(Pod, NAME, pod.metadata.namespace)
    if there is None or there.metadata.uid != pod.metadata.uid:
        return
    busy = there.status.get("phase") not in FINISHED
    await client.delete(Pod, NAME, pod.metadata.namespace, uid=pod.metadata.uid, grace=None if busy else 0)
    if not busy:
        return
    if pod_logs.has_begun(there, CONTAINER):
        progress.say(
            "Ending the tests, and removing what they made in the cloud. Ctrl-C once more does not wait for it."
        )
    try:
        async with asyncio.timeout(GRACE + 30.0):
            await _until(client, pod, _is_gone)
    except TimeoutError:
        progress.say(f"The pod {NAME} is still there; it ends by itself.")
    if found.troubles:
        progress.say(f"Not removed from the cloud: {'; '.join(found.troubles)}")


def _is_gone(pod: Pod | None) -> bool:
    return pod is None


async def _until(client: Client, pod: Pod, holds: Callable[[Pod | None], bool]) -> None:
    """Wait until the pod is so; None stands for one that is gone."""
    while True:
        events = client.watch(Pod, pod.metadata.namespace, fields=f"metadata.name={NAME}", initial=True)
        there = False
        try:
            async with aclosing(events):
                async for event in events:
                    ours = event.type != "BOOKMARK" and event.object.metadata.uid == pod.metadata.uid
                    there = there or ours
                    if ours and holds(None if event.type == "DELETED" else event.object):
                        return
                    # All that is there has been told now.
                    if event.initial_events_end and not there and holds(None):
                        return
        except (Gone, Unreachable):
            await asyncio.sleep(AGAIN)
