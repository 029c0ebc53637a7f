"""Mutants of machines outside of the cluster."""

from tests.mutants.mutant import Mutant

DATA_PLANE = "stackwright/blueprint/dataplane"
SCHEDULE = "tests/unit/blueprint/dataplane/test_schedule.py"
RUNS = "tests/unit/controllers/dataplane/test_runs.py"

MUTANTS = (
    Mutant(
        "a run that failed leaves the inputs of before applied",
        f"{DATA_PLANE}/records.py",
        'appliedHash=entry.inputHash if applied else ""',
        "appliedHash=entry.inputHash if applied else record.appliedHash",
        (f"{SCHEDULE}::test_a_run_that_did_not_get_to_its_end_leaves_nothing_that_can_be_relied_on",),
    ),
    Mutant(
        "a node runs again before it has recorded its last run",
        f"{DATA_PLANE}/schedule.py",
        "not is_recorded(run, records[entry.name])",
        "False",
        (f"{SCHEDULE}::test_every_node_comes_to_its_end_in_order_and_never_twice_at_once",),
    ),
    Mutant(
        "a node that failed drags others into its next run",
        f"{DATA_PLANE}/schedule.py",
        'return candidate.name if failed else ""',
        'return ""',
        (f"{SCHEDULE}::test_a_node_that_failed_waits_longer_each_time_and_runs_alone",),
    ),
    Mutant(
        "a pod that is left of a deleted run does not hold its nodes",
        "stackwright/controllers/dataplane/occupancy.py",
        "if of and of != run.metadata.name and",
        "if False and of != run.metadata.name and",
        (f"{RUNS}::test_who_has_a_node",),
    ),
)
