"""Clusters of the tests: brought up and taken down, with a tiny image in them; and the real kubectl."""

import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackwright.local import oci, versions
from stackwright.local.cluster import images, lifecycle
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.progress import Shown

# Who runs two parts of the ring beside each other gives each a cluster of its own.
NAME = os.environ.get("STACKWRIGHT_TEST_CLUSTER") or "e2e"
IMAGE = "stackwright.local/busybox:test"
APPLETS = ("sh", "httpd", "wget", "nslookup", "cat", "echo", "sleep", "id", "stat", "hostname", "ip", "touch", "mount")
# A machine under load takes many times as long as a healthy one; a test that passes never waits that long.
PATIENCE = "300s"
# For how many seconds a command in a pod is tried again.
RETRIED = 60.0
# For how many seconds a command may work, and how much longer than it is told to wait.
LONGEST, BEYOND = 360.0, 60.0


def longest(arguments: Iterable[str]) -> float:
    """Return for how many seconds a command of kubectl may work. Pure."""
    asked = (re.fullmatch(r"--timeout=(\d+)s", argument) for argument in arguments)
    return max(LONGEST, *(float(found[1]) + BEYOND for found in asked if found), 0.0)


@dataclass(frozen=True)
class Kubectl:
    """The real kubectl, in one namespace of the cluster."""

    program: Path
    kubeconfig: Path
    namespace: str = "default"

    def command(self, *arguments: str) -> list[str]:
        return [str(self.program), f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *arguments]

    def __call__(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            self.command(*arguments),
            input=given,
            capture_output=True,
            text=True,
            timeout=longest(arguments),
            check=False,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{self._pods()}"
        return done.stdout

    def inside(self, pod: str, *command: str) -> str:
        """Run a command in a pod and return what it printed; tried again for a while when it fails.

        Kubernetes says that a pod is ready before kube-proxy sends its Service's connections there, and after a node's
        restart the old states of its pods stand until the kubelet has looked.
        """
        deadline = time.monotonic() + RETRIED
        while True:
            words = self.command("exec", pod, "--", *command)
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
            except subprocess.TimeoutExpired:
                trouble = "no answer within 10 s"
            else:
                if done.returncode == 0:
                    return done.stdout
                trouble = done.stderr
            assert time.monotonic() < deadline, f"{' '.join(command)} in {pod}: {trouble}{self._pods()}"
            time.sleep(0.2)

    def apply(self, *manifests: dict[str, Any]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self("apply", "--filename=-", given=json.dumps(listed))

    def wait(self, what: str, condition: str) -> None:
        self("wait", what, f"--for={condition}", f"--timeout={PATIENCE}")

    def get(self, what: str, path: str) -> str:
        return self("get", what, f"--output=jsonpath={path}")

    def _pods(self) -> str:
        command = self.command("get", "pods,events", "--output=wide")
        return "\n" + subprocess.run(command, capture_output=True, text=True, check=False).stdout


def bring_up(name: str) -> Cluster:
    with Shown() as progress:
        cluster = lifecycle.up(name, progress=progress, ask=lambda _: "CI" in os.environ)
    with tempfile.TemporaryDirectory() as folder:
        images.load(cluster.first.pid, busybox(Path(folder) / "busybox.tar"))
    return cluster


def take_down(name: str, *, keep_data: bool = False) -> None:
    with Shown() as progress:
        lifecycle.down(name, keep_data=keep_data, progress=progress)


def is_static(program: bytes) -> bool:
    """Whether a 64-bit ELF file has no segment that names an interpreter."""
    start, size, count = *struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54)
    return all(struct.unpack_from("<I", program, start + size * index)[0] != 3 for index in range(count))


def busybox(archive: Path) -> Path:
    """Write the archive of an image with nothing but a static busybox."""
    found = shutil.which("busybox")
    if found is None or not is_static(Path(found).read_bytes()):
        pytest.skip("the pods of these tests run a static busybox; on Debian: apt-get install busybox-static")
    entries: tuple[oci.Entry, ...] = (
        oci.File("/bin/busybox", Path(found)),
        oci.Folder("/tmp", 0o1777),
        *(oci.Link(f"/bin/{applet}", "busybox") for applet in APPLETS),
    )
    oci.write(oci.Image(IMAGE, entries, command=("sh",)), archive, architecture=versions.architecture())
    return archive
