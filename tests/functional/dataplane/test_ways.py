"""`stackwright check` tries the way from a node to the cloud, before its services run, on a real API server."""

import json

import pytest

from stackwright import services
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from tests.functional.commands import Done, command
from tests.functional.dataplane.serving import Serving, serving

PLANE = services.control_plane()
NOVA = """\
[DEFAULT]
transport_url = rabbit://nova:secret@192.0.2.5:30672/
[placement]
auth_url = http://192.0.2.4:30500/v3
valid_interfaces = public
"""


def found(done: Done, level: str) -> list[str]:
    findings = json.loads(done.stdout)["findings"]
    return [one["message"] for one in findings if (one["level"], one["topic"]) == (level, "nodes")]


async def left(here: Serving) -> list[str]:
    """Return what a check left behind."""
    secrets = await here.client.list(Secret, here.namespace)
    return [item.metadata.name for item in (*await here.runs(), *secrets) if item.metadata.name.startswith("ways-")]


@pytest.mark.usefixtures("kinds")
async def test_what_is_closed_is_named_with_the_reason(client: Client, namespace: str, apiserver: Shared) -> None:
    async with serving(client, namespace) as here, here.operator():
        await here.cell()
        await here.secret("nova-cell1-compute-config", **{"01-nova.conf": NOVA})
        await here.put(PLANE, "openstack", spec={"secret": "osp-secret", "storageClass": "", "keystone": {}})
        await here.compute_nodes("one", "two")
        here.machines.faults["ways", "one"] = ("failed", "0:111 1:timeout")
        done = await command(apiserver.kubeconfig, namespace, "check", "-o", "json")
        assert found(done, "Problem") == [
            "Node one does not reach Keystone at 192.0.2.4:30500: connection refused.",
            "Node one does not reach the broker of its cell at 192.0.2.5:30672: "
            "no answer; a firewall drops it, or there is no route.",
        ]
        (well,) = found(done, "OK")
        assert well.startswith("two: the ways to Keystone at 192.0.2.4:30500, ")
        assert "OVN's SB database at 192.0.2.9:6642" in well
        assert "Trying the way to the cloud from one, two…" in done.stderr
        # Both nodes were tried in one run, which is gone.
        assert (here.machines.runs_of("ways"), await left(here)) == ([("one", "two")], [])
        assert "secret" not in done.stdout.replace("osp-secret", "")
        without = await command(apiserver.kubeconfig, namespace, "check", "--no-nodes", "-o", "json")
        assert found(without, "Problem") == []
        assert len(here.machines.runs_of("ways")) == 1
