"""What is a machine's own in its root file system, and what its resources are told of it."""

import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from stackwright.local.cluster.addresses import MACHINES, Network
from stackwright.local.cluster.layout import Layout, ProcessKey
from stackwright.local.cluster.neighbours import MachineSettings, Neighbour
from stackwright.local.errors import ClusterFailed
from stackwright.local.machine import entry, furnishing, keys, lifecycle
from stackwright.local.machine.furnishing import Furniture
from stackwright.local.machine.lifecycle import Machine
from stackwright.local.progress import Silent

NETWORK = Network("10.192.0.0/24", "10.176.0.0/16", "10.160.0.0/16")
KEY = keys.generate()


def told(name: str = "compute-0", address: str = "10.192.0.64") -> Furniture:
    return Furniture(name, address, NETWORK, ("10.0.0.53",), "ssh-ed25519 LOGIN", keys.generate(), "10.192.0.2:5000")


def machine(name: str, address: str, *, running: bool = True) -> Machine:
    first = ProcessKey(1, 1) if running else None
    return Machine(Neighbour(Path("/nowhere", name)), MachineSettings(name, "default", 0, address), KEY, first)


def test_a_machine_knows_its_name_address_and_who_may_log_in() -> None:
    files = furnishing.files(told())
    assert files["etc/hostname"].content == "compute-0\n"
    assert files["etc/hosts"].content.splitlines()[1] == "10.192.0.64 compute-0"
    link = files["etc/systemd/network/10-eth0.network"].content
    assert "Address=10.192.0.64/24\n" in link
    assert "Gateway=10.192.0.1\n" in link
    assert "Address=10.192.2.64/24\n" in files["etc/systemd/network/10-tunnel0.network"].content
    assert files["etc/resolv.conf"].content == "nameserver 10.0.0.53\n"
    assert files["home/cloud-admin/.ssh/authorized_keys"].content == "ssh-ed25519 LOGIN\n"


def test_a_machine_pulls_our_images_from_the_cluster() -> None:
    content = furnishing.files(told())["etc/containers/registries.conf.d/10-stackwright.conf"].content
    named, itself = tomllib.loads(content)["registry"]
    assert named == {"prefix": "stackwright.local", "location": "10.192.0.2:5000", "insecure": True}
    assert itself == {"location": "10.192.0.2:5000", "insecure": True}


def test_two_machines_share_no_identity() -> None:
    # The address of a link follows from the machine id: with one id, two machines had one address.
    first, second = furnishing.files(told()), furnishing.files(told())
    for name in ("etc/machine-id", "etc/ssh/ssh_host_ed25519_key"):
        assert first[name].content != second[name].content


def test_nobody_else_reads_a_private_key() -> None:
    assert furnishing.files(told())["etc/ssh/ssh_host_ed25519_key"].mode == 0o600


def test_a_root_file_system_is_whole_or_not_there(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "home" / "cloud-admin").mkdir(parents=True)
    archive = tmp_path / "root.tar"
    subprocess.run(["tar", "--create", "--file", str(archive), "--directory", str(source), "."], check=True)
    root = tmp_path / "root"
    # What one that was killed has left is of no use, and in nobody's way.
    (tmp_path / "root.new" / "half").mkdir(parents=True)
    furnishing.furnish(archive, root, told())
    assert (root / "etc" / "hostname").read_text() == "compute-0\n"
    assert (root / "home" / "cloud-admin" / ".ssh").stat().st_mode & 0o777 == 0o700
    assert not (root / "half").exists()
    archive.write_text("this is no archive")
    with pytest.raises(ClusterFailed, match="cannot be unpacked"):
        furnishing.furnish(archive, root, told())
    assert not root.exists()


def test_the_key_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "machines" / "ssh-privatekey"
    made = keys.read(path)
    assert keys.read(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert made.public.startswith("ssh-ed25519 ")
    assert made.private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")


def test_the_first_free_place_is_taken() -> None:
    assert lifecycle.choose_index(set()) == 0
    assert lifecycle.choose_index({0, 2}) == 1
    with pytest.raises(ClusterFailed, match="no address is left"):
        lifecycle.choose_index(set(range(MACHINES)))


def test_machines_have_addresses_that_nobody_else_gets() -> None:
    addresses = {NETWORK.machine(index) for index in range(MACHINES)}
    assert len(addresses) == MACHINES
    assert not addresses & {NETWORK.host, *(NETWORK.node(index) for index in range(60))}
    balanced = NETWORK.load_balancers.removesuffix("/27")
    assert max(int(address.rsplit(".", 1)[1]) for address in addresses) < int(balanced.rsplit(".", 1)[1])


def test_the_manifests_of_machines_can_be_applied() -> None:
    listed = entry.manifests([machine("a", "10.0.0.1")], role="edpm-compute", known_hosts="10.0.0.1 ssh-ed25519 A\n")
    secret, node = list(yaml.safe_load_all(entry.text(listed)))
    assert secret["stringData"]["known_hosts"] == "10.0.0.1 ssh-ed25519 A\n"
    assert secret["stringData"]["ssh-privatekey"] == KEY.private
    assert node["kind"] == "OpenStackDataPlaneNode"
    assert node["metadata"] == {"name": "a"}
    assert node["spec"] == {
        "hostName": "a",
        "ansibleHost": "10.0.0.1",
        "role": "edpm-compute",
        "node": {
            "ansibleUser": "cloud-admin",
            "ansibleSSHPrivateKeySecret": secret["metadata"]["name"],
            "ansibleVars": {"edpm_tunnel_interface": "tunnel0"},
        },
    }


def test_without_machines_and_without_a_role_nothing_is_said_of_them() -> None:
    assert entry.manifests([]) == []
    assert "role" not in entry.manifests([machine("a", "10.0.0.1")])[1]["spec"]


def test_a_list_says_who_runs() -> None:
    assert lifecycle.describe(machine("a", "10.0.0.1"))["state"] == "running"
    assert lifecycle.describe(machine("a", "10.0.0.1", running=False))["state"] == "stopped"


def test_names_of_links_and_groups_fit_and_are_nobody_elses() -> None:
    place = Layout(Path("/state/twelve-chars"))
    first, second = (Neighbour(place.machines / name) for name in ("a" * 63, "b" * 63))
    cables = {first.cable, second.cable, first.tunnel_cable, second.tunnel_cable}
    assert len(cables) == 4
    assert all(len(cable) <= 15 for cable in cables)
    # A cluster's name has no dot, so that no cluster has a machine's group.
    assert first.cgroup == f"stackwright-twelve-chars.{'a' * 63}"


def test_a_bad_name_is_refused_before_anything_is_done() -> None:
    for name in ("Compute", "a_b", "-a", "a-", "", "a/b", "..", "a" * 64):
        with pytest.raises(ClusterFailed, match="cannot be called"):
            lifecycle.add("default", name, progress=Silent(), ask=lambda _: False)
