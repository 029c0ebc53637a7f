"""Which feature flags of RabbitMQ are enabled, and when."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def node_of(programs: dict[str, ModuleType], number: int, version: str = "4.1.0", *, running: bool = True) -> Any:
    applications = [{"name": "rabbit", "version": version, "description": "RabbitMQ"}]
    return {"name": programs["cluster"].node(number), "running": running, "applications": applications}


def test_flags_are_enabled_when_all_nodes_run_one_version(programs: dict[str, ModuleType]) -> None:
    flags = programs["flags"]
    alike = [node_of(programs, 0), node_of(programs, 1)]
    assert flags.are_alike(alike, 2)
    assert not flags.are_alike(alike, 3)
    assert not flags.are_alike([alike[0], node_of(programs, 1, "4.0.5")], 2)
    assert not flags.are_alike([alike[0], node_of(programs, 1, running=False)], 2)


class Refuses(BaseHTTPRequestHandler):
    """A node that knows no such user."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Enough(Exception):
    """The test has seen what it wanted."""


def test_a_node_that_does_not_know_its_first_user_is_asked_seldom_and_that_is_said_once(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said, pauses = list[str](), list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            raise Enough

    user = tmp_path / "default_user.conf"
    user.write_text("default_user = somebody\ndefault_pass = of-old\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(programs["cluster"], "AMQP", server.server_port)
        monkeypatch.setattr(programs["cluster"], "replicas", lambda: 3)
        monkeypatch.setattr(programs["ready"], "MANAGEMENT", server.server_port)
        monkeypatch.setattr(programs["ready"], "USER", user)
        monkeypatch.setattr(programs["hooks"], "say", lambda _, text: said.append(text))
        monkeypatch.setattr(time, "sleep", sleep)
        with pytest.raises(Enough):
            programs["flags"].main()
        server.shutdown()
    # It may be the broker's first moment.
    assert [pause > 600 for pause in pauses] == [False, False, True, True, True]
    assert len(said) == 1
    assert "default_user.conf" in said[0]


def test_flags_that_are_an_experiment_or_a_person_s_choice_stay_disabled(programs: dict[str, ModuleType]) -> None:
    said = [
        {"name": "new", "state": "disabled", "stability": "stable"},
        {"name": "old", "state": "enabled", "stability": "required"},
        {"name": "risky", "state": "disabled", "stability": "experimental"},
        {"name": "khepri_db", "state": "disabled", "stability": "stable"},
        {"name": "changing", "state": "state_changing", "stability": "stable"},
    ]
    assert programs["flags"].missing(said) == ["new"]
