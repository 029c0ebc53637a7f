"""OVN's own controller as a program that runs on a node; a node has several if it stands in for fake hosts."""

import subprocess
from pathlib import Path

from programs import Failed, run

SOCKET = Path("/run/openvswitch/db.sock")
FOLDER = Path("/run/ovn")


class Controller:
    """The program that fills a bridge with flows: that of the node, or of a fake host on it."""

    def __init__(self, name: str = "") -> None:
        """`name` is the id of a fake host; the node's own controller finds its id in the switch's database."""
        self.level = ""
        self.control = FOLDER / f"{name or 'ovn-controller'}.ctl"
        self._pid = self.control.with_suffix(".pid")
        self._name = name
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started."""
        return self._process is not None

    @property
    def ended(self) -> str:
        """How it ended, if it did; nobody asked it to."""
        code = self._process.poll() if self._process is not None else None
        return "" if code is None else f"the controller {self._name} ended with {code}"

    def keep(self, level: str) -> None:
        """Let it run, and log as much as it shall."""
        if self._process is None:
            self._start(level)
        elif level != self.level:
            run("ovs-appctl", "-t", str(self.control), "vlog/set", f"console:{level}")
        self.level = level

    def _start(self, level: str) -> None:
        for left in (self.control, self._pid):
            left.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [
                "ovn-controller",
                f"unix:{SOCKET}",
                *(("-n", self._name) if self._name else ()),
                "-vfile:off",
                f"-vconsole:{level}",
                f"--unixctl={self.control}",
                f"--pidfile={self._pid}",
            ]
        )

    def end(self, *, stays: bool) -> None:
        """End it. Flows and the chassis stay, unless there is to be no such chassis any more."""
        if self._process is None:
            return
        try:
            run("ovs-appctl", "-t", str(self.control), "exit", *(["--restart"] if stays else []))
        except Failed:
            self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
