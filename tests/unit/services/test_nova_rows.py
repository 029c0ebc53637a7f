"""Rows of services whose pods are gone: which hosts they are, and what the job does to them and to no others."""

import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright.controllers.service import former_jobs
from stackwright.controllers.service.labels import COMPONENT
from stackwright.kube.builtin import Job
from stackwright.kube.resource import Condition, ObjectMeta, Overridden
from stackwright.kube.shapes.child import Child
from stackwright.services.nova import mapping, rows
from stackwright.services.nova.kinds.cell import NovaCellStatus
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaConductor
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.parent import ParentFacts, Run, former, scaled_by_hand
from stackwright.services.nova.pod import service_rows
from tests.unit.services.novas import PARENT, children_of, made, nova

SETTLED = Run({"conductor": "x"}, frozenset({"conductor"}))
FACTS = replace(
    PARENT,
    synced=True,
    cells={"cell0": SETTLED, "cell1": SETTLED},
    services={"scheduler": Run({"scheduler": "x"}, frozenset({"scheduler"}))},
)
FAKE = {"fake": {"computeDriver": "fake.FakeDriver", "replicas": 1}}


def asked(hosts: dict[str, dict[str, int]], *former: str, **spec: Any) -> Nova:
    cells = {"cell0": {}, "cell1": {"conductorServiceTemplate": {"replicas": 1}, "novaComputeTemplates": FAKE}}
    mapped = {f"nova-{name}": "a" for name in ("cell0", "cell1", *former)}
    return nova({"serviceHosts": hosts, "registeredCells": mapped}, **{"cellTemplates": cells, **spec})


def done(*jobs: str, facts: ParentFacts = FACTS) -> ParentFacts:
    return replace(facts, done=frozenset(jobs))


EXACT = {
    "cell0": {"nova-cell0-conductor": 1, "nova-scheduler": 1},
    "cell1": {"nova-cell1-conductor": 1, "nova-cell1-fake-compute": 1},
}


def test_nothing_is_deleted_where_nothing_went() -> None:
    assert rows.remembered(asked({}), FACTS) == EXACT
    assert rows.jobs(asked({})) == ()
    assert rows.jobs(asked(EXACT)) == ()


def test_hosts_that_are_too_many_are_named_exactly_and_remembered_until_they_are_deleted() -> None:
    before = {
        "cell0": {"nova-cell0-conductor": 1, "nova-scheduler": 3},
        "cell1": {"nova-cell1-conductor": 1, "nova-cell1-fake-compute": 1, "nova-cell1-other-compute": 1},
    }
    resource = asked(before)
    assert [job.name for job in rows.jobs(resource)] == ["clean-cell0", "clean-cell1"]
    assert rows.stale(resource, FACTS, "cell0") == [
        "nova-scheduler/nova-scheduler-1",
        "nova-scheduler/nova-scheduler-2",
    ]
    assert rows.stale(resource, FACTS, "cell1") == ["nova-compute/nova-cell1-other-compute-0"]
    assert rows.remembered(resource, FACTS) == before
    assert rows.remembered(resource, done("clean-cell0", "clean-cell1")) == EXACT


def by_hand(**counts: int) -> ParentFacts:
    """Return what is known while somebody scales StatefulSets of cell1 by hand."""
    found = {name.replace("_", "-"): count for name, count in counts.items()}
    return replace(FACTS, cells={**FACTS.cells, "cell1": replace(SETTLED, by_hand=found)})


def test_hosts_that_came_by_hand_are_remembered_and_deleted_when_they_went_by_hand() -> None:
    resource = asked(EXACT)
    scaled = rows.remembered(resource, by_hand(nova_cell1_conductor=3))
    assert scaled["cell1"] == {"nova-cell1-conductor": 3, "nova-cell1-fake-compute": 1}
    resource = asked(scaled)
    # One of them may not be ready for a while, and comes back.
    for ready in (3, 2, 0):
        facts = by_hand(nova_cell1_conductor=ready)
        assert rows.clean_inputs("cell1", resource, facts) is None
        assert rows.remembered(resource, facts) == scaled
    assert [job.name for job in rows.jobs(resource)] == ["clean-cell1"]
    gone = ["nova-conductor/nova-cell1-conductor-1", "nova-conductor/nova-cell1-conductor-2"]
    assert (rows.clean_inputs("cell1", resource, FACTS) or {})["deleted"] == gone
    assert rows.remembered(resource, done("clean-cell1")) == EXACT


def test_fewer_pods_by_hand_are_down_and_not_gone() -> None:
    resource = asked({**EXACT, "cell1": {"nova-cell1-conductor": 1, "nova-cell1-fake-compute": 1}})
    assert rows.remembered(resource, by_hand(nova_cell1_conductor=0, nova_cell1_fake_compute=0)) == EXACT


def test_a_service_is_scaled_by_hand_as_long_as_somebody_else_has_its_replicas() -> None:
    entry = Overridden(resource="StatefulSet/nova-cell1-conductor", field=".spec.replicas", manager="kubectl")
    other = Overridden(resource="StatefulSet/nova-cell1-conductor", field=".spec.template", manager="kubectl")
    found: dict[str, Any] = {}
    for name, overridden in (("scaled", (entry, other)), ("changed", (other,)), ("untouched", ())):
        status = msgspec.structs.replace(NovaConductor(spec=None).status, readyCount=2, overridden=overridden)  # type: ignore[arg-type]  # only its status is read
        conductor = NovaConductor(metadata=ObjectMeta(name=name), spec=None, status=status)  # type: ignore[arg-type]  # as above
        found |= scaled_by_hand((conductor, None))
    assert found == {"scaled": 2}


def test_rows_are_left_alone_until_the_cell_is_as_it_is_to_be() -> None:
    resource = asked({"cell1": {"nova-cell1-conductor": 2}})
    assert rows.clean_inputs("cell1", resource, FACTS) is not None
    restarting = replace(FACTS, cells={"cell1": replace(SETTLED, settled=frozenset())})
    assert rows.clean_inputs("cell1", resource, restarting) is None


def test_a_cell_that_is_removed_loses_its_computes_when_they_are_empty_and_is_deleted_after_their_rows() -> None:
    hosts = {**EXACT, "cell2": {"nova-cell2-conductor": 1, "nova-cell2-fake-compute": 1}}
    resource = asked(hosts, "cell2")
    there = made("NovaCell", "nova-cell2", cellName="cell2", novaComputeTemplates=FAKE)
    facts = replace(FACTS, former={"cell2": there})
    names = [job.name for job in NOVA.jobs_of(resource)]
    assert names.index("empty-cell2") < names.index("clean-cell2") < names.index("delete-cell2")

    def left(facts: ParentFacts) -> list[Any]:
        found = (item for item in children_of(resource, facts) if isinstance(item, Child))
        return [item.body["spec"].get("novaComputeTemplates", {}) for item in found if item.key.name == "nova-cell2"]

    # As long as servers may be on them, nothing changes.
    assert left(facts) == []
    assert rows.clean_inputs("cell2", resource, facts) is None
    assert mapping.removal_inputs("cell2", resource, facts) is None
    emptied = done("empty-cell2", facts=facts)
    assert left(emptied) == [{}]
    assert rows.clean_inputs("cell2", resource, emptied) is None
    without = made("NovaCell", "nova-cell2", cellName="cell2")
    gone = msgspec.structs.replace(
        without, status=NovaCellStatus(conditions=(Condition(type="Ready", status="True"),), observedGeneration=1)
    )
    waiting = replace(emptied, former={"cell2": gone})
    inputs = rows.clean_inputs("cell2", resource, waiting)
    assert inputs is not None
    assert inputs["deleted"] == ["nova-compute/nova-cell2-fake-compute-0"]
    assert mapping.removal_inputs("cell2", resource, waiting) is None
    cleaned = done("empty-cell2", "clean-cell2", facts=waiting)
    assert mapping.removal_inputs("cell2", resource, cleaned) is not None
    assert "cell2" in rows.remembered(resource, cleaned)
    assert "cell2" not in rows.remembered(resource, done("delete-cell2", facts=cleaned))


def test_a_cell_that_goes_before_there_is_an_api_is_removed_from_nova_too() -> None:
    """It may be mapped by then, and is not registered yet."""
    hosts = {**EXACT, "cell2": {"nova-cell2-conductor": 1}}
    cells = {"cell0": {}, "cell1": {"conductorServiceTemplate": {"replicas": 1}, "novaComputeTemplates": FAKE}}
    resource = nova({"serviceHosts": hosts}, cellTemplates=cells)
    assert former(resource) == ["cell2"]
    assert "delete-cell2" in [job.name for job in NOVA.jobs_of(resource)]
    assert rows.remembered(resource, FACTS)["cell2"] == {"nova-cell2-conductor": 1}
    assert "cell2" not in rows.remembered(resource, done("delete-cell2"))
    # It may come back and go again: that is another removal.
    first = mapping.removal_inputs("cell2", resource, FACTS)
    later = msgspec.structs.replace(resource.metadata, generation=resource.metadata.generation + 2)
    assert mapping.removal_inputs("cell2", msgspec.structs.replace(resource, metadata=later), FACTS) != first


def test_a_cell_that_was_never_ready_can_be_removed() -> None:
    hosts = {**EXACT, "cell2": {"nova-cell2-conductor": 1, "nova-cell2-fake-compute": 1}}
    resource, cell = asked(hosts, "cell2"), made("NovaCell", "nova-cell2", cellName="cell2")
    metadata = msgspec.structs.replace(cell.metadata, generation=2)
    broken = (Condition(type="Ready", status="False", severity="Error"),)
    for seen in (1, 2):
        status = NovaCellStatus(conditions=broken, observedGeneration=seen)
        there = msgspec.structs.replace(cell, metadata=metadata, status=status)
        facts = done("empty-cell2", facts=replace(FACTS, former={"cell2": there}))
        assert (rows.clean_inputs("cell2", resource, facts) is not None) == (seen == 2)


def test_a_removed_cell_goes_once_nova_does_not_know_it_whatever_others_wait_for() -> None:
    resource = asked({**EXACT, "cell2": {"nova-cell2-conductor": 1}}, "cell2")
    removed, declared = (
        made("NovaCell", "nova-cell2", cellName="cell2"),
        made("NovaCell", "nova-cell1", cellName="cell1"),
    )
    assert not NOVA.forsaken(resource, FACTS, removed)
    assert not NOVA.forsaken(resource, None, removed)
    assert NOVA.forsaken(resource, done("delete-cell2"), removed)
    assert NOVA.forsaken(asked(EXACT), None, removed)
    assert not NOVA.forsaken(resource, done("delete-cell2"), declared)


def test_what_was_done_for_a_removed_cell_is_forgotten_and_for_others_is_not() -> None:
    def ran(name: str, **status: Any) -> Job:
        labels = {COMPONENT: name}
        return Job(metadata=ObjectMeta(name=f"nova-{name}-hash", labels=labels), status=status)

    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    names = ("map-cell0", "map-cell1", "map-cell2", "discover-cell2", "delete-cell2", "db-create")
    owned = [*(ran(name, **complete) for name in names), ran("sync-cell2", active=1)]
    resource = asked({**EXACT, "cell2": {"nova-cell2-conductor": 1}}, "cell2")
    found = [job.metadata.labels[COMPONENT] for job in former_jobs.find(NOVA, resource, owned)]
    assert found == ["map-cell2", "discover-cell2"]


# The scripts, with a nova-manage that answers as the real one does.

CELLS = """\
+-------+------+---------------+---------------------+----------+
|  Name | UUID | Transport URL | Database Connection | Disabled |
+-------+------+---------------+---------------------+----------+
| cell2 | f2   | rabbit://     | mysql+pymysql://    |  False   |
+-------+------+---------------+---------------------+----------+
"""
HOSTS = """\
+-----------+-----------+------------------------+
| Cell Name | Cell UUID |        Hostname        |
+-----------+-----------+------------------------+
|   cell2   |     f2    | nova-cell2-a-compute-0 |
{}+-----------+-----------+------------------------+
"""
MACHINE = "|   cell2   |     f2    |      machine-0        |\n"


def run(folder: Path, text: str, answers: str, hosts: str = "", cell: str = "cell2") -> tuple[int, list[str], str]:
    """Run a script where nova-manage and python3 are played; return how it ended, what it called, and what it said."""
    log = folder / "log"
    log.touch()
    for name, body in (("nova-manage", answers), ("python3", "")):
        program = folder / name
        program.write_text(f'#!/bin/bash\necho "{name} $*" >> {log}\n{body}\n')
        program.chmod(0o700)
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "CELL_NAME": cell, "HOSTS": hosts}
    done = subprocess.run(["bash", "-c", text], env=environment, capture_output=True, text=True, check=False)
    called = [line for line in log.read_text().splitlines() if "list_" not in line]
    return done.returncode, called, done.stderr


@pytest.mark.parametrize(
    ("code", "cell", "ended", "calls"),
    [
        pytest.param(0, "cell2", 0, 1, id="an-empty-cell-goes"),
        pytest.param(2, "cell2", 2, 1, id="one-with-hosts-stays"),
        pytest.param(3, "cell2", 3, 1, id="one-with-servers-stays"),
        pytest.param(4, "cell2", 0, 2, id="deleted-servers-do-not-count"),
        pytest.param(0, "cell", 0, 0, id="one-that-is-gone-is-gone"),
    ],
)
def test_a_cell_is_deleted_if_it_is_empty(tmp_path: Path, code: int, cell: str, ended: int, calls: int) -> None:
    (script,) = (entry for entry in mapping.SCRIPTS if entry.key == "delete_cell.sh")
    answers = f"case \"$*\" in *list_cells*) cat <<'E'\n{CELLS}E\n;; *--force*) ;; *) exit {code} ;; esac"
    status, called, _ = run(tmp_path, script.content, answers, cell=cell)
    assert status == ended
    assert (
        called
        == ["nova-manage cell_v2 delete_cell --cell_uuid f2", "nova-manage cell_v2 delete_cell --force --cell_uuid f2"][
            :calls
        ]
    )


@pytest.mark.parametrize(("further", "ended"), [("", 0), (MACHINE, 1)], ids=["alone", "with-a-machine"])
def test_computes_are_only_emptied_if_the_cell_has_no_other_hosts(tmp_path: Path, further: str, ended: int) -> None:
    listed = HOSTS.format(further)
    answers = f"case \"$*\" in *list_cells*) cat <<'E'\n{CELLS}E\n;; *) cat <<'E'\n{listed}E\n;; esac"
    hosts = "nova-compute/nova-cell2-a-compute-0 nova-compute/nova-cell2-a-compute-1"
    status, called, said = run(tmp_path, rows.EMPTY_CELL.content, answers, hosts)
    assert status == ended
    assert called == ([] if ended else [f"python3 {rows.SCRIPT.destination} empty"])
    assert ("machine-0" in said) == bool(ended)


# What runs in the pod.


@dataclass
class Answer:
    status_code: int = 200
    body: Any = None

    def json(self) -> Any:
        return self.body

    def raise_for_status(self) -> None:
        assert self.status_code < 400


@dataclass
class Api:
    """A Nova with rows of services, and hosts that have servers."""

    rows: list[dict[str, Any]]
    busy: frozenset[str] = frozenset()
    # Hosts whose cell's database does not answer, and those of one that stops to answer when servers are listed.
    away: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()
    log: list[str] = field(default_factory=list)

    def get(self, path: str, params: dict[str, str] | None = None, microversion: str = "2.53") -> Answer:
        if path == "/os-services":
            away = [row for row in self.rows if row["host"] in self.away]
            rows = [dict(row) for row in self.rows if row not in away]
            if float(microversion) >= 2.69:
                # Nova knows them by their mappings, which others than computes do not have.
                computes = (row for row in away if row["binary"] == "nova-compute")
                rows.extend({"binary": row["binary"], "host": row["host"], "status": "UNKNOWN"} for row in computes)
            return Answer(body={"services": rows})
        assert params is not None
        if self.leaving:
            self.away |= self.leaving
            return Answer(body={"servers": []})
        return Answer(body={"servers": [{}] if params["host"] in self.busy else []})

    def put(self, path: str, json: dict[str, str]) -> Answer:
        self._row(path).update(json)
        self.log.append(json["status"])
        return Answer()

    def delete(self, path: str) -> Answer:
        row = self._row(path)
        if row["host"] in self.busy:
            return Answer(409, {"conflictingRequest": {"message": "It is hosting instances."}})
        self.rows.remove(row)
        return Answer(204)

    def _row(self, path: str) -> dict[str, Any]:
        return next(row for row in self.rows if path == f"/os-services/{row['id']}")


def row(binary: str, host: str, state: str = "down", status: str = "enabled") -> dict[str, Any]:
    return {"id": f"{binary}-{host}", "binary": binary, "host": host, "state": state, "status": status}


def test_only_the_named_rows_go_and_only_when_they_are_down() -> None:
    leaving = row("nova-conductor", "nova-cell1-conductor-1", "up")
    others = [
        row("nova-conductor", "nova-cell1-conductor-0"),
        row("nova-conductor", "nova-cell1-conductor-10"),
        row("nova-compute", "nova-cell1-conductor-1"),
    ]
    api = Api([leaving, *others])
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            leaving["state"] = "down"

    assert service_rows.delete_rows(api, {"nova-conductor/nova-cell1-conductor-1"}, sleep) == ""
    assert api.rows == others
    assert len(pauses) == 2


@pytest.mark.parametrize(
    ("api", "words"),
    [
        (Api([row("nova-compute", "a")], frozenset("a")), "Nova keeps a: It is hosting instances."),
        (Api([row("nova-compute", "a", "up")]), "These still run: a"),
    ],
    ids=["one-that-has-servers-stays", "one-that-runs-stays"],
)
def test_a_row_that_stays_is_told(api: Api, words: str) -> None:
    assert service_rows.delete_rows(api, {"nova-compute/a"}, lambda _: None) == words
    assert len(api.rows) == 1


def test_computes_with_servers_are_as_they_were_and_empty_ones_get_no_more() -> None:
    busy = Api([row("nova-compute", "a", "up"), row("nova-compute", "b", "up")], frozenset("b"))
    hosts = {"nova-compute/a", "nova-compute/b"}
    assert "b" in service_rows.empty_hosts(busy, hosts, lambda _: None)
    assert {entry["status"] for entry in busy.rows} == {"enabled"}
    empty = Api([row("nova-compute", "a", "up"), row("nova-compute", "machine", "up")])
    assert service_rows.empty_hosts(empty, hosts, lambda _: None) == ""
    assert {entry["host"]: entry["status"] for entry in empty.rows} == {"a": "disabled", "machine": "enabled"}


@pytest.mark.parametrize("when", ["away", "leaving"])
def test_computes_that_nova_cannot_read_are_not_taken_for_empty(when: str) -> None:
    hosts = {"nova-compute/a", "nova-compute/b"}
    api = Api([row("nova-compute", name, "up") for name in ("a", "b")], busy=frozenset("b"))
    setattr(api, when, frozenset("ab"))
    with pytest.raises(service_rows.UnreadError, match="cannot read the database of the cell of a, b"):
        service_rows.empty_hosts(api, hosts, lambda _: None)
    assert {entry["status"] for entry in api.rows} == {"enabled"}


def test_rows_that_nova_cannot_read_are_not_taken_for_deleted() -> None:
    api = Api([row("nova-compute", "a")], away=frozenset("a"))
    with pytest.raises(service_rows.UnreadError):
        service_rows.delete_rows(api, {"nova-compute/a"}, lambda _: None)


CONDUCTORS = ("nova-cell1-conductor-0", "nova-cell1-conductor-1")


@pytest.mark.parametrize("more", [(), ("nova-cell1-fake-compute-0",)], ids=["nothing-listed", "an-unread-compute"])
def test_conductors_that_a_cell_without_its_database_does_not_list_are_not_taken_for_deleted(
    more: tuple[str, ...],
) -> None:
    rows = [row("nova-conductor", host) for host in CONDUCTORS]
    others = [row("nova-compute", host, "up") for host in more]
    # What Nova reads of other cells is no witness.
    elsewhere = row("nova-conductor", "nova-cell0-conductor-0", "up")
    api = Api([*rows, *others, elsewhere], away=frozenset({*CONDUCTORS, *more}))
    witnesses = [f"{each['binary']}/{each['host']}" for each in (rows[0], *others)]
    with pytest.raises(service_rows.UnreadError, match="no service of the cell of nova-conductor/nova-cell1-conductor"):
        service_rows.delete_rows(api, {"nova-conductor/nova-cell1-conductor-1"}, lambda _: None, witnesses)
    assert len(api.rows) == 3 + len(more)


@pytest.mark.parametrize(
    ("hosts", "witnesses"),
    [
        pytest.param((0,), ("nova-conductor/nova-cell1-conductor-0",), id="one-that-stays-is-read"),
        pytest.param((1,), (), id="those-that-go-are-read"),
        pytest.param((), None, id="all-of-the-cell-goes"),
    ],
)
def test_a_row_that_is_missing_is_deleted_if_nova_reads_its_cell(
    hosts: tuple[int, ...], witnesses: tuple[str, ...] | None
) -> None:
    api = Api([row("nova-conductor", CONDUCTORS[host]) for host in hosts])
    gone = {"nova-conductor/nova-cell1-conductor-1", "nova-conductor/nova-cell1-conductor-2"}
    assert service_rows.delete_rows(api, gone, lambda _: None, witnesses) == ""


def test_the_job_is_told_who_stays_of_a_cell_that_stays() -> None:
    hosts = {"cell1": {"nova-cell1-conductor": 3}, "cell2": {"nova-cell2-conductor": 1, "nova-cell2-fake-compute": 1}}
    resource = asked(hosts, "cell2")
    facts = done("empty-cell2", facts=replace(FACTS, former={"cell2": None}))
    told = {job.name: job.values(resource, facts)["environment"] for job in rows.jobs(resource) if job.values}
    assert told["clean-cell1"]["WITNESSES"].split() == [
        "nova-conductor/nova-cell1-conductor-0",
        "nova-compute/nova-cell1-fake-compute-0",
    ]
    assert "WITNESSES" not in told["clean-cell2"]
