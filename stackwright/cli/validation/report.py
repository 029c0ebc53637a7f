"""What Tempest found out about a cloud, in sentences. Pure."""

from stackwright.cli.validation.results import FAILED, PASSED, SKIPPED, Findings, TestResult
from stackwright.local.progress import duration, share


def lines(found: Findings, seconds: float, *, skipped: bool = False) -> list[str]:
    """Return the report: failures by name, what was not tried, and the summary last."""
    report = [line for result in found.of(FAILED) for line in _failure(result)]
    if found.missing:
        report += [f"no result  {test}" for test in found.missing]
        report += [f"           Tempest said: {found.said}"] if found.said else []
    if skipped:
        report += [f"skipped    {count:4}  {reason or 'without a reason'}" for reason, count in found.skips()]
    report += [f"left out   {count:4}  {reason}" for reason, count in found.left_out.items()]
    report += [f"not removed from the cloud: {trouble}" for trouble in found.troubles]
    return [*report, summary(found, seconds)]


def _failure(result: TestResult) -> list[str]:
    return [f"failed     {result.test}", f"           {result.reason}"]


def summary(found: Findings, seconds: float) -> str:
    """Return the counts in a line."""
    total = len(found.results) + len(found.missing)
    counts = f"{found.count(PASSED)} passed, {found.count(FAILED)} failed, {found.count(SKIPPED)} skipped"
    missing = f", {len(found.missing)} without a result" if found.missing else ""
    return f"{total} tests: {counts}{missing}, in {duration(seconds)}."


def progress(found: Findings, seconds: float) -> str:
    """Return how far the tests are."""
    done, total = len(found.results), found.selected or 0
    failed = f", {found.count(FAILED)} failed" if found.count(FAILED) else ""
    return f"Tests: {share(min(done, total), total, seconds)}{failed}"
