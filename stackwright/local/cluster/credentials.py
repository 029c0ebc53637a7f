"""Signs what a cluster's programs know each other by, and writes their kubeconfigs."""

from pathlib import Path

from stackwright.local import certificates, kubeconfig
from stackwright.local.certificates import Authority, Pair
from stackwright.local.cluster import flags
from stackwright.local.cluster.flags import Credentials
from stackwright.local.cluster.layout import Layout, Settings
from stackwright.local.probe import LOOPBACK

# The API server as it speaks to kubelets; addons.py gives it its rights.
KUBELET_CLIENT = "stackwright:kubelet-client"
# The controller of volumes; likewise.
VOLUMES = "stackwright:volumes"
# The controller of addresses for Services of type LoadBalancer; likewise.
LOAD_BALANCER = "stackwright:load-balancer"
# What enforces NetworkPolicies; likewise.
ROUTER = "stackwright:router"


def sign(layout: Layout, settings: Settings) -> Credentials:
    """Write new certificates and kubeconfigs; the authority and the key of tokens stay."""
    authority = Authority(layout.certificates, f"stackwright-{settings.name}", keep=True)
    layout.configuration.mkdir(parents=True, exist_ok=True, mode=0o700)
    node = f"system:node:{settings.node.name}"
    users = {
        "kube-controller-manager": authority.client("controller-manager", user="system:kube-controller-manager"),
        "kube-scheduler": authority.client("scheduler", user="system:kube-scheduler"),
        "kubelet": authority.client("kubelet", user=node, groups=["system:nodes"]),
        "kube-proxy": authority.client("proxy", user="system:kube-proxy"),
        "kube-router": authority.client("router", user=ROUTER),
        "volumes": authority.client("volumes", user=VOLUMES),
        "load-balancer": authority.client("load-balancer", user=LOAD_BALANCER),
    }
    admin = authority.client("admin", user="admin", groups=["system:masters"])
    _kubeconfig(layout.kubeconfig, settings, authority, admin)
    written = {name: layout.configuration / f"{name}.kubeconfig" for name in users}
    for name, client in users.items():
        _kubeconfig(written[name], settings, authority, client)
    kubelet_names = (settings.node.name, settings.address, LOOPBACK)
    return Credentials(
        authority=authority.pair,
        server=authority.server("server", names=flags.server_names(settings)),
        kubelet_server=authority.server("kubelet-server", names=kubelet_names),
        etcd_client=authority.client("etcd-client", user="kube-apiserver"),
        kubelet_client=authority.client("kubelet-client", user=KUBELET_CLIENT),
        service_accounts=certificates.signing_key(layout.certificates, "service-accounts", keep=True),
        kubeconfigs=written,
    )


def _kubeconfig(path: Path, settings: Settings, authority: Authority, client: Pair) -> None:
    name = f"stackwright-{settings.name}"
    kubeconfig.write(path, server=settings.url, authority=authority.pair.certificate, client=client, name=name)
