"""Where images that were made are kept: OCI archives in the user's cache, one for each hash."""

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import cache
from stackwright.local.cache import Cache
from stackwright.local.errors import ImageFailed

REGISTRY = "stackwright.local"
"""What the names of images begin with that were made here: no registry has that name, so none is ever asked."""

_ARCHIVE = "image.tar"
# A branch and the one that it came from are both built; what is older is rarely wanted again.
_KEPT = 3


def folder() -> Path:
    """Return the folder of all images that are kept."""
    return cache.root().parent / "images"


@dataclass(frozen=True)
class Image:
    """An image by its name and its hash, whether it was made or not."""

    name: str
    hash: str
    inputs: str = ""
    """The hash of what goes into it beside its Containerfile."""
    intermediate: bool = False

    @property
    def reference(self) -> str:
        """What a pod calls it."""
        return f"{REGISTRY}/{self.name}:{self.hash}"

    @property
    def entry(self) -> Cache:
        """Its place in the cache."""
        return Cache(folder(), f"{self.name}-{self.hash}")

    @property
    def archive(self) -> Path:
        """Its archive, if there is one."""
        return self.entry.directory / _ARCHIVE

    @property
    def built(self) -> bool:
        """Whether it is there; of one from which others are made that is not known without asking buildah."""
        return self.archive.is_file()

    def staged(self, staging: Path) -> Path:
        """Return where in a staging folder the archive is written."""
        return staging / _ARCHIVE

    def forget_older(self) -> None:
        """Remove all but the latest few of the archives that its recipe gave."""
        entry = re.compile(rf"{re.escape(self.name)}-[0-9a-f]{{16}}")
        found = [path for path in folder().glob(f"*/{_ARCHIVE}") if entry.fullmatch(path.parent.name)]
        for old in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT:]:
            shutil.rmtree(old.parent, ignore_errors=True)


def require_built(images: Iterable[Image]) -> None:
    """Raise unless all of the images are kept."""
    if absent := [image.name for image in images if not image.built]:
        raise ImageFailed(f"Not built yet: {', '.join(absent)}. First run: stackwright image build {' '.join(absent)}")
