"""A service restarts on a machine, or a command runs there, for what stands in files, not for what a run changed."""

import os
import runpy
from pathlib import Path
from typing import Any

import pytest

MODULE = runpy.run_path(str(Path(__file__).parents[2] / "ansible" / "plugins" / "modules" / "take_effect.py"))
Files, Service = MODULE["Files"], MODULE["Service"]
RUNNING = Service(active=True, since=100.0, stale=False)
STOPPED = Service(active=False, since=0.0, stale=False)
PROPERTIES = """\
LoadState=loaded
ActiveState=active
NeedDaemonReload=no
DropInPaths=/etc/systemd/system/a.service.d/one.conf /etc/systemd/system/a.service.d/two.conf
InactiveExitTimestamp=@1000
InactiveExitTimestampMonotonic=50000000
"""


@pytest.mark.parametrize(
    ("files", "service", "wanted"),
    [
        pytest.param(Files("new", 200.0, "old"), RUNNING, "restart", id="written-by-a-run-that-ended-then"),
        pytest.param(Files("new", 50.0, "old"), RUNNING, "restart", id="started-by-itself-since"),
        pytest.param(Files("same", 200.0, "same"), RUNNING, "", id="done-with-a-clock-that-stood"),
        pytest.param(Files("same", 50.0, "same"), STOPPED, "start", id="stopped"),
        pytest.param(Files("same", 50.0, "same"), RUNNING._replace(stale=True), "reload", id="only-beside-the-unit"),
        pytest.param(Files("same", 50.0, ""), RUNNING, "", id="of-a-former-version"),
        pytest.param(Files("same", 50.0, ""), RUNNING._replace(stale=True), "reload", id="former-and-beside"),
        pytest.param(Files("new", 200.0, ""), RUNNING, "restart", id="of-a-former-version-and-changed-now"),
        pytest.param(Files("new", 50.0, ""), STOPPED, "restart", id="first-installation-that-was-cut"),
        pytest.param(Files("", 0.0, "old"), RUNNING, "restart", id="file-is-gone"),
        pytest.param(Files("", 0.0, ""), RUNNING, "", id="nothing-was-ever-there"),
        pytest.param(Files("", 0.0, ""), STOPPED, "", id="nothing-is-started-for-nothing"),
    ],
)
def test_a_service_restarts_if_it_was_started_with_something_else(files: Any, service: Any, wanted: str) -> None:
    assert MODULE["decide_service"](files, service, owed=False) == wanted
    assert MODULE["decide_service"](files, service, owed=True) == "restart"


@pytest.mark.parametrize(
    ("files", "owed", "wanted"),
    [
        (Files("new", 0.0, "old"), False, "command"),
        (Files("new", 0.0, ""), False, "command"),
        (Files("same", 0.0, "same"), False, ""),
        (Files("", 0.0, "old"), False, "command"),
        (Files("", 0.0, ""), False, ""),
        (Files("", 0.0, ""), True, "command"),
    ],
)
def test_a_command_runs_until_it_has_run_for_the_files(files: Any, owed: bool, wanted: str) -> None:
    assert MODULE["decide_command"](files, owed=owed) == wanted


def test_the_note_is_for_what_stands_in_the_files(tmp_path: Path) -> None:
    note, patterns = tmp_path / "notes" / "one", [str(tmp_path / "*.network"), str(tmp_path / "gone")]
    assert MODULE["read_files"](patterns, str(note)) == ("", 0.0, "")
    (tmp_path / "a.network").write_text("a")
    first = MODULE["read_files"](patterns, str(note))
    MODULE["write_note"](note, first.digest)
    assert MODULE["read_files"](patterns, str(note)).noted == first.digest
    # Written again, it is another one: with what was there in between, the service may have been restarted.
    os.utime(tmp_path / "a.network", (5, 5))
    again = MODULE["read_files"](patterns, str(note))
    assert (again.digest != first.digest, again.written) == (True, 5.0)
    MODULE["write_note"](note, again.digest)
    # What is no file says nothing.
    (tmp_path / "b.network").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c.network").mkdir()
    assert MODULE["read_files"](patterns, str(note)).digest == again.digest
    (tmp_path / "b.network").unlink()
    (tmp_path / "c.network").rmdir()
    # Another name, and one more file, are not.
    (tmp_path / "a.network").rename(tmp_path / "b.network")
    renamed = MODULE["read_files"](patterns, str(note))
    assert renamed.digest not in ("", renamed.noted)
    (tmp_path / "b.network").unlink()
    MODULE["write_note"](note, MODULE["read_files"](patterns, str(note)).digest)
    assert not note.exists()


def test_a_clock_that_was_wrong_is_no_reason_to_restart() -> None:
    def since(wall: float, monotonic: float) -> float:
        found: float = MODULE["read_service"](PROPERTIES, (), wall, monotonic).since
        return found

    # The machine started with a clock that stood; it was corrected later.
    assert since(wall=1_000_000.0, monotonic=80.0) == 1_000_000.0 - 30
    # The clock was too late, and was set back: files of that time are as old as the service.
    assert since(wall=500.0, monotonic=80.0) == 1001.0


def test_systemd_has_to_know_what_is_beside_a_unit() -> None:
    def read(properties: str, *besides: str) -> Any:
        return MODULE["read_service"](properties, besides, 1000.0, 80.0)

    assert not read(PROPERTIES, "/etc/systemd/system/a.service.d/two.conf").stale
    assert read(PROPERTIES, "/etc/systemd/system/a.service.d/three.conf").stale
    assert read(PROPERTIES.replace("Reload=no", "Reload=yes")).stale
    assert read(PROPERTIES).active
    unknown = read("LoadState=not-found\nActiveState=inactive\nInactiveExitTimestampMonotonic=0\n")
    assert (unknown.active, unknown.since) == (False, 0.0)
    failed = read(PROPERTIES.replace("ActiveState=active", "ActiveState=failed"))
    assert (failed.active, failed.since) == (False, 0.0)
