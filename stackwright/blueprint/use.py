"""Who uses an export: one mark for all readers, be they pods, child resources or machines outside of the cluster. Pure.

A Secret for others carries the digest of its content. Whoever reads it marks it, by an annotation of the reader's own
name, with the digest that all of the reader's pods or machines work with. What the Secret gave before (an account, a
login to a broker) is retired only when all readers are marked with the present digest: those of which the exporter
knows, and all others that ever marked it and are still there.
"""

from collections.abc import Iterable, Iterator, Mapping

from stackwright.api.base import CustomResource, ObjectMeta
from stackwright.blueprint.digests import digest
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.service import Export
from stackwright.kube.builtin import Secret
from stackwright.kube.shapes.children import Child, child

# On an export: the digest of its content.
CONTENT = "openstack.org/content"
# Before the name of a reader, as Kind.name: the digest that it works with.
USED_BY = "used-by.openstack.org/"


def secret_of(entry: Export) -> Child:
    """Return an export as a child of its resource."""
    metadata = ObjectMeta(name=entry.name, annotations={CONTENT: digest(dict(entry.content))})
    return child(Secret(metadata=metadata, data=encode(entry.content)), condition=entry.condition)


def mark_of(reader: CustomResource) -> str:
    """Return the annotation by which a reader marks what it reads."""
    return f"{USED_BY}{reader.kind.name}.{reader.metadata.name}"


def marks(reader: CustomResource, secrets: Iterable[Secret]) -> Iterator[tuple[Secret, dict[str, str]]]:
    """Yield the Secrets that a reader has to mark now that all of it works with their content, with the annotation."""
    for secret in secrets:
        content = secret.metadata.annotations.get(CONTENT)
        # One that somebody wrote by hand has no digest: nobody waits for its readers.
        if content is not None and secret.metadata.annotations.get(mark_of(reader)) != content:
            yield secret, {mark_of(reader): content}


def behind(entry: Export, secret: Secret | None, there: Mapping[tuple[str, str], bool]) -> tuple[str, ...]:
    """Return the readers of an export that do not work with its present content yet, as Kind name.

    `there` says of readers by kind and name whether they are still there; one of an unknown kind is.
    """
    wanted = digest(dict(entry.content))
    marked = _marked(secret)
    found = readers_of(entry, secret)
    late = (reader for reader in found if there.get(reader, True) and marked.get(reader) != wanted)
    return tuple(" ".join(reader) for reader in late)


def readers_of(entry: Export, secret: Secret | None) -> tuple[tuple[str, str], ...]:
    """Return all readers of an export, as kind and name: those that it knows, and those that marked it."""
    return tuple(dict.fromkeys((*entry.readers, *_marked(secret))))


def _marked(secret: Secret | None) -> dict[tuple[str, str], str]:
    annotations = secret.metadata.annotations if secret is not None else {}
    return {_reader(name): content for name, content in annotations.items() if name.startswith(USED_BY)}


def _reader(annotation: str) -> tuple[str, str]:
    kind, _, name = annotation.removeprefix(USED_BY).partition(".")
    return kind, name
