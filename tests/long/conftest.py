"""What takes long and rarely breaks, on a real cluster."""

from tests.e2e.fixtures import cloud, cluster, kubectl, kubectl_program

__all__ = ["cloud", "cluster", "kubectl", "kubectl_program"]
