"""Makes a machine's own view of this one, from inside of its new namespaces, and becomes systemd.

The machine has a root file system, process ids, links, control groups and devices of its own. It is root here as well:
no user namespace separates it, so it is for trials and not for strangers. What would change the whole machine is out of
its reach: the kernel's own settings, its modules, and its clock.
"""

import ctypes
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from stackwright.local.cluster import isolation
from stackwright.local.errors import ClusterFailed

_CLONE_NEWCGROUP = 0x02000000
# Those that every program expects, and those that virtual machines and their networks need, where they are.
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "fuse", "kvm", "net/tun", "vhost-net")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
# What of /proc speaks of the whole machine. Its network is the machine's own.
_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus")
_WITHOUT = ("sys_module", "sys_time", "sys_rawio", "mac_admin", "mac_override", "wake_alarm", "block_suspend")
# By this variable systemd and others know that the kernel is not theirs.
_ENVIRONMENT = {"container": "stackwright", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def prepare(root: Path) -> None:
    """Mount everything that does not need the machine's control group."""
    isolation.mount("--bind", root, root)
    isolation.mount("--types", "proc", "proc", root / "proc")
    net = root / "proc" / "sys" / "net"
    isolation.mount("--bind", net, net)
    for name in _READ_ONLY:
        path = root / "proc" / name
        if path.exists():
            isolation.mount("--bind", path, path)
            isolation.mount("--options", "remount,bind,ro", path)
    # The kernel shows in it the links of the network namespace that mounts it.
    isolation.mount("--types", "sysfs", "--options", "ro", "sysfs", root / "sys")
    isolation.mount("--types", "tmpfs", "--options", "mode=755", "run", root / "run")
    _make_devices(root / "dev")


def _make_devices(folder: Path) -> None:
    isolation.mount("--types", "tmpfs", "--options", "mode=755", "dev", folder)
    for name in _DEVICES:
        with suppress(FileNotFoundError):
            found = Path("/dev", name).stat()
            (folder / name).parent.mkdir(exist_ok=True)
            # A node of its own: the machine may change its mode, and the host's stays as it is.
            os.mknod(folder / name, stat.S_IFCHR | 0o666, found.st_rdev)
            (folder / name).chmod(0o666)
    (folder / "pts").mkdir()
    options = "newinstance,ptmxmode=0666,mode=620,gid=5"
    isolation.mount("--types", "devpts", "--options", options, "devpts", folder / "pts")
    (folder / "shm").mkdir()
    isolation.mount("--types", "tmpfs", "--options", "mode=1777", "shm", folder / "shm")
    for name, target in _LINKS.items():
        (folder / name).symlink_to(target)


def become(root: Path, hostname: str) -> NoReturn:
    """Make the control group that this process is in the root of all that the machine sees, and run systemd."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWCGROUP):
        raise ClusterFailed(f"There is no cgroup namespace to be had: {os.strerror(ctypes.get_errno())}.")
    isolation.mount("--types", "cgroup2", "cgroup2", root / "sys" / "fs" / "cgroup")
    isolation.settle(root, hostname)
    without = ",".join(f"-{name}" for name in _WITHOUT)
    with Path("/dev/null").open("r+b", buffering=0) as nothing:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            os.dup2(nothing.fileno(), stream.fileno())
    program = "/usr/bin/setpriv"
    os.execve(program, [program, f"--bounding-set={without}", "/sbin/init"], _ENVIRONMENT)  # noqa: S606  no shell
