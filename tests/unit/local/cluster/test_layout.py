"""A cluster's folder: its name, its lock, what of it is data."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from stackwright.local.cluster import layout
from stackwright.local.cluster.layout import Layout, ProcessKey, ProgramState, State
from stackwright.local.errors import ClusterFailed
from tests.unit.local.cluster.samples import SETTINGS


@pytest.mark.parametrize("name", ["default", "trial-2", "a", "123456789012"])
def test_a_good_name_is_a_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert layout.of(name).directory == tmp_path / "stackwright" / name


@pytest.mark.parametrize("name", ["", "Trial", "-a", "a-", "../other", "1234567890123", "a b"])
def test_a_bad_name_is_refused_with_a_good_one(name: str) -> None:
    with pytest.raises(ClusterFailed, match="such as"):
        layout.of(name)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    place = Layout(tmp_path / "trial")
    assert place.read_settings() is None
    place.write_settings(SETTINGS)
    assert place.read_settings() == SETTINGS
    state = State(ProcessKey(7, 8), (ProgramState("etcd", "ready", "/log"),))
    place.write_state(state)
    assert place.read_state() == state


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"first": 1}')
    with pytest.raises(ClusterFailed, match=r"state\.json cannot be read"):
        Layout(tmp_path).read_state()


@pytest.mark.parametrize(
    ("states", "ready"),
    [
        pytest.param((), False, id="nothing-runs-yet"),
        pytest.param(("ready", "starting"), False, id="one-is-not-ready"),
        pytest.param(("ready", "ready"), True, id="all-are-ready"),
    ],
)
def test_a_cluster_is_ready_when_all_programs_are(states: tuple[layout.Health, ...], ready: bool) -> None:
    assert State(ProcessKey(1, 1), tuple(ProgramState("x", one, "") for one in states)).ready is ready


def test_data_is_told_from_what_passes(tmp_path: Path) -> None:
    place = Layout(tmp_path)
    kept = ["etcd/member", "certificates/ca.crt", "settings.json"]
    kept += [f"nodes/node-1/var/lib/{name}/x" for name in ("containerd", "stackwright")]
    passing = ["state.json", "kubeconfig", "logs/etcd.log", "nodes/node-1/var/log/x", "nodes/node-1/var/lib/kubelet/x"]
    for name in (*kept, *passing):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = place.passing()
    assert not [name for name in kept if any((tmp_path / name).is_relative_to(path) for path in found)]
    assert not [name for name in passing if not any((tmp_path / name).is_relative_to(path) for path in found)]


def in_turn(path: Path, first: Callable[[list[str]], None]) -> list[str]:
    """Let two hold a lock, of whom the second waits while the first does something; return what both have noted."""
    waited, order = threading.Event(), list[str]()

    def second() -> None:
        with layout.held(path, waited.set):
            order.append("second")

    with layout.held(path):
        thread = threading.Thread(target=second)
        thread.start()
        assert waited.wait(10)
        first(order)
    thread.join(10)
    return order


def test_a_lock_is_held_by_one_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert in_turn(path, lambda order: order.append("first")) == ["first", "second"]
    assert not path.exists()


def test_who_waits_for_a_lock_outlives_the_folder_around_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lock"

    def take_down(_: list[str]) -> None:
        # As `down` does with the last cluster of this machine.
        path.unlink()
        path.parent.rmdir()

    assert in_turn(path, take_down) == ["second"]
