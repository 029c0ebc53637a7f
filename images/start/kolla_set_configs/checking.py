"""`--check`: compare the container with its configuration, and change nothing."""

from __future__ import annotations

import functools
import logging
import stat
from pathlib import Path

from .configuration import Config, ConfigFile, Rule, directory_mode
from .copying import keeps_link, required_pairs, tree
from .defaults import Places, read_state
from .errors import ConfigFileBadState, ConfigFileCommandDiffers, StateMismatch
from .properties import LEAVE, applies, is_own, is_root, own_groups, owner_ids

LOG = logging.getLogger("kolla_set_configs")


def wanted_properties(
    entry: ConfigFile, source: Path, dest: Path, permissions: tuple[Rule, ...]
) -> tuple[int, int, int]:
    """Return the user, group and mode that a copy should have; a later word of the configuration counts."""
    status = source.stat()
    uid, gid, mode = status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)
    words = [] if entry.preserve_properties else [(entry.owner, entry.perm)]
    words += [(rule.owner, rule.perm) for rule in permissions if applies(rule, dest)]
    for owner, perm in words:
        uid, gid = owner_ids(owner)
        if perm is not None:
            mode = directory_mode(perm) if dest.is_dir() else perm
    return uid, gid, mode


def wrong_property(dest: Path, uid: int, gid: int, mode: int) -> str:
    """Return what is wrong with owner or mode of a copy, as far as this user could have set it."""
    status = dest.stat()
    if not is_own(dest) and dest.is_dir():
        return ""
    if uid not in (LEAVE, status.st_uid) and (is_root() or not is_own(dest)):
        return f"does not have expected user: {uid}, actual: {status.st_uid}"
    if gid not in (LEAVE, status.st_gid) and (is_root() or gid in own_groups()):
        return f"does not have expected group: {gid}, actual: {status.st_gid}"
    actual = stat.S_IMODE(status.st_mode)
    if actual != mode and is_own(dest):
        return f"does not have expected perm: {mode:04o}, actual: {actual:04o}"
    return ""


def difference(entry: ConfigFile, source: Path, dest: Path, permissions: tuple[Rule, ...]) -> str:
    """Return how a copy differs from what it should be."""
    if keeps_link(entry, source):
        return "" if dest.is_symlink() and dest.readlink() == source.readlink() else "is not the same link"
    if not dest.exists():
        return "does not exist"
    if dest.is_dir() != source.is_dir():
        return f"is not of the same kind as {source}"
    if not source.is_dir() and source.read_bytes() != dest.read_bytes():
        return f"does not have the content of {source}"
    return wrong_property(dest, *wanted_properties(entry, source, dest, permissions))


def check_command(config: Config, place: Places) -> None:
    """Refuse when another command was started than the configuration has."""
    running = place.run_command.read_text(encoding="utf-8") if place.run_command.exists() else None
    if running != config.command:
        raise ConfigFileCommandDiffers(f"Running command differs. {config.command} != {running}")


def check_configs(config: Config, place: Places) -> None:
    """Refuse when the next start would change something."""
    check_command(config, place)
    expected: dict[Path, tuple[ConfigFile, Path]] = {}
    named: set[Path] = set()
    for entry in config.config_files:
        for top, dest in required_pairs(entry):
            if not entry.merge:  # It has deleted what earlier entries copied there.
                expected = {path: value for path, value in expected.items() if dest not in (path, *path.parents)}
            copies = tree(top, dest, functools.partial(keeps_link, entry))
            expected.update({path: (entry, source) for source, path in copies})
        named.update(expected)
    gone = sorted(str(path) for path in read_state(place) if path not in named)
    if gone:
        raise StateMismatch(
            f"These files are no longer in the configuration and would become the default again: {gone}"
        )
    bad = []
    for dest, (entry, source) in expected.items():
        problem = difference(entry, source, dest, config.permissions)
        if problem:
            LOG.error("%s %s", dest, problem)
            bad.append(str(dest))
    if bad:
        raise ConfigFileBadState(f"Following files are in bad state: {bad}")
