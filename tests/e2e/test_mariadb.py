"""MariaDB of one node from its chart: the adapter's contract on the real server, and no acknowledged row is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.adapters import mariadb
from stackwright.adapters.mariadb import Login, MariaDB
from stackwright.adapters.mariadb_grants import pattern
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.images import building, loading
from stackwright.local.progress import Shown
from tests.contracts.mariadb import Everything, MariaDBContract
from tests.e2e.conftest import NAME, Kubectl
from tests.e2e.databases import Database, Writer, survive


@pytest.fixture(scope="module")
def mariadb_image(cluster: Cluster) -> str:
    """The image of MariaDB, in the cluster."""
    with Shown() as progress:
        images = building.build(["mariadb"], building.catalogue(), ask=lambda _: True, progress=progress)
        loading.load(images, loading.node_of(NAME), progress=progress)
    return images[0].reference


@pytest.fixture(scope="module")
def database(cluster: Cluster, kubectl_program: Path, mariadb_image: str) -> Iterator[Database]:
    """A server of one node, for all tests of this module."""
    kubectl = Kubectl(kubectl_program, cluster.layout.kubeconfig, "mariadb")
    kubectl("create", "namespace", kubectl.namespace)
    made = Database(kubectl, mariadb_image)
    made.install(replicas=1)
    yield made
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")


class TestReal(MariaDBContract):
    @pytest.fixture
    def server(self, database: Database) -> MariaDB:
        return mariadb.connect(database.login)

    @pytest.fixture
    def wrong(self, database: Database) -> MariaDB:
        login = database.login
        return mariadb.connect(Login(login.host, login.port, login.user, "wrong-password"))

    @pytest.fixture
    def everything(self, database: Database) -> Everything:
        def give(user: str, schema: str) -> None:
            with Writer(database.login).connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"GRANT ALL PRIVILEGES ON {pattern(schema)}.* TO %s@'%%'", (user,))

        return give


def test_no_acknowledged_row_is_lost_when_the_server_is_killed(database: Database) -> None:
    writer = survive(database, replicas=1)
    assert writer.failures > 0
    assert writer.lost() == []
