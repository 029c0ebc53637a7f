"""What a build sees: its context with the recipe's inputs, and the folder with the machine's settings next to it."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from stackwright.local.images import composing, hashing, settings
from stackwright.local.images.recipes import CONTAINERFILE, Bootstrap, Recipe
from stackwright.local.images.settings import Settings

ROOT_FILES = "root.tar"
LABEL = "stackwright.inputs"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# What the first image would otherwise know of the machine that made it; an address of its own sources has no place in
# an image, either.
_TRACES = ("hostname", "resolv.conf", "apt/apt.conf.d/99mmdebstrap", "machine-id")
_SOURCES = ("apt/sources.list", "apt/sources.list.d/*")


def mounted(root: Path, machine: Settings, folder: Path) -> Path:
    """Fill the folder that a build sees at /mnt: our scripts, and the machine's settings."""
    shutil.copytree(root / hashing.SCRIPTS, folder)
    settings.write(machine, folder / "settings")
    return folder


def fill(root: Path, recipe: Recipe, folder: Path, programs: Mapping[str, Path]) -> None:
    """Fill the context of a build with what the recipe names."""
    for name, path in hashing.files(root, recipe.inputs):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        # The owner of a file and the umask make no difference to the image.
        target.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
    for name, path in programs.items():
        target = folder / "programs" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(path, target)
        target.chmod(0o755)
    for below, _, _ in os.walk(folder):
        Path(below).chmod(0o755)


def containerfile(root: Path, recipe: Recipe, folder: Path, *, inputs: str) -> Path:
    """Write the Containerfile of a build next to its context, and return its path.

    buildah takes a line that it has done before from its storage, even if what the line mounts is another file now:
    our scripts, or what an earlier stage made. So each stage begins with the hash of all that goes into the image.
    """
    text = composing.containerfile(root, recipe) or f"FROM scratch\nADD {ROOT_FILES} /\n"
    path = folder.with_name(CONTAINERFILE)
    path.write_text(re.sub(r"^FROM .*\n", rf"\g<0>LABEL {LABEL}={inputs}\n", text, flags=re.MULTILINE))
    return path


def arguments(recipe: Recipe, references: Mapping[str, str]) -> Iterator[str]:
    """Return the build arguments of a recipe: the reference of each image that it needs."""
    return (f"{name.upper().replace('-', '_')}={references[name]}" for name in recipe.needs)


def bootstrap(wanted: Bootstrap, machine: Settings, folder: Path) -> list[str]:
    """Return mmdebstrap's arguments that make the root files of a distribution in a folder, from the machine's archive.

    A machine that has no Debian takes it from where mmdebstrap knows it, and the image keeps that as its source.
    """
    options = folder.with_name("apt.conf")
    lines = list(machine.apt)
    if machine.authorities:
        authorities = folder.with_name("authorities.crt")
        authorities.write_bytes(machine.authorities)
        lines.append(f'Acquire::https::CaInfo "{authorities}";')
    if machine.credentials:
        credentials = folder.with_name("auth.conf")
        _write_for_root(credentials, machine.credentials)
        lines.append(f'Dir::Etc::netrc "{credentials}";')
    _write_for_root(options, "".join(f"{line}\n" for line in lines))
    traces = (*_TRACES, *(_SOURCES if machine.sources else ()))
    words = [f"--variant={wanted.variant}", f"--aptopt={options}"]
    words += [f"--dpkgopt=path-exclude={pattern}" for pattern in wanted.exclude]
    words += [f"--dpkgopt=path-include={pattern}" for pattern in wanted.include]
    words += [f"--keyring={_KEYRING}"] if _KEYRING.is_file() else []
    words += ["--customize-hook=rm -f " + " ".join(f'"$1"/etc/{path}' for path in traces)]
    words += [wanted.suite, str(folder / ROOT_FILES)]
    if machine.sources:
        sources = folder.with_name("sources.list")
        _write_for_root(sources, "".join(f"{source.line}\n" for source in machine.sources))
        words.append(str(sources))
    return words


def _write_for_root(path: Path, content: str) -> None:
    """Write what may have a password in it. Without root, mmdebstrap reads it as another user of ours, who needs to."""
    path.touch(mode=0o600 if os.geteuid() == 0 else 0o644)
    path.write_text(content)
