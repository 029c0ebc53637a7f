"""`stackwright up` before and after its work: what it reads, refuses and hints at."""

from pathlib import Path

import pytest

from stackwright.cli import clouds
from stackwright.cli.commands.up import FIRST_SERVER, hints, server_hints
from stackwright.cli.places import Place
from stackwright.kube.errors import ConfigError
from stackwright.local.cluster.spare_network import SpareNetwork
from stackwright.local.first_server.creation import FirstServer
from tests.unit.cli.program import run

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: 1\nb: [c", "is not YAML (line 2)", id="no-yaml"),
        pytest.param("just words", "document 1 is not a manifest", id="no-manifest"),
        pytest.param("kind: Secret\nmetadata: {name: a}", "document 1 has no apiVersion", id="no-version"),
        pytest.param(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: other}",
            "is for namespace other, and the cloud is for openstack",
            id="for-another-namespace",
        ),
    ],
)
def test_a_file_that_is_no_cloud_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "cloud.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        clouds.read(path, "openstack")
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_the_example_is_a_cloud() -> None:
    cloud = clouds.read(ROOT / "examples" / "cloud" / "keystone.yaml", "openstack", example=True)
    assert "OpenStackControlPlane" in {body["kind"] for body in cloud.manifests}


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ({"operatorMode": "perService"}, {"operatorMode": "perService"}),
        ({"operatorMode": "shared"}, {"operatorMode": "shared"}),
        # The control plane's default.
        ({}, {"operatorMode": "shared"}),
        # The server says what is wrong with these.
        ({"operatorMode": "mine"}, {}),
        ({"operatorMode": ["shared"]}, {}),
        (None, {}),
    ],
)
def test_the_chart_gets_the_mode_that_a_cloud_names(spec: object, values: dict[str, str]) -> None:
    plane = {"kind": "OpenStackControlPlane", "metadata": {"name": "openstack"}, "spec": spec}
    other = {"kind": "Secret", "metadata": {"name": "osp-secret"}}
    assert clouds.chart_values(clouds.Cloud((other, plane), "openstack")) == values
    assert clouds.chart_values(clouds.Cloud((other, plane), "openstack", example=True)) == {}


def test_a_missing_file_is_found_out_before_anything_is_done() -> None:
    done = run("up", "--cloud", "/nonexistent/cloud.yaml")
    assert done.returncode == 1
    assert "/nonexistent/cloud.yaml: there is no such file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_cluster_elsewhere_has_no_local_name() -> None:
    done = run("up", "--name", "mine", "--context", "theirs")
    assert done.returncode == 2
    assert "--name is a cluster on this machine" in done.stderr


@pytest.mark.parametrize(
    ("place", "cloud", "lines"),
    [
        pytest.param(
            Place(Path("/state/default/kubeconfig"), None, "", {"operator": "operator:1"}),
            True,
            [
                "Use it:   source <(stackwright openrc); openstack token issue",
                "Look:     stackwright status",
                "kubectl:  export KUBECONFIG=/state/default/kubeconfig",
                "End it:   stackwright down",
            ],
            id="the-default-cluster",
        ),
        pytest.param(
            Place(Path("/state/mine/kubeconfig"), None, " --name mine", {"operator": "operator:1"}),
            False,
            [
                "Look:     stackwright status --name mine",
                "kubectl:  export KUBECONFIG=/state/mine/kubeconfig",
                "End it:   stackwright down --name mine",
            ],
            id="a-named-cluster-without-a-cloud",
        ),
        pytest.param(
            Place(None, "theirs", " --context theirs", {}),
            True,
            [
                "Use it:   source <(stackwright openrc --context theirs); openstack token issue",
                "Look:     stackwright status --context theirs",
            ],
            id="nothing-ends-a-cluster-that-is-not-ours",
        ),
    ],
)
def test_hints_can_be_copied(place: Place, cloud: bool, lines: list[str]) -> None:
    assert hints(place, cloud) == lines


def test_the_example_has_a_network_and_a_first_server() -> None:
    spare = SpareNetwork("10.192.1.0/24")
    place = Place(Path("/state/mine/kubeconfig"), None, " --name mine", {"operator": "operator:1"}, spare)
    lines = hints(place, True, with_example=True)
    assert lines[1] == "Server:   examples/first-server.sh --name mine"
    (network,) = (line for line in lines if line.startswith("Network:"))
    assert network.startswith("Network:  spare0 of the node leads to 10.192.1.0/24; ")
    assert network.endswith("(source <(stackwright local network --name mine))")
    assert (ROOT / FIRST_SERVER).stat().st_mode & 0o100
    # Of other clouds we do not know what a server needs there.
    assert not any(FIRST_SERVER in line for line in hints(place, True))


def test_the_first_server_is_reached_in_three_ways() -> None:
    place = Place(Path("/state/mine/kubeconfig"), None, " --name mine", {}, key=Path("/state/mine/first-server-key"))
    server = FirstServer("first", "compute-1", "10.192.1.57", "http://10.192.0.2:30080/vnc_lite.html?token=a")
    said = "\n".join(server_hints(place, server))
    assert "first runs on compute-1; 10.192.1.57 answers a ping" in said
    assert "ssh -i /state/mine/first-server-key -o StrictHostKeyChecking=accept-new root@10.192.1.57" in said
    assert "Console:  http://10.192.0.2:30080/vnc_lite.html?token=a" in said
    # What a second call finds has no URL that still opens, and may run elsewhere by now.
    found = server_hints(place, FirstServer("first", "", "10.192.1.57"))
    assert found[0] == "Server:   first; 10.192.1.57 answers a ping (curl http://10.192.1.57)"
    again = "source <(stackwright openrc --name mine); openstack console url show first"
    assert found[2:] == [f"Console:  {again}"]
    assert server_hints(place, None) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("--nodes", "2", "--cloud", "none"), "--nodes are for a cloud", id="without-a-cloud"),
        pytest.param(("--nodes", "2", "--context", "theirs"), "beside a cluster on this machine", id="elsewhere"),
        pytest.param(
            ("--nodes", "2", "--cloud", str(ROOT / "examples" / "cloud" / "openstack.yaml")),
            "has 0 resources of kind OpenStackDataPlaneRole",
            id="without-a-role",
        ),
    ],
)
def test_machines_that_would_belong_to_nothing_are_refused(words: tuple[str, ...], said: str) -> None:
    done = run("up", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
