"""Puts images into a cluster's containerd: the two that every cluster needs, and archives of others."""

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from stackwright.local import cache, oci, pause, versions
from stackwright.local.cluster.addons import coredns_image
from stackwright.local.cluster.configuration import CONTAINERD_SOCKET, PAUSE
from stackwright.local.errors import ClusterFailed

NOBODY = "65532"
# How many characters tell one content from another.
_FINGERPRINT = 16


def ensure(first: int, binaries: Mapping[str, str]) -> None:
    """Load the images that every cluster needs, unless they are there; `first` is the node's first process."""
    there = present(first)
    for image in wanted(binaries):
        if image.name not in there:
            load(first, archive_of(image, cache.root() / "images"))


def archive_of(image: oci.Image, folder: Path) -> Path:
    """Return the archive of an image of ours; it is kept in that folder until what is in the image changes.

    To write one while etcd starts would make etcd wait for the disk.
    """
    name = image.name.rpartition(":")[0].replace("/", "_")
    kept = folder / f"{name}-{_fingerprint(image)}.tar"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            made = Path(staging) / kept.name
            oci.write(image, made, architecture=versions.architecture())
            made.replace(kept)
            # Another process may have made the same at the same time, and reads it now.
            for outdated in set(folder.glob(f"{name}-{'?' * _FINGERPRINT}.tar")) - {kept}:
                outdated.unlink(missing_ok=True)
    return kept


def _fingerprint(image: oci.Image) -> str:
    """Return what changes with the image; a file of this machine is known by its place, size and time."""
    files = [entry.content for entry in image.entries if isinstance(entry, oci.File)]
    places = [path.resolve() for path in files if isinstance(path, Path)]
    known = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in places]
    return hashlib.sha256(f"{image} {known} {versions.architecture()}".encode()).hexdigest()[:_FINGERPRINT]


def wanted(binaries: Mapping[str, str]) -> Iterator[oci.Image]:
    """Return the images that every cluster needs."""
    program = oci.File("/pause", pause.program(versions.architecture()))
    yield oci.Image(PAUSE, (program,), entrypoint=("/pause",), user=f"{NOBODY}:{NOBODY}")
    coredns = oci.File("/coredns", Path(binaries["coredns"]))
    yield oci.Image(coredns_image(), (coredns,), entrypoint=("/coredns",))


def present(first: int) -> set[str]:
    """Return the names of the images that a node has."""
    return set(_ctr(first, "images", "list", "--quiet").split())


def load(first: int, archive: Path) -> None:
    """Put the images of an OCI archive into a node."""
    _ctr(first, "images", "import", str(archive))


def _ctr(first: int, *arguments: str) -> str:
    # The node's own /run, as the host sees it.
    socket = f"/proc/{first}/root{CONTAINERD_SOCKET}"
    command = ["ctr", "--address", socket, "--namespace", "k8s.io", *arguments]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  no shell
    except OSError as error:
        raise ClusterFailed(f"ctr cannot be run: {error.strerror}.") from error
    except subprocess.CalledProcessError as error:
        raise ClusterFailed(f"containerd refused `ctr {' '.join(arguments)}`: {error.stderr.strip()}") from error
