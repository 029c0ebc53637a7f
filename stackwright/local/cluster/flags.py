"""The command lines of a cluster's programs; pure."""

from dataclasses import dataclass
from pathlib import Path

from stackwright.local.certificates import Pair
from stackwright.local.cluster.layout import Settings
from stackwright.local.probe import LOOPBACK

ISSUER = "https://kubernetes.default.svc.cluster.local"
DOMAIN = "cluster.local"

# Ports inside of the node, where all of them are free.
ETCD, ETCD_HEALTH = 2379, 2381
API_SERVER = 6443
CONTAINERD_HEALTH = 1338
KUBELET_HEALTH = 10248
PROXY_HEALTH = 10256
ROUTER_HEALTH = 20244
CONTROLLER_MANAGER = 10257
SCHEDULER = 10259
VOLUMES_HEALTH = 10260
LOAD_BALANCER_HEALTH = 10261


@dataclass(frozen=True)
class Audit:
    """Where it stands which requests are written down, and where they are."""

    policy: Path
    log: Path


@dataclass(frozen=True)
class Credentials:
    """All signed certificates: those of servers and clients, and the kubeconfigs of the programs by name."""

    authority: Pair
    server: Pair
    kubelet_server: Pair
    etcd_client: Pair
    kubelet_client: Pair
    service_accounts: Pair
    kubeconfigs: dict[str, Path]


def server_names(settings: Settings) -> tuple[str, ...]:
    """Return all names and addresses by which the programs of the control plane are reached."""
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{DOMAIN}")
    return (LOOPBACK, "localhost", settings.address, settings.network.api_service, *names)


def etcd(data: Path, credentials: Credentials) -> list[str]:
    """Return etcd's flags: one member, clients by certificate only."""
    url = f"https://{LOOPBACK}:{ETCD}"
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        # Nobody joins a single member; any free port will do.
        f"--listen-peer-urls=http://{LOOPBACK}:0",
        f"--listen-metrics-urls=http://{LOOPBACK}:{ETCD_HEALTH}",
        f"--cert-file={credentials.server.certificate}",
        f"--key-file={credentials.server.key}",
        f"--trusted-ca-file={credentials.authority.certificate}",
        "--client-cert-auth",
        # A single member waits for its own election alone, at every start; with the defaults that is about a second.
        "--heartbeat-interval=10",
        "--election-timeout=100",
        "--log-level=warn",
    ]


def apiserver(settings: Settings, credentials: Credentials, generated: Path, audit: Audit | None = None) -> list[str]:
    """Return the API server's flags: node authorizer and RBAC, client certificates, service account tokens."""
    audited = [f"--audit-policy-file={audit.policy}", f"--audit-log-path={audit.log}"] if audit else []
    return [
        f"--advertise-address={settings.address}",
        f"--secure-port={API_SERVER}",
        f"--etcd-servers=https://{LOOPBACK}:{ETCD}",
        f"--etcd-cafile={credentials.authority.certificate}",
        f"--etcd-certfile={credentials.etcd_client.certificate}",
        f"--etcd-keyfile={credentials.etcd_client.key}",
        f"--cert-dir={generated}",
        f"--tls-cert-file={credentials.server.certificate}",
        f"--tls-private-key-file={credentials.server.key}",
        f"--client-ca-file={credentials.authority.certificate}",
        f"--kubelet-certificate-authority={credentials.authority.certificate}",
        f"--kubelet-client-certificate={credentials.kubelet_client.certificate}",
        f"--kubelet-client-key={credentials.kubelet_client.key}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={credentials.service_accounts.certificate}",
        f"--service-account-signing-key-file={credentials.service_accounts.key}",
        f"--service-cluster-ip-range={settings.network.services}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--profiling=false",
        *audited,
    ]


def controller_manager(settings: Settings, credentials: Credentials) -> list[str]:
    """Return the controller manager's flags: every controller, each with the rights of its own account."""
    return [
        f"--kubeconfig={credentials.kubeconfigs['kube-controller-manager']}",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={credentials.service_accounts.key}",
        f"--root-ca-file={credentials.authority.certificate}",
        f"--cluster-signing-cert-file={credentials.authority.certificate}",
        f"--cluster-signing-key-file={credentials.authority.key}",
        f"--cluster-name={settings.name}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={CONTROLLER_MANAGER}",
        f"--tls-cert-file={credentials.server.certificate}",
        f"--tls-private-key-file={credentials.server.key}",
        # The defaults are for a machine that serves many clusters; here they would only make things wait.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    ]


def scheduler(credentials: Credentials) -> list[str]:
    """Return the scheduler's flags."""
    kubeconfig = credentials.kubeconfigs["kube-scheduler"]
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={SCHEDULER}",
        f"--tls-cert-file={credentials.server.certificate}",
        f"--tls-private-key-file={credentials.server.key}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    ]


def kubelet(settings: Settings, credentials: Credentials, configuration: Path) -> list[str]:
    """Return the kubelet's flags; the rest is in its configuration file."""
    return [
        f"--config={configuration}",
        f"--kubeconfig={credentials.kubeconfigs['kubelet']}",
        f"--hostname-override={settings.node.name}",
        f"--node-ip={settings.address}",
    ]


def proxy(settings: Settings, credentials: Credentials) -> list[str]:
    """Return kube-proxy's flags: iptables, and no writing of limits that a node in a namespace may not change."""
    return [
        "--proxy-mode=iptables",
        f"--kubeconfig={credentials.kubeconfigs['kube-proxy']}",
        f"--hostname-override={settings.node.name}",
        f"--cluster-cidr={settings.network.pods}",
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
        f"--healthz-bind-address={LOOPBACK}:{PROXY_HEALTH}",
        f"--metrics-bind-address={LOOPBACK}:10249",
    ]


def router(settings: Settings, credentials: Credentials) -> list[str]:
    """Return kube-router's flags: NetworkPolicies are enforced, and everything else is left to others."""
    return [
        "--run-firewall",
        "--run-router=false",
        "--run-service-proxy=false",
        "--run-loadbalancer=false",
        f"--kubeconfig={credentials.kubeconfigs['kube-router']}",
        f"--hostname-override={settings.node.name}",
        f"--service-cluster-ip-range={settings.network.services}",
        "--enable-ipv6=false",
        f"--health-port={ROUTER_HEALTH}",
        "--metrics-port=0",
    ]
