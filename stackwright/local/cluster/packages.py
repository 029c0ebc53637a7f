"""What a cluster needs from the distribution."""

import os
from collections.abc import Iterable
from pathlib import Path

from stackwright.local import distribution
from stackwright.local.distribution import Ask
from stackwright.local.errors import ClusterFailed
from stackwright.local.progress import Progress

# Where distributions keep the network plugins, Debian's place first.
CNI = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap", "ptp")
CNI_PACKAGE = "containernetworking-plugins"
# Each program, and Debian's name for the package that it is in.
PROGRAMS = {
    "containerd": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "iptables-restore": "iptables",
    "ipset": "ipset",
    "ip": "iproute2",
    "conntrack": "conntrack",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "pivot_root": "util-linux",
    "mount": "mount",
    "umount": "mount",
}


def plugins(folders: Iterable[Path] = CNI) -> Path | None:
    """Return the folder with the network plugins, or None if no folder has all of them."""
    whole = (folder for folder in folders if all(os.access(folder / name, os.X_OK) for name in CNI_PLUGINS))
    return next(whole, None)


def wanted(folders: Iterable[Path] = CNI) -> dict[str, str]:
    """Return the programs that must be there, each with its package; plugins only while no folder has all of them."""
    folders = tuple(folders)
    if plugins(folders):
        return PROGRAMS
    return PROGRAMS | {str(folders[0] / name): CNI_PACKAGE for name in CNI_PLUGINS}


def ensure(ask: Ask, progress: Progress) -> Path:
    """Install missing packages, if the user agrees and it is possible; return the folder with the network plugins."""
    distribution.ensure(wanted(), ask=ask, progress=progress)
    found = plugins()
    if found is None:
        listed = ", ".join(str(folder) for folder in CNI)
        raise ClusterFailed(f"No folder has the network plugins {', '.join(CNI_PLUGINS)}; looked in {listed}.")
    return found
