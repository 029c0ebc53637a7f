"""What a cluster, or a machine beside one, could leave behind on this machine."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from stackwright.local.cluster import layout
from tests.e2e.clusters import NAME

OTHER = "e2e-other"
"""The cluster whose traces are looked for."""


def traces() -> dict[str, list[str]]:
    """All that a cluster could leave behind on the machine; numbers that only count up are left out."""
    # Further clusters come and go meanwhile, elsewhere on the machine; who asks for an address holds a lock.
    elsewhere = {path.name.strip(".").removesuffix(".lock") for path in _clusters()} - {NAME, OTHER}

    def lines(*command: str) -> list[str]:
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return ours(re.sub(r"^\d+: |\[\d+:\d+\]|^#.*", "", line) for line in text.splitlines())

    def ours(found: Iterable[str]) -> list[str]:
        return sorted(text for text in found if OTHER in text or not any(name in text for name in elsewhere))

    return {
        "links": lines("ip", "-brief", "link"),
        "routes": lines("ip", "route", "show", "table", "all"),
        "firewall": lines("iptables-save"),
        # Images may be built meanwhile, elsewhere on the machine.
        "mounts": [line for line in lines("mount") if "/images/storage/" not in line and "buildah" not in line],
        "namespaces": lines("ip", "netns", "list"),
        "processes": [line for line in lines("ps", "-eo", "args") if OTHER in line],
        # A group of another cluster's pod may vanish meanwhile, which os.walk passes over.
        "groups": ours(
            f"{folder}/{name}"
            for folder, names, _ in os.walk("/sys/fs/cgroup")
            for name in names
            if name.startswith("stackwright")
        ),
        "folders": [
            str(path) for folder in ("/var/lib", "/run", "/var/log", "/opt") for path in Path(folder).iterdir()
        ],
        "clusters": ours(path.name for path in _clusters()),
    }


def _clusters() -> list[Path]:
    return list(layout.root().iterdir()) if layout.root().is_dir() else []
