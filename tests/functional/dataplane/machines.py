"""Machines outside of the cluster, played: what the pod of a run logs, and what happens to it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.dataplane.schedule import Backoff
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers.dataplane import Rhythm, controllers
from stackwright.controllers.dataplane.releases import Patience
from stackwright.controllers.dataplane.run_job import NODES_ANNOTATION, RUN_LABEL
from stackwright.kube.builtin import Pod, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Controller
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from stackwright.simulator import Behaviour, Script, Selector, Simulation, simulated
from tests.functional.cloud import Cloud
from tests.functional.running import running

IMAGES = {"ansible-runner": ComponentImage("registry.example/ansible-runner:1", sudo=False, ours=True)}
RHYTHM = Rhythm(
    poll=0.2, backoff=Backoff(first=1.0, longest=1.0), gather=0.3, patience=Patience(straggling=0.5, settling=0.5)
)
SERVICES = ("prepare", "harden")
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAAB3NzaC1yc2E\n-----END OPENSSH PRIVATE KEY-----"


@dataclass
class Machines:
    """Says what the pods of runs log: each host does its tasks, unless something is wrong with it."""

    # By the first word of a run's name, which is its service, and the host: how it fails, and why.
    faults: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    # Services whose runs do not come to an end while they are in here.
    held: set[str] = field(default_factory=set)
    # Hosts that hang in these runs; the runs say that they are through with the others.
    hanging: set[str] = field(default_factory=set)
    # Each run that was read, with its hosts.
    seen: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def read(self, _: Client, pod: Pod, __: float | None) -> AsyncIterator[bytes]:
        await asyncio.sleep(0)
        run = pod.metadata.labels[RUN_LABEL]
        hosts = tuple(pod.metadata.annotations[NODES_ANNOTATION].split(","))
        self.seen[run] = hosts
        yield "".join(f"{json.dumps(line)}\n" for line in self._lines(run.split("-")[0], hosts)).encode()

    def _lines(self, service: str, hosts: tuple[str, ...]) -> list[JsonObject]:
        lines: list[JsonObject] = [{"host": host, "status": "ok", "task": f"Begin {service}"} for host in hosts]
        summary = dict.fromkeys(hosts, "ok")
        for host in hosts:
            if (service, host) in self.faults:
                summary[host], why = self.faults[service, host]
                lines.append({"host": host, "status": summary[host], "task": f"Do {service}", "message": why})
        if service not in self.held:
            return [*lines, {"summary": summary}]
        through = set(hosts) - self.hanging if self.hanging else set()
        return [*lines, *({"host": host, "status": "done", "task": "", "message": ""} for host in sorted(through))]

    def runs_of(self, service: str) -> list[tuple[str, ...]]:
        """Return the hosts of each run of a service that was read, in order."""
        return [hosts for run, hosts in self.seen.items() if run.split("-")[0] == service]


@dataclass
class Plane(Cloud):
    """A namespace with machines in it."""

    machines: Machines = field(default_factory=Machines, kw_only=True)
    play: Simulation = field(kw_only=True)
    # For how many seconds nodes wait for each other: for longer where they have to share a run.
    gather: float = field(default=RHYTHM.gather, kw_only=True)

    @contextlib.asynccontextmanager
    async def operator(self) -> AsyncIterator[Runtime]:
        """Run the controllers of the data plane."""
        self.runtime = Runtime(self.client, self.controllers(), namespace=self.namespace)
        async with running(self.runtime):
            yield self.runtime

    def controllers(self) -> tuple[Controller, ...]:
        return controllers(IMAGES, self.machines.read, replace(RHYTHM, gather=self.gather))

    async def prepare(self) -> None:
        """Write what every role here needs: the SSH key, and two services."""
        await self.put(Secret, "ssh-key", stringData={"ssh-privatekey": KEY})
        for name in SERVICES:
            text = f"- hosts: all\n  roles: [{name}]\n"
            await self.put(OpenStackDataPlaneService, name, spec={"playbookContents": text})

    async def role(self, name: str = "compute", **spec: object) -> OpenStackDataPlaneRole:
        template = {"ansibleSSHPrivateKeySecret": "ssh-key"}
        body: JsonObject = {"nodeTemplate": template, "services": list(SERVICES), **spec}
        return await self.put(OpenStackDataPlaneRole, name, spec=body)

    async def node(self, name: str, role: str = "compute", **spec: object) -> OpenStackDataPlaneNode:
        body: JsonObject = {"role": role, "ansibleHost": f"{name}.example", **spec}
        return await self.put(OpenStackDataPlaneNode, name, spec=body)

    def hold(self, service: str) -> None:
        """Let the runs of a service go on until they are released: neither their logs nor their pods end."""
        self.machines.held.add(service)
        self.play.perform(Script((Behaviour(Selector(name=f"{service}-*"), runs_for=None),)))

    def release(self) -> None:
        """Let all runs end that were held."""
        self.machines.held.clear()
        self.play.perform(Script())

    async def runs(self) -> list[OpenStackAnsibleEE]:
        return await self.client.list(OpenStackAnsibleEE, self.namespace)


@contextlib.asynccontextmanager
async def plane(client: Client, namespace: str, **said: Any) -> AsyncIterator[Plane]:
    """Give a namespace in which pods are played, and what its roles need."""
    async with simulated(client, namespace) as play:
        found = Plane(client, namespace, play=play, **said)
        await found.prepare()
        yield found
