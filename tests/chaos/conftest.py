"""Fixtures of the ring of chaos: the end-to-end ring's cluster; and the figures that the tests tell at the end."""

from tests.e2e.figures import pytest_terminal_summary, tell
from tests.e2e.fixtures import cluster, kubectl, kubectl_program, mariadb_image

__all__ = ["cluster", "kubectl", "kubectl_program", "mariadb_image", "pytest_terminal_summary", "tell"]
