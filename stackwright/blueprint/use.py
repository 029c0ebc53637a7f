"""Which readers use an export: one mark for all, whether pods, child resources or machines outside the cluster. Pure.

A Secret for others carries the digest of its content. Whoever reads it marks it: with `rolling` before anything of the
reader gets a content, and with the digest of that content once all of the reader's pods or machines work with it. What
the Secret gave before (an account, a login to a broker) is retired only when all readers are marked with the present
digest: those of which the exporter knows, and all others that marked it and still exist.

A reader of which the exporter knows is named on the Secret, and has its mark in its own status: that is written anyway
when the reader is ready. Without a mark it counts as behind, so it has nothing to say before its first start.

A machine outside has its marks in its status too, in the records of what was applied to it: a thousand machines would
be a thousand annotations of one Secret. An exporter does not know them by name; it looks at the records of all.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stackwright.api.annotations import EXPORTED
from stackwright.api.base import CustomResource, ObjectMeta
from stackwright.api.dataplane import OpenStackDataPlaneNodeStatus, ServiceRecord
from stackwright.api.node_service import NodeServiceStatus
from stackwright.blueprint.digests import digest
from stackwright.blueprint.look import Look
from stackwright.blueprint.secret_values import encode, texts_of
from stackwright.blueprint.service import Export
from stackwright.kube.builtin import Secret
from stackwright.kube.informer import Change
from stackwright.kube.shapes.child import Child, child

# On an export: the digest of its content, and the readers that the exporter knows, as Kind/name with blanks between.
CONTENT = EXPORTED
READERS = "openstack.org/readers"
# Before a short name for a reader. The value is the reader as Kind/name, a blank, and the digest that it works with.
USED_BY = "used-by.openstack.org/"
# Before the name of an export, among the hashes of a reader's status: the digest that the reader works with.
NOTED = "export/"
# Stands for the digest while a reader changes from one content to another.
ROLLING = "rolling"

Reader = tuple[str, str]


@dataclass(frozen=True)
class Used:
    """An export that a resource reads: its name, and the digest of the content that was read."""

    name: str
    content: str


def secret_of(entry: Export) -> Child:
    """Return an export as a child of its resource."""
    metadata = ObjectMeta(name=entry.name, annotations=annotations_of(entry))
    return child(Secret(metadata=metadata, data=encode(entry.content)), condition=entry.condition)


def annotations_of(entry: Export) -> dict[str, str]:
    """Return what stands on an export: the digest of its content, and the readers that the exporter knows."""
    readers = " ".join(sorted("/".join(reader) for reader in entry.readers))
    return {CONTENT: digest(dict(entry.content)), **({READERS: readers} if readers else {})}


def read_of(secret: Secret) -> Used | None:
    """Return what is read of a Secret; None for one that somebody wrote by hand: nobody waits for its readers."""
    if CONTENT not in secret.metadata.annotations:
        return None
    return Used(secret.metadata.name, digest(texts_of(secret)))


def mark_of(reader: CustomResource, content: str) -> dict[str, str]:
    """Return the annotation by which a reader says which content it works with."""
    return _mark((reader.kind.name, reader.metadata.name), content)


def _mark(reader: Reader, content: str) -> dict[str, str]:
    # A name of an annotation has at most 63 characters, and that of a resource may have more.
    return {f"{USED_BY}{digest({'reader': list(reader)})}": f"{'/'.join(reader)} {content}"}


def begin(reader: CustomResource, used: Iterable[Used], look: Look) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the marks to set before a reader gets a content: the name of the Secret, and the annotation."""
    for entry in used:
        secret = look(Secret, entry.name)
        marked = _marked(secret).get(_reader_of(reader), "")
        if not _is_expected(reader, secret) and marked not in (entry.content, ROLLING):
            yield entry.name, mark_of(reader, ROLLING)


def finish(reader: CustomResource, used: Iterable[Used], look: Look) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the marks to set now that all of a reader works with what it read; one that has changed since is none."""
    for entry in used:
        secret = look(Secret, entry.name)
        if secret is None or not _is_present(entry, secret) or _is_expected(reader, secret):
            continue
        if _marked(secret).get(_reader_of(reader)) != entry.content:
            yield entry.name, mark_of(reader, entry.content)


def notes(reader: CustomResource, used: Iterable[Used], look: Look, *, settled: bool) -> dict[str, str]:
    """Return the marks of a reader's own status: of the exports that name it. `settled`: all of it works with them."""
    before, found = noted(reader), {}
    for entry in used:
        secret = look(Secret, entry.name)
        if secret is None or not _is_expected(reader, secret):
            continue
        name, marked = f"{NOTED}{entry.name}", before.get(entry.name)
        if marked == entry.content or (settled and _is_present(entry, secret)):
            found[name] = entry.content
        elif marked is not None:
            found[name] = ROLLING
    return found


def noted(reader: CustomResource) -> dict[str, str]:
    """Return what the status of a resource says of exports, by the name of the Secret."""
    hashes: Mapping[str, str] = getattr(reader.status, "hash", {})
    found = {name.removeprefix(NOTED): value for name, value in hashes.items() if name.startswith(NOTED)}
    for record in _records_of(reader):
        for name, content in record.exports.items():
            # Two services of a machine may have been applied with different contents of the same Secret.
            found[name] = content if found.get(name, content) == content else ROLLING
    return found


def is_noted_anew(change: Change[Any]) -> bool:
    """Return whether a resource works with another content of an export than before, or came or went."""
    return change.old is None or change.new is None or noted(change.old) != noted(change.new)


def _records_of(reader: CustomResource) -> tuple[ServiceRecord, ...]:
    match reader.status:
        case NodeServiceStatus(deployment=ServiceRecord() as record):
            return (record,)
        case OpenStackDataPlaneNodeStatus(services=records):
            return records
    return ()


def with_use(record: ServiceRecord, used: Iterable[Used] | None, *, running: bool) -> ServiceRecord:
    """Return the record of a service on a machine with the contents that the machine has.

    `used` is what the inputs that are wanted now were made from; None where they are not known.
    """
    if running or (record.run and not record.appliedHash):
        # What a run has changed so far, or left behind when it failed, nobody knows.
        names = (*record.exports, *(entry.name for entry in used or ()))
        exports = dict.fromkeys(names, ROLLING)
    elif used is not None and record.appliedHash and record.appliedHash == record.inputHash:
        exports = {entry.name: entry.content for entry in used}
    else:
        exports = record.exports
    return msgspec.structs.replace(record, exports=exports)


def behind(entry: Export, secret: Secret | None, there: Mapping[Reader, CustomResource | None]) -> tuple[str, ...]:
    """Return the readers of an export that do not work with its present content yet, as Kind name.

    `there` has the readers by kind and name, None for one that is gone; one of an unknown kind is there. Whoever of
    them has a mark of the export in its status is a reader, too.
    """
    wanted, marked = digest(dict(entry.content)), _marked(secret)
    notes = {reader: noted(found) for reader, found in there.items() if found is not None}
    noting = tuple(reader for reader, names in notes.items() if entry.name in names)

    def works_with(reader: Reader) -> str | None:
        named = reader in notes and (reader in entry.readers or reader in noting)
        return notes[reader].get(entry.name) if named else marked.get(reader)

    readers = dict.fromkeys((*readers_of(entry, secret), *noting))
    found = (reader for reader in readers if there.get(reader, ...) is not None)
    return tuple(" ".join(reader) for reader in found if works_with(reader) != wanted)


def readers_of(entry: Export, secret: Secret | None) -> tuple[Reader, ...]:
    """Return all readers of an export, as kind and name: those that it knows, and those that marked it."""
    return tuple(dict.fromkeys((*entry.readers, *_marked(secret))))


def _marked(secret: Secret | None) -> dict[Reader, str]:
    annotations = secret.metadata.annotations if secret is not None else {}
    values = (value for name, value in annotations.items() if name.startswith(USED_BY))
    parts = (value.partition(" ") for value in values)
    return {(reader.partition("/")[0], reader.partition("/")[2]): content for reader, _, content in parts}


def named_on(secret: Secret) -> tuple[Reader, ...]:
    """Return the readers of an export that the exporter knows, as the Secret names them."""
    parts = (word.partition("/") for word in secret.metadata.annotations.get(READERS, "").split())
    return tuple((kind, name) for kind, _, name in parts)


def _is_expected(reader: CustomResource, secret: Secret | None) -> bool:
    """Return whether the exporter knows of a reader, and so looks for the mark in its status."""
    return secret is not None and _reader_of(reader) in named_on(secret)


def _is_present(entry: Used, secret: Secret) -> bool:
    """Return whether what was read is what the exporter gives now."""
    return read_of(secret) == entry and secret.metadata.annotations[CONTENT] == entry.content


def _reader_of(resource: CustomResource) -> Reader:
    return resource.kind.name, resource.metadata.name
