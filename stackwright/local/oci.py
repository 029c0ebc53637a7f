"""Writes container images without a builder: some files from this machine, one layer, one archive in OCI's layout.

The same files give the same archive, byte for byte: times are zero and names are in order. `ctr images import` and
every other tool that reads OCI archives takes it.
"""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class File:
    """A file of an image, with its content or where that is."""

    path: str
    content: bytes | Path
    mode: int = 0o755


@dataclass(frozen=True)
class Link:
    """A symbolic link of an image."""

    path: str
    target: str


@dataclass(frozen=True)
class Folder:
    """A folder of an image that is there though nothing is in it, or has a mode of its own."""

    path: str
    mode: int = 0o755


Entry = File | Link | Folder


@dataclass(frozen=True)
class Image:
    """An image from scratch: what it is called, what is in it, and what it runs."""

    name: str
    entries: tuple[Entry, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Blob:
    digest: str
    size: int
    kind: str

    def described(self) -> dict[str, Any]:
        return {"mediaType": self.kind, "digest": f"sha256:{self.digest}", "size": self.size}


def write(image: Image, archive: Path, *, architecture: str) -> None:
    """Write the image as an archive for that architecture, by Go's name; a reader never sees half of it."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    beside = archive.with_name(f"{archive.name}.new")
    with tempfile.TemporaryFile(dir=archive.parent) as layer, tarfile.open(beside, "w") as output:
        _write_layer(image.entries, layer)
        layer_blob = _Blob(_digest(layer), layer.tell(), LAYER)
        config = _config(image, architecture, layer_blob.digest)
        config_blob = _Blob(hashlib.sha256(config).hexdigest(), len(config), CONFIG)
        manifest = _json(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": config_blob.described(),
                "layers": [layer_blob.described()],
            }
        )
        manifest_blob = _Blob(hashlib.sha256(manifest).hexdigest(), len(manifest), MANIFEST)
        _add(output, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(output, "index.json", _index(image.name, architecture, manifest_blob))
        _add(output, f"blobs/sha256/{manifest_blob.digest}", manifest)
        _add(output, f"blobs/sha256/{config_blob.digest}", config)
        layer.seek(0)
        output.addfile(_information(f"blobs/sha256/{layer_blob.digest}", layer_blob.size, 0o644), layer)
    beside.replace(archive)


def _write_layer(entries: tuple[Entry, ...], layer: IO[bytes]) -> None:
    with tarfile.open(fileobj=layer, mode="w") as output:
        for entry in sorted([*_parents(entries), *entries], key=lambda entry: PurePosixPath(entry.path).parts):
            path = entry.path.lstrip("/")
            match entry:
                case File(content=bytes(content)):
                    _add(output, path, content, entry.mode)
                case File(content=Path() as file):
                    with file.open("rb") as source:
                        output.addfile(_information(path, file.stat().st_size, entry.mode), source)
                case Link(target=target):
                    information = _information(path, 0, 0o777)
                    information.type, information.linkname = tarfile.SYMTYPE, target
                    output.addfile(information)
                case Folder():
                    information = _information(path, 0, entry.mode)
                    information.type = tarfile.DIRTYPE
                    output.addfile(information)


def _parents(entries: tuple[Entry, ...]) -> Iterator[Folder]:
    """Return the folders that hold the entries and that nobody named."""
    named = {PurePosixPath("/", entry.path) for entry in entries}
    found = {parent for path in named for parent in path.parents if parent != PurePosixPath("/")}
    return (Folder(str(path)) for path in found - named)


def _config(image: Image, architecture: str, layer: str) -> bytes:
    process = {
        "Entrypoint": list(image.entrypoint),
        "Cmd": list(image.command),
        "User": image.user,
        "Env": [f"{name}={value}" for name, value in image.environment.items()],
    }
    return _json(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {name: value for name, value in process.items() if value},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
        }
    )


def _index(name: str, architecture: str, manifest: _Blob) -> bytes:
    # containerd reads the first annotation, everybody else the second.
    annotations = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
    described = manifest.described() | {
        "platform": {"architecture": architecture, "os": "linux"},
        "annotations": annotations,
    }
    return _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [described]})


def _digest(content: IO[bytes]) -> str:
    """Return the digest of a file's whole content; the file stands at its end afterwards."""
    content.seek(0)
    digest = hashlib.sha256()
    while piece := content.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def _add(output: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    output.addfile(_information(name, len(content), mode), io.BytesIO(content))


def _information(name: str, size: int, mode: int) -> tarfile.TarInfo:
    information = tarfile.TarInfo(name)
    information.size, information.mode = size, mode
    return information


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
