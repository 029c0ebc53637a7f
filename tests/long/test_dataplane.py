"""Machines outside of the cluster are prepared by real runs of Ansible; OpenStack is nowhere in this cluster."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.images import building
from stackwright.local.machine import lifecycle
from stackwright.local.machine.lifecycle import Machine
from stackwright.local.progress import Shown
from tests.e2e.cloud import NAMESPACE, OPERATORS, ROOT, stackwright
from tests.e2e.clusters import Kubectl
from tests.e2e.waiting import eventually
from tests.images.built import why_not_built
from tests.long.machines import ssh

IMAGE = "ansible-runner"
ROLE = "edpm-compute"
PREPARED = ["configure-network", "validate-network", "install-os", "configure-os", "run-os"]
PASSWORD = "nobody-may-see-this"
# How long all five services may take on a loaded machine, in seconds.
LONG = 420.0


@dataclass(frozen=True)
class Plane:
    """A cluster with operators and nothing else, and two machines beside it."""

    cluster: Cluster
    kubectl: Kubectl
    machines: dict[str, Machine]

    def get(self, what: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", what, "--output=json"))
        return found

    def ready(self, name: str) -> dict[str, str]:
        """Return what a node says of itself as a whole, once that is of its latest spec."""
        status = self.get(f"osdpnode/{name}").get("status", {})
        found = (each for each in status.get("conditions", ()) if each["type"] == "Ready")
        return next(found, {"status": "Unknown", "message": ""})

    def until(self, name: str, state: str, said: str = "", patience: float = LONG) -> float:
        """Wait until a node is ready, or not, and says something."""

        def holds() -> bool:
            found = self.ready(name)
            return found["status"] == state and said in found.get("message", "")

        return eventually(holds, lambda: f"{name} {state} {said}: {self.describe(name)}", patience)

    def describe(self, name: str) -> str:
        logs = self.kubectl("logs", "--selector=ansibleee.openstack.org/run", "--tail=20", "--prefix")
        return json.dumps(self.get(f"osdpnode/{name}").get("status"), indent=1) + self.kubectl("get", "pods") + logs

    def serve(self, **playbooks: list[dict[str, Any]]) -> None:
        """Write services, and let the role have them; one that is there already gets another playbook."""
        for name, tasks in playbooks.items():
            play = {"name": name, "hosts": "all", "become": True, "gather_facts": False, "tasks": tasks}
            self.apply("OpenStackDataPlaneService", name, {"playbookContents": yaml.safe_dump([play])})
        self.patch("osdprole", ROLE, {"services": list(playbooks)})

    def apply(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        body = {"apiVersion": "dataplane.openstack.org/v1beta1", "kind": kind, "metadata": {"name": name}}
        self.kubectl.apply(body | {"spec": spec})

    def patch(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        self.kubectl("patch", kind, name, "--type=merge", f"--patch={json.dumps({'spec': spec})}")

    def look_again(self) -> None:
        """Ask for something that changes no input, and wait until the operators have decided what that means."""
        resources = [("osdprole", ROLE), *(("osdpnode", name) for name in self.machines)]
        for kind, name in resources:
            self.patch(kind, name, {"deployStrategy": {"ansibleLimit": "all"}})

        def unseen() -> list[str]:
            found = [self.get(f"{kind}/{name}") for kind, name in resources]
            return [
                each["metadata"]["name"]
                for each in found
                if each.get("status", {}).get("observedGeneration") != each["metadata"]["generation"]
            ]

        # A node whose inputs were others now would say so in the same status.
        eventually(lambda: not unseen(), lambda: f"not seen again: {', '.join(unseen())}")

    def sequences(self) -> dict[str, list[int]]:
        """Return how often each node was touched, service by service."""
        nodes = self.get("osdpnode")["items"]
        return {
            node["metadata"]["name"]: [each.get("sequence", 0) for each in node["status"]["services"]] for node in nodes
        }


def add(cluster: Cluster, name: str) -> Machine:
    with Shown() as progress:
        return lifecycle.add(cluster.settings.name, name, progress=progress, ask=lambda _: "CI" in os.environ)


def node_command(cluster: Cluster, *words: str) -> str:
    command = [sys.executable, "-m", "stackwright.cli", "local", "node", *words, "--cluster", cluster.settings.name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def plane(cluster: Cluster) -> Iterator[Plane]:
    if reason := why_not_built([IMAGE]):
        pytest.skip(reason)
    # It loads the image, which is there.
    stackwright("up", "--yes", "--cloud", "none")
    kubectl = Kubectl(binaries.ensure(programs.ALL)["kubectl"], cluster.layout.kubeconfig, NAMESPACE)
    machines = {name: add(cluster, name) for name in ("one", "two")}
    try:
        yield Plane(cluster, kubectl, machines)
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")
        for machine in lifecycle.find(cluster.settings.name):
            node_command(cluster, "remove", machine.settings.name)


@pytest.fixture(scope="module")
def prepared(plane: Plane) -> Plane:
    """Both machines, with the services that a role has by itself; how long that took is printed."""
    variables = {"edpm_nodes_validation_addresses": [plane.cluster.settings.network.host]}
    plane.apply("OpenStackDataPlaneRole", ROLE, {"nodeTemplate": {"ansibleVars": variables}})
    began = time.monotonic()
    for name in plane.machines:
        plane.kubectl(
            "apply", "--filename=-", given=node_command(plane.cluster, "add", name, "-o", "yaml", "--role", ROLE)
        )
    for name in plane.machines:
        plane.until(name, "True")
    sys.stderr.write(f"two machines were prepared in {time.monotonic() - began:.0f} s\n")
    return plane


def test_machines_are_prepared_and_a_second_look_runs_nothing(prepared: Plane) -> None:
    for machine in prepared.machines.values():
        assert "crun" in ssh(machine, "cat /etc/containers/containers.conf.d/50-edpm.conf")
    for name in prepared.machines:
        services = prepared.get(f"osdpnode/{name}")["status"]["services"]
        assert [each["name"] for each in services] == ["reach", *PREPARED]
        assert {each["state"] for each in services} == {"Applied"}
    before = prepared.sequences()
    runs = prepared.kubectl("get", "osaee", "--output=name")
    prepared.kubectl("rollout", "restart", f"--namespace={OPERATORS}", "deployment/stackwright-operator")
    prepared.kubectl(
        "rollout", "status", f"--namespace={OPERATORS}", "deployment/stackwright-operator", "--timeout=120s"
    )
    prepared.look_again()
    assert prepared.sequences() == before
    assert set(prepared.kubectl("get", "osaee", "--output=name").split()) <= set(runs.split())
    assert all(prepared.ready(name)["status"] == "True" for name in prepared.machines)
    assert "one" in stackwright("status")


def test_a_service_that_fails_says_where_and_heals_when_it_is_mended(prepared: Plane) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}, "stringData": {"word": PASSWORD}}
    prepared.kubectl.apply(secret)
    prepared.patch("osdprole", ROLE, {"nodeTemplate": {"ansibleVarsFrom": [{"secretRef": {"name": "mine"}}]}})
    greeting = "Hello from {{ inventory_hostname }}: {{ word | length }}\n"
    write = {
        "name": "Write a greeting",
        "ansible.builtin.copy": {"content": greeting, "dest": "/etc/motd", "mode": "644"},
    }
    tell = {"name": "Tell the word", "ansible.builtin.command": "false {{ word }}", "changed_when": False}
    wrong = {
        "name": "Fail on two",
        "ansible.builtin.fail": {"msg": "no {{ word }} here"},
        "when": "inventory_hostname == 'two'",
    }
    prepared.serve(greet=[write, wrong])
    prepared.until("two", "False", "Service greet failed in task Fail on two: no (hidden) here")
    # The other is done, and does not wait for it.
    prepared.until("one", "True")
    assert ssh(prepared.machines["one"], "cat /etc/motd") == f"Hello from one: {len(PASSWORD)}\n"
    said = stackwright("explain", "node/two", code=4)
    assert "Fail on two" in said
    assert "Fail on two" in stackwright("logs", "node/two")
    prepared.serve(greet=[write, {**tell, "failed_when": False}])
    for name in prepared.machines:
        prepared.until(name, "True")
    assert ssh(prepared.machines["two"], "cat /etc/motd").startswith("Hello from two")


def test_what_a_killed_pod_left_on_a_machine_is_waited_for(prepared: Plane) -> None:
    """The second pod of the run begins where the first one's command still works; it does the same after it."""
    script = "test ! -e /run/alone || touch /run/together; touch /run/alone /run/begun; sleep 60; rm /run/alone"
    alone = {"name": "Work alone", "ansible.builtin.command": {"argv": ["sh", "-c", script]}, "changed_when": True}
    ssh(prepared.machines["one"], "sudo rm -f /run/alone /run/together /run/begun")
    prepared.serve(alone=[alone])
    begun = "test ! -e /run/begun || echo begun"
    eventually(lambda: ssh(prepared.machines["one"], begun) == "begun\n", "the command works", 240.0)
    going = ("--selector=ansibleee.openstack.org/run", "--field-selector=status.phase=Running")
    killed = prepared.kubectl("get", "pods", *going, "--output=name").split()
    prepared.kubectl("delete", *killed, "--grace-period=0", "--force")
    for name in prepared.machines:
        prepared.until(name, "True")
    left = ssh(prepared.machines["one"], "ls /run")
    assert "begun" in left
    assert "together" not in left


def test_a_machine_that_is_not_there_holds_up_nobody_and_comes_by_itself(prepared: Plane) -> None:
    address = prepared.cluster.settings.network.machine(2)
    key = "dataplane-ansible-ssh-private-key-secret"
    section = {"ansibleUser": "cloud-admin", "ansibleSSHPrivateKeySecret": key}
    spec = {"ansibleHost": address, "hostName": "three", "role": ROLE, "node": section}
    prepared.apply("OpenStackDataPlaneNode", "three", spec)
    prepared.until("three", "False", "The machine cannot be reached")
    write = {"name": "Write", "ansible.builtin.copy": {"content": "later\n", "dest": "/etc/motd", "mode": "644"}}
    prepared.serve(greet=[write])
    for name in prepared.machines:
        prepared.until(name, "True", patience=120.0)
        assert ssh(prepared.machines[name], "cat /etc/motd") == "later\n"
    assert prepared.ready("three")["status"] == "False"
    late = add(prepared.cluster, "three")
    assert late.settings.address == address
    prepared.until("three", "True")
    assert ssh(late, "cat /etc/motd") == "later\n"


def test_a_machine_that_has_another_key_is_not_touched(prepared: Plane) -> None:
    # Of one the user said it, of the other it was recorded.
    assert prepared.get("osdpnode/three")["status"]["hostKeys"]
    for name in ("two", "three"):
        machine = next(each for each in lifecycle.find(prepared.cluster.settings.name) if each.settings.name == name)
        key = "/etc/ssh/ssh_host_ed25519_key"
        command = f"sudo rm {key} {key}.pub; sudo ssh-keygen -q -t ed25519 -N '' -f {key}; sudo systemctl restart ssh"
        ssh(machine, command)
    write = {"name": "Write", "ansible.builtin.copy": {"content": "last\n", "dest": "/etc/motd", "mode": "644"}}
    prepared.serve(greet=[write])
    prepared.until("one", "True", patience=120.0)
    for name in ("two", "three"):
        prepared.until(name, "False", "The machine has another host key than at the first contact")
    # The manifests have the keys of all machines, as they are now.
    prepared.kubectl(
        "apply", "--filename=-", given=node_command(prepared.cluster, "list", "-o", "yaml", "--role", ROLE)
    )
    for name in ("two", "three"):
        prepared.until(name, "True")


def test_no_secret_is_shown_anywhere(prepared: Plane) -> None:
    prepared.until("one", "True")
    kubectl = prepared.kubectl
    private = prepared.machines["one"].key.private.splitlines()[1]
    shown = {
        "resources": kubectl("get", "configmaps,events,osdpnode,osdprole,osdps,osaee,jobs,pods", "--output=yaml"),
        "runs": kubectl("logs", "--selector=ansibleee.openstack.org/run", "--tail=-1"),
        "operator": kubectl(
            "logs", f"--namespace={OPERATORS}", "--selector=app.kubernetes.io/name=stackwright", "--tail=-1"
        ),
        **{
            name: ssh(each, "sudo journalctl --no-pager; sudo cat /etc/motd")
            for name, each in prepared.machines.items()
        },
    }
    assert shown["runs"]
    assert shown["operator"]
    for place, text in shown.items():
        for word in (PASSWORD, private, base64.b64encode(PASSWORD.encode()).decode()):
            assert word not in text, f"{word[:12]}… in {place}"


def test_the_image_is_the_one_of_the_recipes(prepared: Plane) -> None:
    used = {pod["spec"]["containers"][0]["image"] for pod in prepared.get("pods")["items"]}
    assert used == {building.catalogue().images[IMAGE].reference}
