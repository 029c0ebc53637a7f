"""What is written into a release's history, and when nothing is."""

import base64
import gzip
import time
from datetime import timedelta

import msgspec
import pytest

from stackwright.adapters.helm import Chart, records
from stackwright.controllers.release.history import (
    BUSY_SECONDS,
    KEPT,
    READ,
    Forget,
    Keep,
    Revision,
    Tell,
    Write,
    decide,
    history_of,
    woken_by,
)
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Step
from stackwright.kube.resource import Key, ObjectMeta
from tests.unit.controllers.release.histories import NOW, history, owned_by, revision, wanted

OLD = "---\nkind: Older\n"


def said(step: Step) -> str:
    match step:
        case Write(version=version):
            return f"write {version}"
        case Tell(revision=of):
            return f"tell {of.version}"
        case Keep(revision=of, status=status):
            return f"keep {of.version} {status}"
        case Forget(revision=of):
            return f"forget {of.version}"
    raise AssertionError(step)


@pytest.mark.parametrize(
    ("revisions", "steps"),
    [
        pytest.param([], ["write 1"], id="the-first-revision"),
        pytest.param([revision(1)], [], id="nothing-changed"),
        pytest.param([revision(1, manifest=OLD)], ["write 2", "keep 1 superseded"], id="a-change-is-a-new-revision"),
        pytest.param(
            [revision(1, manifest=OLD), revision(2)], ["keep 1 superseded"], id="a-crash-before-the-old-was-superseded"
        ),
        pytest.param(
            [revision(1, "superseded", manifest=OLD), revision(2, hand=True)],
            ["tell 2", "keep 2 deployed"],
            id="an-unchanged-upgrade-by-hand-is-kept-and-told",
        ),
        pytest.param(
            [revision(1, "superseded"), revision(2, hand=True, manifest=OLD)],
            ["tell 2", "write 3", "keep 2 superseded"],
            id="a-change-by-hand-is-numbered-past",
        ),
        pytest.param(
            [revision(1), revision(2, "failed", hand=True)],
            ["tell 2", "write 3", "keep 1 superseded", "keep 2 failed"],
            id="a-failure-by-hand-stays-in-the-history",
        ),
        pytest.param([revision(1, "uninstalled")], ["write 2"], id="an-uninstall-that-kept-the-history"),
    ],
)
def test_the_history_says_what_is_deployed(revisions: list[Revision], steps: list[str]) -> None:
    plan = decide(history(revisions), wanted(), NOW)
    assert [said(step) for step in plan.steps] == steps
    assert plan.waits == ()


def test_a_changed_value_is_a_new_revision_although_it_renders_the_same() -> None:
    asked = wanted()
    asked.values["replicas"] = 2
    assert [said(step) for step in decide(history([revision(1)]), asked, NOW).steps] == ["write 2", "keep 1 superseded"]


def test_another_version_of_the_chart_is_a_new_revision_although_it_renders_the_same() -> None:
    asked = wanted(chart=Chart("other", {"metadata": {"name": "small", "version": "1.0.0-mine"}}))
    assert [said(step) for step in decide(history([revision(1)]), asked, NOW).steps] == ["write 2", "keep 1 superseded"]


def test_a_revision_of_ours_that_helm_rewrote_is_kept_and_not_told() -> None:
    # When helm supersedes a record it drops owner and annotations.
    rewritten = revision(1, "superseded")
    bare = msgspec.structs.replace(rewritten.secret.metadata, annotations={}, ownerReferences=())
    secret = msgspec.structs.replace(rewritten.secret, metadata=bare)
    plan = decide(history([Revision(secret), revision(2)]), wanted(), NOW)
    assert [said(step) for step in plan.steps] == ["keep 1 superseded"]


def test_the_release_keeps_the_day_of_its_installation() -> None:
    (write, _) = decide(history([revision(1, manifest=OLD)]), wanted(), NOW).steps
    assert isinstance(write, Write)
    assert write.first_deployed == "2026-01-01T00:00:00Z"


def test_the_oldest_go() -> None:
    many = [*(revision(version, "superseded", manifest=OLD) for version in range(1, KEPT + 2)), revision(KEPT + 2)]
    plan = decide(history(many), wanted(), NOW)
    assert [said(step) for step in plan.steps] == ["forget 1", "forget 2"]


def test_a_new_revision_counts_among_those_that_are_kept() -> None:
    many = [
        *(revision(version, "superseded", manifest=OLD) for version in range(1, KEPT)),
        revision(KEPT, manifest=OLD),
    ]
    plan = decide(history(many), wanted(), NOW)
    assert [said(step) for step in plan.steps] == [f"write {KEPT + 1}", f"keep {KEPT} superseded", "forget 1"]


@pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "pending-rollback", "uninstalling"])
def test_a_helm_at_work_is_waited_for_until_it_must_be_dead(status: str) -> None:
    seen = history([revision(1), revision(2, status, hand=True)])
    (wait,) = decide(seen, wanted(), NOW + timedelta(seconds=30)).waits
    assert wait.after == BUSY_SECONDS - 30
    assert "revision 2" in wait.message
    late = decide(seen, wanted(), NOW + timedelta(seconds=BUSY_SECONDS))
    assert [said(step) for step in late.steps] == ["tell 2", "write 3", "keep 1 superseded", f"keep 2 {status}"]


@pytest.mark.parametrize(
    ("labels", "created"),
    [
        pytest.param({"modifiedAt": "{now}"}, "", id="helm-4"),
        pytest.param({"createdAt": "{now}"}, "", id="helm-3-when-it-begins"),
        pytest.param({}, NOW.isoformat(), id="one-that-says-nothing"),
    ],
)
def test_every_helm_at_work_is_seen(labels: dict[str, str], created: str) -> None:
    begun = revision(2, "pending-upgrade", hand=True)
    kept = {name: value for name, value in begun.secret.metadata.labels.items() if name != "modifiedAt"}
    said_now = {name: value.format(now=int(NOW.timestamp())) for name, value in labels.items()}
    metadata = msgspec.structs.replace(begun.secret.metadata, labels={**kept, **said_now}, creationTimestamp=created)
    seen = history([revision(1), Revision(msgspec.structs.replace(begun.secret, metadata=metadata))])
    assert [wait.reason for wait in decide(seen, wanted(), NOW + timedelta(seconds=30)).waits] == ["HelmAtWork"]


def test_the_records_of_a_resource_that_was_deleted_go_first() -> None:
    other = revision(1)
    metadata = msgspec.structs.replace(other.secret.metadata, ownerReferences=(owned_by("gone"),))
    seen = history([Revision(msgspec.structs.replace(other.secret, metadata=metadata))])
    plan = decide(seen, wanted(), NOW)
    assert plan.steps == ()
    assert [wait.reason for wait in plan.waits] == ["Replacing"]


def test_a_record_that_cannot_be_read_is_numbered_past() -> None:
    broken = msgspec.structs.replace(revision(4, hand=True).secret, data={records.KEY: "broken"})
    plan = decide(history([Revision(broken)]), wanted(), NOW)
    assert [said(step) for step in plan.steps][:2] == ["tell 4", "write 5"]


def relabelled(of: Revision, **labels: str) -> Revision:
    metadata = msgspec.structs.replace(of.secret.metadata, labels={**of.secret.metadata.labels, **labels})
    return Revision(msgspec.structs.replace(of.secret, metadata=metadata))


def test_a_record_that_says_impossible_times_and_numbers_stops_nothing() -> None:
    late = relabelled(revision(4, "pending-upgrade", hand=True), modifiedAt="9" * 18)
    assert decide(history([late]), wanted(), NOW).waits == ()
    assert history([relabelled(revision(4), version="9" * 63)]) == ()


def test_of_a_long_history_the_newest_are_read() -> None:
    assert [item.version for item in history(map(revision, range(1, READ + 9)))] == list(range(9, READ + 9))


def test_what_records_hold_is_remembered_up_to_a_bound() -> None:
    body = "\n".join(["kind: ConfigMap", "data:", *("- {}" for _ in range(60_000))])
    forged = [revision(number, hand=True, manifest=f"{body}\n# {number}\n") for number in range(1, 6)]
    held = [each.objects for each in forged]
    assert all(held)
    assert forged[-1].objects is held[-1]
    assert forged[0].objects is not held[0]


def forged(number: int, length: int, word: str = "manifest") -> Revision:
    """Return a record of some KB that is long when it is unpacked."""
    start, end = b'{"version":%d,"%b":"' % (number, word.encode()), b'"}'
    packed = gzip.compress(start + b" " * (length - len(start) - len(end)) + end, 1)
    data = {records.KEY: base64.b64encode(base64.b64encode(packed)).decode()}
    return Revision(msgspec.structs.replace(revision(number, hand=True).secret, data=data))


@pytest.mark.parametrize("word", ["manifest", "x"])
@pytest.mark.parametrize("length", [records.LONGEST, records.LONGEST_READ], ids=["too-long", "long"])
def test_long_records_take_time_once(length: int, word: str) -> None:
    secrets = [forged(number, length, word).secret for number in range(1, READ + 1)]
    first = [Revision(secret).record for secret in secrets]
    assert all((record is None) == (length > records.LONGEST_READ) for record in first)
    started = time.process_time()
    assert [Revision(secret).record for secret in secrets] == first
    assert time.process_time() - started < 0.05


def test_a_history_is_of_one_release_and_in_order() -> None:
    secrets = [revision(version).secret for version in (10, 9, 2)]
    other = Secret(metadata=ObjectMeta(name="config", labels={"name": "small", "version": "1"}), type="Opaque")
    labels = {**secrets[0].metadata.labels, "name": "large"}
    metadata = msgspec.structs.replace(secrets[0].metadata, labels=labels)
    large = msgspec.structs.replace(secrets[0], metadata=metadata)
    assert [item.version for item in history_of([*secrets, other, large], "small")] == [2, 9, 10]


def test_a_record_wakes_the_resource_of_its_name() -> None:
    assert list(woken_by(revision(1, hand=True).secret)) == [Key("here", "small")]
    assert list(woken_by(Secret(metadata=ObjectMeta(name="small", namespace="here", labels={"name": "small"})))) == []
