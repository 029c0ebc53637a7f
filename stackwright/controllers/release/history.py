"""The history of a release: which revisions there are, and what has to be written so that it tells the truth. Pure."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import msgspec

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm import Rendered, records
from stackwright.adapters.helm.keeping import Kept
from stackwright.adapters.helm.manifests import bounded, count_values
from stackwright.adapters.helm.records import BUSY, DEPLOYED, SUPERSEDED, Excerpt
from stackwright.blueprint.whole_numbers import read_number
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Plan, Step, Wait
from stackwright.kube.resource import JsonObject, Key, Resource

# On a record of ours: what it records, so that it need not be unpacked to be compared.
DIGEST = "openstack.org/release-digest"
# The key of a status's hash with the digest of the last record that the operator wrote. Whoever writes Secrets can
# write a record, but only operators write a status.
RECORDED = "release"
# What `helm history` shows of a revision of ours. Helm keeps it when it supersedes the revision.
DESCRIPTION = "Applied by the operator"
# As many as helm keeps by itself.
KEPT = 10
# How many revisions are read: anybody who may write Secrets can write hundreds, and each takes time to unpack.
READ = 32
# Helm's own deadline for an operation, and a little more: a helm that has not ended by then was killed.
BUSY_SECONDS = 330.0
# A moment beyond every record: whoever may write Secrets can write any number.
_LATEST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())
# The garbage collector takes about this long.
REPLACING_SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class Wanted:
    """What a resource wants its release to be."""

    resource: Resource
    rendered: Rendered
    values: JsonObject

    @cached_property
    def digest(self) -> str:
        """A short name for the manifest and the values."""
        return digest_of(self.rendered.manifest, self.values)

    @property
    def chart(self) -> tuple[str, str]:
        """The chart's name and version, as `helm list` shows them."""
        return chart_of(self.rendered.chart.record)


@dataclass(frozen=True)
class _Read:
    """What a record says; None where it cannot be read."""

    excerpt: Excerpt | None


@dataclass(frozen=True, eq=False)
class Revision:
    """One revision of a release, as the Secret that keeps it."""

    secret: Secret

    @cached_property
    def version(self) -> int:
        """Its number."""
        return read_number(self.secret.metadata.labels.get("version", "")) or 0

    @property
    def status(self) -> str:
        """What became of it: deployed, superseded, failed and so on."""
        return self.secret.metadata.labels.get("status", "")

    @property
    def modified(self) -> datetime:
        """When it was written last; long ago, if it does not say. A helm 3 does not say it when it begins."""
        labels, created = self.secret.metadata.labels, self.secret.metadata.creationTimestamp
        stamp = read_number(labels.get("modifiedAt", labels.get("createdAt", "")))
        if stamp is not None and stamp <= _LATEST:
            return datetime.fromtimestamp(stamp, UTC)
        return datetime.fromisoformat(created) if created else datetime.fromtimestamp(0, UTC)

    @property
    def owner(self) -> str:
        """The uid of the resource that it goes with; a helm at work by hand leaves none."""
        controller = self.secret.metadata.controller
        return controller.uid if controller is not None else ""

    @property
    def record(self) -> Excerpt | None:
        """What it records, or None where that cannot be read."""
        return _records.recall(self._key, self._read).excerpt

    @property
    def digest(self) -> str:
        """A short name for what it records."""
        return self.secret.metadata.annotations.get(DIGEST, "") or self.content_digest

    @property
    def content_digest(self) -> str:
        """The same, from what it records and not from what it says of that: whoever writes Secrets can say anything."""
        return self.record.digest if self.record is not None else ""

    @property
    def ours(self) -> bool:
        """Whether an operator made it, and not a hand."""
        return self.record is not None and self.record.description == DESCRIPTION

    @property
    def objects(self) -> tuple[JsonObject, ...]:
        """What it holds; nothing where that cannot be read."""
        return _objects.recall(self._key, self._find_objects)

    @cached_property
    def _key(self) -> bytes:
        """Stands for what the Secret holds; the text itself may be long, and is not kept for longer than the Secret."""
        return hashlib.sha256(self.secret.data.get(records.KEY, "").encode()).digest()

    def _read(self) -> _Read:
        try:
            return _Read(records.read(self.secret.data.get(records.KEY, ""))[0])
        except Rejected:
            return _Read(None)

    def _find_objects(self) -> tuple[JsonObject, ...]:
        try:
            return bounded(records.read(self.secret.data.get(records.KEY, ""))[1])
        except Rejected:
            return ()


# A record is unpacked once, and not on each pass. What is kept of what it says has a few KB; how many objects it has,
# whoever wrote the Secret decided.
_records = Kept[bytes, _Read](lambda _: 1, most=1024, number=1024)
_objects = Kept[bytes, tuple[JsonObject, ...]](count_values, most=2**18)
# Asked in each pass over a resource, of the same long text.
_digests = Kept[tuple[str, bytes], tuple[str, int]](lambda found: found[1], most=16 * 2**20)


def digest_of(manifest: str, values: JsonObject) -> str:
    """Return a short name for what a revision records."""
    asked = manifest, msgspec.json.encode(values, order="deterministic")
    return _digests.recall(asked, lambda: (records.digest_of(*asked), len(manifest) + len(asked[1])))[0]


def chart_of(chart: JsonObject) -> tuple[str, str]:
    """Return name and version of a chart, as a record has them."""
    metadata = chart.get("metadata") or {}
    return str(metadata.get("name", "")), str(metadata.get("version", ""))


def history_of(secrets: Iterable[Secret], name: str) -> tuple[Revision, ...]:
    """Return the newest revisions of a release, the newest last; older ones follow when some of these are gone."""
    found = [
        Revision(secret)
        for secret in secrets
        if secret.type == records.TYPE
        and secret.metadata.labels.get("name") == name
        and read_number(secret.metadata.labels.get("version", "")) is not None
        and not secret.deleting
    ]
    return tuple(sorted(found, key=lambda revision: revision.version)[-READ:])


def woken_by(secret: Secret) -> Iterable[Key]:
    """Return the resource that a record is about, if the Secret is one: a hand's record has no owner to wake."""
    if secret.type == records.TYPE and (name := secret.metadata.labels.get("name", "")):
        yield Key(secret.metadata.namespace, name)


@dataclass(frozen=True, kw_only=True)
class Write(Step):
    """Write a new revision that is deployed."""

    version: int
    first_deployed: str


@dataclass(frozen=True, kw_only=True)
class Tell(Step):
    """Tell that a hand made a revision."""

    revision: Revision


@dataclass(frozen=True, kw_only=True)
class Keep(Step):
    """Make the resource own a revision, and give the revision this status."""

    revision: Revision
    status: str


@dataclass(frozen=True, kw_only=True)
class Forget(Step):
    """Delete a revision: there are enough newer ones."""

    revision: Revision


def decide(history: tuple[Revision, ...], wanted: Wanted, now: datetime) -> Plan:
    """Return what makes the history say what is deployed, in order; an empty plan means that it does.

    The new revision is written before the older ones are superseded, so that a crash in between leaves two that are
    deployed, which helm can read, and not none.
    """
    newest = history[-1] if history else None
    if wait := _wait(history, wanted, now):
        return Plan(waits=(wait,))
    current = newest is not None and newest.status == DEPLOYED and _says(newest, wanted)
    steps: list[Step] = [_tell(revision) for revision in history if not revision.owner and not revision.ours]
    if not current:
        version = newest.version + 1 if newest is not None else 1
        first = newest.record.first_deployed if newest is not None and newest.record is not None else ""
        steps.append(Write(version=version, first_deployed=first, reason="Recording"))
    older = history[:-1] if current else history
    kept = older[-(KEPT - 1) :]
    for revision in (*kept, *history[len(older) :]):
        status = SUPERSEDED if revision in kept and revision.status == DEPLOYED else revision.status
        if status != revision.status or not revision.owner:
            steps.append(Keep(revision=revision, status=status, reason="Recording"))
    steps.extend(Forget(revision=revision, reason="Recording") for revision in older[: -(KEPT - 1)])
    return Plan(steps=tuple(steps))


def _says(revision: Revision, wanted: Wanted) -> bool:
    """Return whether a revision records what is wanted. Another version of a chart may render the same objects."""
    if revision.digest != wanted.digest:
        return False
    return revision.record is None or revision.record.chart == wanted.chart


def _wait(history: tuple[Revision, ...], wanted: Wanted, now: datetime) -> Wait | None:
    if any(revision.owner not in ("", wanted.resource.metadata.uid) for revision in history):
        message = "the release records of a deleted resource of the same name are removed first"
        return Wait("Replacing", message, after=REPLACING_SECONDS)
    return helm_at_work(history, now)


def helm_at_work(history: tuple[Revision, ...], now: datetime) -> Wait | None:
    """Return a wait where a helm command by hand is at work on the release, or was killed a short while ago."""
    newest = history[-1] if history else None
    if newest is None or newest.status not in BUSY:
        return None
    left = timedelta(seconds=BUSY_SECONDS) - (now - newest.modified)
    if left <= timedelta():
        return None
    message = (
        f"a helm command by hand is at work on revision {newest.version} ({newest.status}); the operator waits for it"
    )
    return Wait("HelmAtWork", message, after=left.total_seconds())


def _tell(revision: Revision) -> Tell:
    note = (
        f"Revision {revision.version} ({revision.status}) of the release was made with helm by hand; "
        "the operator keeps the release and continues numbering from there"
    )
    return Tell(revision=revision, reason="ForeignRevision", message=note)
