"""Jobs that run by the clock, at any time beside those that a test counts."""

from collections.abc import Iterable, Mapping

from stackwright.kube.builtin import Job

_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def is_by_clock(annotations: Mapping[str, str]) -> bool:
    """Return whether what has these annotations was made by a CronJob."""
    return _SCHEDULED in annotations


def without_clock(jobs: Iterable[Job]) -> list[Job]:
    """Return the Jobs that somebody asked for."""
    return [job for job in jobs if not is_by_clock(job.metadata.annotations)]
