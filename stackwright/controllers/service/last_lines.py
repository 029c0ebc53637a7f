"""The last line that a container logged before it ended badly, where its pod's status does not have it.

A condition that says why is worth one look into the log. A line may have a time or a number in it that changes with
each crash, so the first one that was read of a pod's container stands until the pod is gone.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stackwright.controllers.service import act
from stackwright.kube import pods
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.kube.errors import KubeError

# How many lines are looked at.
TAIL = 30
# A line that says what is wrong goes before the last one, which often only says that it is over.
_TELLING = re.compile(r"\b(error|fatal|failed|unknown|invalid|cannot|critical)\b", re.IGNORECASE)
# How lines begin that a program dates.
_DATE = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ]+\d{1,2}:\d\d:\d\d\S*\s+(\d+ )?")
_STATUSES = ("initContainerStatuses", "containerStatuses")


@dataclass(frozen=True)
class LastLines:
    """Remembers the last lines of containers that ended, by the pod's uid and the container's name."""

    known: dict[tuple[str, str], str] = field(default_factory=dict)

    async def add(self, mine: Iterable[Pod], client: Client) -> list[Pod]:
        """Return pods with the last line in the place where a container leaves its last words, if it left none."""
        found = list(mine)
        for pod in found:
            for name in silent(pod):
                key = (pod.metadata.uid, name)
                if key not in self.known and (line := await _read(pod, name, client)):
                    self.known[key] = line
        return [with_lines(pod, self.known) for pod in found]

    def forget(self, there: Iterable[Pod]) -> None:
        """Forget the pods that are gone."""
        uids = {pod.metadata.uid for pod in there}
        for key in [key for key in self.known if key[0] not in uids]:
            del self.known[key]


def silent(pod: Pod) -> Iterator[str]:
    """Yield the containers that ended badly, are not back, and left no word. Pure."""
    for status in _all(pod):
        ended = _ended(status)
        if not status.get("ready") and ended.get("exitCode") and not ended.get("message"):
            yield str(status.get("name", ""))


def with_lines(pod: Pod, lines: dict[tuple[str, str], str]) -> Pod:
    """Return a pod whose containers left the lines as their last words. Pure."""
    wanted = {name: line for name in silent(pod) if (line := lines.get((pod.metadata.uid, name)))}
    if not wanted:
        return pod
    said = {
        part: [_saying(status, wanted.get(str(status.get("name")), "")) for status in pod.status.get(part) or ()]
        for part in _STATUSES
    }
    return msgspec.structs.replace(pod, status={**pod.status, **said})


def telling(text: str) -> str:
    """Return the line of a log that best says what went wrong. Pure."""
    lines = [_DATE.sub("", line.strip()) for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if _TELLING.search(line)), lines[-1] if lines else "")


async def _read(pod: Pod, container: str, client: Client) -> str:
    running = next((status for status in _all(pod) if status.get("name") == container), {})
    # If the container waits for its next start, or has started again, its previous log is the one to read.
    previous = not (running.get("state") or {}).get("terminated")
    text = bytearray()
    metadata = pod.metadata
    try:
        async for piece in pods.logs(
            client,
            metadata.name,
            metadata.namespace,
            container=container,
            tail=TAIL,
            previous=previous,
            silence=act.LOG_SECONDS,
        ):
            text += piece
    except KubeError:
        # Without its log, how it ended is known all the same.
        return ""
    return telling(text.decode(errors="replace"))


def _all(pod: Pod) -> Iterator[dict[str, Any]]:
    for part in _STATUSES:
        yield from pod.status.get(part) or ()


def _ended(status: dict[str, Any]) -> dict[str, Any]:
    for name in ("lastState", "state"):
        ended: dict[str, Any] = (status.get(name) or {}).get("terminated") or {}
        if ended:
            return ended
    return {}


def _saying(status: dict[str, Any], line: str) -> dict[str, Any]:
    if not line:
        return status
    changed = dict(status)
    for name in ("lastState", "state"):
        state = status.get(name) or {}
        if state.get("terminated"):
            changed[name] = {**state, "terminated": {**state["terminated"], "message": line}}
    return changed
