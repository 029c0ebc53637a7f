"""`stackwright explain port/ID`: it logs in as the administrator, and asks Neutron. Keystone and Neutron are played."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from stackwright.services.keystone.clouds import CLOUD, CONFIG, SECRET
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.neutron.kinds import NeutronAPI
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.commands import command

pytestmark = pytest.mark.usefixtures("kinds")

PASSWORD = "wonderland"
ANSWERS: dict[str, Any] = {
    "/v2.0/ports/p1": {"port": {"network_id": "n1", "binding:host_id": "node-9", "binding:vif_type": "binding_failed"}},
    "/v2.0/networks/n1": {"network": {"provider:physical_network": None}},
    "/v2.0/agents": {"agents": [{"agent_type": "OVN Controller agent", "host": "node-1", "alive": True}]},
}


@contextlib.asynccontextmanager
async def neutron() -> AsyncIterator[str]:
    """Play Neutron's API: it knows one port, and lets nobody in without a token."""

    async def answer(request: web.Request) -> web.Response:
        if not request.headers.get("X-Auth-Token"):
            return web.Response(status=401)
        known = ANSWERS.get(request.path)
        return web.json_response(known) if known is not None else web.Response(status=404)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def prepare(client: Client, namespace: str, keystone: str, url: str) -> None:
    """Leave what the operators leave: the administrator's login, and where Neutron is."""
    spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
    metadata = {"name": "keystone", "namespace": namespace}
    await client.apply(KeystoneAPI, {"metadata": metadata, "spec": spec}, field_manager="user")
    body = {"metadata": {"name": "neutron", "namespace": namespace}, "spec": spec}
    made = await client.apply(NeutronAPI, body, field_manager="user")
    await neighbours.tell(client, made, {"apiEndpoints": {"public": url, "internal": url}})
    auth = {"auth_url": f"{keystone}/v3", "project_name": "admin", "username": "admin"}
    shown = yaml.safe_dump({"clouds": {CLOUD: {"auth": auth}}})
    hidden = yaml.safe_dump({"clouds": {CLOUD: {"auth": {"password": PASSWORD}}}})
    place = {"namespace": namespace}
    await client.apply(ConfigMap, {"metadata": {"name": CONFIG, **place}, "data": {"clouds.yaml": shown}})
    await client.apply(Secret, {"metadata": {"name": SECRET, **place}, "stringData": {"secure.yaml": hidden}})


async def test_it_is_said_why_a_port_has_no_chassis(client: Client, namespace: str, apiserver: Shared) -> None:
    kubeconfig: Path = apiserver.kubeconfig
    early = await command(kubeconfig, namespace, "explain", "port/p1")
    assert (early.exit_code, early.stdout) == (3, "")
    assert f"No NeutronAPI in namespace {namespace} serves ports yet" in early.stderr
    with fake("tests.fakes.keystone", PASSWORD) as keystone:
        async with neutron() as url:
            await prepare(client, namespace, keystone.url, url)
            done = await command(kubeconfig, namespace, "explain", "port/p1")
            assert done.exit_code == 4, done.stderr
            assert "There is no chassis of host node-9; OVN knows node-1" in done.stdout
            assert "Start ovn-controller on node-9" in done.stdout
            said = json.loads((await command(kubeconfig, namespace, "explain", "port/p1", "-o", "json")).stdout)
            assert (said["state"], said["resource"]["kind"], said["resource"]["name"]) == ("Error", "port", "p1")
            unknown = await command(kubeconfig, namespace, "explain", "port/p2")
            assert (unknown.exit_code, unknown.stdout) == (1, "")
            assert f"{url} has no /v2.0/ports/p2" in unknown.stderr
        away = await command(kubeconfig, namespace, "explain", "port/p1")
        assert (away.exit_code, away.stdout) == (1, "")
        assert f"{url} does not answer" in away.stderr
        assert PASSWORD not in away.stderr
