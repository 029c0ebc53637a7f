"""The command lines of an API server without nodes: etcd, kube-apiserver, kube-controller-manager. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.certificates import Pair

LOOPBACK = "127.0.0.1"
SERVICES = "10.96.0.0/16"
# The first address of the range above is the API server's own Service.
API_SERVICE = "10.96.0.1"
SERVER_NAMES = (
    LOOPBACK,
    "localhost",
    API_SERVICE,
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
ISSUER = "https://kubernetes.default.svc.cluster.local"
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
"""


@dataclass(frozen=True)
class Ports:
    """The port of each program on loopback."""

    etcd: int
    apiserver: int
    controller_manager: int


@dataclass(frozen=True)
class Credentials:
    """All signed certificates: those of the servers, and those of their clients."""

    authority: Pair
    server: Pair
    etcd_client: Pair
    service_accounts: Pair


@dataclass(frozen=True)
class Audit:
    """Where the audit policy is and where the log goes."""

    policy: Path
    log: Path


def etcd(data: Path, ports: Ports, credentials: Credentials) -> list[str]:
    """Return etcd's flags: one member, clients by certificate only, quick rather than safe against a power cut."""
    url = f"https://{LOOPBACK}:{ports.etcd}"
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        # Nobody joins a single member; any free port will do.
        f"--listen-peer-urls=http://{LOOPBACK}:0",
        f"--cert-file={credentials.server.certificate}",
        f"--key-file={credentials.server.key}",
        f"--trusted-ca-file={credentials.authority.certificate}",
        "--client-cert-auth",
        # Our supervisor holds the port while etcd is not running.
        "--socket-reuse-port",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(ports: Ports, credentials: Credentials, certificates: Path, audit: Audit | None = None) -> list[str]:
    """Return the API server's flags: RBAC, client certificates, service account tokens, on loopback alone."""
    flags = [
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={ports.apiserver}",
        "--permit-port-sharing",
        # Loopback is no address that a Service may point to, and there are no pods which would ask.
        "--endpoint-reconciler-type=none",
        f"--etcd-servers=https://{LOOPBACK}:{ports.etcd}",
        f"--etcd-cafile={credentials.authority.certificate}",
        f"--etcd-certfile={credentials.etcd_client.certificate}",
        f"--etcd-keyfile={credentials.etcd_client.key}",
        f"--cert-dir={certificates}",
        f"--tls-cert-file={credentials.server.certificate}",
        f"--tls-private-key-file={credentials.server.key}",
        f"--client-ca-file={credentials.authority.certificate}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={credentials.service_accounts.certificate}",
        f"--service-account-signing-key-file={credentials.service_accounts.key}",
        f"--service-cluster-ip-range={SERVICES}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--profiling=false",
    ]
    if audit:
        flags += [f"--audit-policy-file={audit.policy}", f"--audit-log-path={audit.log}", "--audit-log-format=json"]
    return flags


def controller_manager(kubeconfig: Path, ports: Ports, credentials: Credentials) -> list[str]:
    """Return the controller manager's flags: every controller, each with the rights of its own account."""
    return [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={credentials.service_accounts.key}",
        f"--root-ca-file={credentials.authority.certificate}",
        f"--cluster-signing-cert-file={credentials.authority.certificate}",
        f"--cluster-signing-key-file={credentials.authority.key}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.controller_manager}",
        "--permit-port-sharing",
        f"--tls-cert-file={credentials.server.certificate}",
        f"--tls-private-key-file={credentials.server.key}",
        # The default of 20 a second is for a cluster of many; it would make parallel tests wait for each other.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--profiling=false",
    ]


def with_extra(flags: Mapping[str, list[str]], extra: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the flags with further ones after them, so that the further ones win."""
    return {program: [*own, *extra.get(program, [])] for program, own in flags.items()}
