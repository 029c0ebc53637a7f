"""Where operators log in as a server's administrator."""

from base64 import b64encode
from typing import Any

import msgspec

from stackwright.controllers.database.server import Server, find_server
from stackwright.kube.builtin import Secret
from stackwright.services.mariadb.kinds import Galera


def test_roots_password_goes_nowhere_else_by_a_status() -> None:
    body = {
        "metadata": {"name": "db", "namespace": "cloud"},
        "spec": {"storageClass": "local", "storageRequest": "1G"},
        "status": {"hostname": "elsewhere.example", "port": 1, "bootstrapped": True},
    }
    galera = msgspec.convert(body, Galera)
    secret = Secret(data={"DatabasePassword": b64encode(b"roots").decode()})

    def look(kind: Any, name: str, **_: str) -> Any:
        return {(Galera, "db"): galera, (Secret, "db-mariadb-root"): secret}.get((kind, name))

    found = find_server("db", look)  # type: ignore[arg-type]  # it only looks
    assert isinstance(found, Server)
    assert (found.host, found.port, found.user) == ("db.cloud.svc", 3306, "root")
