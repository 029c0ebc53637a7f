"""The local cluster does what a cluster does: Services, names, volumes, logs, Jobs, probes, privileges, scheduling."""

import json
import os
import re
import socket
import subprocess
import urllib.request
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackwright.cli.commands.local import local
from stackwright.local.cluster import status
from stackwright.local.cluster.configuration import VOLUMES
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.errors import Collision
from tests.e2e import workloads
from tests.e2e.clusters import NAME, PATIENCE, Kubectl, bring_up
from tests.e2e.waiting import eventually
from tests.e2e.workloads import answered, fetched, load_balanced


def test_a_service_is_reached_by_name_from_a_pod_and_by_ports_from_the_host(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl.apply(*workloads.web("web"), workloads.sleeper("client"))
    kubectl.wait("deployment/web", "condition=Available")
    kubectl.wait("pod/client", "condition=Ready")
    pods = set(kubectl.get("pods", "{.items[?(@.metadata.labels.app=='web')].metadata.name}").split())
    assert len(pods) == 2
    for name in ("web", f"web.{kubectl.namespace}.svc.cluster.local"):
        assert kubectl.inside("client", "wget", "-qO-", f"http://{name}/").strip() in pods
    port = kubectl.get("service/web", "{.spec.ports[0].nodePort}")
    assert fetched(f"http://{cluster.settings.address}:{port}/") in pods
    assert fetched(f"http://{kubectl.get('service/web', '{.spec.clusterIP}')}/") in pods
    address = kubectl.get("pods", "{.items[?(@.metadata.labels.app=='web')].status.podIP}").split()[0]
    assert fetched(f"http://{address}:8080/") in pods


def test_a_load_balancer_has_an_address_that_the_host_and_pods_reach(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl.apply(*workloads.web("shared", replicas=1, reached_by="LoadBalancer"), workloads.sleeper("client"))
    address = load_balanced(kubectl, "shared")
    assert IPv4Address(address) in IPv4Network(cluster.settings.network.load_balancers)
    kubectl.wait("deployment/shared", "condition=Available")
    kubectl.wait("pod/client", "condition=Ready")
    eventually(lambda: answered(address).startswith("shared-"), "the host reaches it")
    assert kubectl.inside("client", "wget", "-qO-", f"http://{address}/").startswith("shared-")
    # At a port of which the Service says nothing, nobody listens.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, 81), timeout=10)
    kubectl("delete", "service", "shared")
    eventually(lambda: not answered(address), "nobody answers for the address any more")


def test_the_node_has_an_interface_to_spare_and_this_machine_is_in_its_network(cluster: Cluster) -> None:
    spare = cluster.settings.network.spare
    inside = ["nsenter", "--net", "--target", str(cluster.first.pid), "ip", "-brief", "-4", "address"]
    assert subprocess.run([*inside, "show", "dev", "spare0"], capture_output=True, check=True, text=True).stdout == ""
    out = ["ip", "-json", "route", "get", spare.free[0]]
    route = json.loads(subprocess.run(out, capture_output=True, check=True, text=True).stdout)[0]
    assert (route["dev"], route["prefsrc"]) == (cluster.settings.spare_bridge, spare.host)


def test_pods_reach_the_spare_network_and_nobody_there_reaches_the_node(cluster: Cluster, kubectl: Kubectl) -> None:
    spare = cluster.settings.network.spare
    way = spare.way.partition("/")[0]
    kubectl.apply(workloads.sleeper("asker"))
    kubectl.wait("pod/asker", "condition=Ready")
    # This machine is in the network as a server with a floating IP would be.
    with socket.create_server((spare.host, 0)) as listening:
        listening.settimeout(30)
        url = f"http://{spare.host}:{listening.getsockname()[1]}/"
        with subprocess.Popen(kubectl.command("exec", "asker", "--", "wget", "-qO-", url)):
            connection, (asker, _) = listening.accept()
            connection.close()
    assert asker == way
    for port_of_node in (6443, 10250):
        with pytest.raises(TimeoutError):
            socket.create_connection((way, port_of_node), timeout=2)


def test_a_pod_reaches_itself_through_its_service(kubectl: Kubectl) -> None:
    kubectl.apply(*workloads.web("alone", replicas=1))
    kubectl.wait("deployment/alone", "condition=Available")
    assert kubectl.inside("deploy/alone", "wget", "-qO-", "http://alone/").startswith("alone-")


def test_an_address_of_no_service_refuses_at_once(cluster: Cluster, kubectl: Kubectl) -> None:
    *_, last = IPv4Network(cluster.settings.network.services).hosts()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(last), 80), timeout=10)
    kubectl.apply(workloads.sleeper("early"))
    kubectl.wait("pod/early", "condition=Ready")
    command = kubectl.command("exec", "early", "--", "wget", "-qO-", f"http://{last}/")
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert "Connection refused" in done.stderr


def test_a_network_policy_is_enforced(kubectl: Kubectl) -> None:
    kubectl.apply(*workloads.web("shop", replicas=1), workloads.sleeper("friend"), workloads.sleeper("stranger"))
    kubectl.wait("deployment/shop", "condition=Available")
    for name in ("friend", "stranger"):
        kubectl.wait(f"pod/{name}", "condition=Ready")
        assert kubectl.inside(name, "wget", "-qO-", "http://shop/").startswith("shop-")
    rule = {"from": [{"podSelector": {"matchLabels": {"app": "friend"}}}], "ports": [{"port": 8080}]}
    spec = {"podSelector": {"matchLabels": {"app": "shop"}}, "policyTypes": ["Ingress"], "ingress": [rule]}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "shop"}, "spec": spec}
    kubectl.apply(policy)

    def is_served(name: str) -> bool:
        command = kubectl.command("exec", name, "--", "wget", "-qO-", "http://shop/")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 or "Connection refused" in done.stderr, done.stderr
        return done.returncode == 0

    eventually(lambda: not is_served("stranger"), "a stranger is refused")
    assert is_served("friend")
    kubectl("delete", "networkpolicy", "shop")
    eventually(lambda: is_served("stranger"), "a stranger is served again")


def test_a_volume_survives_its_pod_and_goes_with_its_claim(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl.apply(workloads.claim("data"), workloads.with_claim("first", "data"))
    kubectl.wait("pod/first", "condition=Ready")
    kubectl("exec", "first", "--", "sh", "-c", "echo kept > /data/file")
    assert kubectl("exec", "first", "--", "stat", "-c", "%g", "/data").strip() == "2000"
    kubectl("delete", "pod", "first")
    kubectl.apply(workloads.with_claim("second", "data"))
    kubectl.wait("pod/second", "condition=Ready")
    assert kubectl("exec", "second", "--", "cat", "/data/file").strip() == "kept"
    name = kubectl.get("pvc/data", "{.spec.volumeName}")
    folder = cluster.layout.var(cluster.settings.node) / Path(VOLUMES).relative_to("/var") / name
    assert (folder / "file").read_text() == "kept\n"
    kubectl("delete", "pod", "second")
    kubectl("delete", "pvc", "data")
    eventually(lambda: not folder.exists(), "the volume's folder is removed")
    kubectl("wait", "pv", name, "--for=delete", f"--timeout={PATIENCE}")


def test_logs_are_read_and_ports_forwarded(kubectl: Kubectl) -> None:
    talk = "echo first line; exec httpd -f -p 8080 -h /bin"
    kubectl.apply(workloads.pod("talker", workloads.container("sh", "-c", talk)))
    kubectl.wait("pod/talker", "condition=Ready")
    assert kubectl("logs", "talker") == "first line\n"
    assert kubectl("exec", "--stdin", "talker", "--", "cat", given="there and back") == "there and back"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    forwarding = subprocess.Popen(
        kubectl.command("port-forward", "pod/talker", f"{port}:8080"), stdout=subprocess.PIPE, text=True
    )
    with forwarding:
        assert forwarding.stdout is not None
        assert "Forwarding from" in forwarding.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/busybox", timeout=10) as answer:
            assert answer.read(4) == b"\x7fELF"
        forwarding.terminate()


def test_a_job_runs_after_its_init_container(kubectl: Kubectl) -> None:
    shared = [{"name": "shared", "mountPath": "/shared"}]
    before = workloads.container("sh", "-c", "echo prepared > /shared/file", volumeMounts=shared) | {"name": "before"}
    main = workloads.container("cat", "/shared/file", volumeMounts=shared)
    spec = {
        "initContainers": [before],
        "containers": [main],
        "restartPolicy": "Never",
        "volumes": [{"name": "shared", "emptyDir": {}}],
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {"template": {"spec": spec}}}
    kubectl.apply(job)
    kubectl.wait("job/work", "condition=Complete")
    assert kubectl("logs", "job/work") == "prepared\n"


def test_a_container_that_fails_its_probe_is_restarted(kubectl: Kubectl) -> None:
    # The first life takes the file along; the volume keeps a trace, so that the second life stays well.
    script = "if [ -e /trace/was ]; then touch /tmp/well; fi; touch /trace/was; sleep 3600"
    probe = {"exec": {"command": ["cat", "/tmp/well"]}, "periodSeconds": 1, "failureThreshold": 2}
    trace = [{"name": "trace", "mountPath": "/trace"}]
    main = workloads.container("sh", "-c", script, livenessProbe=probe, volumeMounts=trace)
    kubectl.apply(workloads.pod("moody", main, volumes=[{"name": "trace", "emptyDir": {}}]))
    kubectl.wait("pod/moody", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    kubectl.wait("pod/moody", "condition=Ready")


def test_pods_may_share_the_nodes_network_and_be_privileged(cluster: Cluster, kubectl: Kubectl) -> None:
    strong = workloads.container("sleep", "3600", securityContext={"privileged": True})
    kubectl.apply(workloads.sleeper("neighbour", hostNetwork=True), workloads.pod("strong", strong))
    kubectl.wait("pod/neighbour", "condition=Ready")
    kubectl.wait("pod/strong", "condition=Ready")
    assert kubectl.get("pod/neighbour", "{.status.podIP}") == cluster.settings.address
    assert cluster.settings.address in kubectl("exec", "neighbour", "--", "ip", "address", "show", "eth0")
    kubectl("exec", "strong", "--", "mount", "-t", "tmpfs", "tmpfs", "/tmp")


def test_labels_and_taints_steer_the_scheduler(cluster: Cluster, kubectl: Kubectl) -> None:
    node, label = cluster.settings.node.name, f"trial-{kubectl.namespace}"
    kubectl.apply(workloads.sleeper("choosy", nodeSelector={label: "yes"}))
    kubectl.wait("pod/choosy", "jsonpath={.status.conditions[0].reason}=Unschedulable")
    kubectl("label", "node", node, f"{label}=yes")
    kubectl.wait("pod/choosy", "condition=Ready")
    taint = f"{label}=yes:NoSchedule"
    kubectl("taint", "node", node, taint)
    try:
        kubectl.apply(
            workloads.sleeper("repelled"),
            workloads.sleeper("tolerant", tolerations=[{"key": label, "operator": "Exists"}]),
        )
        kubectl.wait("pod/tolerant", "condition=Ready")
        kubectl.wait("pod/repelled", "jsonpath={.status.conditions[0].reason}=Unschedulable")
    finally:
        kubectl("taint", "node", node, f"{taint}-")
    kubectl.wait("pod/repelled", "condition=Ready")


def test_a_pod_without_rights_is_refused_by_the_api(kubectl: Kubectl) -> None:
    account = f"system:serviceaccount:{kubectl.namespace}:default"
    done = subprocess.run(
        kubectl.command("get", "secrets", f"--as={account}"), capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "forbidden" in done.stderr


def test_the_users_own_kubeconfig_is_left_alone(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, text = tmp_path / "config", "apiVersion: v1\nkind: Config\ncurrent-context: mine\n"
    named.write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(named))
    bring_up(NAME)
    assert named.read_text() == text
    # The one at home may not be there, and bringing the cluster up does not make it.
    home = Path(os.environ.get("HOME", "/root")) / ".kube" / "config"
    assert not home.exists() or cluster.settings.url not in home.read_text()
    assert cluster.settings.url in cluster.layout.kubeconfig.read_text()


def test_the_command_line_shows_every_program(cluster: Cluster) -> None:
    shown = CliRunner().invoke(local, ["status", "--name", NAME])
    assert shown.exit_code == 0, shown.output
    for name in ("etcd", "kubelet", "volumes", "load-balancer"):
        assert re.search(rf"^{name} +ready +\d+ +[1-9]\d* MB +\d+ +/.*{name}\.log$", shown.output, re.MULTILINE)
    as_json = CliRunner().invoke(local, ["status", "--name", NAME, "-o", "json"])
    assert '"running": true' in as_json.output
    absent = CliRunner().invoke(local, ["status", "--name", "nowhere"])
    assert (absent.exit_code, absent.output) == (1, "The cluster nowhere is not running.\n")


def test_the_same_name_from_another_folder_is_refused(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(Collision, match=f"Another cluster called {NAME} runs on this machine"):
        bring_up(NAME)
    monkeypatch.undo()
    assert status.read(NAME).ready
