"""Copying files and directories into place."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from .configuration import ConfigFile, Rule, destination
from .errors import MissingRequiredSource
from .properties import apply_rule, find, preserve_properties, set_properties

LOG = logging.getLogger("kolla_set_configs")

# A mount point, a read-only file system, a directory of another user: what stands there cannot be deleted, but it may
# be possible to empty it or to write into it.
STAYS = (errno.EBUSY, errno.EACCES, errno.EPERM, errno.EROFS)

KeepsLink = Callable[[Path], bool]


def keeps_link(entry: ConfigFile, source: Path) -> bool:
    """Tell whether a source is copied as the link that it is.

    A link to a directory never is, because a merge would put it in the place of a directory; nor is one of the links
    of which Kubernetes makes a mounted Secret, because it points at nothing anywhere else.
    """
    if not (entry.merge and entry.preserve_properties and source.is_symlink()) or source.is_dir():
        return False
    return not str(source.readlink()).startswith("..data/")


def pairs(entry: ConfigFile) -> list[tuple[Path, Path]]:
    """Return the sources of an entry that are there, each with its destination."""
    return [(Path(source), destination(entry.dest, source)) for source in find(entry.source)]


def required_pairs(entry: ConfigFile) -> list[tuple[Path, Path]]:
    """Return the sources of an entry, each with its destination; only an optional entry may have none."""
    found = pairs(entry)
    if not found and not entry.optional:
        raise MissingRequiredSource(f"{entry.source} file is not found")
    return found


def children(directory: Path) -> list[Path]:
    """Return what is in a directory, but not what Kubernetes keeps in a mounted Secret or ConfigMap for itself."""
    mounted = (directory / "..data").is_symlink()
    return [child for child in sorted(directory.iterdir()) if not (mounted and child.name.startswith(".."))]


def tree(source: Path, dest: Path, keeps: KeepsLink) -> Iterator[tuple[Path, Path]]:
    """Return a source and all that is in it, each with its destination, from the top down."""
    yield source, dest
    if source.is_dir() and not keeps(source):
        for child in children(source):
            yield from tree(child, dest / child.name, keeps)


def delete(path: Path) -> None:
    """Delete what is there; where some of it cannot go, the rest goes and the first reason is raised."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    with contextlib.suppress(OSError):
        # A user who is not root could not empty a directory that he may not write.
        path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IRWXU)
    failures: list[OSError] = []
    for child in list(path.iterdir()):
        try:
            delete(child)
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    path.rmdir()


def clear(path: Path) -> None:
    """Make room for a copy; what cannot be deleted, such as a mount point, is emptied or overwritten."""
    if not os.path.lexists(path):
        return
    LOG.info("Deleting %s", path)
    try:
        delete(path)
    except OSError as error:
        if error.errno not in STAYS:
            raise
        LOG.info("%s stays and is written as it is, because it cannot be deleted: %s", path, error.strerror)


def copy_content(source: Path, dest: Path) -> None:
    """Copy a file's content into a file that nobody else can read before it has got its mode."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with source.open("rb") as reader, os.fdopen(os.open(dest, flags, 0o600), "wb") as writer:
        shutil.copyfileobj(reader, writer)


def copy_tree(source: Path, dest: Path, *, keeps: KeepsLink, finish: Callable[[Path, Path], None]) -> None:
    """Copy a file, or a directory into what may be there already; `finish` sets the properties of each copy."""
    if source.is_dir() and not keeps(source):
        if not dest.is_dir():
            clear(dest)
            LOG.info("Creating directory %s", dest)
            dest.mkdir(parents=True)
        for child in children(source):
            copy_tree(child, dest / child.name, keeps=keeps, finish=finish)
        finish(source, dest)  # After what is in it, because its mode may forbid to write there.
        return
    clear(dest)
    LOG.info("Copying %s to %s", source, dest)
    if keeps(source):
        dest.symlink_to(source.readlink())
    else:
        copy_content(source, dest)
        finish(source, dest)


def replicate(source: Path, dest: Path) -> None:
    """Copy something with all its links and properties, in place of what is there."""
    if source.is_dir():
        clear(dest)
    dest.parent.mkdir(parents=True, exist_ok=True)
    copy_tree(source, dest, keeps=Path.is_symlink, finish=preserve_properties)


def copy_config_file(entry: ConfigFile) -> None:
    """Copy what one entry of config_files names."""

    def finish(source: Path, dest: Path) -> None:
        if entry.preserve_properties:
            preserve_properties(source, dest)
        else:
            set_properties(dest, entry.owner, entry.perm)

    for source, dest in required_pairs(entry):
        try:
            if source.is_dir() and not entry.merge:
                clear(dest)
            dest.parent.mkdir(parents=True, exist_ok=True)
            copy_tree(source, dest, keeps=functools.partial(keeps_link, entry), finish=finish)
        except OSError:
            LOG.error("Unable to merge %s with %s", source, dest)  # noqa: TRY400  The reason is logged at the end.
            raise


def create_directory(rule: Rule) -> None:
    """Make a directory where there is none."""
    Path(rule.path).mkdir(parents=True, exist_ok=True)
    apply_rule(rule)


def create_file(rule: Rule) -> None:
    """Make an empty file where there is none."""
    path = Path(rule.path)
    if path.is_symlink():
        raise OSError(f"Path is a symbolic link, expected regular file ({path})")
    if path.is_dir():
        raise OSError(f"Path is a directory, expected file ({path})")
    if not path.parent.is_dir():
        raise OSError(f"Parent directory does not exist ({path.parent})")
    if not path.exists():
        path.touch()
    apply_rule(rule)
