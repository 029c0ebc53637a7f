"""Upstream's node sets become roles and nodes, and what does not is named."""

from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.foresight.upstream import conversion
from stackwright.foresight.upstream.conversion import Conversion
from stackwright.foresight.upstream.documents import Broken

API = "dataplane.openstack.org/v1beta1"
PREPARED = ["configure-network", "validate-network", "install-os", "configure-os", "run-os"]
CELL, AGENT = "nova.openstack.org/cell", "neutron.openstack.org/ovn-metadata-agent"


def thing(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def node_set(services: list[str] | None = None, nodes: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    template = spec.pop("nodeTemplate", {"ansibleSSHPrivateKeySecret": "key"})
    found = {"nodes": nodes or {}, "nodeTemplate": template, **spec}
    return thing("OpenStackDataPlaneNodeSet", "edpm", {**found, **({} if services is None else {"services": services})})


def service(name: str, **spec: Any) -> dict[str, Any]:
    return thing("OpenStackDataPlaneService", name, spec)


def run_of(*names: str, **spec: Any) -> dict[str, Any]:
    return thing("OpenStackDataPlaneDeployment", "go", {"nodeSets": list(names), **spec})


GO = run_of("edpm")


def converted(*documents: dict[str, Any], variables: frozenset[str] = frozenset()) -> Conversion:
    return conversion.convert({"nodes.yaml": yaml.safe_dump_all(documents)}, services.node_services(), variables)


def of_kind(done: Conversion, kind: str) -> list[dict[str, Any]]:
    return [body for body in done.manifests if body["kind"] == kind]


def role_of(done: Conversion) -> dict[str, Any]:
    (role,) = of_kind(done, "OpenStackDataPlaneRole")
    return role


def remarks(done: Conversion) -> list[str]:
    return [str(remark) for remark in done.remarks]


def test_a_field_beside_the_spec_is_not_lost_without_a_word() -> None:
    assert "nodez: there is no such field here" in remarks(converted({**node_set(), "nodez": {"a": {}}}, GO))
    assert not [remark for remark in remarks(converted({**node_set(), "status": {}}, GO)) if "status" in remark]


COMPUTE_CONFIG = [{"secretRef": {"name": "nova-cell2-compute-config"}}]


@pytest.mark.parametrize(
    ("names", "own", "wanted", "annotations"),
    [
        pytest.param(PREPARED, [], PREPARED, {}, id="phase-zero-alone"),
        pytest.param(
            ["bootstrap", "configure-network", "install-os"],
            [],
            ["configure-network", "install-os"],
            {},
            id="bootstrap-is-a-part-of-install-os",
        ),
        pytest.param(["bootstrap", "run-os"], [], ["install-os", "run-os"], {}, id="bootstrap-alone-is-install-os"),
        pytest.param(
            ["run-os", "ovn", "neutron-metadata", "libvirt", "nova"],
            [],
            ["run-os"],
            {CELL: "nova-cell1", AGENT: "true"},
            id="a-compute-of-the-first-cell",
        ),
        pytest.param(
            ["nova-two"],
            [service("nova-two", playbook="osp.edpm.nova", edpmServiceType="nova", dataSources=COMPUTE_CONFIG)],
            [],
            {CELL: "nova-cell2", AGENT: "false"},
            id="the-secret-of-a-copy-names-the-cell",
        ),
        pytest.param(
            ["libvirt", "nova"], [], [], {CELL: "nova-cell1", AGENT: "false"}, id="no-agent-that-nobody-asked-for"
        ),
        pytest.param(["neutron-metadata", "ovn"], [], [], {AGENT: "true"}, id="an-agent-without-a-compute"),
        pytest.param(["run-os", "ovn"], [], ["run-os", "ovn"], {}, id="a-part-alone-is-a-service"),
        pytest.param(
            ["mine", "run-os"],
            [service("mine", playbookContents="- hosts: all")],
            ["mine", "run-os"],
            {},
            id="an-own-service-keeps-its-place",
        ),
        pytest.param(
            ["nova"],
            [service("nova", playbook="osp.edpm.nova", openStackAnsibleEERunnerImage="registry.example.org/ee:1")],
            ["nova"],
            {},
            id="an-image-of-the-users-own-runs-its-own-playbook",
        ),
        pytest.param(
            ["configure-network"],
            [service("configure-network", playbook="osp.edpm.configure_network", caCerts="combined-ca-bundle")],
            ["configure-network"],
            {},
            id="upstreams-own-service-in-an-export-is-ours",
        ),
    ],
)
def test_services_become_those_of_the_role_or_annotations(
    names: list[str], own: list[dict[str, Any]], wanted: list[str], annotations: dict[str, str]
) -> None:
    role = role_of(converted(node_set(names), *own, GO))
    assert role["spec"]["services"] == wanted
    assert role["metadata"].get("annotations", {}) == annotations


def test_services_of_upstreams_default_are_all_accounted_for() -> None:
    done = converted(node_set(), GO)
    role = role_of(done)
    assert role["spec"]["services"] == PREPARED
    assert role["metadata"]["annotations"] == {CELL: "nova-cell1", AGENT: "true"}
    left = ["redhat", "download-cache", "ssh-known-hosts", "reboot-os", "install-certs", "telemetry"]
    assert [line for line in remarks(done) if "is left out" not in line] == []
    assert [line.split(": ")[1].split()[0] for line in remarks(done)] == left


@pytest.mark.parametrize(
    ("documents", "named"),
    [
        pytest.param([node_set(["mystery"]), GO], "spec.services: mystery is left out: none of", id="unknown-service"),
        pytest.param([node_set(PREPARED, tlsEnabled=True), GO], "spec.tlsEnabled: TLS", id="tls"),
        pytest.param([node_set(PREPARED, shiny=1), GO], "spec.shiny: there is no such field", id="a-field-of-tomorrow"),
        pytest.param(
            [node_set(PREPARED, {"a": {"ansible": {"ansibleBecome": True}}}), GO],
            "spec.nodes.a.ansible.ansibleBecome: there is no such field",
            id="a-field-deep-inside",
        ),
        pytest.param(
            [node_set(PREPARED, {"a": {"managementNetwork": "internalapi"}}), GO],
            "spec.nodes.a.managementNetwork: it is kept, but",
            id="another-way-to-the-machine",
        ),
        pytest.param(
            [node_set(PREPARED, {"a": {"bmhLabelSelector": {"app": "x"}}}), GO],
            "spec.nodes.a.bmhLabelSelector: machines",
            id="provisioning",
        ),
        pytest.param(
            [node_set(["nova", "mine"]), service("mine", role="my.own.role"), GO],
            "spec.services: mine comes after nova upstream; here it runs before",
            id="another-order",
        ),
        pytest.param(
            [node_set(["nova", "more"]), service("more", playbook="osp.edpm.nova"), GO],
            "spec.services: more is left out: a node has one NovaExternalCompute, and nova is it",
            id="two-computes-on-a-node",
        ),
        pytest.param(
            [node_set(["frr"]), service("frr", playbook="osp.edpm.frr"), GO],
            "spec.playbook: the service is left out, because stackwright.edpm has no playbook frr",
            id="a-playbook-that-we-do-not-have",
        ),
        pytest.param(
            [node_set(["mine"]), service("mine", role="osp.edpm.edpm_frr"), GO],
            "spec.role: the service is left out, because it uses osp.edpm",
            id="a-role-that-we-do-not-have",
        ),
        pytest.param(
            [node_set(["mine"]), service("mine", role="a", playbook="b.c.d"), GO],
            "spec: it is left out, because it has playbook and role",
            id="two-things-to-run",
        ),
        pytest.param(
            [node_set(["mine"]), service("mine", role="a", tlsCerts={"default": {}}), GO],
            "spec.tlsCerts: there is no such field",
            id="a-field-of-a-service",
        ),
        pytest.param(
            [node_set(PREPARED), service("mine", role="a"), GO],
            "it is left out, because no OpenStackDataPlaneNodeSet of the files names it",
            id="a-service-that-nobody-names",
        ),
        pytest.param(
            [node_set(["two"]), service("two", playbook="osp.edpm.nova", secrets=["ceph-conf"]), GO],
            "spec.secrets[0]: Secret ceph-conf is not taken over",
            id="a-secret-of-a-compute",
        ),
        pytest.param(
            [node_set(["ovn"]), GO], "ovn needs its image: set edpm_ovn_controller_agent_image", id="an-image"
        ),
        pytest.param([node_set(PREPARED)], "no deployment in the files runs all of it", id="nobody-deploys-it"),
        pytest.param(
            [node_set(PREPARED), run_of("edpm", servicesOverride=["ovn"])],
            "spec.servicesOverride: it is for one run",
            id="a-run-of-some-services",
        ),
        pytest.param([node_set(PREPARED), run_of("edpm", backoffLimit=2)], "spec.backoffLimit: a node", id="retries"),
        pytest.param(
            [node_set(PREPARED), run_of("edpm", ansibleExtraVars={"a": 1})],
            "spec.ansibleExtraVars: they are for one run",
            id="variables-of-a-run",
        ),
        pytest.param([node_set(PREPARED), run_of("edpm", "x")], "spec.nodeSets[1]: none of the files has x", id="set"),
        pytest.param(
            [node_set(PREPARED), GO, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}],
            "it is not converted; if you need it, apply it as it is",
            id="another-object",
        ),
    ],
)
def test_what_is_not_converted_is_named_with_its_path(documents: list[dict[str, Any]], named: str) -> None:
    assert [line for line in remarks(converted(*documents)) if line.startswith(named) or named in line]


def test_what_has_upstreams_default_needs_no_remark() -> None:
    template = {"ansibleSSHPrivateKeySecret": "key", "managementNetwork": "ctlplane"}
    exported = node_set(PREPARED, nodeTemplate=template, tlsEnabled=False, secretMaxSize=1048576, preProvisioned=True)
    exported["metadata"] |= {"uid": "1", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    exported["status"] = {"conditions": []}
    defaults = {
        "backoffLimit": 6,
        "preserveJobs": True,
        "deploymentRequeueTime": 15,
        "ansibleEEEnvConfigMapName": "openstack-aee-default-env",
        "servicesOverride": [],
    }
    done = converted(exported, run_of("edpm", **defaults))
    assert (remarks(done), role_of(done)["metadata"]) == ([], {"name": "edpm"})


def test_fields_of_template_and_nodes_find_their_places() -> None:
    ansible = {
        "ansibleUser": "me",
        "ansiblePort": 2222,
        "ansibleVars": {"when": 1},
        "ansibleVarsFrom": [{"prefix": "x"}],
    }
    mounts = [{"volumes": [{"name": "a"}], "mounts": [{"name": "a", "mountPath": "/a"}]}]
    given = node_set(
        PREPARED,
        {
            "a": {"hostName": "a.example.org", "ansible": {"ansibleHost": "192.0.2.1", "ansibleVars": {"own": True}}},
            "b": {"hostName": "b", "networks": [{"name": "CtlPlane", "fixedIP": "192.0.2.2"}]},
        },
        nodeTemplate={"ansibleSSHPrivateKeySecret": "key", "extraMounts": mounts, "ansible": ansible},
        env=[{"name": "A", "value": "b"}],
        networkAttachments=["ctlplane"],
    )
    given["metadata"] |= {"namespace": "openstack", "labels": {"site": "1"}, "annotations": {"note": "x"}}
    done = converted(given, GO, variables=frozenset({"when", "own"}))
    role = role_of(done)
    assert role["metadata"] == given["metadata"]
    assert role["spec"]["nodeTemplate"] == {"ansibleSSHPrivateKeySecret": "key", "extraMounts": mounts, **ansible}
    assert (role["spec"]["env"], role["spec"]["networkAttachments"]) == ([{"name": "A", "value": "b"}], ["ctlplane"])
    assert "deployStrategy" not in role["spec"]
    a, b = of_kind(done, "OpenStackDataPlaneNode")
    assert a["metadata"] == {"name": "a", "namespace": "openstack"}
    assert a["spec"] == {
        "role": "edpm",
        "hostName": "a.example.org",
        "ansibleHost": "192.0.2.1",
        "node": {"ansibleVars": {"own": True}},
    }
    assert (b["spec"]["ansibleHost"], "hostName" in b["spec"]) == ("192.0.2.2", False)
    assert b["spec"]["node"] == {"networks": [{"name": "CtlPlane", "fixedIP": "192.0.2.2"}]}
    assert remarks(done) == []


def test_nothing_runs_that_nobody_deploys() -> None:
    assert role_of(converted(node_set(PREPARED)))["spec"]["deployStrategy"] == {"deploy": False}
    limited = converted(node_set(PREPARED), run_of("edpm", ansibleLimit="a"))
    assert role_of(limited)["spec"]["deployStrategy"] == {"deploy": False}


def test_own_options_of_a_compute_are_taken_from_a_config_map() -> None:
    data = {"25-nova-extra.conf": "[DEFAULT]\ncpu_allocation_ratio = 4.0\n", "provider.yaml": "x"}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nova-extra-config"}, "data": data}
    done = converted(node_set(["nova"], {"a": {}, "b": {}}), GO, config)
    computes = of_kind(done, "NovaExternalCompute")
    assert [compute["metadata"]["name"] for compute in computes] == ["a", "b"]
    assert "cpu_allocation_ratio = 4.0" in computes[0]["spec"]["customServiceConfig"]
    assert remarks(done) == [
        "spec.services: provider.yaml of ConfigMap nova-extra-config is not taken over: only *nova*.conf are options"
    ]


def test_a_part_alone_reads_what_our_operators_write() -> None:
    (made,) = of_kind(converted(node_set(["ovn"]), GO), "OpenStackDataPlaneService")
    source = {"configMapRef": {"name": "ovncontroller-config"}}
    assert made["spec"] == {"playbook": "stackwright.edpm.ovn", "dataSources": [source]}


def test_a_template_for_another_program_is_left_out() -> None:
    template = "---\n{% set x = 1 %}\nnetwork_config:\n- type: ovs_bridge\n"
    ansible = {"ansibleVars": {"edpm_network_config_template": template, "edpm_sshd_allowed_ranges": []}}
    done = converted(node_set(PREPARED, nodeTemplate={"ansible": ansible}), GO)
    assert role_of(done)["spec"]["nodeTemplate"] == {"ansibleVars": {"edpm_sshd_allowed_ranges": []}}
    path = "spec.nodeTemplate.ansible.ansibleVars"
    assert remarks(done)[0].startswith(f"{path}.edpm_network_config_template: it is left out")
    assert remarks(done)[1] == f"{path}: kept, but no role of our collection reads edpm_sshd_allowed_ranges"


def test_what_kubectl_prints_for_several_is_read() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [node_set(PREPARED, {"a": {"hardware": 1}}), GO]}
    done = converted(listed)
    assert [body["kind"] for body in done.manifests] == ["OpenStackDataPlaneRole", "OpenStackDataPlaneNode"]
    assert remarks(done) == ["items[0].spec.nodes.a.hardware: there is no such field here"]


HEAD = f"apiVersion: {API}\nkind: OpenStackDataPlaneNodeSet\nmetadata: {{name: edpm}}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [1\nb: 2", "nodes.yaml, line 2: this is not YAML", id="no-yaml"),
        pytest.param("---\na: 1", "nodes.yaml, line 2: a document without a kind", id="no-object"),
        pytest.param("kind: OpenStackDataPlaneNodeSet\n", "line 1: metadata has no name", id="no-name"),
        pytest.param(HEAD + "spec:\n  nodes: [a]\n", "line 5: spec.nodes must be a mapping", id="a-list-of-nodes"),
        pytest.param(
            HEAD + "spec:\n  nodes:\n    a:\n      ansible: yes please\n",
            "line 7: spec.nodes.a.ansible must be a mapping",
            id="a-text-where-a-mapping-stands",
        ),
        pytest.param(HEAD + "spec:\n  services: [1]\n", "line 5: spec.services[0] must be a text", id="a-number"),
        pytest.param(HEAD + "spec:\n  tags: [a]\n  tags: [b]\n", "line 6: spec.tags is there twice", id="twice"),
        pytest.param(
            HEAD + "spec:\n  nodes:\n    1: {}\n", "line 6: the key spec.nodes.1 must be a text", id="no-text"
        ),
        pytest.param(HEAD + "spec:\n  nodes:\n    A_B: {}\n", "line 6: spec.nodes.A_B cannot be the name", id="a-name"),
        pytest.param(HEAD + "spec: &a\n  env: *a\n", "contains itself", id="a-circle"),
        pytest.param(f"{HEAD}---\n{HEAD}", "is that of another OpenStackDataPlaneNodeSet", id="twins"),
        pytest.param(
            HEAD + "spec: {nodes: {a: {}}}\n---\n" + HEAD.replace("edpm", "two") + "spec: {nodes: {a: {}}}\n",
            "line 9: spec.nodes.a is also a node of OpenStackDataPlaneNodeSet edpm",
            id="a-node-in-two-sets",
        ),
    ],
)
def test_a_broken_file_fails_with_its_line(text: str, said: str) -> None:
    with pytest.raises(Broken) as caught:
        conversion.convert({"nodes.yaml": text}, services.node_services(), None)
    assert said in str(caught.value)


def test_dates_stay_texts() -> None:
    text = HEAD + "spec: {nodeTemplate: {ansible: {ansibleVars: {day: 2024-01-01}}}, services: []}\n"
    done = conversion.convert({"nodes.yaml": text}, services.node_services(), None)
    assert role_of(done)["spec"]["nodeTemplate"] == {"ansibleVars": {"day": "2024-01-01"}}
