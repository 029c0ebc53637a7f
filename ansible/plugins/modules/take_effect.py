#!/usr/bin/python
"""Lets what stands in files take effect on a machine: restarts what reads them, or runs a command, if that is owed."""

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

DOCUMENTATION = r"""
module: take_effect
short_description: Let what stands in files take effect
description:
  - Restarts a service, or runs a command, unless that was done for some files as they are now. What it was done for is
    noted afterwards, so nothing is lost if a run ends between the change of a file and what follows from it. A file
    that was written again counts as another one, also with the same text; whoever wrote it may have restarted the
    service with another text in between.
  - Where nothing was noted yet, a service that was started after the files were written has read them.
options:
  files:
    description: The files, also with wildcards; they need not be there.
    type: list
    elements: str
    required: true
  note:
    description: The file that remembers for what it was done.
    type: str
    required: true
  service:
    description: The service that reads the files when it starts. It is also started if it does not run.
    type: str
  besides:
    description: Files of the service's unit that systemd has to know, and for which nothing restarts.
    type: list
    elements: str
    default: []
  command:
    description: The command that takes the place of a service.
    type: list
    elements: str
  owed:
    description: Whether it is owed whatever the files say, because this run has removed one.
    type: bool
    default: false
author:
  - Stackwright
"""

EXAMPLES = r"""
- name: Let chrony read its servers
  stackwright.edpm.take_effect:
    service: chrony.service
    files: [/etc/chrony/sources.d/edpm.sources]
    note: /var/lib/edpm-config/chrony
"""

RETURN = r"""
did:
  description: What was done, C(restart), C(start), C(reload) of systemd alone, C(command), or nothing.
  returned: success
  type: str
"""

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "NeedDaemonReload",
    "DropInPaths",
    "InactiveExitTimestamp",
    "InactiveExitTimestampMonotonic",
)


class Files(NamedTuple):
    """The files: a digest of them and their times, when one was written last, and for which digest it was done."""

    digest: str
    written: float
    noted: str


class Service(NamedTuple):
    """What systemd says of a service: whether it runs, since when, and whether its unit is another one by now."""

    active: bool
    since: float
    stale: bool


def read_files(patterns: Iterable[str], note: str) -> Files:
    """Return what the files say; without any, the digest is empty."""
    globbed = {path for pattern in map(Path, patterns) for path in pattern.parent.glob(pattern.name)}
    # Others may have left links there that lead nowhere.
    paths = sorted(path for path in globbed if path.is_file())
    found = [(str(path), path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths]
    written = max((path.stat().st_mtime for path in paths), default=0.0)
    noted = ""
    with contextlib.suppress(FileNotFoundError):
        noted = Path(note).read_text().strip()
    return Files(hashlib.sha256(json.dumps(found).encode()).hexdigest() if found else "", written, noted)


def read_service(properties: str, besides: Iterable[str], wall: float, monotonic: float) -> Service:
    """Return what `systemctl show` says of a service; the clocks say what time it is now."""
    said = dict(line.partition("=")[::2] for line in properties.splitlines())
    # Both are needed: the clock may have been wrong when the machine started, or when the files were written.
    by_clock = float(said.get("InactiveExitTimestamp", "").strip("@") or 0)
    after_boot = int(said.get("InactiveExitTimestampMonotonic") or 0) / 1e6
    # systemd cuts off parts of a second.
    since = max(by_clock + 1, wall - monotonic + after_boot) if after_boot else 0.0
    known = said.get("DropInPaths", "").split()
    stale = said.get("NeedDaemonReload") == "yes" or any(path not in known for path in besides)
    active = said.get("LoadState") == "loaded" and said.get("ActiveState") in ("active", "activating", "reloading")
    return Service(active, since if active else 0.0, stale)


def decide_service(files: Files, service: Service, *, owed: bool) -> str:
    """Return what has to be done: `restart`, `start`, `reload`, or nothing."""
    if not (files.digest or files.noted or owed):
        return ""
    # A former version of this collection has noted nothing.
    unread = files.digest != files.noted if files.noted else files.written > service.since
    if owed or unread:
        return "restart"
    if not service.active:
        return "start"
    return "reload" if service.stale else ""


def decide_command(files: Files, *, owed: bool) -> str:
    """Return `command` if it has to run."""
    return "command" if owed or files.digest != files.noted else ""


def write_note(path: Path, digest: str) -> None:
    """Note for which files it was done, in one step; there is nothing to note where there are none."""
    if not digest:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        return
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(f"{digest}\n")
    new.replace(path)


def main() -> None:
    """Do what is owed, as the task says."""
    from ansible.module_utils.basic import AnsibleModule  # noqa: PLC0415  the functions above are tried without Ansible

    words = {"type": "list", "elements": "str"}
    options = {
        "files": {**words, "required": True},
        "note": {"type": "str", "required": True},
        "service": {"type": "str"},
        "besides": {**words, "default": []},
        "command": words,
        "owed": {"type": "bool", "default": False},
    }
    one = ("service", "command")
    module = AnsibleModule(options, supports_check_mode=True, mutually_exclusive=[one], required_one_of=[one])
    asked = module.params

    def run(*command: str) -> str:
        code, output, error = module.run_command(list(command))
        if code != 0:
            module.fail_json(msg=f"{' '.join(command)} failed: {(error or output).strip()}", rc=code)
        return str(output)

    try:
        files = read_files(asked["files"], asked["note"])
    except OSError as error:
        module.fail_json(msg=f"{error.filename} cannot be read: {error.strerror}")
    commands: list[Any] = [asked["command"]]
    if asked["service"]:
        show = ("systemctl", "show", "--timestamp=unix", f"--property={','.join(PROPERTIES)}", asked["service"])
        now = (time.time(), time.clock_gettime(time.CLOCK_MONOTONIC))
        did = decide_service(files, read_service(run(*show), asked["besides"], *now), owed=asked["owed"])
        reload, act = ["systemctl", "daemon-reload"], ["systemctl", did, asked["service"]]
        commands = [reload] if did == "reload" else [reload, act]
    else:
        did = decide_command(files, owed=asked["owed"])
    if not module.check_mode:
        for command in commands if did else ():
            run(*command)
        # Only now: what is cut off before this is done again.
        if files.digest != files.noted:
            try:
                write_note(Path(asked["note"]), files.digest)
            except OSError as error:
                module.fail_json(msg=f"{asked['note']} cannot be written: {error.strerror}")
    module.exit_json(changed=did not in ("", "reload"), did=did)


if __name__ == "__main__":
    main()
