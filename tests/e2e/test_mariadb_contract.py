"""The adapter's promises on the real MariaDB of the cloud."""

from collections.abc import Iterator

import pytest

from stackwright.adapters import mariadb
from stackwright.adapters.mariadb import MariaDB, ServerLogin
from stackwright.adapters.mariadb_grants import pattern
from tests.contracts.mariadb import Everything, MariaDBContract
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.databases import Writer
from tests.e2e.waiting import eventually

# The database is for those that need it; these tests dial it from outside of the cluster.
WAY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "database-from-outside"},
    "spec": {
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "mariadb"}},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": [{"port": 3306}]}],
    },
}


@pytest.fixture(scope="module")
def login(cloud: Cloud) -> Iterator[ServerLogin]:
    """How the root user logs in, by the address of the Service."""
    address = cloud.kubectl.get("service/openstack", "{.spec.clusterIP}")
    cloud.kubectl.apply(WAY)
    eventually(lambda: clouds.answers(address, 3306), "the database answers")
    yield ServerLogin(address, 3306, "root", clouds.secret(cloud.kubectl, "openstack-mariadb-root", "DatabasePassword"))
    cloud.kubectl("delete", "networkpolicy/database-from-outside")


class TestReal(MariaDBContract):
    @pytest.fixture
    def server(self, login: ServerLogin) -> MariaDB:
        return mariadb.connect(login)

    @pytest.fixture
    def wrong(self, login: ServerLogin) -> MariaDB:
        return mariadb.connect(ServerLogin(login.host, login.port, login.user, "wrong-password"))

    @pytest.fixture
    def everything(self, login: ServerLogin) -> Everything:
        def give(user: str, schema: str) -> None:
            with Writer(login).connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"GRANT ALL PRIVILEGES ON {pattern(schema)}.* TO %s@'%%'", (user,))

        return give


def test_a_row_that_another_one_changed_can_be_written(login: ServerLogin) -> None:
    """Services of OpenStack do so, and answer with an error if the server says that the record has changed."""
    with Writer(login).connect() as late, Writer(login).connect() as early, late.cursor() as cursor:
        cursor.execute("CREATE DATABASE isolation")
        try:
            cursor.execute("CREATE TABLE isolation.rows (id INT PRIMARY KEY, number INT) ENGINE=InnoDB")
            cursor.execute("INSERT INTO isolation.rows VALUES (1, 1)")
            late.begin()
            cursor.execute("SELECT number FROM isolation.rows")
            with early.cursor() as other:
                other.execute("UPDATE isolation.rows SET number = 2")
            assert cursor.execute("DELETE FROM isolation.rows WHERE id = 1") == 1
            late.commit()
        finally:
            late.rollback()
            cursor.execute("DROP DATABASE isolation")
