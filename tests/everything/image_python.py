"""Runs rings 1 and 2 by the Python of the operators' image, which is newer than the oldest one that we support.

The image's interpreter and libraries run in a root file system of the image. Only the tools of the tests, such as
pytest, are added, as requirements.lock pins them.
"""

import dataclasses
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from stackwright.local.images import building
from stackwright.local.progress import Shown
from tests import checkout
from tests.checkout import ROOT
from tests.images.built import Built, container, why_not_built

IMAGE = "operator"
PYTHON = "/opt/stackwright/bin/python"
RINGS = ("tests/unit", "tests/runtime")
# They are about compilers, and about pip, which brings one: no image has these.
LEFT_OUT = ("tests/unit/local/test_build.py", "tests/unit/local/test_toolchain.py")
# Where the root file system of the image has what is brought along.
CHECKOUT, TOOLS = "/checkout", "/tools"


def pins(text: str) -> dict[str, str]:
    """Return the entries of a file of pinned packages, each with its hashes, by their names. Pure."""
    entries = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
    return {re.split(r"[=\[ ;]", entry, maxsplit=1)[0].lower(): entry for entry in entries}


def tools(lock: str, image: str) -> str:
    """Return the part of the lock that the image does not have: what is in both is the image's. Pure."""
    theirs = pins(image)
    return "\n".join(entry for name, entry in pins(lock).items() if name not in theirs) + "\n"


def install(made: Built) -> None:
    """Put the tools of the tests into the root file system, built for its Python."""
    version = made.run(f"{PYTHON} -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").output.strip()
    text = tools((ROOT / "requirements.lock").read_text(), (ROOT / f"images/{IMAGE}/requirements.txt").read_text())
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        where = ["--target", f"{made.root}{TOOLS}", "--python-version", version, "--only-binary=:all:"]
        pinned = ["--no-deps", "--require-hashes", "--requirement", file.name]
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *where, *pinned], check=True)


def run(made: Built) -> int:
    """Run the rings; return pytest's exit code."""
    root = str(made.root)
    # Not as in CI, where a skip is a failure: where a file needs a compiler for some of its tests, it skips these.
    variables = [f"PYTHONPATH={CHECKOUT}:{TOOLS}", "PYTHONDONTWRITEBYTECODE=1", "HOME=/root"]
    chosen = [*RINGS, *(f"--ignore={path}" for path in LEFT_OUT)]
    pytest = [PYTHON, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", *chosen]
    steps = [
        ["mount", "-t", "proc", "proc", f"{root}/proc"],
        ["mount", "--rbind", "/dev", f"{root}/dev"],
        ["exec", "chroot", root, "env", "--chdir", CHECKOUT, *variables, *pytest],
    ]
    script = " && ".join(shlex.join(step) for step in steps)
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", script]
    return subprocess.run(words, env=made.environment, check=False).returncode


def main() -> int:
    """Build the image where it is missing, and run the rings in it."""
    with Shown() as progress:
        building.build([IMAGE], building.catalogue(), ask=lambda _: True, progress=progress)
    if reason := why_not_built([IMAGE]):
        print(reason)
        return 1
    with tempfile.TemporaryDirectory(prefix="image-python-") as folder:
        root = Path(folder) / "root"
        # A copy: who builds an image meanwhile removes all containers.
        with container(IMAGE) as made:
            subprocess.run(["cp", "--archive", made.root, root], check=True)
        own = dataclasses.replace(made, root=root)
        print(own.run(f"{PYTHON} --version").output.strip(), flush=True)
        checkout.copy(Path(f"{root}{CHECKOUT}"))
        install(own)
        return run(own)


if __name__ == "__main__":
    sys.exit(main())
