"""Plays everything that a Nova waits for: each workload, and each resource of another operator, is ready a second late.

The recorded figures were measured so: a workload is ready one second after it appears, and again one second after it
changes. Kubernetes' own controllers would take times of their own, so none of them runs.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from stackwright import tasks
from stackwright.api.base import JsonObject
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.kube import clock
from stackwright.kube.builtin import Deployment, Job, Secret, StatefulSet
from stackwright.kube.client import Client
from tests.functional import neighbours

SECONDS = 1.0
# What each operator says of a resource that it has done its part for, beside that it is ready.
SAID: dict[type[Any], Callable[[Any], JsonObject]] = {
    MariaDBDatabase: lambda _: {"completed": True},
    MariaDBAccount: lambda account: {"currentSecret": account.spec.secret},
    TransportURL: lambda url: {"secretName": _login(url)},
    KeystoneService: lambda _: {"serviceID": "measured", "userID": "measured"},
    KeystoneEndpoint: lambda _: {"serviceID": "measured"},
}
ROLLING: tuple[type[Any], ...] = (Deployment, StatefulSet)
PLAYED: tuple[type[Any], ...] = (*SAID, *ROLLING, Job)


@dataclass
class Stage:
    """A namespace in which everything is ready a second after it appears, and how often each workload rolled."""

    client: Client
    namespace: str
    templates: dict[str, list[str]] = field(default_factory=dict)
    """The pod templates that each Deployment and StatefulSet had, in order."""

    @property
    def rollouts(self) -> dict[str, int]:
        """How often each workload rolled after its first start, where it did."""
        return {name: len(seen) - 1 for name, seen in self.templates.items() if len(seen) > 1}

    @contextlib.asynccontextmanager
    async def played(self) -> AsyncIterator[None]:
        """Play for the time of a block."""
        # Not a task group: what fails in the block shall leave it as it is, not wrapped in a group.
        playing = [tasks.start(self._play(kind)) for kind in PLAYED]
        try:
            yield
        finally:
            failed = [task for task in playing if task.done()]
            await tasks.end(*playing)
        for task in failed:
            task.result()

    async def _play(self, kind: type[Any]) -> None:
        told: set[tuple[str, int]] = set()
        async with asyncio.TaskGroup() as group:
            async for event in self.client.watch(kind, self.namespace, initial=True):
                if event.type not in {"ADDED", "MODIFIED"}:
                    continue
                metadata = event.object.metadata
                if kind in ROLLING:
                    self._note(event.object)
                if (metadata.uid, metadata.generation) not in told:
                    told.add((metadata.uid, metadata.generation))
                    group.create_task(self._become_ready(event.object))

    def _note(self, workload: Any) -> None:
        seen = self.templates.setdefault(f"{workload.kind.name} {workload.metadata.name}", [])
        template = json.dumps(workload.spec["template"], sort_keys=True)
        if template not in seen[-1:]:
            seen.append(template)

    async def _become_ready(self, resource: Any) -> None:
        await asyncio.sleep(SECONDS)
        if isinstance(resource, TransportURL):
            await self._log_in(resource)
        if said := SAID.get(type(resource)):
            await neighbours.tell(self.client, resource, said(resource))
            return
        status = done() if isinstance(resource, Job) else running(resource)
        metadata = {"name": resource.metadata.name, "namespace": self.namespace}
        body = {"metadata": metadata, "status": status}
        await self.client.apply(type(resource), body, subresource="status", field_manager="played")

    async def _log_in(self, url: TransportURL) -> None:
        host = f"{url.spec.rabbitmqClusterName}.{self.namespace}.svc"
        content = {"transport_url": f"rabbit://user:measured@{host}:5672/", "quorumqueues": "true"}
        metadata = {"name": _login(url), "namespace": self.namespace}
        await self.client.apply(Secret, {"metadata": metadata, "stringData": content}, field_manager="played")


def _login(url: TransportURL) -> str:
    return f"rabbitmq-transport-url-{url.metadata.name}"


def running(workload: Any) -> JsonObject:
    """Return the status of a workload whose pods all run. Pure."""
    replicas = workload.spec.get("replicas", 1)
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return {"observedGeneration": workload.metadata.generation, **dict.fromkeys(counts, replicas)}


def done() -> JsonObject:
    """Return the status of a Job that has succeeded."""
    now = clock.seconds(clock.now())
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": now, "lastProbeTime": now}
        for name in ("SuccessCriteriaMet", "Complete")
    ]
    return {"startTime": now, "completionTime": now, "succeeded": 1, "ready": 0, "conditions": conditions}
