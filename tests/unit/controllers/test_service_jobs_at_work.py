"""A Job that changes tables is let finish: who joins it waits, and a person is told when it takes long."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from stackwright.controllers.service import failed_jobs, jobs_at_work, traces
from stackwright.kube.builtin import Job
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.shapes.child import Child
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from tests.unit.controllers.environments import NOW

KEYSTONE = msgspec.convert(
    {"metadata": {"name": "keystone"}, "spec": {"databaseInstance": "openstack", "secret": "osp-secret"}}, KeystoneAPI
)


CELLS = msgspec.convert(
    {
        "metadata": {"name": "nova"},
        "spec": {
            "secret": "osp-secret",
            "apiMessageBusInstance": "rabbitmq",
            "cellTemplates": {"cell0": {"cellDatabaseAccount": "nova-cell0"}, "cell1": {"cellDatabaseAccount": "a"}},
        },
    },
    Nova,
)
COMPLETE, FAILED = ([{"type": kind, "status": "True"}] for kind in ("Complete", "Failed"))


def job(name: str, component: str, *, ago: float = 5.0, deleting: bool = False, **status: Any) -> Job:
    metadata: dict[str, Any] = {"name": name, "labels": {"app.kubernetes.io/component": component}}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-15T11:00:00Z"
    began = (NOW - timedelta(seconds=ago)).isoformat()
    return msgspec.convert({"metadata": metadata, "spec": {}, "status": {"startTime": began, **status}}, Job)


def asked(component: str, name: str = "") -> Child:
    labels = {"app.kubernetes.io/component": component}
    return Child(Job, {"metadata": {"name": name or f"keystone-{component}-2", "labels": labels}}, "")


BEFORE = "keystone-db-sync-1"


@pytest.mark.parametrize(
    ("there", "working", "idle"),
    [
        pytest.param(job(BEFORE, "db-sync", active=1, ready=1), True, False, id="it runs"),
        pytest.param(
            job(BEFORE, "db-sync", active=0, uncountedTerminatedPods={"succeeded": ["a"]}), True, False, id="it ends"
        ),
        pytest.param(job(BEFORE, "db-sync", active=1, ready=0), False, True, id="its pod has not begun"),
        pytest.param(job(BEFORE, "db-sync", active=0, failed=1), False, True, id="it is to be tried again"),
        pytest.param(job(BEFORE, "db-sync", succeeded=1, conditions=COMPLETE), False, False, id="done"),
        pytest.param(job(BEFORE, "db-sync", failed=3, conditions=FAILED), False, False, id="given up"),
        pytest.param(job(BEFORE, "db-sync", ready=1, deleting=True), False, False, id="deleted by a hand"),
        pytest.param(job("keystone-db-sync-2", "db-sync", ready=1), False, False, id="asked for now"),
        pytest.param(job("keystone-bootstrap-1", "bootstrap", ready=1), False, False, id="it changes no tables"),
    ],
)
def test_what_changes_tables_is_let_finish_or_goes_before_the_next_begins(
    there: Job, *, working: bool, idle: bool
) -> None:
    children = (asked("db-sync"), asked("bootstrap"), asked("trial"))
    work = jobs_at_work.find(SERVICE, KEYSTONE, (there,), children)
    assert (work.working, work.idle) == ((there,) if working else (), (there,) if idle else ())
    assert work.held == (children[:1] if working or idle else ())


def test_an_action_that_is_at_work_is_not_joined_and_holds_up_nobody_else() -> None:
    name = traces.job_name(KEYSTONE, "sync-database", "1")
    running, children = job(name, "db-sync", ready=1), (asked("db-sync", name), asked("db-sync"))
    work = jobs_at_work.find(SERVICE, KEYSTONE, (running,), children)
    assert (work.working, work.idle, work.held) == ((running,), (), children[1:])
    assert len(told(work)) == 2
    alone = jobs_at_work.find(SERVICE, KEYSTONE, (running,), children[:1])
    assert not told(alone)


@pytest.mark.parametrize("task", ["nodes-cell1", "machines-cell1", "discover-cell1", "clean-cell1", "delete-cell1"])
def test_jobs_of_nova_that_change_no_tables_are_replaced_at_once(task: str) -> None:
    work = jobs_at_work.find(NOVA, CELLS, (job(f"nova-{task}-1", task, ready=1),), (asked(task),))
    assert work == jobs_at_work.Work()


def test_jobs_of_one_cell_of_nova_wait_for_each_other_and_not_for_those_of_another() -> None:
    migrating = job("nova-migrate-cell1-1", "migrate-cell1", ready=1)
    children = (asked("sync-cell1"), asked("sync-cell0"))
    work = jobs_at_work.find(NOVA, CELLS, (migrating,), children)
    assert (work.working, work.held) == ((migrating,), children[:1])


def told(work: jobs_at_work.Work) -> list[Wait]:
    return list(jobs_at_work.waits(SERVICE, KEYSTONE, work, NOW))


def test_a_person_is_asked_to_look_at_what_takes_long() -> None:
    soon, long = (
        told(jobs_at_work.Work(working=(job(BEFORE, "db-sync", ready=1, ago=seconds),)))[0]
        for seconds in (60.0, 1801.0)
    )
    assert (soon.condition, soon.after, soon.ends) == ("DBSyncReady", 1740.0, Ends.BY_ITSELF)
    assert (long.condition, long.after, long.ends) == ("DBSyncReady", None, Ends.PERHAPS_BY_USER)
    assert "look at its log, and delete it if it hangs" in long.message


def reads(secret: str) -> dict[str, Any]:
    volume = {"name": "config", "secret": {"secretName": secret}}
    return {"template": {"spec": {"volumes": [volume], "containers": []}}}


def test_a_try_that_is_at_work_is_not_cut_for_another_secret() -> None:
    before = job("keystone-db-sync-1", "db-sync", failed=1, active=1)
    for ready, deleted in ((0, True), (1, False)):
        present = msgspec.structs.replace(before, spec=reads("old"), status={**before.status, "ready": ready})
        assert failed_jobs.reads_something_else(present, {"spec": reads("new")}) is deleted


@pytest.mark.parametrize(
    ("status", "secret", "told"),
    [
        pytest.param({"failed": 1, "ready": 1}, "new", True, id="it-may-hang"),
        pytest.param({"failed": 1, "ready": 1}, "old", False, id="with-the-present-secret"),
        pytest.param({"failed": 1, "ready": 0}, "new", False, id="it-goes-now"),
        pytest.param({"failed": 1, "succeeded": 1}, "new", False, id="it-has-succeeded"),
        pytest.param({"ready": 1}, "new", False, id="it-has-not-failed"),
        pytest.param({"failed": 1, "ready": 1, "deleting": True}, "new", False, id="deleted-by-a-hand"),
    ],
)
def test_a_try_with_secrets_of_before_is_told_and_may_have_to_be_deleted(
    status: dict[str, Any], secret: str, *, told: bool
) -> None:
    present = msgspec.structs.replace(job(BEFORE, "db-sync", **status), spec=reads("old"))
    found = list(failed_jobs.tell_outdated(present, Child(Job, {"spec": reads(secret)}, "DBSyncReady")))
    assert [(wait.condition, wait.ends) for wait in found] == [("DBSyncReady", Ends.PERHAPS_BY_USER)] * told
    assert all("the Secrets of before" in wait.message for wait in found)
    assert not list(failed_jobs.tell_outdated(present, Child(Job, {"spec": reads(secret)}, ""))), (
        "it counts for nothing"
    )
