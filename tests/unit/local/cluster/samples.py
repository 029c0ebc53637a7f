"""A cluster on paper."""

from pathlib import Path

from stackwright.local.certificates import Pair
from stackwright.local.cluster import addresses
from stackwright.local.cluster.flags import Credentials
from stackwright.local.cluster.layout import Node, Settings

SETTINGS = Settings("trial", next(addresses.candidates()), (Node("node-1"),), {}, nameservers=("192.0.2.53",))
CREDENTIALS = Credentials(
    authority=Pair(Path("/ca.crt"), Path("/ca.key")),
    server=Pair(Path("/server.crt"), Path("/server.key")),
    kubelet_server=Pair(Path("/kubelet-server.crt"), Path("/kubelet-server.key")),
    etcd_client=Pair(Path("/etcd.crt"), Path("/etcd.key")),
    kubelet_client=Pair(Path("/kubelet.crt"), Path("/kubelet.key")),
    service_accounts=Pair(Path("/tokens.pub"), Path("/tokens.key")),
    kubeconfigs={
        name: Path(f"/{name}.kubeconfig")
        for name in (
            *("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kube-router"),
            *("volumes", "load-balancer"),
        )
    },
)
