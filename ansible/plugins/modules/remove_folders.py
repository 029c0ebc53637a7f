#!/usr/bin/python
"""Removes folders of a machine; mount points stay, and so does what other machines may have too."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

DOCUMENTATION = r"""
module: remove_folders
short_description: Remove folders, but nothing that is mounted in them
description:
  - Removes folders and files. A folder that is a mount point is emptied and stays, because it cannot be removed. What
    is mounted further below stays as it is, so name such a folder, too, if it has to be emptied.
  - On a file system that other machines may have, such as NFS, nothing is removed. In check mode, too, such folders are
    in the result, so it can be asked for them.
options:
  paths:
    description: The folders and files, those below others first; they need not be there.
    type: list
    elements: path
    required: true
author:
  - Stackwright
"""

EXAMPLES = r"""
- name: Remove what Nova kept
  stackwright.edpm.remove_folders:
    paths: [/var/lib/nova/instances, /var/lib/nova]
"""

RETURN = r"""
mounted:
  description: The mount points that stay.
  returned: success
  type: list
  elements: str
shared:
  description: The folders of C(paths) of which nothing is removed, because other machines may have them too.
  returned: success
  type: list
  elements: str
"""

# File systems that are one machine's alone. Whatever is not known is nobody's to empty.
OWN = frozenset(("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"))


class Removal(NamedTuple):
    """What is removed, and what stays because other machines may have it too."""

    paths: tuple[str, ...]
    shared: tuple[str, ...]


def read_mounts(text: str) -> dict[str, str]:
    """Return the type of the file system at each mount point, as /proc/self/mountinfo says it."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        place, _, file_system = line.partition(" - ")
        path = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place.split()[4])
        # Of several at one place, the last one is seen.
        found[path] = file_system.split()[0]
    return found


def find_type(path: str, mounts: Mapping[str, str]) -> str:
    """Return the type of the file system that a path is on; nothing is asked of that file system."""
    while path not in mounts and path != os.path.dirname(path):  # noqa: PTH120  a Path is no key of mounts
        path = os.path.dirname(path)  # noqa: PTH120
    return mounts.get(path, "")


def plan_removal(paths: list[str], mounts: Mapping[str, str]) -> Removal:
    """Return what may be removed of some paths."""
    shared = tuple(path for path in paths if find_type(path, mounts) not in OWN)
    return Removal(tuple(path for path in paths if path not in shared), shared)


def remove(path: Path, mounts: Mapping[str, str], *, asked: bool = True) -> Iterator[tuple[str, bool]]:
    """Remove a path; yield what is removed with True, and mount points, which stay, with False."""
    if str(path) in mounts:
        yield str(path), False
        if not asked:
            return
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            yield str(path), True
        return
    below = [one for entry in sorted(path.iterdir()) for one in remove(entry, mounts, asked=False)]
    yield from below
    if all(gone for _, gone in below) and str(path) not in mounts:
        path.rmdir()
        yield str(path), True


def place(path: str) -> str:
    """Return where a path is, whatever links lead to its folder; if it is a link itself, it stays one."""
    return str(Path(path).parent.resolve() / Path(path).name)


def main() -> None:
    """Remove what the task names."""
    from ansible.module_utils.basic import AnsibleModule  # noqa: PLC0415  the functions above are tried without Ansible

    options = {"paths": {"type": "list", "elements": "path", "required": True}}
    module = AnsibleModule(options, supports_check_mode=True)
    mounts = read_mounts(Path("/proc/self/mountinfo").read_text())
    plan = plan_removal([place(path) for path in module.params["paths"]], mounts)
    there = [Path(path) for path in plan.paths if os.path.lexists(path)]
    found: list[tuple[str, bool]] = []
    for path in there if not module.check_mode else ():
        try:
            found += remove(path, mounts)
        except OSError as error:
            module.fail_json(msg=f"{path} cannot be removed: {error}")
    changed = any(gone for _, gone in found) or (module.check_mode and bool(there))
    mounted = sorted({path for path, gone in found if not gone})
    module.exit_json(changed=changed, mounted=mounted, shared=plan.shared)


if __name__ == "__main__":
    main()
