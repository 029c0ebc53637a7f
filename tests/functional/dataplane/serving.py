"""A namespace with machines, and with a control plane that is played: Keystone, Nova with a cell, Neutron and OVN."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.schedule import Backoff
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers import addresses, node_services
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.node_services import Pace
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.controller import Controller
from stackwright.kube.resource import JsonObject, owner_reference
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.neutron.kinds import NeutronAPI
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.placement.kinds import PlacementAPI
from stackwright.simulator import simulated
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.dataplane.machines import KEY, Plane

PASSWORD = "wonderland"
CELL = "nova.openstack.org/cell"
IMAGES = {name: ComponentImage(f"registry.example/{name}:1") for name in ("ansible-runner", "compute", "ovn")}
PACE = Pace(ask_again=0.2, every=0.5, backoff=Backoff(first=1.0, longest=1.0), gather=0.3, renew_again=0.3)


@dataclass
class Serving(Plane):
    """Machines, and the APIs that say what is up on them."""

    # What the APIs answer, by path.
    answers: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    images: Mapping[str, ComponentImage] = field(default_factory=lambda: IMAGES)
    # The services on nodes that there are; None for those of our folders.
    known: tuple[NodeService, ...] | None = None

    def controllers(self) -> tuple[Controller, ...]:
        dialler = Dialler(self.client, inside=True)
        own = node_services.controllers(dialler, self.images, replace(PACE, gather=self.gather), self.known)
        return (*super().controllers(), *addresses.controllers(), *own)

    async def annotate(self, kind: type[Any], name: str, **annotations: str) -> Any:
        """Say these annotations of Nova's group, and no others any more."""
        said = {f"nova.openstack.org/{key}": value for key, value in annotations.items()}
        metadata = {"name": name, "namespace": self.namespace, "annotations": said}
        return await self.client.apply(kind, {"metadata": metadata}, field_manager="annotator")

    async def compute_nodes(self, *names: str) -> None:
        """Write a role whose nodes are computes of the first cell, and its nodes."""
        await self.role()
        await self.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell1")
        for name in names:
            await self.node(name)
            await self.ready(OpenStackDataPlaneNode, name)

    def up(self, *hosts: str) -> None:
        """Let Nova and Neutron know services on these hosts."""
        rows = [{"id": host, "binary": "nova-compute", "host": host, "state": "up"} for host in hosts]
        agents = [{"id": host, "agent_type": "OVN Metadata agent", "host": host, "alive": True} for host in hosts]
        self.answers |= {"/v2.1/os-services": {"services": rows}, "/v2.0/agents": {"agents": agents}}
        known = [{"id": f"provider-{host}", "service": {"host": host}} for host in hosts]
        self.answers |= {"/v2.1/os-hypervisors/detail": {"hypervisors": known}}
        providers = [{"id": f"provider-{host}", "uuid": f"provider-{host}", "name": host} for host in hosts]
        self.answers |= {"/resource_providers": {"resource_providers": providers}}
        for each in providers:
            self.answers.setdefault(f"/resource_providers/{each['uuid']}/allocations", {"allocations": {}})
        self.answers.setdefault("/v2.1/servers", {"servers": []})
        self.answers.setdefault("/v2.0/ports", {"ports": []})
        self.answers.setdefault("/v2.1/os-migrations", {"migrations": []})

    async def maps(self, *hosts: str) -> None:
        """Let Nova map these hosts, and no others, to whichever cell they are in."""
        nova = await self.client.get(Nova, "nova", self.namespace)
        known = {host: host for host in hosts}
        status: JsonObject = {"apiEndpoints": {"internal": self.url, "public": self.url}}
        # The server takes an empty map that had something in it for null.
        if known:
            status["discoveredHosts"] = dict.fromkeys(("nova-cell1", "nova-cell2"), known)
        await neighbours.tell(self.client, nova, status)

    async def cell(self, name: str = "nova-cell1", *, ready: bool = True) -> None:
        """Make a cell, with what it writes for computes."""
        nova = await self.client.get(Nova, "nova", self.namespace)
        place = {"name": name, "namespace": self.namespace, "ownerReferences": [owner_reference(nova)]}
        spec = {"cellName": "cell1", "secret": "osp-secret", "keystoneAuthURL": "http://keystone.example"}
        made = await self.client.apply(NovaCell, {"metadata": place, "spec": spec}, field_manager="user")
        await self.secret(f"{name}-compute-config", **{"01-nova.conf": "[DEFAULT]\n"})
        await self.secret(f"{name}-migration-ssh-key", **{"ssh-privatekey": KEY, "ssh-publickey": "ssh-ed25519 AAAA"})
        await neighbours.tell(self.client, made, {}, ready=ready)

    async def control_plane(self, keystone: str, url: str) -> None:
        """Leave what the operators of the other services leave."""
        await self.secret("osp-secret", AdminPassword=PASSWORD)
        spec: JsonObject = {"secret": "osp-secret", "databaseInstance": "openstack"}
        made = await self.put(KeystoneAPI, "keystone", spec=spec)
        await neighbours.tell(self.client, made, {"apiEndpoints": {"internal": keystone, "public": keystone}})
        self.url = url
        await self.put(Nova, "nova", spec={"secret": "osp-secret"})
        await self.maps("one", "two", "three")
        placement = await self.put(PlacementAPI, "placement", spec=spec)
        await neighbours.tell(self.client, placement, {"apiEndpoints": {"internal": url, "public": url}})
        neutron = await self.put(NeutronAPI, "neutron", spec=spec)
        await neighbours.tell(self.client, neutron, {"apiEndpoints": {"internal": url, "public": url}})
        await neighbours.network_databases(self.client, self.namespace, "192.0.2.9")
        await self.put(ConfigMap, "ovncontroller-config", data={"ovsdb-config": "ovn-remote: tcp:192.0.2.9:6642\n"})
        await self.secret("neutron-ovn-metadata-agent-neutron-config", **{"10-neutron-metadata.conf": "[ovn]\n"})
        await self.secret(
            "nova-metadata-compute-config", **{"05-nova-metadata.conf": "[DEFAULT]\nnova_metadata_host = 192.0.2.7\n"}
        )


@contextlib.asynccontextmanager
async def serving(client: Client, namespace: str, **said: Any) -> AsyncIterator[Serving]:
    """Give a namespace with machines and with a control plane, without a cell."""
    async with simulated(client, namespace) as play:
        here = Serving(client, namespace, play=play, **said)
        await here.prepare()
        with fake("tests.fakes.keystone", PASSWORD) as keystone:
            async with apis(here.answers) as url:
                await here.control_plane(f"{keystone.url}", url)
                yield here


@contextlib.asynccontextmanager
async def apis(answers: dict[str, Any]) -> AsyncIterator[str]:
    """Serve what APIs answer, by path, and yield where."""

    async def answer(request: web.Request) -> web.Response:
        if not request.headers.get("X-Auth-Token"):
            return web.Response(status=401)
        said = answers.get(request.path, {})
        if request.path == "/resource_providers":
            said = {key: [row for row in rows if request.query.items() <= row.items()] for key, rows in said.items()}
        return web.json_response(said)

    async def change(request: web.Request) -> web.Response:
        path, _, name = request.path.rpartition("/")
        (rows,) = answers[path].values()
        (row,) = (row for row in rows if row["id"] == name)
        if request.method == "DELETE":
            rows.remove(row)
        else:
            row |= await request.json()
        return web.json_response({})

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    application.router.add_put("/{path:.*}", change)
    application.router.add_delete("/{path:.*}", change)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
