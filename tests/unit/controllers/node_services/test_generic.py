"""The other way to deploy the same: an OpenStackDataPlaneService of a role, with the Secrets that the cloud writes.

A node gets each service one way: whoever was there first goes on, and the second is refused, by whichever controller
sees it.
"""

from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import INPUT_READY, OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.dataplane.schedule import NewRun
from stackwright.controllers.dataplane.preparation import Prepared, find_works
from stackwright.controllers.dataplane.preparation import prepare as prepare_node
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.controllers.dataplane.run_job import describe_job
from stackwright.controllers.node_services.creation import deployed_by
from stackwright.controllers.node_services.preparation import Whole, prepare
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource
from tests.unit.controllers.node_services.place import (
    AGENT,
    AROUND,
    COMPUTE,
    compute,
    inventory,
    made,
    node,
    role,
    secret,
    seeing,
)

NOVA = made(
    OpenStackDataPlaneService,
    "nova",
    spec={"playbook": COMPUTE.playbook, "secrets": ["nova-cell1-compute-config", "nova-cell1-migration-ssh-key"]},
)


def metadata(own: str) -> OpenStackDataPlaneService:
    """Return the metadata agent with the Secret of a metadata service: that of all cells, or that of one."""
    sources = [{"configMapRef": {"name": "ovncontroller-config"}}]
    secrets = ["neutron-ovn-metadata-agent-neutron-config", own]
    spec = {"playbook": AGENT.playbook, "secrets": secrets, "dataSources": sources}
    return made(OpenStackDataPlaneService, "neutron-metadata", spec=spec)


def run_of(service: OpenStackDataPlaneService, *others: Resource) -> tuple[OpenStackAnsibleEE, str]:
    """Return the run of a role's only service on a node, and the hash of its inputs."""
    name = service.metadata.name
    of = role(services=(name,))
    sight = seeing(service, of, *others)
    works = find_works(of, sight.look, "image")
    assert not isinstance(works, Wait), works
    prepared = prepare_node(node(), of, works, sight.look)
    assert isinstance(prepared, Prepared), prepared
    new = NewRun(name, ("one",), 1, "")
    bodies = [
        body for kind, body in describe_run("compute", new, works[1], {"one": prepared}) if kind is OpenStackAnsibleEE
    ]
    return msgspec.convert(bodies[0], OpenStackAnsibleEE), prepared.services[1].inputs


@pytest.mark.parametrize(
    ("service", "folder", "secrets"),
    [
        pytest.param(
            NOVA,
            COMPUTE.folder,
            ["nova-cell1-compute-config", "nova-cell1-migration-ssh-key"],
            id="nova-compute",
        ),
        pytest.param(
            metadata("nova-metadata-compute-config"),
            AGENT.folder,
            ["neutron-ovn-metadata-agent-neutron-config", "nova-metadata-compute-config"],
            id="metadata-agent",
        ),
        pytest.param(
            metadata("nova-cell1-metadata-compute-config"),
            AGENT.folder,
            ["neutron-ovn-metadata-agent-neutron-config", "nova-cell1-metadata-compute-config"],
            id="metadata-agent-of-a-cell",
        ),
    ],
)
def test_a_service_of_a_role_gets_the_same_files_in_the_same_folder(
    service: OpenStackDataPlaneService, folder: str, secrets: list[str]
) -> None:
    own = secret("nova-cell1-metadata-compute-config", **{"05-nova-metadata.conf": "[DEFAULT]\n"})
    run, inputs = run_of(service, own)
    assert run.spec.playbook == service.spec.playbook
    pod = describe_job(run, "image")["spec"]["template"]["spec"]
    mounts = {mount["mountPath"]: mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    (volume,) = (each for each in pod["volumes"] if each["name"] == mounts[f"/var/lib/openstack/configs/{folder}"])
    assert [each["secret"]["name"] for each in volume["projected"]["sources"] if "secret" in each] == secrets
    # It runs again when the cloud writes another configuration.
    assert run_of(service, own)[1] == inputs
    assert run_of(service, secret(secrets[-1], x="y"))[1] != inputs


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"playbook": "stackwright.edpm.nova"}, id="by-playbook"),
        pytest.param({"role": "stackwright.edpm.edpm_nova"}, id="by-role"),
    ],
)
def test_the_second_is_refused_whichever_it_is(spec: dict[str, Any]) -> None:
    mine = made(OpenStackDataPlaneService, "mine", spec=spec)
    of = role(services=("mine",))
    sight = seeing(mine, of, inventory("one"))
    works = find_works(of, sight.look, "image")
    assert not isinstance(works, Wait)
    # The role had it before: the resource of the operator waits, and the node goes on.
    second = prepare(COMPUTE, compute(), sight, AROUND)
    assert isinstance(second, Wait)
    assert second.reason == "DeployedTwice"
    assert isinstance(prepare_node(node(cell="nova-cell1"), of, works, sight.look), Prepared)
    # The operator had it before: it goes on, and the node says what is wrong with its role.
    status = msgspec.convert({"deployment": {"name": COMPUTE.name, "run": "r"}}, type(compute().status))
    assert isinstance(prepare(COMPUTE, msgspec.structs.replace(compute(), status=status), sight, AROUND), Whole)
    noted = {deployed_by(COMPUTE): " ".join((COMPUTE.playbook, *COMPUTE.roles))}
    held = made(OpenStackDataPlaneNode, "one", noted, spec={"role": "compute", "ansibleHost": "192.0.2.1"})
    refused = prepare_node(held, of, works, sight.look)
    assert isinstance(refused, Wait)
    assert (refused.reason, refused.condition) == ("DeployedTwice", INPUT_READY)
    assert "which NovaExternalCompute deploys on this node already" in refused.message
