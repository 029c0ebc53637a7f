"""What takes long and rarely breaks, on a real cluster; `make everything` runs each file of it as a part of its own."""

from tests.e2e.figures import pytest_terminal_summary, tell
from tests.e2e.fixtures import cloud, cluster, kubectl, kubectl_program

__all__ = ["cloud", "cluster", "kubectl", "kubectl_program", "pytest_terminal_summary", "tell"]
