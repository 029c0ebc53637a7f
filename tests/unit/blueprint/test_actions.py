"""User directed actions: each once for its id."""

from stackwright.api.service import Action as Asked
from stackwright.api.service import ActionStatus
from stackwright.blueprint import actions
from stackwright.blueprint.actions import Ending, Traces
from stackwright.blueprint.service import Action, Restart, RotateKeys, RunJob

NOW = "2026-11-15T12:00:00Z"
KNOWN: dict[str, Action] = {
    "restart": Restart(),
    "sync-database": RunJob("db-sync"),
    "rotate-keys": RotateKeys("fernet-keys"),
}


def ask(*names: str) -> tuple[Asked, ...]:
    return tuple(Asked(name=name.partition("/")[0], id=name) for name in names)


def test_a_job_is_run_until_its_trace_says_how_it_ended() -> None:
    asked = ask("sync-database/1")
    begun = actions.course(asked, (), KNOWN, Traces(), NOW)
    assert begun.jobs == {"sync-database": {"job": "db-sync", "hash": actions.id_hash("sync-database/1")}}
    assert [(status.state, status.startTime) for status in begun.statuses] == [("Running", NOW)]
    ended = Traces(jobs={("sync-database", "sync-database/1"): Ending(True, True, "Done", "42 tables")})
    done = actions.course(asked, begun.statuses, KNOWN, ended, "2026-11-15T12:05:00Z")
    # Its Job is the only trace of it until the status has it.
    assert (done.jobs, done.ended) == (begun.jobs, True)
    told = actions.course(asked, done.statuses, KNOWN, ended, "2026-11-15T12:06:00Z")
    assert (told.jobs, told.ended, told.statuses) == ({}, False, done.statuses)
    status = done.statuses[0]
    assert (status.state, status.startTime, status.completionTime) == ("Succeeded", NOW, "2026-11-15T12:05:00Z")
    assert status.log == "42 tables"


def test_a_job_that_failed_is_told_and_not_tried_again() -> None:
    ended = Traces(jobs={("sync-database", "sync-database/1"): Ending(True, False, "Job x failed", "boom")})
    failed = actions.course(ask("sync-database/1"), (), KNOWN, ended, NOW)
    assert [(status.state, status.result) for status in failed.statuses] == [("Failed", "Job x failed")]
    again = actions.course(ask("sync-database/1"), failed.statuses, KNOWN, Traces(), NOW)
    assert again.jobs == {}
    assert again.statuses == failed.statuses


def test_what_was_done_before_a_crash_is_found_by_its_trace() -> None:
    course = actions.course(ask("rotate-keys/1"), (), KNOWN, Traces(turned={"fernet-keys": "rotate-keys/1"}), NOW)
    assert course.turns == ()
    assert course.statuses[0].state == "Succeeded"


def test_two_turns_of_one_ring_come_one_after_the_other() -> None:
    asked = ask("rotate-keys/1", "rotate-keys/2")
    first = actions.course(asked, (), KNOWN, Traces(turned={"fernet-keys": ""}), NOW)
    assert first.turns == (("fernet-keys", "rotate-keys/1"),)
    assert [status.state for status in first.statuses] == ["Running", "Pending"]
    second = actions.course(asked, first.statuses, KNOWN, Traces(turned={"fernet-keys": "rotate-keys/1"}), NOW)
    # The ring remembers one id: the second may not replace the first one's before that is told.
    assert [status.state for status in second.statuses] == ["Succeeded", "Pending"]
    assert (second.turns, second.ended) == ((), True)
    third = actions.course(asked, second.statuses, KNOWN, Traces(turned={"fernet-keys": "rotate-keys/1"}), NOW)
    assert [status.state for status in third.statuses] == ["Succeeded", "Running"]
    assert third.turns == (("fernet-keys", "rotate-keys/2"),)


def test_an_unknown_action_fails_with_the_names_that_there_are() -> None:
    course = actions.course(ask("dance"), (), KNOWN, Traces(), NOW)
    assert course.statuses[0].state == "Failed"
    assert course.statuses[0].result == ("There is no action dance here; there are restart, rotate-keys, sync-database")


def test_an_id_that_stands_for_another_action_is_refused_and_never_runs() -> None:
    told = (ActionStatus(name="restart", id="2026-11", state="Succeeded"),)
    asked = (Asked(name="sync-database", id="2026-11"),)
    course = actions.course(asked, told, KNOWN, Traces(), NOW)
    assert course.jobs == {}
    refused = ("Failed", "The id 2026-11 was used for restart already; choose another one")
    assert [(status.state, status.result) for status in course.statuses] == [refused]


def test_a_restart_lasts_until_all_pods_carry_it() -> None:
    asked = ask("restart/1")
    assert actions.course(asked, (), KNOWN, Traces(), NOW).restart == "restart/1"
    done = actions.course(asked, (), KNOWN, Traces(restarted="restart/1"), NOW)
    assert (done.restart, done.statuses[0].state) == ("", "Succeeded")


def test_only_so_many_actions_are_remembered_and_those_that_stand_in_the_spec_always() -> None:
    old = tuple(ActionStatus(name="restart", id=f"old/{number}", state="Succeeded") for number in range(40))
    course = actions.course(ask("restart/1"), old, KNOWN, Traces(), NOW)
    assert len(course.statuses) == actions.REMEMBERED
    assert course.statuses[-1].id == "restart/1"
    assert course.statuses[0].id == "old/9"
