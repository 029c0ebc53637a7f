"""User directed actions on the command line."""

from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from stackwright.api.service import Action, ActionStatus
from stackwright.cli.commands.action import action, entries_of, known_of, listing, ours
from tests.unit.foresight.clouds import kind

KEYSTONE = known_of(kind("KeystoneAPI"))


def managed(manager: str, operation: str, *ids: str) -> dict[str, object]:
    entries: dict[str, object] = {f'k:{{"id":"{name}"}}': {".": {}, "f:id": {}, "f:name": {}} for name in ids}
    return {"manager": manager, "operation": operation, "fieldsV1": {"f:spec": {"f:actions": entries}}}


@pytest.mark.parametrize(
    ("managers", "expected"),
    [
        pytest.param([], set(), id="nobody-asked-for-anything"),
        pytest.param([managed("kubectl", "Apply", "theirs")], set(), id="others-entries-are-not-ours"),
        pytest.param(
            [managed("kubectl", "Apply", "theirs"), managed("stackwright-action", "Apply", "a", "b c")],
            {"a", "b c"},
            id="ours-are",
        ),
        pytest.param([{"manager": "stackwright-action", "operation": "Apply"}], set(), id="without-any-field"),
    ],
)
def test_which_entries_are_ours(managers: list[dict[str, object]], expected: set[str]) -> None:
    assert ours(managers) == expected


def test_what_is_not_done_stays_and_what_others_asked_for_is_not_touched() -> None:
    there = [{"name": name, "id": name} for name in ("theirs", "running", "done")]
    found = entries_of(there, {"running"}, Action(name="restart", id="new"))
    assert found == [{"name": "running", "id": "running"}, {"name": "restart", "id": "new"}]


def test_actions_and_how_they_went_are_listed() -> None:
    now = datetime(2026, 11, 15, 10, 5, tzinfo=UTC)
    done = ActionStatus(
        name="restart", id="first", state="Succeeded", completionTime="2026-11-15T10:04:00Z", result="Done"
    )
    running = ActionStatus(name="rotate-keys", id="2026-11", state="Running")
    assert listing(KEYSTONE, (done, running), now) == [
        "ACTION                  WHAT IT DOES",
        "flush-trusts            runs the Job trust-flush once more",
        "restart                 restarts all pods, one after the other",
        "rotate-credential-keys  rotates the keys of credential-keys",
        "rotate-keys             rotates the keys of fernet-keys",
        "sync-database           runs the Job db-sync once more",
        "",
        "ID       ACTION       STATE      ENDED      RESULT",
        "first    restart      Succeeded  1 min ago  Done",
        "2026-11  rotate-keys  Running",
    ]


def test_a_time_that_is_none_is_a_wrong_call() -> None:
    done = CliRunner().invoke(action, ["run", "keystone", "restart", "--timeout", "soon"])
    assert done.exit_code == 2
    assert "write 90s, 10m or 1h30m" in done.output
