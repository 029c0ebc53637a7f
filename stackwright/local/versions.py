"""Which versions we run and on which machine; the go.mod of the Go programs is the one place that pins them."""

import platform
import re
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.errors import UnsupportedMachine

MODULE = Path(__file__).parent / "kubernetes"

# What Go, and so every release of Kubernetes, calls the machines that the kernel calls otherwise.
ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

_MODULES = {
    "kubernetes": "k8s.io/kubernetes",
    "etcd": "go.etcd.io/etcd/server/v3",
    "helm": "helm.sh/helm/v4",
    "coredns": "github.com/coredns/coredns",
    "router": "github.com/cloudnativelabs/kube-router/v2",
}


@dataclass(frozen=True)
class Versions:
    """The pinned version of each component, with its leading v, and the oldest Go that compiles them, without."""

    kubernetes: str
    etcd: str
    helm: str
    coredns: str
    router: str
    go: str

    def of(self, component: str) -> str:
        """Return the version of a component by its name."""
        return {
            "kubernetes": self.kubernetes,
            "etcd": self.etcd,
            "helm": self.helm,
            "coredns": self.coredns,
            "router": self.router,
        }[component]


def parse(go_mod: str) -> Versions:
    """Return the versions that the text of a go.mod requires."""
    go = re.search(r"^go (\S+)$", go_mod, re.MULTILINE)
    found = {name: required(go_mod, module) for name, module in _MODULES.items()}
    if go is None:
        raise ValueError("go.mod has no line that says which Go it needs")
    return Versions(go=go.group(1), **found)


def required(go_mod: str, module: str) -> str:
    """Return the version of a module that the text of a go.mod requires."""
    line = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if line is None:
        raise ValueError(f"go.mod does not require {module}")
    return line.group(1)


def pinned() -> Versions:
    """Return the versions that this release runs."""
    return parse((MODULE / "go.mod").read_text())


def go_minimum(module: Path) -> str:
    """Return the oldest Go that may compile the module in that folder."""
    line = re.search(r"^go (\S+)$", (module / "go.mod").read_text(), re.MULTILINE)
    return line.group(1) if line else "1.21"


def architecture(machine: str = "", system: str = "") -> str:
    """Return this machine's architecture by Go's name, or say that there is no Kubernetes for it."""
    machine = machine or platform.machine()
    system = system or platform.system()
    if system != "Linux":
        raise UnsupportedMachine(f"A local Kubernetes needs Linux; this is {system}. Use a virtual machine with Linux.")
    known = ARCHITECTURES.get(machine.lower())
    if known is None:
        raise UnsupportedMachine(f"A local Kubernetes runs on amd64 and arm64; this machine is {machine}.")
    return known
