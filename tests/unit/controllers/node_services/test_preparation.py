"""What a service on a node runs with: what is missing or refused, its files, and the name of its machine."""

import msgspec
import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEEStatus
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.controllers.dataplane.run_job import describe_job
from stackwright.controllers.node_services.deployment import observe, tell
from stackwright.controllers.node_services.preparation import Whole, prepare
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import Resource
from tests.unit.controllers.node_services.deploying import after, begin, ended, inventory_of, seen, whole
from tests.unit.controllers.node_services.place import (
    AGENT,
    AROUND,
    COMPUTE,
    PRIVATE_KEY,
    READY,
    WHERE,
    Api,
    agent,
    asking,
    cell,
    compute,
    inventory,
    made,
    node,
    role,
    secret,
    seeing,
    unreached,
)


@pytest.mark.parametrize(
    ("service", "resource", "others", "without", "reason", "words"),
    [
        pytest.param(COMPUTE, compute(name="two"), (), (), "NodeMissing", "OpenStackDataPlaneNode two", id="no-node"),
        pytest.param(COMPUTE, compute(), (), ("compute",), "RoleMissing", "Role compute, which node one", id="no-role"),
        pytest.param(COMPUTE, compute("nova-cell2"), (), (), "BindingChanged", "set it back to nova-cell2", id="moved"),
        pytest.param(COMPUTE, compute(), (node(),), (), "NotAskedFor", "set it, or delete this", id="annotation-gone"),
        pytest.param(COMPUTE, compute(""), (), (), "NotAdopted", "Takes cellName from node one", id="not-adopted-yet"),
        pytest.param(
            COMPUTE,
            compute(),
            (
                role(services=("mine",)),
                made(OpenStackDataPlaneService, "mine", spec={"playbook": "stackwright.edpm.nova"}),
            ),
            (),
            "DeployedTwice",
            "OpenStackDataPlaneService mine",
            id="both-ways",
        ),
        pytest.param(COMPUTE, compute(), (), ("nova-cell1",), "NovaCellMissing", "nova-cell1", id="no-cell"),
        pytest.param(
            COMPUTE,
            compute(),
            (),
            ("nova-cell1-compute-config",),
            "ComputeConfigMissing",
            "not written",
            id="no-config",
        ),
        pytest.param(
            COMPUTE,
            compute(),
            (),
            ("nova-cell1-migration-ssh-key",),
            "MigrationKeyMissing",
            "has not written Secret nova-cell1-migration-ssh-key",
            id="no-migration-key",
        ),
        pytest.param(
            COMPUTE,
            compute(customServiceConfig="[DEFAULT]\nhost = other\n"),
            (),
            (),
            "HostNameDiffers",
            "spec.customServiceConfig: host in [DEFAULT]",
            id="another-name-in-a-snippet",
        ),
        pytest.param(
            COMPUTE,
            compute(customServiceConfig="no section here\n"),
            (),
            (),
            "InvalidInput",
            "spec.customServiceConfig: line 1",
            id="a-snippet-that-nobody-can-read",
        ),
        pytest.param(
            COMPUTE,
            compute(customServiceConfig="[DEFAULT]\ndebug = soon\n"),
            (),
            (),
            "InvalidInput",
            "spec.customServiceConfig: line 2: [DEFAULT] debug",
            id="a-value-that-nova-refuses",
        ),
        pytest.param(COMPUTE, compute(), (), ("key",), "SecretMissing", "Secret key", id="no-key"),
        pytest.param(
            COMPUTE,
            compute(),
            (secret("key", **{"ssh-privatekey": "ssh-ed25519 AAAA"}),),
            (),
            "SshKeyUnusable",
            "Secret key: the key ssh-privatekey cannot be used: it is no private key",
            id="a-key-that-is-none",
        ),
        pytest.param(
            COMPUTE, compute(), (), ("dataplanenode-one",), "InventoryNotReady", "host one", id="no-inventory"
        ),
        pytest.param(
            COMPUTE,
            compute(),
            (inventory(edpm_nova_host="one.example.org"),),
            (),
            "HostNameDiffers",
            "Variable edpm_nova_host is one.example.org, and the node's host name is one",
            id="another-name-in-nova",
        ),
        pytest.param(
            AGENT,
            agent(),
            (inventory(edpm_ovn_hostname="other"),),
            (),
            "HostNameDiffers",
            "Variable edpm_ovn_hostname is other",
            id="another-name-in-ovn",
        ),
        pytest.param(
            AGENT,
            agent(),
            (compute(), node(cell="nova-cell2")),
            (),
            "BindingChanged",
            "NovaExternalCompute one, which this serves, is bound to nova-cell1: Nova cannot move a compute",
            id="what-it-follows-was-to-move",
        ),
        pytest.param(AGENT, agent(), (), ("neutron",), "NeutronAPIMissing", "NeutronAPI", id="no-neutron"),
        pytest.param(
            AGENT,
            agent(),
            (),
            ("neutron-ovn-metadata-agent-neutron-config",),
            "AgentConfigMissing",
            "neutron-ovn-metadata-agent",
            id="no-agent-config",
        ),
        pytest.param(AGENT, agent(), (), ("ovncontroller-config",), "OvnConfigMissing", "ovndbcluster-sb", id="no-ovn"),
        pytest.param(
            AGENT,
            agent(),
            (),
            ("nova-metadata-compute-config",),
            "MetadataConfigMissing",
            "nova-metadata",
            id="no-nova",
        ),
        pytest.param(
            AGENT,
            agent(),
            unreached(),
            (),
            "MetadataConfigMissing",
            "NovaMetadata nova-metadata: There is no nova_metadata_host; set override.service",
            id="machines-cannot-reach-the-metadata-service",
        ),
        pytest.param(
            AGENT,
            agent(),
            unreached()[1:],
            (),
            "MetadataConfigMissing",
            "does not say where the metadata service is yet",
            id="nor-is-it-known-why",
        ),
    ],
)
def test_what_is_missing_or_refused_is_named(
    service: NodeService,
    resource: NodeServiceResource,
    others: tuple[Resource, ...],
    without: tuple[str, ...],
    reason: str,
    words: str,
) -> None:
    found = prepare(service, resource, seeing(*others, without=without), AROUND)
    assert isinstance(found, Wait)
    assert found.reason == reason
    assert words in found.message


def test_the_user_has_to_expose_the_metadata_service_or_says_where_it_is() -> None:
    there = (node(cell="nova-cell1"), compute(), *unreached())
    found = prepare(AGENT, agent(), seeing(*there), AROUND)
    assert isinstance(found, Wait)
    assert found.ends is Ends.BY_USER
    whole(AGENT, agent(customServiceConfig="[DEFAULT]\nnova_metadata_host = 192.0.2.7\n"), *there)


def test_a_node_that_was_given_its_address_is_reached_there() -> None:
    asks = {COMPUTE.annotation: "nova-cell1"}
    given = made(OpenStackDataPlaneNode, "one", asks, spec={"role": "compute"}, status=READY)
    there = inventory(ansible_host="192.0.2.50")
    assert whole(COMPUTE, compute(), given, there).prepared.machine.address == "192.0.2.50"
    # What the node itself says goes first.
    assert whole(COMPUTE, compute(), there).prepared.machine.address == "one.example"


def test_a_run_has_the_files_the_images_and_the_variables() -> None:
    run = begin(COMPUTE, compute(), inventory("one", rack=2))
    assert (run.spec.playbook, run.spec.serviceType) == ("stackwright.edpm.nova", "nova")
    assert [each.secretRef.name for each in run.spec.dataSources if each.secretRef] == [
        "nova-cell1-compute-config",
        "nova-cell1-migration-ssh-key",
    ]
    found = whole(COMPUTE, compute(), inventory("one", rack=2))
    assert found.prepared.variables.plain == {
        "rack": 2,
        "edpm_nova_compute_image": "registry.example/compute:1",
        "edpm_nova_libvirt_image": "registry.example/compute:1",
    }
    below = begin(AGENT, agent())
    assert [each.secretRef.name for each in below.spec.dataSources if each.secretRef] == [
        "neutron-ovn-metadata-agent-neutron-config",
        "nova-metadata-compute-config",
    ]
    pod = describe_job(below, "image")["spec"]["template"]["spec"]
    mounts = {mount["mountPath"]: mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    (volume,) = (each for each in pod["volumes"] if each["name"] == mounts["/var/lib/openstack/configs/ovn"])
    assert volume["projected"]["sources"] == [{"configMap": {"name": "ovncontroller-config", "optional": False}}]
    assert "/var/lib/openstack/configs/neutron-metadata" in mounts


def test_a_cell_with_metadata_of_its_own_hands_on_its_own() -> None:
    own = cell(metadataServiceTemplate={"enabled": True})
    run = begin(AGENT, agent(), own, secret("nova-cell1-metadata-compute-config", **WHERE))
    names = [each.secretRef.name for each in run.spec.dataSources if each.secretRef]
    assert "nova-cell1-metadata-compute-config" in names
    assert "nova-metadata-compute-config" not in names


def test_an_agent_has_the_files_of_the_cell_that_its_compute_is_bound_to() -> None:
    before = whole(AGENT, agent(), node(cell="nova-cell1", metadata="true"), compute()).due.inputs
    # The webhook refuses that, but may have been down.
    gone = node(metadata="true")
    assert whole(AGENT, agent(), gone, compute()).due.inputs == before
    assert whole(AGENT, agent(), gone).due.inputs != before
    # One that is not bound yet takes what its node asks for.
    assert whole(AGENT, agent(), node(cell="nova-cell1"), compute("")).due.inputs == before


@pytest.mark.parametrize(
    ("resource", "others", "differs"),
    [
        pytest.param(compute(customServiceConfig="[DEFAULT]\ndebug = true\n"), (), True, id="the-users-own"),
        pytest.param(compute(novaComputeContainerImage="mine:2"), (), True, id="another-image"),
        pytest.param(compute(), (inventory("one", rack=3),), True, id="a-variable"),
        pytest.param(compute(), (secret("nova-cell1-compute-config", x="y"),), True, id="the-configuration"),
        pytest.param(compute(), (secret("nova-cell1-migration-ssh-key", x="y"),), True, id="another-migration-key"),
        pytest.param(
            compute(), (secret("key", **{"ssh-privatekey": f"# another one\n{PRIVATE_KEY}"}),), False, id="another-key"
        ),
        pytest.param(compute(), (secret("nova-metadata-compute-config", x="y"),), False, id="somebody-elses-files"),
        pytest.param(compute(), (inventory("one", ansible_user="me"),), False, id="how-it-is-reached"),
    ],
)
def test_what_runs_it_again(resource: NodeServiceResource, others: tuple[Resource, ...], differs: bool) -> None:
    before, now = whole(COMPUTE, compute()).due.inputs, whole(COMPUTE, resource, *others).due.inputs
    assert (before != now) is differs


def test_a_machine_keeps_the_name_by_which_the_service_is_known() -> None:
    resource: NodeServiceResource = compute()
    run = ended(begin(COMPUTE, resource))
    resource = after(resource, seen(resource, runs=(run,), sign=""))
    spec = {"role": "compute", "ansibleHost": "one.example", "hostName": "other"}
    renamed = made(OpenStackDataPlaneNode, "one", {COMPUTE.annotation: "nova-cell1"}, spec=spec, status=READY)
    now = seen(resource, renamed, inventory_of("other"), runs=(run,))
    assert isinstance(now.whole, Wait)
    assert now.whole.reason == "HostNameChanged"
    # What is on the machine is asked for by that name when the service goes.
    assert tell(COMPUTE, resource, now).hostName == "one"
    # Before it ran, it may have any.
    assert isinstance(prepare(COMPUTE, compute(), seeing(renamed, inventory_of("other")), AROUND), Whole)


async def test_a_machine_keeps_the_name_of_a_run_that_the_status_does_not_tell_of_yet() -> None:
    spec = {"role": "compute", "ansibleHost": "one.example", "hostName": "other"}
    renamed = made(OpenStackDataPlaneNode, "one", {COMPUTE.annotation: "nova-cell1"}, spec=spec, status=READY)
    resource = compute()
    over = ended(begin(COMPUTE, resource))
    for run in (over, msgspec.structs.replace(over, status=OpenStackAnsibleEEStatus())):
        now = await observe(COMPUTE, resource, asking(Api(), renamed, inventory_of("other"), run))
        assert isinstance(now.whole, Wait)
        assert (now.whole.reason, "set hostName back to one" in now.whole.message) == ("HostNameChanged", True)
        assert tell(COMPUTE, resource, now).hostName == "one"
    # One that was made for an earlier resource of that name says nothing of this one.
    earlier = msgspec.structs.replace(over, metadata=msgspec.structs.replace(over.metadata, ownerReferences=()))
    now = await observe(COMPUTE, resource, asking(Api(), renamed, inventory_of("other"), earlier))
    assert isinstance(now.whole, Whole)
    assert tell(COMPUTE, resource, now).hostName == "other"


def test_no_message_shows_a_variable_of_a_secret() -> None:
    spec = {"role": "compute", "ansibleHost": "a", "node": {"ansibleVarsFrom": [{"secretRef": {"name": "hidden"}}]}}
    secretive = made(OpenStackDataPlaneNode, "one", {COMPUTE.annotation: "nova-cell1"}, spec=spec, status=READY)
    found = prepare(COMPUTE, compute(), seeing(secretive, secret("hidden", edpm_nova_host="s3cr3t")), AROUND)
    assert isinstance(found, Wait)
    assert found.reason == "HostNameDiffers"
    assert "s3cr3t" not in found.message
