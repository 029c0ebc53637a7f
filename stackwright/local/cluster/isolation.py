"""Makes the node's own view of the machine, from inside of its new namespaces.

The node's root consists of the host's folders, except /proc, /run and /var: those are its own. So nothing
that its programs leave there is seen by the host, or by another node, and all of it goes when the node ends.
"""

import os
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path

from stackwright.local.errors import ClusterFailed

REPLACED = ("proc", "run", "var")
_VAR = ("lib/kubelet", "lib/cni", "lib/containerd", "lib/stackwright/volumes", "log/pods", "log/containers", "tmp")
# Where the host's root is for a moment. The host's folders are beside it, so it has a name that none of them has.
_HOST = ".stackwright-host"


def enter(root: Path, var: Path, *, hostname: str, needed: Iterable[Path]) -> None:
    """Make `root` this process' root, with `var` as its /var; `needed` are folders that stay where they are."""
    for folder in (root, *(var / name for name in _VAR)):
        folder.mkdir(parents=True, exist_ok=True)
    mount("--types", "tmpfs", "--options", "mode=755", "node", root)
    for entry in Path("/").iterdir():
        _show(entry, root / entry.name)
    mount("--bind", var, root / "var")
    mount("--types", "tmpfs", "--options", "mode=755", "run", root / "run")
    # Many programs know this folder by the name that it had before.
    (root / "var" / "run").unlink(missing_ok=True)
    (root / "var" / "run").symlink_to("/run")
    mount("--types", "proc", "proc", root / "proc")
    for folder in hidden(needed):
        target = root / folder.relative_to("/")
        target.mkdir(parents=True, exist_ok=True)
        mount("--rbind", folder, target)
    settle(root, hostname)
    forward = Path("/proc/sys/net/ipv4/ip_forward")
    forward.write_text("1\n")


def settle(root: Path, hostname: str) -> None:
    """Make a folder that something is mounted on this process' root, and leave the host's behind."""
    old = root / _HOST
    old.mkdir(exist_ok=True)
    _run("pivot_root", root, old)
    os.chdir("/")
    _run("umount", "--lazy", f"/{_HOST}")
    Path("/", _HOST).rmdir()
    # Shared among the machine's own programs, so that a pod's mounts reach the kubelet; the host is not one of them.
    mount("--make-rshared", "/")
    socket.sethostname(hostname)


def hidden(folders: Iterable[Path]) -> list[Path]:
    """Return those of the folders that the node would not see because they lie in what it has of its own."""
    return sorted({folder for folder in folders if folder.parts[1:2] and folder.parts[1] in REPLACED})


def _show(entry: Path, target: Path) -> None:
    """Let the node see one of the entries of the host's root."""
    if entry.is_symlink():
        target.symlink_to(entry.readlink())
    elif entry.is_dir():
        target.mkdir()
        if entry.name not in REPLACED:
            mount("--rbind", entry, target)
    elif entry.is_file():
        target.touch()
        mount("--bind", entry, target)


def mount(*arguments: str | Path) -> None:
    """Run mount."""
    _run("mount", *arguments)


def _run(*command: str | Path) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  no shell
    except OSError as error:
        raise ClusterFailed(f"{command[0]} cannot be run: {error.strerror}.") from error
    except subprocess.CalledProcessError as error:
        words = " ".join(str(word) for word in command)
        raise ClusterFailed(f"The node cannot have its own root: `{words}` failed: {error.stderr.strip()}") from error
