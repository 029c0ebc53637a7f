"""Owners and modes. What cannot be set is logged, and the start goes on."""

from __future__ import annotations

import contextlib
import functools
import glob
import grp
import logging
import os
import pwd
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from .configuration import Rule, directory_mode, split_owner
from .errors import UserNotFound

LOG = logging.getLogger("kolla_set_configs")

LEAVE = -1  # What chown takes for "leave this one as it is".


def find(pattern: str) -> list[str]:
    """Return what a wildcard stands for, in order."""
    return sorted(glob.glob(pattern))  # noqa: PTH207  Unlike the shell, pathlib's glob finds hidden files.


def is_root() -> bool:
    """Tell whether owners can be set."""
    return os.geteuid() == 0


def is_own(path: Path) -> bool:
    """Tell whether this user can set the mode of a path."""
    return is_root() or path.stat().st_uid == os.geteuid()


def own_groups() -> set[int]:
    """Return the groups to which this user can give a file of his own."""
    return {os.getegid(), *os.getgroups()}


def log_failure(message: str, *values: object) -> None:
    """Log what could not be set; for a user who is not root that is no surprise."""
    LOG.log(logging.WARNING if is_root() else logging.INFO, message, *values)


@functools.cache
def owner_ids(owner: str) -> tuple[int, int]:
    """Return the numbers of an owner; `LEAVE` for a name that is not known to a user who could not set it anyway."""

    def look_up(kind: str, name: str, number: Callable[[], int]) -> int:
        try:
            return number()
        except KeyError:
            if is_root():
                raise UserNotFound(f"There is no {kind} {name} in this image; an owner is user:group by name") from None
            LOG.info("There is no %s %s in this image; what it should own stays as it is", kind, name)
            return LEAVE

    user, group = split_owner(owner)
    uid = look_up("user", user, lambda: pwd.getpwnam(user).pw_uid)
    return uid, look_up("group", group, lambda: grp.getgrnam(group).gr_gid)


def set_owner(path: Path, uid: int, gid: int) -> None:
    """Give a path to its owner; one that is already right is done."""
    status = path.stat()
    if uid in (LEAVE, status.st_uid) and gid in (LEAVE, status.st_gid):
        return
    try:
        os.chown(path, uid, gid)
    except OSError as error:
        log_failure("Failed to change ownership of %s to %s:%s: %s", path, uid, gid, error.strerror)
        # Who owns a file may still give it to another of his own groups.
        with contextlib.suppress(OSError):
            os.chown(path, LEAVE, gid)


def set_mode(path: Path, perm: int | None) -> None:
    """Set a mode; one that is already right is done."""
    if perm is None:
        return
    mode = directory_mode(perm) if path.is_dir() else perm
    if stat.S_IMODE(path.stat().st_mode) == mode:
        return
    try:
        path.chmod(mode)
    except OSError as error:
        log_failure("Failed to set permission of %s to %s: %s", path, oct(mode), error.strerror)


def set_properties(path: Path, owner: str, perm: int | None) -> None:
    """Set owner and mode as the configuration says."""
    LOG.info("Setting permission for %s", path)
    if not path.exists():
        LOG.warning("%s does not exist", path)
        return
    # The owner comes first: a change of owner takes the set-user-ID bit away.
    set_owner(path, *owner_ids(owner))
    set_mode(path, perm)


def preserve_properties(source: Path, dest: Path) -> None:
    """Give a copy the owner, mode and times of its source."""
    LOG.info("Copying permissions from %s onto %s", source, dest)
    status = source.stat()
    set_owner(dest, status.st_uid, status.st_gid)
    try:
        shutil.copystat(source, dest)
    except OSError as error:
        if dest.stat().st_mode != status.st_mode:
            log_failure("Failed to copy permissions from %s onto %s: %s", source, dest, error.strerror)


def apply_rule(rule: Rule) -> None:
    """Set owner and mode of everything to which a rule applies."""
    for found in find(rule.path):
        set_properties(Path(found), rule.owner, rule.perm)
        for root, directories, files in os.walk(found) if rule.recurse else ():
            for path in (Path(root, name) for name in sorted(directories + files)):
                if not rule.excludes(path):
                    set_properties(path, rule.owner, rule.perm)


def applies(rule: Rule, path: Path) -> bool:
    """Tell whether a rule decides on the owner and mode of a path."""
    tops = {Path(found) for found in find(rule.path)}
    return path in tops or (rule.recurse and not tops.isdisjoint(path.parents) and not rule.excludes(path))
