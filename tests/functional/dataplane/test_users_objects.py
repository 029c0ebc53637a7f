"""What a user made under a name that the data plane would use stays the user's, on a real API server."""

from typing import Any

import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.resource import Resource
from stackwright.kube.shapes import belonging
from stackwright.kube.shapes.belonging import MADE_FOR
from tests.functional.dataplane.machines import SERVICES, Plane, plane
from tests.functional.watching import eventually, some

pytestmark = pytest.mark.usefixtures("kinds")


async def is_untouched(here: Plane, before: Resource) -> bool:
    """Return whether an object is as the user made it; its own controller may have written its status."""
    now = await here.client.get(type(before), before.metadata.name, here.namespace)
    same = (now.metadata.uid, now.metadata.generation) == (before.metadata.uid, before.metadata.generation)
    others = {entry.manager for entry in now.metadata.managedFields if not entry.subresource} - {"user"}
    return same and not others and not now.metadata.ownerReferences


async def test_what_a_user_made_is_named_left_alone_and_can_be_handed_over(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(belonging, "FOREIGN_SECONDS", 0.5)
    async with plane(client, namespace) as here:
        role, node = await here.role(), await here.node("one", ansibleHost="192.0.2.1")
        inventory = await here.put(ConfigMap, "dataplanenode-two", data={"note": "mine"})
        files = await here.put(ConfigMap, "mine-files", data={"note": "mine"})
        template = {"ansibleSSHPrivateKeySecret": "ssh-key"}
        spec: dict[str, Any] = {
            "roles": {"compute": {"nodeTemplate": template, "services": list(SERVICES)}},
            "nodes": {"one": {"role": "compute", "ansibleHost": "192.0.2.1"}},
        }
        async with here.operator():
            edpm = await here.put(OpenStackDataPlane, "edpm", spec=spec)
            await here.node("two")
            await here.put(OpenStackAnsibleEE, "mine", spec={"playbook": "a.b.c", "nodes": [{"name": "four"}]})
            words = "exists, was not created for OpenStackDataPlane edpm, and is left alone"
            await here.says(OpenStackDataPlane, "DeploymentReady", words, "edpm")
            words = "ConfigMap dataplanenode-two exists, was not created for OpenStackDataPlaneNode two"
            await here.says(OpenStackDataPlaneNode, "InputReady", words, "two")
            await here.says(OpenStackAnsibleEE, "JobReady", "ConfigMap mine-files exists", "mine")
            for each in (role, node, inventory, files):
                assert await is_untouched(here, each), each.metadata.name

            # Once they are handed over, they belong to the data plane, and go with their entries.
            said = {"metadata": {"annotations": {MADE_FOR: "OpenStackDataPlane/edpm"}}}
            await client.patch(OpenStackDataPlaneRole, "compute", namespace, said)
            await client.patch(OpenStackDataPlaneNode, "one", namespace, said)
            await eventually(
                client, OpenStackDataPlaneNode, "one", namespace, lambda seen: seen.metadata.controller is not None
            )
        # The next operator knows them again.
        async with here.operator():
            owner = (await here.ready(OpenStackDataPlaneNode, "one")).metadata.controller
            assert owner is not None
            assert owner.uid == edpm.metadata.uid
            nodes = {"three": {"role": "compute", "ansibleHost": "192.0.2.3"}}
            await here.put(OpenStackDataPlane, "edpm", spec={**spec, "nodes": nodes})
            await some(
                client,
                OpenStackDataPlaneNode,
                namespace,
                lambda seen: {each.metadata.name for each in seen} == {"two", "three"},
            )
