"""What tests of MariaDB's nodes have in common: the words of three nodes, and the ConfigMap in which they agree."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

PROGRAMS = Path(__file__).parents[4] / "charts" / "mariadb" / "files"
UUID, OTHER = "7077dd2e-e0c0-11f1-98e2-3b696a0b4ce9", "81b2a7c4-e0c0-11f1-a3a1-0a1b2c3d4e5f"
NODES = ("db-galera-0", "db-galera-1", "db-galera-2")
GRASTATE = "# GALERA saved state\nversion: 2.1\nuuid:    {}\nseqno:   {}\nsafe_to_bootstrap: {}\n"


def stopped(seqno: int | None, **more: Any) -> dict[str, Any]:
    return {"state": "Stopped", "uuid": UUID, "seqno": seqno, "members": NODES, **more}


EMPTY = {"state": "Stopped", "seqno": None, "empty": True}
SERVES = {"state": "Synced", "members": NODES}
HALF = {"state": "Stopped", "seqno": None, "interrupted": True}


def data(*nodes: dict[str, Any] | None, replicas: int = 3, **more: str) -> dict[str, str]:
    """The ConfigMap, with a record for each node that has one."""
    records = {
        name: json.dumps({"life": f"life-of-{name}", **record})
        for name, record in zip(NODES, nodes, strict=False)
        if record is not None
    }
    return {"replicas": str(replicas), **records, **more}


class Agreement:
    """The ConfigMap of a cluster in which node 0 has the clients; no pod has a label."""

    def __init__(self) -> None:
        self.data = data({"state": "Synced"}, replicas=1, active=NODES[0])

    def read(self) -> dict[str, str]:
        """Find nothing new."""
        return self.data

    def write(self, changes: dict[str, str | None], **_: bool) -> dict[str, str]:
        said = {**self.data, **changes}
        self.data = {key: value for key, value in said.items() if value is not None}
        return self.data

    def changed(self) -> dict[str, str]:
        """Find nothing new after a while."""
        return self.data

    def away(self, _: dict[str, str]) -> frozenset[str]:
        """Find the pods of all nodes."""
        return frozenset()

    def mark(self, pod: str, **_: bool) -> None:
        """Set no label."""

    def record(self) -> dict[str, Any]:
        return dict(json.loads(self.data[NODES[0]]))


def in_cluster(server: ModuleType, *view: str) -> Any:
    """The status of a server that sees these nodes."""
    lines = "wsrep_ready\tON\nwsrep_local_state\t4\nwsrep_cluster_status\tPrimary\n"
    addresses = ",".join(f"{name}:3306" for name in view)
    return server.parse_status(f"{lines}wsrep_incoming_addresses\t{addresses}\n")
