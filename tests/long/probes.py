"""Probes: namespaces of this machine that are plugged into the cloud's virtual networks, as servers would be."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from stackwright.local.cluster.lifecycle import Cluster
from tests.e2e.cloud import Cloud

SWITCH = "daemonset/ovn-controller-ovs"
BRIDGE = "br-int"
PORT = 8080
# What a probe does with the lease that DHCP gives it: no more than a server would.
_LEASE = """\
#!/bin/sh
[ "$1" = bound ] || exit 0
ip address replace "$ip/$mask" dev eth0
ip link set eth0 mtu "$mtu"
[ -z "$router" ] || ip route replace default via "$router"
echo "lease $ip $mtu $router"
"""
_CHECKSUMS = "from stackwright.local.cluster import network; network.compute_checksums('eth0')"


@dataclass
class Losses:
    """How many pings were sent, and how many were answered."""

    sent: int = 0
    answered: int = 0

    @property
    def lost(self) -> int:
        """How many were not answered."""
        return self.sent - self.answered

    def __str__(self) -> str:
        return f"{self.lost} of {self.sent} pings lost"


@dataclass(frozen=True)
class Probe:
    """A namespace with one link, which is plugged into a port."""

    pid: int
    port: dict[str, Any]
    lease: tuple[str, ...]
    """What DHCP said: address, MTU, and router if there is one."""

    @property
    def address(self) -> str:
        """The address that it got."""
        return self.lease[0]

    def run(self, *command: str, code: int = 0) -> str:
        """Run a command in its namespace."""
        return run(inside(self.pid, *command), code=code)

    def reaches(self, address: str) -> bool:
        """Return whether an address answers to a ping."""
        return succeeds(inside(self.pid, *ping(address)))

    @contextmanager
    def pinging(self, address: str) -> Iterator["Losses"]:
        """Ping an address five times a second for the time of the block; afterwards it is known what was lost."""
        losses = Losses()
        command = inside(self.pid, "busybox", "ping", "-i", "0.2", "-q", address)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
            try:
                yield losses
            finally:
                asking.send_signal(signal.SIGINT)
                printed, _ = asking.communicate(timeout=60)
        found = re.search(r"(\d+) packets transmitted, (\d+) packets received", printed)
        assert found is not None, printed
        losses.sent, losses.answered = int(found[1]), int(found[2])

    def fetches(self, address: str) -> bool:
        """Return whether the page of another probe can be had."""
        return succeeds(inside(self.pid, *fetch(address)))

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve a page for the time of the block."""
        command = inside(self.pid, "busybox", "httpd", "-f", "-p", str(PORT), "-h", "/etc")
        with subprocess.Popen(command) as server:
            try:
                yield
            finally:
                server.terminate()


def inside(pid: int, *command: str) -> list[str]:
    """Return the command that runs another one in the network of a process."""
    return ["nsenter", "--net", "--target", str(pid), *command]


def ping(address: str) -> tuple[str, ...]:
    """Return how an address is asked whether it is there; the first answer is enough."""
    return "busybox", "ping", "-c", "3", "-W", "1", "-A", "-q", address


def fetch(address: str) -> tuple[str, ...]:
    """Return how the page of a probe is fetched."""
    script = f"import urllib.request as r; r.urlopen('http://{address}:{PORT}/hostname', timeout=3).read()"
    return sys.executable, "-S", "-c", script


def run(command: list[str], *, code: int = 0) -> str:
    """Run a command of this machine, and return what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


def succeeds(command: list[str]) -> bool:
    """Return whether a command ends well."""
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0


@contextmanager
def plugged(cluster: Cluster, cloud: Cloud, port: dict[str, Any], folder: Any) -> Iterator[Probe]:
    """Plug a probe into a port that is bound to the node, and let it ask for an address."""
    link = f"p{port['id'][:10]}"
    sleeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    try:
        _own_namespace(sleeper.pid)
        node = inside(cluster.first.pid, "ip", "link")
        run([*node, "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(sleeper.pid)])
        run([*node, "set", link, "up"])
        run(inside(sleeper.pid, "ip", "link", "set", "eth0", "address", port["mac_address"]))
        run(inside(sleeper.pid, sys.executable, "-c", _CHECKSUMS))
        run(inside(sleeper.pid, "ip", "link", "set", "eth0", "up"))
        ids = f"external_ids:iface-id={port['id']}"
        _vsctl(cloud, "--may-exist", "add-port", BRIDGE, link, "--", "set", "Interface", link, ids)
        yield Probe(sleeper.pid, port, _leased(sleeper.pid, folder))
    finally:
        _vsctl(cloud, "--if-exists", "del-port", BRIDGE, link)
        sleeper.kill()
        sleeper.wait()


def _own_namespace(pid: int) -> None:
    """Wait until a process that was started with a namespace of its own is in it."""
    own = run(["readlink", "/proc/self/ns/net"])
    deadline = time.monotonic() + 10
    while run(["readlink", f"/proc/{pid}/ns/net"]) == own:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _leased(pid: int, folder: Any) -> tuple[str, ...]:
    script = folder / "lease.sh"
    script.write_text(_LEASE)
    script.chmod(0o755)
    command = (
        "busybox",
        "udhcpc",
        "-i",
        "eth0",
        "-n",
        "-q",
        "-f",
        "-t",
        "10",
        "-T",
        "2",
        "-O",
        "mtu",
        "-s",
        str(script),
    )
    printed = run(inside(pid, *command))
    lines = [line.split()[1:] for line in printed.splitlines() if line.startswith("lease ")]
    assert lines, printed
    return tuple(lines[-1])


def _vsctl(cloud: Cloud, *words: str) -> None:
    with suppress(ProcessLookupError):
        cloud.kubectl("exec", SWITCH, "--container=ovs-vswitchd", "--", "ovs-vsctl", "--timeout=20", *words)
