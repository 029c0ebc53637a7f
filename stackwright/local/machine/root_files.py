"""The root file system that every machine begins with: Debian with systemd, built once and kept in the cache."""

import hashlib
import shutil
import time
from pathlib import Path

import msgspec

from stackwright.local import cache, distribution, process, versions
from stackwright.local.cache import Cache
from stackwright.local.distribution import Ask
from stackwright.local.errors import ClusterFailed
from stackwright.local.images import bootstrapping, context, recipes, settings
from stackwright.local.images.building import MMDEBSTRAP
from stackwright.local.images.following import Following
from stackwright.local.progress import Progress, duration

USER = "cloud-admin"
"""Who logs in, by key alone, and may become root."""

# A machine may not reach any archive, so it has all that our Ansible collection installs.
PACKAGES = (
    *("ca-certificates", "dbus", "iproute2", "iputils-ping", "kmod", "libpam-systemd", "procps", "systemd-sysv"),
    *("openssh-server", "python3", "python3-apt", "sudo"),
    *("chrony", "crun", "netavark", "nftables", "podman"),
)
# The same image on every machine, so nothing that is to be one machine's own may be in it.
_HOOKS = (
    f'chroot "$1" useradd --create-home --shell /bin/bash {USER}',
    f'echo "{USER} ALL=(ALL) NOPASSWD: ALL" > "$1"/etc/sudoers.d/{USER}',
    'chroot "$1" systemctl --quiet enable systemd-networkd.service',
    # Nobody sits at a console, and nobody asked for what these do behind his back.
    'chroot "$1" systemctl --quiet mask getty.target apt-daily.timer apt-daily-upgrade.timer',
    'rm -f "$1"/etc/ssh/ssh_host_*',
)
_KEPT = 2


def ensure(ask: Ask, progress: Progress) -> Path:
    """Return the archive of the root file system; build it unless it is there."""
    entry = Cache(cache.root().parent / "machines", f"debian-{key()}")
    archive = entry.directory / context.ROOT_FILES
    if archive.is_file():
        return archive
    distribution.ensure(MMDEBSTRAP, ask=ask, progress=progress)
    with entry.locked(progress):
        if not archive.is_file():
            with entry.staging() as staging:
                entry.keep(_build(staging, entry.directory.with_suffix(".log"), progress))
    _forget_older(entry.directory)
    return archive


def key() -> str:
    """Return the hash of all that goes into the root file system but the packages' versions; those have a date."""
    recipe = recipes.read(recipes.folder())["debian"]
    words = (recipe.date, versions.architecture(), *PACKAGES, *_HOOKS)
    digest = hashlib.sha256(msgspec.json.encode((recipe.bootstrap, words)))
    return digest.hexdigest()[:16]


def _build(staging: Path, log: Path, progress: Progress) -> Path:
    """Make the archive in a folder of the staging folder, and return that folder."""
    began = time.monotonic()
    wanted = recipes.read(recipes.folder())["debian"].bootstrap
    if wanted is None:
        raise ClusterFailed("images/debian/recipe.toml has no [bootstrap], of which machines are made.")
    folder = staging / "made"
    folder.mkdir()
    words = context.bootstrap(wanted, settings.read(wanted.suite), folder)
    hooks = [f"--customize-hook={hook}" for hook in _HOOKS]
    progress.say("Building the root file system of machines: Debian 13 with systemd.")
    command = [*bootstrapping.command(staging), f"--include={','.join(PACKAGES)}", *hooks, *words]
    # A build that failed is not part of this one's log.
    log.unlink(missing_ok=True)
    code = Following("machine", "starting", progress).run(command, directory=folder, log=log)
    if code != 0:
        raise ClusterFailed(f"The root file system was not built. The end of {log}:\n{process.tail(log)}")
    progress.say(f"Built the root file system in {duration(time.monotonic() - began)}.")
    return folder


def _forget_older(present: Path) -> None:
    found = [path for path in present.parent.glob(f"debian-*/{context.ROOT_FILES}") if path.parent != present]
    for old in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT - 1 :]:
        shutil.rmtree(old.parent, ignore_errors=True)
