"""MariaDB from its chart, scaled, and all its nodes killed at once in the middle of writing: no row is lost."""

from collections.abc import Callable

from tests.e2e.clusters import Kubectl
from tests.e2e.databases import NAME, Database, Writer, survive


def test_no_acknowledged_row_is_lost_of_one_node(kubectl: Kubectl, mariadb_image: str) -> None:
    database = Database(kubectl, mariadb_image)
    database.install(replicas=1)
    writer = survive(database, replicas=1)
    assert writer.failures > 0
    assert writer.lost() == []


def test_no_acknowledged_row_is_lost_of_three_nodes(
    kubectl: Kubectl, mariadb_image: str, tell: Callable[[str], None]
) -> None:
    database = Database(kubectl, mariadb_image)
    database.install(replicas=1)
    early = Writer(database.login)
    early.prepare()
    early.write(100)
    database.scale(3)

    writer = Writer(database.login, early.acknowledged[:], _next=len(early.acknowledged))
    survived = survive(database, replicas=3, writer=writer)
    rows = len(survived.acknowledged)
    tell(
        f"three MariaDB nodes killed at once: {len(survived.lost())} of {rows} acknowledged rows lost; "
        f"{survived.failures} inserts failed, the longest pause was {survived.longest:.1f} s"
    )
    assert survived.failures > 0
    assert survived.lost() == []

    # The machine of one node is drained, and then the others lose their servers: nobody waits for the one that is away.
    machine = kubectl.get("nodes", "{.items[0].metadata.name}")
    kubectl("cordon", machine)
    try:
        kubectl("delete", "pod", f"{NAME}-galera-0", "--timeout=120s")
        survived.write(100)
        assert database.kill() == 2
        survived.write(100)
    finally:
        kubectl("uncordon", machine)
    database.settled(3)
    assert survived.lost() == []

    database.scale(1)
    survived.write(100)
    assert survived.lost() == []
