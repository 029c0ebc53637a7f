"""What a node of MariaDB does while it waits for a cluster to form or to join."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.charts.mariadb.nodes import UUID, data


def test_a_node_that_failed_to_look_where_its_data_ends_looks_again(
    tmp_path: Path, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It has no memory for the first look. Node 1 is not there, so it waits in any case.
    (tmp_path / "data" / "mysql").mkdir(parents=True)
    program = tmp_path / "mariadbd"
    program.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; kill -9 $$; }}\n"
        "for each; do case $each in --log-error=*) "
        f"echo 'WSREP: Recovered position: {UUID}:42' > ${{each#*=}};; esac; done\n"
    )
    program.chmod(0o755)
    module = importlib.import_module("node")
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    node.map.data = data(replicas=2)
    positions = []

    def changed() -> dict[str, str]:
        positions.append(node.map.record().get("seqno"))
        if positions[-1] is not None or len(positions) > 9:
            node.stopping.set()
        return dict(node.map.data)

    node.map.changed = changed
    node.run()
    assert positions == [42]
