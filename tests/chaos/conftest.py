"""Fixtures of the ring of chaos: the end-to-end ring's cluster."""

from tests.e2e.conftest import cluster, kubectl, kubectl_program
from tests.e2e.test_mariadb import mariadb_image

__all__ = ["cluster", "kubectl", "kubectl_program", "mariadb_image"]
