"""A node has one switch: the OVNController of a second namespace leaves it alone, and says whose it is."""

import fcntl
import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILES = Path(__file__).parents[3] / "charts" / "ovn" / "files"
NAMES = (
    *("programs", "tenure", "bridges", "chassis", "kubernetes"),
    *("tunnels", "controller_process", "controller", "switch"),
)
FIRST, SECOND = "one/ovncontroller", "two/ovncontroller"
WHOSE = "belongs to OVNController ovncontroller in the namespace one"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, ModuleType]]:
    monkeypatch.syspath_prepend(str(FILES))
    found = {name: importlib.import_module(name) for name in NAMES}
    monkeypatch.setattr(found["tenure"], "FILE", tmp_path / "owner")
    monkeypatch.setenv("OWNER", SECOND)
    yield found
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def tenure(programs: dict[str, ModuleType]) -> Any:
    return programs["tenure"]


class Clock:
    """Time that passes while somebody sleeps; `at` has what happens at a second."""

    def __init__(self, **at: Any) -> None:
        self.now = 0.0
        self.at = at

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if happens := self.at.pop(f"s{self.now:g}", None):
            happens()


def hold(tenure: Any, owner: str) -> int:
    """Hold the switch as another pod does; return the open file."""
    tenure.FILE.write_text(owner)
    file = os.open(tenure.FILE, os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


@pytest.mark.parametrize("noted", [None, "", SECOND], ids=["nobodys-yet", "given-back", "its-own-from-before"])
def test_a_free_switch_is_taken_at_once_and_held(tenure: Any, noted: str | None) -> None:
    if noted is not None:
        tenure.FILE.write_text(noted)
    clock = Clock()
    tenure.take(clock, clock.sleep)
    assert (clock.now, tenure.read_owner(), tenure.find_other()) == (0.0, SECOND, "")
    with tenure.FILE.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_a_switch_that_runs_is_left_alone_and_its_owner_is_named(
    tenure: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = hold(tenure, FIRST)
    # However long it waits: the first one is there, until its resource is deleted.
    clock = Clock(s4000=lambda: os.ftruncate(file, 0), s5000=lambda: os.close(file))
    tenure.take(clock, clock.sleep)
    assert (clock.now, tenure.read_owner()) == (5000.0, SECOND)
    assert capsys.readouterr().out.count(WHOSE) == 1


def test_pods_of_the_first_are_replaced_and_the_second_does_not_step_in(tenure: Any) -> None:
    file = hold(tenure, FIRST)
    pods: list[int] = []
    clock = Clock(
        s10=lambda: os.close(file),
        s300=lambda: pods.append(hold(tenure, FIRST)),
        s800=lambda: os.close(pods[0]),
    )
    tenure.take(clock, clock.sleep)
    # It was away for five minutes and nothing happened; the second time it did not come back.
    assert clock.now == 800.0 + tenure.FREE_AFTER
    assert tenure.read_owner() == SECOND


def test_only_the_owner_gives_a_switch_back(tenure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tenure.FILE.write_text(FIRST)
    tenure.let_go()
    assert tenure.read_owner() == FIRST
    monkeypatch.setenv("OWNER", FIRST)
    tenure.let_go()
    assert tenure.read_owner() == ""


@pytest.mark.parametrize("word", ["save", "wait"])
def test_what_ends_saves_no_flows_of_another_switch(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    programs["tenure"].FILE.write_text(FIRST)
    switch = programs["switch"]
    for name in ("save", "wait"):
        monkeypatch.setattr(switch, name, lambda: pytest.fail("it touches the switch"))
    monkeypatch.setattr(switch.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["switch.py", word])
    assert switch.main() == 0


def test_a_controller_tells_whose_the_switch_is_and_touches_nothing(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs["tenure"].FILE.write_text(FIRST)
    controller = programs["controller"]
    asked: list[Any] = []

    def call(method: str, _: str, body: Any = None) -> Any:
        asked.append((method, body))
        return {"metadata": {"resourceVersion": "1"}, "data": (body or {}).get("data", {})}

    (tmp_path / "namespace").write_text("two")
    words = {"NODE_NAME": "node", "NODE_IP": "192.0.2.1", "STATE": "chassis", "DAEMON_SET": "ovn", "SETTINGS": "none"}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(programs["kubernetes"], "ACCOUNT", tmp_path)
    monkeypatch.setattr(programs["kubernetes"], "call", call)
    node = controller.Node()
    monkeypatch.setattr(controller.time, "sleep", lambda _: setattr(node, "ending", True))
    assert node.run() == 0
    # It neither runs programs, nor gives an interface back when it ends because its DaemonSet is gone.
    ((method, body),) = asked
    assert (method, WHOSE in json.loads(body["data"]["node"])["problem"]) == ("PATCH", True)
    assert not node.controller.runs
