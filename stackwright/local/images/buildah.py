"""buildah, with a storage of its own: nothing here touches the images of the user."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from stackwright.local import process
from stackwright.local.errors import ImageFailed
from stackwright.local.images.archives import Image
from stackwright.local.images.following import Following
from stackwright.local.progress import Progress

# buildah writes its steps to one stream and what they say to the other; the order matters to readers of the log.
_ONE_STREAM = ("sh", "-c", 'exec "$@" >&2', "sh")


class Buildah:
    """One storage, and the log of what is done in it."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        own_mounts = process.OWN_MOUNTS if os.geteuid() == 0 else ()
        self._command = [*own_mounts, "buildah", "--root", str(folder / "storage"), "--runroot", str(folder / "run")]
        self._folder = folder
        self._progress = progress

    def has(self, image: Image) -> bool:
        """Tell whether an image is in the storage."""
        words = [*self._command, "inspect", image.reference]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0  # noqa: S603  a name of ours

    def build(self, image: Image, *, context: Path, containerfile: Path, options: Iterable[str] = ()) -> None:
        """Make an image from a Containerfile; its layers stay, so that a changed line repeats only what follows it."""
        # chroot needs no network, no cgroups and no runtime of its own, so that it works in a container, too.
        words = ["bud", "--isolation", "chroot", "--layers", "--format", "oci", *options]
        self.run(
            image, [*words, "--tag", image.reference, "--file", str(containerfile), str(context)], doing="starting"
        )

    def export(self, image: Image, archive: Path) -> None:
        """Write an image as an OCI archive."""
        # An archive of OCI's is always compressed by buildah; zstd is smaller than gzip, and faster to read.
        words = ["push", "--compression-format", "zstd", "--format", "oci"]
        self.run(
            image, [*words, image.reference, f"oci-archive:{archive}:{image.reference}"], doing="writing its archive"
        )

    def restore(self, image: Image, archive: Path) -> None:
        """Read an image back from its archive, which has its name in it."""
        self.run(image, ["pull", "--quiet", f"oci-archive:{archive}"], doing="reading its archive")

    def clean(self, image: Image) -> None:
        """Remove the containers that an interrupted build left, and the image's old log; finished layers stay."""
        self._log(image).unlink(missing_ok=True)
        self._quietly("rm", "--all")

    def tidy(self, image: Image) -> None:
        """Remove an image's earlier versions, and layers that no image has."""
        listed = self._quietly("images", "--format", "{{.Name}}:{{.Tag}}")
        name = image.reference.rpartition(":")[0]
        old = [line for line in listed.split() if line.rpartition(":")[0] == name and line != image.reference]
        if old:
            self._quietly("rmi", *old)
        self._quietly("rmi", "--prune")

    def _log(self, image: Image) -> Path:
        return self._folder / f"{image.name}.log"

    def _quietly(self, *words: str) -> str:
        done = subprocess.run([*self._command, *words], capture_output=True, text=True, check=False)  # noqa: S603  words of ours
        return done.stdout

    def run(self, image: Image, words: Sequence[str], *, doing: str, program: Sequence[str] = ()) -> None:
        """Run buildah, or another program, to its end, while the user sees how far it is."""
        log = self._log(image)
        command = [*_ONE_STREAM, *(program or self._command), *words]
        code = Following(image.name, doing, self._progress).run(command, directory=self._folder, log=log)
        if code != 0:
            raise ImageFailed(f"The image {image.name} was not built. The end of {log}:\n{process.tail(log)}")
