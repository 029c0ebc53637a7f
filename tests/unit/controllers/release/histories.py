"""Histories of releases for the tests."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import ClassVar

from stackwright.adapters.helm import Chart, Rendered, records
from stackwright.controllers.release.history import DESCRIPTION, DIGEST, Revision, Wanted, history_of
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import Kind, ObjectMeta, OwnerReference, Resource

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
HAND = "Upgrade complete"
MANIFEST = "---\nkind: ConfigMap\n"
CHART = Chart("digest", {"metadata": {"name": "small", "version": "1.0.0"}})


class Thing(Resource, frozen=True, kw_only=True):
    """A resource that has a release."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Thing", "things")


THING = Thing(metadata=ObjectMeta(name="small", namespace="here", uid="thing"))


def wanted(manifest: str = MANIFEST, chart: Chart = CHART) -> Wanted:
    return Wanted(THING, Rendered("small", "here", manifest, (), chart), {"replicas": 1})


def revision(version: int, status: str = "deployed", *, hand: bool = False, manifest: str = MANIFEST) -> Revision:
    """Return a revision of ours, or one that a hand has just made."""
    of = Rendered("small", "here", manifest, (), CHART)
    record = records.record_of(
        of,
        {"replicas": 1},
        version=version,
        description=HAND if hand else DESCRIPTION,
        first_deployed="2026-01-01T00:00:00Z",
        now=NOW,
    ).become(status)
    metadata = ObjectMeta(
        name=records.secret_name("small", version),
        namespace="here",
        labels=records.labels_of(record, NOW),
        annotations={} if hand else {DIGEST: wanted(manifest).digest},
        ownerReferences=() if hand else (owned_by("thing"),),
    )
    return Revision(Secret(metadata=metadata, type=records.TYPE, data={records.KEY: records.encode(record)}))


def owned_by(uid: str) -> OwnerReference:
    return OwnerReference(apiVersion="example.org/v1", kind="Thing", name="small", uid=uid, controller=True)


def history(revisions: Iterable[Revision]) -> tuple[Revision, ...]:
    return history_of([item.secret for item in revisions], "small")
