"""A container of an image that was built, in which commands run as under the restricted pod profile.

The image's files come from buildah's storage. A command gets a mount namespace and a root of its own there, a number
as user, no capability and no way to more.
"""

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackwright.local.images import archives, building
from stackwright.local.images.archives import Image
from stackwright.local.images.buildah import Buildah
from stackwright.local.progress import Silent
from tests.images.container import why_not

FOLDER = archives.folder()
BUILDAH = ("buildah", "--root", str(FOLDER / "storage"), "--runroot", str(FOLDER / "run"))
COMPILERS = {"cc", "gcc", "g++", "c++", "as", "ld", "make", "go", "rustc", "cargo", "pip", "pip3", "git"}


@dataclass(frozen=True)
class Answer:
    code: int
    output: str


@dataclass(frozen=True)
class Built:
    """A container of an image."""

    image: Image
    root: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    history: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return dict(variable.split("=", 1) for variable in self.config["Env"])

    @property
    def user(self) -> int:
        return int(self.config["User"])

    def run(
        self,
        command: str,
        *,
        user: int | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = 120,
        alone: bool = False,
    ) -> Answer:
        """Run a command; if it is `alone`, in a network of its own, which has nothing but loopback."""
        uid = str(self.user if user is None else user)
        words = ["exec", "chroot", str(self.root), "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        words += ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "sh", "-c", command]
        mounts = [
            ["mount", "-t", "proc", "proc", f"{self.root}/proc"],
            ["mount", "--rbind", "/dev", f"{self.root}/dev"],
        ]
        network = [["ip", "link", "set", "lo", "up"]] if alone else []
        script = " && ".join(shlex.join(step) for step in [*network, *mounts, words])
        apart = ["--net"] if alone else []
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", *apart, "--propagation", "private", "sh", "-c", script],
            env={**self.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=timeout,
        )
        return Answer(done.returncode, done.stdout)

    def files(self, *folders: str) -> Iterator[Path]:
        """Return all files of some folders of the image, links aside."""
        for folder in folders:
            yield from (path for path in (self.root / folder).rglob("*") if path.is_file() and not path.is_symlink())


@contextmanager
def container(name: str) -> Iterator[Built]:
    """Make a container of an image for the time of a block; what it writes is thrown away."""
    image = building.catalogue().images[name]
    storage = Buildah(FOLDER, Silent())
    if not storage.has(image):
        storage.restore(image, image.archive)
    described = json.loads(buildah("inspect", "--type", "image", image.reference))
    made = buildah("from", "--pull-never", image.reference)
    try:
        history = json.dumps(described["OCIv1"].get("history", []))
        yield Built(image, Path(buildah("mount", made)), described["OCIv1"]["config"], history)
    finally:
        buildah("rm", made)


def buildah(*words: str) -> str:
    return subprocess.run([*BUILDAH, *words], capture_output=True, text=True, check=True).stdout.strip()


def why_not_built(names: Sequence[str]) -> str:
    """Return why the images cannot be tried on this machine, if they cannot."""
    if reason := why_not():
        return reason
    if shutil.which("buildah") is None:
        return "images are tried with buildah, which is not installed"
    images = building.catalogue().images
    absent = [name for name in names if not images[name].built]
    return f"not built: {', '.join(absent)}; run `stackwright image build`" if absent else ""
