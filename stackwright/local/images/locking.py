"""Pins the libraries of all services: `make lock` runs `python -m stackwright.local.images.locking`, which runs uv.

What was pinned stays, unless a service cannot have it; with --upgrade everything is taken as new as can be.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from stackwright.local.errors import RecipeInvalid
from stackwright.local.images import composing, recipes
from stackwright.local.images.composing import ServicePackage

PACKAGES = "images/openstack-libraries/packages.txt"
PINNED = "images/openstack-libraries/requirements.txt"
# The Python of the images.
PYTHON = "3.13"
HEADER = (
    "# Pinned by `make lock`: the libraries of the services' packages, of what they need further, and of packages.txt\n"
    "# beside this file. The services' own packages are pinned in their folders.\n"
)


def services(root: Path) -> tuple[ServicePackage, ...]:
    """Return the services of all images."""
    return tuple(service for recipe in recipes.read(root).values() for service in composing.services(root, recipe))


def inputs(listed: Iterable[ServicePackage], packages: str) -> str:
    """Return what has to fit together, as a file of requirements."""
    lines = [line for service in listed for line in (f"{service.package}=={service.version}", *service.further)]
    return "".join(f"{line}\n" for line in lines) + packages


def command(uv: str, listed: Iterable[ServicePackage], further: Iterable[str]) -> list[str]:
    """Return how uv is called: for the images' Python on Linux, and without what the services' layers install."""
    own = [word for service in listed for word in ("--no-emit-package", service.package)]
    quiet = ["--quiet", "--no-emit-index-url", "--no-header", "--no-annotate"]
    return [uv, "pip", "compile", *quiet, "--python-version", PYTHON, "--python-platform", "linux", *own, *further]


def main(root: Path, arguments: list[str]) -> None:
    """Rewrite the file of pinned versions."""
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv is None:
        raise RecipeInvalid("uv, which finds the versions, is not installed; run make lock, or pip install uv.")
    listed = services(root)
    with tempfile.TemporaryDirectory() as folder:
        wanted, pinned = Path(folder, "packages.in"), Path(folder, "requirements.txt")
        wanted.write_text(inputs(listed, (root / PACKAGES).read_text()))
        # What stands there already is what uv prefers.
        before = (root / PINNED).read_text()
        shutil.copy(root / PINNED, pinned)
        subprocess.run([*command(uv, listed, arguments), str(wanted), "-o", str(pinned)], check=True)  # noqa: S603  what make lock installs
        after = HEADER + pinned.read_text()
        (root / PINNED).write_text(after)
    sys.stdout.write(f"{said(listed, before, after)}\n")


def said(listed: Iterable[ServicePackage], before: str, after: str) -> str:
    """Return what was pinned, in a sentence: whoever has added a service sees whether it was found."""
    lines = [line for line in after.splitlines() if "==" in line]
    new = len(set(lines) - set(before.splitlines()))
    names = ", ".join(sorted(service.name for service in listed))
    return f"{len(lines)} libraries are pinned for {names}; {new or 'none'} of them are new."


if __name__ == "__main__":
    main(recipes.folder(), sys.argv[1:])
