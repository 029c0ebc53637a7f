"""The programs of a Kubernetes: which project's version each has, what builds it, and how it prints its version."""

from collections.abc import Sequence
from dataclasses import dataclass

# One multi-call binary holds the servers: they share nearly all of their code.
SERVERS = "servers"


@dataclass(frozen=True)
class Program:
    """One program, by the name that it is called by."""

    name: str
    component: str
    """Whose version it carries: kubernetes, etcd, helm, coredns or router."""
    package: str
    """The folder of the Go module that builds it; a program of another name is a link to that binary."""
    version_arguments: tuple[str, ...] = ("--version",)


ALL = {
    program.name: program
    for program in (
        Program("etcd", "etcd", SERVERS),
        Program("kube-apiserver", "kubernetes", SERVERS),
        Program("kube-controller-manager", "kubernetes", SERVERS),
        Program("kube-scheduler", "kubernetes", SERVERS),
        Program("kubelet", "kubernetes", SERVERS),
        Program("kube-proxy", "kubernetes", SERVERS),
        Program("kube-router", "router", SERVERS),
        Program("kubectl", "kubernetes", "kubectl", ("version", "--client")),
        Program("coredns", "coredns", "coredns", ("-version",)),
        Program("helm", "helm", "helm", ("version", "--short")),
    )
}

API_SERVER: Sequence[str] = ("etcd", "kube-apiserver", "kube-controller-manager")
"""What an API server without nodes needs."""

CLUSTER: Sequence[str] = (*API_SERVER, "kube-scheduler", "kubelet", "kube-proxy", "kube-router", "coredns", "kubectl")
"""What a cluster with a node needs, and what a person needs to use it."""
