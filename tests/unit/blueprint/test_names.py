"""Names of Jobs and CronJobs fit into the label that they become, and stay what they were where they did before."""

import pytest

from stackwright.blueprint import names

DIGEST = "0123456789"


@pytest.mark.parametrize("length", [1, 30, 53])
@pytest.mark.parametrize("part", ["db-sync", "online-data-migrations", "action-purge-database"])
def test_a_job_fits_into_a_label_and_is_told_from_others(length: int, part: str) -> None:
    name = names.job("n" * length, part, DIGEST)
    assert len(name) <= names.LONGEST_JOB
    assert name.startswith(names.before_digest("n" * length, part))
    assert name != names.job("n" * (length - 1), part, DIGEST)
    assert name.endswith(f"-{DIGEST}")


@pytest.mark.parametrize("length", [1, 30, 53])
def test_a_cron_job_leaves_room_for_its_jobs(length: int) -> None:
    assert len(names.cron_job("n" * length, "db-purge")) <= names.LONGEST_CRON_JOB


def test_a_name_that_fits_is_left_alone() -> None:
    assert names.job("nova-cell1-conductor", "db-sync", DIGEST) == f"nova-cell1-conductor-db-sync-{DIGEST}"
    assert names.cron_job("nova-cell1-conductor", "db-purge") == "nova-cell1-conductor-db-purge"


def test_a_name_is_not_cut_behind_a_dash() -> None:
    assert "--" not in names.shorten("a" * 42 + "-" + "b" * 20, 52)
