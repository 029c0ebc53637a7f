"""Pushes images from their archives to a registry, byte for byte: blobs that it has already are not sent again."""

import json
import re
import tarfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.registry import Login, Place, Registry
from stackwright.local.errors import ImageFailed
from stackwright.local.images import archives
from stackwright.local.images.archives import Image
from stackwright.local.progress import Progress, duration

_PIECE = 1 << 20
# A host with a dot or a port, or localhost; then the path in the registry, which may be empty.
_TARGET = re.compile(r"((?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::\d+)?|[a-zA-Z0-9-]+:\d+|localhost)((?:/[a-z0-9._-]+)*)/?")
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True)
class Target:
    """Where images go: a registry, and a path in it, such as registry.example.com and openstack/ours."""

    place: Place
    path: str = ""

    def repository(self, image: Image) -> str:
        """Return what an image is called in the registry."""
        return f"{self.path}/{image.name}" if self.path else image.name


def parse(text: str, *, plain_http: bool = False, authorities: str = "") -> Target:
    """Return the target that a user names."""
    found = _TARGET.fullmatch(text)
    if found is None:
        raise ImageFailed(f'"{text}" is no registry; give its host and a path, such as registry.example.com/openstack.')
    return Target(Place(found.group(1), plain_http, authorities), found.group(2).strip("/"))


@dataclass(frozen=True)
class _Blob:
    """A part of an archive: its digest, and where in the file it is."""

    digest: str
    offset: int
    size: int


@dataclass(frozen=True)
class _Content:
    """What an archive holds of one image."""

    manifest: bytes
    media_type: str
    blobs: tuple[_Blob, ...]


def read(archive: Path) -> _Content:
    """Return what is in an OCI archive with one image."""
    with tarfile.open(archive) as content:
        members = {member.name.removeprefix("./"): member for member in content if member.isfile()}

        def load(name: str) -> bytes:
            file = content.extractfile(members[name])
            return file.read() if file else b""

        def find(digest: str) -> _Blob:
            member = members[f"blobs/{digest.replace(':', '/')}"]
            return _Blob(digest, member.offset_data, member.size)

        described = json.loads(load("index.json"))["manifests"][0]
        manifest = load(f"blobs/{described['digest'].replace(':', '/')}")
        parts = json.loads(manifest)
        # The same layer may occur twice.
        digests = dict.fromkeys(part["digest"] for part in (*parts["layers"], parts["config"]))
        return _Content(manifest, described["mediaType"], tuple(find(digest) for digest in digests))


async def push(
    images: Iterable[Image], target: Target, *, login: Login | None, tag: str = "", progress: Progress
) -> list[str]:
    """Push images, and return what they are called there; without a tag each has its hash."""
    images = list(images)
    archives.require_built(images)
    if tag and not TAG.fullmatch(tag):
        raise ImageFailed(f'"{tag}" is no tag; use letters, digits, dots, hyphens and underscores.')
    references = []
    try:
        async with Registry(target.place, login) as registry:
            for image in images:
                await _push(image, target.repository(image), tag or image.hash, registry, progress)
                references.append(f"{target.place.host}/{target.repository(image)}:{tag or image.hash}")
    except AdapterError as error:
        raise ImageFailed(f"{error}.") from error
    return references


async def _push(image: Image, repository: str, tag: str, registry: Registry, progress: Progress) -> None:
    began = time.monotonic()
    content = read(image.archive)
    sent = 0
    for blob in content.blobs:
        if await registry.has_blob(repository, blob.digest):
            continue
        progress.update(f"Pushing {image.name}: {blob.size / 1e6:,.0f} MB, {duration(time.monotonic() - began)} so far")
        await registry.put_blob(repository, blob.digest, blob.size, _pieces(image.archive, blob))
        sent += blob.size
    await registry.put_manifest(repository, tag, content.media_type, content.manifest)
    progress.say(f"Pushed {repository}:{tag}: {sent / 1e6:,.0f} MB in {duration(time.monotonic() - began)}.")


async def _pieces(archive: Path, blob: _Blob) -> AsyncIterator[bytes]:
    for piece in _read_pieces(archive, blob):
        yield piece


def _read_pieces(archive: Path, blob: _Blob) -> Iterator[bytes]:
    with archive.open("rb") as file:
        file.seek(blob.offset)
        left = blob.size
        while left and (piece := file.read(min(_PIECE, left))):
            left -= len(piece)
            yield piece
