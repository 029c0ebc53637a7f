"""Fills an API server's folder with certificates and kubeconfigs, and says how each program is run."""

import shutil

from stackwright.local import certificates, kubeconfig, probe
from stackwright.local.apiserver import flags
from stackwright.local.apiserver.flags import LOOPBACK, Audit, Credentials, Ports
from stackwright.local.apiserver.layout import Layout, Settings
from stackwright.local.running import Launch


def prepare(layout: Layout, settings: Settings, ports: Ports) -> list[Launch]:
    """Return how each program is run, in the order in which they are started."""
    # A killed server may have left its data in the folder; every start begins empty.
    shutil.rmtree(layout.data, ignore_errors=True)
    layout.data.mkdir(mode=0o700)
    authority = certificates.Authority(layout.certificates)
    credentials = Credentials(
        authority=authority.pair,
        server=authority.server("server", names=flags.SERVER_NAMES),
        etcd_client=authority.client("etcd-client", user="kube-apiserver"),
        service_accounts=certificates.signing_key(layout.certificates, "service-accounts"),
    )
    admin = authority.client("admin", user="admin", groups=["system:masters"])
    controllers = authority.client("controller-manager", user="system:kube-controller-manager")
    controllers_kubeconfig = layout.directory / "controller-manager.kubeconfig"
    url = address(ports)
    kubeconfig.write(layout.kubeconfig, server=url, authority=authority.pair.certificate, client=admin)
    kubeconfig.write(controllers_kubeconfig, server=url, authority=authority.pair.certificate, client=controllers)
    trusting = probe.context(authority.pair, admin)
    own = {
        "etcd": flags.etcd(layout.data / "etcd", ports, credentials),
        "kube-apiserver": flags.apiserver(ports, credentials, layout.certificates, _audit(layout, settings)),
        "kube-controller-manager": flags.controller_manager(controllers_kubeconfig, ports, credentials),
    }
    ready = {
        "etcd": probe.question(ports.etcd, "/health", trusting),
        "kube-apiserver": probe.question(ports.apiserver, "/readyz", trusting),
        # It says that it is well before its first controller runs, and dies when the API server goes away until then;
        # a controller in the list means that all of them were made.
        "kube-controller-manager": probe.question(
            ports.controller_manager, "/healthz?verbose", trusting, containing=b"garbage-collector-controller ok"
        ),
    }
    return [
        Launch(name, [settings.binaries[name], *line], layout.log(name), ready[name])
        for name, line in flags.with_extra(own, settings.flags).items()
    ]


def address(ports: Ports) -> str:
    """Return where the API server answers."""
    return f"https://{LOOPBACK}:{ports.apiserver}"


def _audit(layout: Layout, settings: Settings) -> Audit | None:
    if not settings.audit:
        return None
    policy = layout.directory / "audit-policy.yaml"
    policy.write_text(flags.AUDIT_POLICY)
    return Audit(policy, layout.audit_log)
