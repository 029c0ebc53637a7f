"""Plays the runs of Ansible: each Job has a pod, whose log says that every machine did its tasks, a second later.

That stands in for SSH and for the machines. Kubernetes' own controllers would take times of their own, so none of them
runs. Logs are served by a kubelet that is played, too, and the API server asks it as it asks any other.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from benchmarks.nova_parts.playing import done
from stackwright import tasks
from stackwright.controllers.dataplane.run_job import CONTAINER, NODES_ANNOTATION
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from tests.functional.fake_kubelet import Kubelet, run_pod

SECONDS = 1.0
# What each machine tells of each run.
TASKS = 10


@dataclass
class Machines:
    """A namespace in which every run succeeds a second after its Job appears."""

    client: Client
    namespace: str
    kubelet: Kubelet
    runs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The nodes of each run that began, by its name."""

    @contextlib.asynccontextmanager
    async def played(self) -> AsyncIterator[None]:
        """Play for the time of a block."""
        playing = tasks.start(self._play())
        try:
            yield
        finally:
            failed = playing.done()
            await tasks.end(playing)
        if failed:
            playing.result()

    async def _play(self) -> None:
        async with asyncio.TaskGroup() as group:
            async for event in self.client.watch(Job, self.namespace, initial=True):
                name = event.object.metadata.name
                if event.type in {"ADDED", "MODIFIED"} and name not in self.runs:
                    template = event.object.spec["template"]
                    self.runs[name] = tuple(template["metadata"]["annotations"][NODES_ANNOTATION].split(","))
                    group.create_task(self._run(name, template))

    async def _run(self, name: str, template: JsonObject) -> None:
        hosts = self.runs[name]
        lines = [{"host": host, "status": "ok", "task": f"Task {number}"} for number in range(TASKS) for host in hosts]
        ends = [{"host": host, "status": "done"} for host in hosts]
        metadata = {**template["metadata"], "name": f"{name}-0", "namespace": self.namespace}
        self.kubelet.logs[f"{name}-0", CONTAINER] = _text(lines)
        pod = await run_pod(self.client, {"metadata": metadata, "spec": dict(template["spec"])})
        await asyncio.sleep(SECONDS)
        self.kubelet.logs[f"{name}-0", CONTAINER] = _text([*lines, *ends, {"summary": dict.fromkeys(hosts, "ok")}])
        status: JsonObject = {"status": {"phase": "Succeeded"}}
        await self.client.patch(Pod, pod.metadata.name, self.namespace, status, subresource="status")
        body = {"metadata": {"name": name, "namespace": self.namespace}, "status": done()}
        await self.client.apply(Job, body, subresource="status", field_manager="played")


def _text(lines: list[JsonObject]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()
