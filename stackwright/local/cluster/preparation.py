"""Fills a cluster's folder with certificates and configuration, and says how each of its programs is run."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import probe, proxies
from stackwright.local.cluster import configuration, credentials, flags
from stackwright.local.cluster.flags import Audit, Credentials
from stackwright.local.cluster.layout import Layout, Settings
from stackwright.local.running import Launch

BRIDGE_FILTER = Path("/proc/sys/net/bridge")


@dataclass(frozen=True)
class ClusterProgram:
    """A program of the cluster, and those that must be ready before it is started."""

    launch: Launch
    needs: tuple[str, ...] = ()


def prepare(layout: Layout, settings: Settings) -> list[ClusterProgram]:
    """Return how each program is run, in the order of their listing; the last ones are ended first."""
    signed = credentials.sign(layout, settings)
    for folder in (layout.logs, layout.etcd):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = _configure(layout, settings, signed)
    commands = _commands(layout, settings, signed, written)
    questions = _questions(signed)
    needs = {
        "kube-apiserver": ("etcd",),
        "kubelet": ("kube-apiserver", "containerd"),
        **dict.fromkeys(("kube-controller-manager", "kube-scheduler", "kube-proxy"), ("kube-apiserver",)),
        # They could start sooner, but nobody needs them before there are pods, and the kubelet needs the processor.
        **dict.fromkeys(("kube-router", "volumes", "load-balancer"), ("kube-apiserver", "kubelet")),
    }
    return [
        ClusterProgram(
            Launch(name, command, layout.log(name), questions[name], environment(name, settings, os.environ)),
            needs.get(name, ()),
        )
        for name, command in commands.items()
    ]


def environment(name: str, settings: Settings, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return a program's environment. Only what fetches images needs the proxies of the machine; pure."""
    if name == "containerd":
        return proxies.except_for((probe.LOOPBACK, "localhost", settings.address), inherited)
    return proxies.without(inherited)


def _configure(layout: Layout, settings: Settings, signed: Credentials) -> dict[str, Path]:
    folder = layout.configuration
    networks, registries = folder / "networks", folder / "registries"
    own = registries / settings.registry
    for each in (networks, own):
        each.mkdir(parents=True, exist_ok=True)
    (own / "hosts.toml").write_text(configuration.registry(settings))
    files = {name: folder / name for name in ("kubelet.yaml", "containerd.toml", "resolv.conf")}
    files["resolv.conf"].write_text(configuration.resolv_conf(settings.nameservers))
    files["kubelet.yaml"].write_text(configuration.kubelet(settings, signed, nameservers=str(files["resolv.conf"])))
    containerd = configuration.containerd(settings, networks=str(networks), registries=str(registries))
    files["containerd.toml"].write_text(containerd)
    network = configuration.network(settings, bridge_filter=BRIDGE_FILTER.exists())
    (networks / "pods.conflist").write_text(network)
    if settings.audit:
        files["audit.yaml"] = folder / "audit.yaml"
        files["audit.yaml"].write_text(configuration.AUDIT_POLICY)
    return files


def _commands(
    layout: Layout, settings: Settings, signed: Credentials, written: dict[str, Path]
) -> dict[str, list[str]]:
    audit = Audit(written["audit.yaml"], layout.audit_log) if settings.audit else None
    own = {
        "etcd": flags.etcd(layout.etcd, signed),
        "kube-apiserver": flags.apiserver(settings, signed, layout.certificates, audit),
        "kube-controller-manager": flags.controller_manager(settings, signed),
        "kube-scheduler": flags.scheduler(signed),
        "kubelet": flags.kubelet(settings, signed, written["kubelet.yaml"]),
        "kube-proxy": flags.proxy(settings, signed),
        "kube-router": flags.router(settings, signed),
    }
    return {
        "etcd": [settings.binaries["etcd"], *own.pop("etcd")],
        "containerd": ["containerd", "--config", str(written["containerd.toml"])],
        **{name: [settings.binaries[name], *line] for name, line in own.items()},
        "volumes": _controller("volumes", settings, signed.kubeconfigs["volumes"]),
        "load-balancer": [
            *_controller("load_balancer", settings, signed.kubeconfigs["load-balancer"]),
            *("--pool", settings.network.load_balancers),
        ],
    }


def _controller(module: str, settings: Settings, kubeconfig: Path) -> list[str]:
    """Return the command of a controller of our own, which is a module beside this one."""
    program = (sys.executable, "-m", f"stackwright.local.cluster.{module}")
    return [*program, "--kubeconfig", str(kubeconfig), "--node", settings.node.name]


def _questions(signed: Credentials) -> dict[str, probe.Question]:
    trusting = probe.context(signed.authority, signed.etcd_client)
    return {
        "etcd": probe.question(flags.ETCD_HEALTH, "/readyz", None),
        "containerd": probe.question(flags.CONTAINERD_HEALTH, "/v1/metrics", None),
        "kube-apiserver": probe.question(flags.API_SERVER, "/readyz", trusting),
        "kube-controller-manager": probe.question(flags.CONTROLLER_MANAGER, "/healthz", trusting),
        "kube-scheduler": probe.question(flags.SCHEDULER, "/readyz", trusting),
        "kubelet": probe.question(flags.KUBELET_HEALTH, "/healthz", None),
        "kube-proxy": probe.question(flags.PROXY_HEALTH, "/healthz", None),
        "kube-router": probe.question(flags.ROUTER_HEALTH, "/healthz", None),
        "volumes": probe.question(flags.VOLUMES_HEALTH, "/readyz", None),
        "load-balancer": probe.question(flags.LOAD_BALANCER_HEALTH, "/readyz", None),
    }
