"""Runs, their Jobs and their pods, as they are in a cache, and caches with them."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import msgspec

from stackwright.api.ansibleee import (
    HostResult,
    OpenStackAnsibleEE,
    OpenStackAnsibleEESpec,
    OpenStackAnsibleEEStatus,
    RunNode,
)
from stackwright.api.base import ObjectMeta
from stackwright.controllers.dataplane import run_job, runs
from stackwright.controllers.dataplane.occupancy import Occupancy
from stackwright.controllers.dataplane.run_logs import RunLogs
from stackwright.controllers.looks import Interests
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.errors import Denied
from stackwright.kube.resource import JsonObject, Key, OwnerReference, R, Resource

MIDNIGHT = "2026-11-16T00:00:00Z"


def run(name: str = "prepare-1", *nodes: str, finished: bool = False, **spec: Any) -> OpenStackAnsibleEE:
    return OpenStackAnsibleEE(
        metadata=ObjectMeta(name=name, namespace="openstack", uid=name),
        spec=OpenStackAnsibleEESpec(
            **{"playbook": "a.b.c", **spec}, nodes=tuple(RunNode(name=node) for node in nodes or ("one", "two"))
        ),
        status=OpenStackAnsibleEEStatus(finishedAt=MIDNIGHT if finished else ""),
    )


def owner(kind: str, uid: str) -> OwnerReference:
    return OwnerReference(apiVersion="v1", kind=kind, name=uid, uid=uid, controller=True)


def owned(of: OpenStackAnsibleEE, made: str = MIDNIGHT, by: str = "r") -> OpenStackAnsibleEE:
    """Return a run that a role made."""
    references = (owner("OpenStackDataPlaneRole", by),)
    metadata = msgspec.structs.replace(of.metadata, ownerReferences=references, creationTimestamp=made)
    return msgspec.structs.replace(of, metadata=metadata)


def worked(of: OpenStackAnsibleEE) -> OpenStackAnsibleEE:
    """Return a run that has results."""
    hosts = (HostResult(host="one", state="Running"),)
    return msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, hosts=hosts, jobStatus="Running"))


def job(
    name: str,
    *,
    ended: str = "",
    deleting: bool = False,
    nodes: tuple[str, ...] = ("two",),
    of: str = "",
    failed: int = 0,
) -> Job:
    """Return the Job of a run, or of an earlier run of the same name whose uid is `of`."""
    body = run_job.describe_job(run(name, *nodes), "image")
    body["metadata"] |= {"uid": f"job-{of or name}", "creationTimestamp": MIDNIGHT}
    body["metadata"]["ownerReferences"][0]["uid"] = of or name
    body["metadata"] |= {"deletionTimestamp": MIDNIGHT} if deleting else {}
    conditions = [{"type": ended, "status": "True"}] if ended else []
    return msgspec.convert({**body, "status": {"conditions": conditions, "failed": failed}}, Job)


def pod(name: str, phase: str, nodes: str, of: str = "") -> Pod:
    """Return a pod of a run's Job, or of the Job of an earlier run whose uid is `of`."""
    metadata = ObjectMeta(
        name=f"{name}-x",
        labels={run_job.RUN_LABEL: name},
        annotations={run_job.NODES_ANNOTATION: nodes},
        ownerReferences=(owner("Job", f"job-{of or name}"),),
    )
    return Pod(metadata=metadata, status={"phase": phase})


def waiting(phase: str = "Pending", state: str = "waiting", made: str = MIDNIGHT, of: str = "a", **said: str) -> Pod:
    """Return a pod of the run `a`, in a phase, with its container in a state."""
    status = {"phase": phase, "containerStatuses": [{"name": run_job.CONTAINER, "state": {state: said}}]}
    metadata = ObjectMeta(
        name="p",
        namespace="openstack",
        uid="p",
        labels={run_job.RUN_LABEL: "a"},
        creationTimestamp=made,
        ownerReferences=(owner("Job", f"job-{of}"),),
    )
    return Pod(metadata=metadata, status=status)


class Server:
    """Caches and a server that both have the same objects; a Job that is deleted stays until it is taken away."""

    def __init__(self, *objects: Resource) -> None:
        self.objects = list(objects)
        self.deleted: list[tuple[str, str, str]] = []
        self.asked: list[str] = []
        # Why it takes no Job; "" if it does.
        self.refuses = ""
        self.field_manager = "stackwright"
        self.client = self

    def store(self, kind: type[Resource]) -> Any:
        there = [each for each in self.objects if isinstance(each, kind)]
        named = {each.key: each for each in there}
        return SimpleNamespace(get=named.get, list=lambda _="": there)

    def keep_runs(self) -> None:
        """Lose everything else: Jobs, pods and Secrets."""
        self.objects = [each for each in self.objects if isinstance(each, OpenStackAnsibleEE)]

    async def find(self, kind: type[Resource], name: str, namespace: str) -> Any:
        return self.store(kind).get(Key(namespace, name))

    async def list(self, kind: type[Resource], namespace: str, *, fields: str) -> list[Any]:
        assert namespace == "openstack"
        self.asked.append(fields)
        return [each for each in self.objects if isinstance(each, kind)]

    async def apply(self, _: type[Resource], body: JsonObject) -> None:
        assert body

    async def create(self, kind: type[Resource], body: JsonObject) -> None:
        if self.refuses:
            raise Denied(self.refuses, code=403, reason="Forbidden")
        self.objects.append(msgspec.convert(body, kind))

    async def delete(
        self, kind: type[Resource], name: str, namespace: str, *, uid: str, propagation: str = "Background"
    ) -> None:
        assert (await self.find(kind, name, namespace)).metadata.uid == uid
        self.deleted.append((kind.kind.name, name, propagation))


def look_at_nothing(kind: type[R], name: str, *, namespace: str = "") -> R | None:
    """Look where no object is."""
    return None


def world(server: Server, image: str = "image") -> runs.World:
    """Return what a pass over a run works with; its pods have written nothing."""

    async def read(*_: object) -> AsyncIterator[bytes]:
        yield b""

    return runs.World(server, Interests(), Occupancy(), RunLogs(read), image)  # type: ignore[arg-type]  # what a pass uses of it
