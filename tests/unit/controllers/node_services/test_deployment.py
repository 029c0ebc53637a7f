"""What a service on a node waits for, when it runs, with which inputs, and when it is up."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.controllers.dataplane.run_job import describe_job
from stackwright.controllers.node_services.deployment import Seen, decide, tell
from stackwright.controllers.node_services.preparation import Whole, prepare
from stackwright.controllers.node_services.steps import Begin, Drop
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource
from tests.unit.controllers.node_services.place import (
    AGENT,
    AROUND,
    COMPUTE,
    agent,
    cell,
    compute,
    inventory,
    made,
    node,
    role,
    secret,
    seeing,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def whole(service: NodeService, resource: NodeServiceResource, *others: Resource) -> Whole:
    found = prepare(service, resource, seeing(*others), AROUND)
    assert isinstance(found, Whole), found
    return found


def seen(resource: NodeServiceResource, *others: Resource, **further: Any) -> Seen:
    return Seen(prepare(COMPUTE, resource, seeing(*others), AROUND), NOW, **further)


def begin(service: NodeService, resource: NodeServiceResource, *others: Resource) -> OpenStackAnsibleEE:
    plan = decide(service, resource, Seen(whole(service, resource, *others), NOW))
    (step,) = plan.steps
    assert isinstance(step, Begin)
    bodies = [body for kind, body in step.objects if kind is OpenStackAnsibleEE]
    return msgspec.convert(bodies[0], OpenStackAnsibleEE)


def ended(run: OpenStackAnsibleEE, state: str = "Ok", **said: str) -> OpenStackAnsibleEE:
    status = {"finishedAt": "2026-11-16T11:59:00Z", "hosts": [{"host": "one", "state": state, **said}]}
    owner = {"apiVersion": "v1", "kind": "X", "name": "one", "uid": "NovaExternalCompute-one", "controller": True}
    metadata = {"name": run.metadata.name, "namespace": "openstack", "uid": run.metadata.name}
    body = {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": msgspec.to_builtins(run.spec)}
    return msgspec.convert({**body, "status": status}, OpenStackAnsibleEE)


def after(resource: NodeServiceResource, of: Seen) -> NodeServiceResource:
    return msgspec.structs.replace(resource, status=tell(COMPUTE, resource, of))


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
        pytest.param(COMPUTE, compute(), (), ("key",), "SecretMissing", "Secret key", id="no-key"),
        pytest.param(
            COMPUTE, compute(), (), ("dataplanenode-one",), "InventoryNotReady", "host one", id="no-inventory"
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


def test_the_first_run_waits_for_the_cell_and_for_the_node() -> None:
    away = made(OpenStackDataPlaneNode, "one", {COMPUTE.annotation: "nova-cell1"}, spec={"role": "compute"})
    wait = Wait("NovaCellNotReady", "", "NovaCellReady")
    plan = decide(COMPUTE, compute(), seen(compute(), away, waits=(wait,)))
    assert [each.reason for each in plan.waits] == ["NovaCellNotReady", "NodeNotReady"]
    unready = msgspec.structs.replace(cell(), status=type(cell().status)())
    assert [each.reason for each in COMPUTE.waits(compute(), seeing(unready))] == ["NovaCellNotReady"]
    off = decide(COMPUTE, compute(deploy=False), seen(compute(deploy=False)))
    assert [each.reason for each in off.waits] == ["DeployIsOff"]


def test_a_run_has_the_files_the_images_and_the_variables() -> None:
    run = begin(COMPUTE, compute(), inventory("one", rack=2))
    assert (run.spec.playbook, run.spec.serviceType) == ("stackwright.edpm.nova", "nova")
    assert [each.secretRef.name for each in run.spec.dataSources if each.secretRef] == [
        "nova-cell1-compute-config",
        "one-nova-external-compute-config",
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
        "one-ovn-metadata-agent-config",
    ]
    pod = describe_job(below, "image")["spec"]["template"]["spec"]
    mounts = {mount["mountPath"]: mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    (volume,) = (each for each in pod["volumes"] if each["name"] == mounts["/var/lib/openstack/configs/ovn"])
    assert volume["projected"]["sources"] == [{"configMap": {"name": "ovncontroller-config", "optional": False}}]
    assert "/var/lib/openstack/configs/neutron-metadata" in mounts


def test_a_cell_with_metadata_of_its_own_hands_on_its_own() -> None:
    own = cell(metadataServiceTemplate={"enabled": True})
    run = begin(AGENT, agent(), own, secret("nova-cell1-metadata-compute-config", a="b"))
    names = [each.secretRef.name for each in run.spec.dataSources if each.secretRef]
    assert "nova-cell1-metadata-compute-config" in names
    assert "nova-metadata-compute-config" not in names


@pytest.mark.parametrize(
    ("resource", "others", "differs"),
    [
        pytest.param(compute(customServiceConfig="[DEFAULT]\ndebug = true\n"), (), True, id="the-users-own"),
        pytest.param(compute(novaComputeContainerImage="mine:2"), (), True, id="another-image"),
        pytest.param(compute(), (inventory("one", rack=3),), True, id="a-variable"),
        pytest.param(compute(), (secret("nova-cell1-compute-config", x="y"),), True, id="the-configuration"),
        pytest.param(compute(), (secret("key", **{"ssh-privatekey": "other"}),), False, id="another-key"),
        pytest.param(compute(), (secret("nova-metadata-compute-config", x="y"),), False, id="somebody-elses-files"),
        pytest.param(compute(), (inventory("one", ansible_user="me"),), False, id="how-it-is-reached"),
    ],
)
def test_what_runs_it_again(resource: NodeServiceResource, others: tuple[Resource, ...], differs: bool) -> None:
    before, now = whole(COMPUTE, compute()).due.inputs, whole(COMPUTE, resource, *others).due.inputs
    assert (before != now) is differs


def test_from_the_run_to_a_service_that_is_up() -> None:
    resource: NodeServiceResource = compute()
    first = begin(COMPUTE, resource)
    going = seen(resource, runs=(first,))
    assert [each.reason for each in decide(COMPUTE, resource, going).waits] == ["Deploying"]
    assert tell(COMPUTE, resource, going).phase == "Deploying"
    run = ended(first)
    done = seen(resource, runs=(run,), own=(run,), sign="Nova does not know it yet")
    resource = after(resource, done)
    assert resource.status.phase == "Starting"
    assert [each.reason for each in decide(COMPUTE, resource, done).waits] == ["NotUp"]
    up = seen(resource, runs=(run,), own=(run,), sign="")
    assert decide(COMPUTE, resource, up).waits == ()
    resource = after(resource, up)
    assert resource.status.phase == "Up"
    # What does not differ does not run; and what nobody can be asked stays as it was.
    silent = seen(resource, runs=(run,), own=(run,), unasked="does not answer")
    assert tell(COMPUTE, resource, silent).phase == "Up"
    assert [each.reason for each in decide(COMPUTE, compute(), silent).waits] == ["NotAsked"]
    # Another configuration is another run; the one before goes when that has ended.
    changed = msgspec.structs.replace(resource, spec=compute(customServiceConfig="[DEFAULT]\n").spec)
    (step,) = decide(COMPUTE, changed, seen(changed, runs=(run,), own=(run,))).steps
    assert isinstance(step, Begin)
    body = next(body for kind, body in step.objects if kind is OpenStackAnsibleEE)
    later = ended(msgspec.convert(body, OpenStackAnsibleEE))
    both = seen(changed, runs=(run, later), own=(run, later), sign="")
    steps = decide(COMPUTE, changed, both).steps
    assert [each.run.metadata.name for each in steps if isinstance(each, Drop)] == [run.metadata.name]


def test_a_failure_is_told_and_tried_again_after_a_while() -> None:
    resource: NodeServiceResource = compute()
    run = ended(begin(COMPUTE, resource), "Failed", task="Start libvirt", message="no such device")
    failed = seen(resource, runs=(run,), own=(run,))
    resource = after(resource, failed)
    assert resource.status.phase == "Deploying"
    # A minute has passed since, and the first pause is a quarter of one.
    (step,) = decide(COMPUTE, resource, failed).steps
    assert isinstance(step, Begin)
    soon = msgspec.structs.replace(run, status=msgspec.structs.replace(run.status, finishedAt="2026-11-16T11:59:55Z"))
    early = Seen(failed.whole, NOW, runs=(soon,), own=(soon,))
    (wait,) = decide(COMPUTE, compute(), early).waits
    assert "failed in task Start libvirt: no such device" in wait.message
    assert wait.after == pytest.approx(10.0)


def test_a_node_that_is_in_another_run_is_waited_for() -> None:
    spec = {"playbook": "a.b.c", "service": "configure-os", "nodes": [{"name": "one"}], "sequence": 7}
    other = made(OpenStackAnsibleEE, "configure-os", spec=spec)
    plan = decide(COMPUTE, compute(), seen(compute(), runs=(other,)))
    assert [each.message for each in plan.waits] == ["Waits until the other run on node one has ended"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param([], "does not know a compute", id="unknown"),
        pytest.param([("nova-compute", "two", "up")], "does not know a compute", id="another-host"),
        pytest.param([("nova-conductor", "one", "up")], "does not know a compute", id="another-binary"),
        pytest.param([("nova-compute", "one", "down")], "is down", id="down"),
        pytest.param([("nova-compute", "one", "up")], "", id="up"),
    ],
)
def test_nova_says_whether_a_compute_is_up(rows: list[tuple[str, str, str]], words: str) -> None:
    answer = {"services": [{"binary": binary, "host": host, "state": state} for binary, host, state in rows]}
    said = COMPUTE.sign.judge(answer, "one")
    assert words in said
    assert bool(said) == bool(words)


def test_neutron_says_whether_an_agent_is_up() -> None:
    listed = {"agent_type": "OVN Metadata agent", "host": "one"}
    assert "does not know" in AGENT.sign.judge({"agents": []}, "one")
    assert "is down" in AGENT.sign.judge({"agents": [{**listed, "alive": False}]}, "one")
    assert AGENT.sign.judge({"agents": [{**listed, "alive": True}]}, "one") == ""


def test_no_secret_stands_in_what_a_run_says_of_itself() -> None:
    plan = decide(COMPUTE, compute(customServiceConfig="[x]\npassword = hunter2hunter2\n"), seen(compute()))
    (step,) = plan.steps
    assert isinstance(step, Begin)
    assert "hunter2" not in str([body for kind, body in step.objects if kind is not Secret])
