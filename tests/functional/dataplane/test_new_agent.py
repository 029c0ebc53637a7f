"""An agent for nodes is a folder: one that nobody knows is found, and comes up and goes, on a real API server."""

from typing import Any

import pytest

import tests.functional
from stackwright import services
from stackwright.api import discovery
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.kube.builtin import Job, Secret
from stackwright.kube.client import Client
from tests.functional.dataplane.serving import serving
from tests.functional.definitions import defined
from tests.functional.samovar.kinds import KINDS, Samovar
from tests.functional.watching import eventually, gone, is_ready

pytestmark = pytest.mark.usefixtures("kinds")


def ran_since(run: str) -> Any:
    """Return what holds of a samovar that is ready after another run."""

    def holds(now: Samovar) -> bool:
        return is_ready(now) and now.status.deployment is not None and now.status.deployment.run != run

    return holds


async def test_an_agent_that_is_only_data_comes_up_and_goes(client: Client, namespace: str) -> None:
    (found,) = discovery.values_in(tests.functional, "node_services", "NODE_SERVICES")
    await defined(client, KINDS)
    async with serving(client, namespace) as here:
        here.known = (*services.node_services(), *found)
        here.hold("harden")
        async with here.operator():
            await here.role()
            await here.node("one")
            metadata = {"name": "one", "namespace": namespace, "annotations": {"samovar.example.org/boils": "true"}}
            await client.apply(OpenStackDataPlaneNode, {"metadata": metadata}, field_manager="annotator")
            made = await here.says(Samovar, "InputReady", "Secret samovar-config does not exist", "one")
            assert (made.spec.dataplaneNodeName, made.spec.sshKeySecretName) == ("one", "ssh-key")
            assert made.spec.inventoryConfigMapName == "dataplanenode-one"
            await here.put(Secret, "samovar-config", stringData={"01-samovar.conf": "[DEFAULT]\nleaves = oolong\n"})
            # Phase 0 comes first.
            await here.says(Samovar, "DataPlaneNodeReady", "Waits until node one is prepared", "one")
            assert here.machines.runs_of("samovar") == []
            here.release()
            await here.says(Samovar, "ServiceReady", "There is no hot water on one yet", "one")
            (run,) = [run for run in await here.runs() if run.spec.service == "samovar"]
            assert (run.spec.playbook, run.spec.serviceType) == ("partner.tea.samovar", "samovar")
            assert [each.secretRef.name for each in run.spec.dataSources if each.secretRef] == ["samovar-config"]
            assert "samovar_image" in (await here.decoded(run.spec.inventorySecretName))["hosts.yaml"]
            job = await client.get(Job, run.metadata.name, namespace)
            (container,) = job.spec["template"]["spec"]["containers"]
            assert container["args"][:5] == ["ansible-runner", "run", "/runner", "-p", "partner.tea.samovar"]
            agents = [{"id": "one", "agent_type": "Samovar", "host": "one", "alive": True}]
            here.answers["/v2.0/agents"] = {"agents": agents}
            up = await here.ready(Samovar, "one")
            assert (up.status.phase, up.status.hostName) == ("Up", "one")

            # Another leaf, another run, and only of this service.
            await here.put(Secret, "samovar-config", stringData={"01-samovar.conf": "[DEFAULT]\nleaves = assam\n"})
            await eventually(client, Samovar, "one", namespace, ran_since(run.metadata.name))
            await client.delete(Samovar, "one", namespace)
            await gone(client, Samovar, "one", namespace)
            assert agents == []
            names = [name for name in here.machines.seen if name.startswith("samovar")]
            assert len(names) == 3
            assert names[-1].startswith("samovar-removal")
            assert len(here.machines.runs_of("prepare")) == 1
