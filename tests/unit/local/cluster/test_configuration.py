"""The programs' flags and files: who may do what, whose addresses, whose folders."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from stackwright.local.cluster import configuration, flags, nameservers
from tests.unit.local.cluster.samples import CREDENTIALS, SETTINGS


def test_the_api_server_knows_nodes_from_users_and_lets_nobody_do_all() -> None:
    line = flags.apiserver(SETTINGS, CREDENTIALS, Path("/generated"))
    assert "--authorization-mode=Node,RBAC" in line
    assert "--enable-admission-plugins=NodeRestriction" in line
    assert not [flag for flag in line if "token-auth-file" in flag or "AlwaysAllow" in flag]
    assert "--service-cluster-ip-range=10.160.0.0/16" in line
    assert "--advertise-address=10.192.0.2" in line


def test_what_changes_something_is_written_down_only_where_it_is_asked_for() -> None:
    silent = flags.apiserver(SETTINGS, CREDENTIALS, Path("/generated"))
    assert not [flag for flag in silent if "audit" in flag]
    line = flags.apiserver(SETTINGS, CREDENTIALS, Path("/generated"), flags.Audit(Path("/policy"), Path("/log")))
    assert {"--audit-policy-file=/policy", "--audit-log-path=/log"} <= set(line)
    rules = yaml.safe_load(configuration.AUDIT_POLICY)["rules"]
    # What was written, with its passwords, is in no log.
    assert {rule["level"] for rule in rules} == {"None", "Metadata"}
    assert rules[0] == {"level": "None", "verbs": ["get", "list", "watch"]}


def test_the_api_servers_certificate_has_every_name_that_it_is_called_by() -> None:
    names = flags.server_names(SETTINGS)
    assert {"127.0.0.1", "10.192.0.2", "10.160.0.1", "kubernetes.default.svc"} <= set(names)


def test_etcd_asks_for_certificates_and_stays_on_loopback() -> None:
    line = flags.etcd(Path("/data"), CREDENTIALS)
    assert "--client-cert-auth" in line
    assert all("127.0.0.1" in flag for flag in line if "urls" in flag)


def test_nobody_speaks_to_the_kubelet_without_rights() -> None:
    written = yaml.safe_load(configuration.kubelet(SETTINGS, CREDENTIALS, nameservers="/resolv.conf"))
    assert written["authentication"]["anonymous"] == {"enabled": False}
    assert written["authorization"] == {"mode": "Webhook"}
    assert written["cgroupRoot"] == "/stackwright-trial"
    assert written["clusterDNS"] == ["10.160.0.10"]


def test_containerd_has_folders_of_its_own_and_our_pause() -> None:
    written = tomllib.loads(configuration.containerd(SETTINGS, networks="/networks", registries="/registries"))
    assert (written["root"], written["state"]) == ("/var/lib/containerd", "/run/containerd")
    cri = written["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["sandbox_image"] == configuration.PAUSE
    assert cri["cni"] == {"bin_dir": "/usr/lib/cni", "conf_dir": "/networks"}
    assert cri["registry"] == {"config_path": "/registries"}


def test_the_cluster_s_own_registry_is_asked_without_tls() -> None:
    written = tomllib.loads(configuration.registry(SETTINGS))
    assert written["server"] == f"http://{SETTINGS.address}:5000"
    assert list(written["host"]) == [written["server"]]


@pytest.mark.parametrize(
    ("bridge_filter", "kind"),
    [
        pytest.param(True, "bridge", id="a-bridge-where-the-kernel-filters-bridges"),
        pytest.param(False, "ptp", id="cables-where-answers-would-pass-the-firewall-by"),
    ],
)
def test_the_network_of_pods_fits_the_kernel(bridge_filter: bool, kind: str) -> None:
    written = json.loads(configuration.network(SETTINGS, bridge_filter=bridge_filter))
    first, second = written["plugins"]
    assert (first["type"], second["type"]) == (kind, "portmap")
    assert first["ipam"]["ranges"] == [[{"subnet": "10.176.0.0/24"}]]
    assert first["ipMasq"]


@pytest.mark.parametrize(
    ("text", "forwards", "usable"),
    [
        pytest.param("nameserver 192.0.2.53\n", True, ("192.0.2.53",), id="a-server-beyond-a-host-that-forwards"),
        pytest.param("nameserver 192.0.2.53\n", False, (), id="a-server-beyond-a-host-that-does-not"),
        pytest.param("nameserver 192.0.2.2\n", False, ("192.0.2.2",), id="the-host-itself-is-always-reached"),
        pytest.param("nameserver 127.0.0.53\n", True, (), id="loopback-is-of-the-host-alone"),
        pytest.param("nameserver ::1\nnameserver fe80::1%eth0\n", True, ("fe80::1%eth0",), id="also-of-version-six"),
        pytest.param("search example.com\n# nameserver 192.0.2.53\nnameserver\n", True, (), id="nothing-that-is-one"),
    ],
)
def test_only_nameservers_that_answer_are_asked(text: str, forwards: bool, usable: tuple[str, ...]) -> None:
    assert nameservers.usable(text, forwards=forwards, own=["192.0.2.2"]) == usable
