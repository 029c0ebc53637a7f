"""Fixtures of the ring of chaos: clusters and servers of other rings; and the figures that tests tell at the end."""

from tests.e2e.figures import pytest_terminal_summary, tell
from tests.e2e.fixtures import cluster, kubectl, kubectl_program, mariadb_image
from tests.functional.conftest import (
    kubernetes,
    private_apiserver,
    private_client,
    private_namespace,
    second_apiserver,
)

__all__ = [
    "cluster",
    "kubectl",
    "kubectl_program",
    "kubernetes",
    "mariadb_image",
    "private_apiserver",
    "private_client",
    "private_namespace",
    "pytest_terminal_summary",
    "second_apiserver",
    "tell",
]
