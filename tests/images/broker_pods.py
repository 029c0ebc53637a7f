"""Runs in a container of the broker's image: pods of a broker on loopback, as a kubelet would start them.

Usage: broker_pods.py SCENE [POINT]. The programs are those of the chart. What they read from Kubernetes is read from
here, and each node has an address of its own.
"""

import contextlib
import importlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

BASE = Path("/tmp/broker")
PROGRAMS = BASE / "programs"
PATIENCE = 150.0
# What the log of a node that joins says on its way: before anything happened, while it is reset, before others know it,
# while it copies their tables, when it has all of them, when it is through, and when its server starts.
POINTS = {
    "begin": "Joining rabbit",
    "reset": "resetting node",
    "known": "Clustering with",
    "copies": r"(?s)Clustering with.*?Successfully synced",
    "copied": r"(?s)Clustering with(.*?Waiting for Mnesia){2}",
    "through": "This node is a member",
    "start": "Starting RabbitMQ",
}


def host(number: int) -> str:
    return f"mq-server-{number}.mq-nodes.openstack.svc"


def node(number: int) -> str:
    # One epmd serves all pods here, and knows only what stands before the @.
    return f"rabbit{number}@{host(number)}"


def address(number: int) -> str:
    return f"127.0.0.{number + 1}"


def program(name: str) -> Any:
    """Return a program of the chart."""
    if str(PROGRAMS) not in sys.path:
        sys.path.insert(0, str(PROGRAMS))
    return importlib.import_module(name)


def run_program(name: str) -> None:
    """Run a program of the chart as one of the pods does."""
    cluster, peers, prepare, serve = (program(each) for each in ("cluster", "peers", "prepare", "serve"))
    home, create_server = Path(os.environ["HOME"]), socket.create_server
    prepare.CONFIGURATION, prepare.SECRETS = home / "conf.d", BASE / "secrets"
    cluster.replicas, cluster.node = lambda: int((BASE / "replicas").read_text()), node
    # All pods are in one network here.
    peers.socket.create_server = lambda where: create_server((address(cluster.ordinal()), where[1]))
    sys.exit({"prepare": prepare, "serve": serve}[name].main())


def enable_flags(home: Path) -> None:
    """Do what the pod does as soon as it has started."""
    cluster, flags, ready = (program(each) for each in ("cluster", "flags", "ready"))
    cluster.replicas, cluster.node = lambda: 1, node
    ready.USER = home / "conf.d" / "20-default-user.conf"
    flags.main()


class Pod:
    """A pod of the StatefulSet: its init container runs once, its server is started again whenever it has ended."""

    def __init__(self, number: int) -> None:
        self.number, self.home = number, BASE / str(number)
        self.log, self.marker = self.home / "log", self.home / "mnesia" / "joining"
        self.running: subprocess.Popen[bytes] | None = None
        self.thread, self.goes = threading.Thread(), False
        for name in ("conf.d", "mnesia", "logs"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        own = address(number)
        lines = f"listeners.tcp.default = {own}:5672\nmanagement.tcp.ip = {own}\nraft.wal_max_size_bytes = 4194304\n"
        (self.home / "conf.d" / "10-rabbitmq.conf").write_text((BASE / "rabbitmq.conf").read_text())
        (self.home / "conf.d" / "90-additional.conf").write_text(lines)
        self.environment = {
            **os.environ,
            "HOME": str(self.home),
            "POD_NAME": f"mq-server-{number}",
            "POD_NAMESPACE": "openstack",
            "STATEFUL_SET": "mq-server",
            "NODES_SERVICE": "mq-nodes",
            "MEMORY_LIMIT": "1073741824",
            "RABBITMQ_USE_LONGNAME": "true",
            "RABBITMQ_NODENAME": node(number),
            "RABBITMQ_MNESIA_BASE": str(self.home / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.home / "logs"),
            "RABBITMQ_CONFIG_FILES": str(self.home / "conf.d"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(BASE / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(25672 + number),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-kernel inet_dist_use_interface {{{own.replace('.', ',')}}}",
        }

    def start(self) -> None:
        self.goes = True
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()

    def _live(self) -> None:
        code = self._run("prepare")
        while self.goes and code == 0:
            self._run("serve")
            time.sleep(0.2)

    def _run(self, name: str) -> int:
        command = [sys.executable, __file__, "run", name]
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
            return self.running.wait()

    def kill(self, *, again: bool) -> None:
        """Kill the server at once; the kubelet starts it again, or the whole pod is gone."""
        self.cut(again=again)
        if not again:
            self.thread.join()

    def cut(self, *, again: bool) -> None:
        """Kill the server, and wait for nothing."""
        self.goes = again
        if self.running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.running.pid, signal.SIGKILL)

    def control(self, *words: str) -> str:
        command = ["rabbitmqctl", "--longnames", "--node", node(self.number), *words]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        return done.stdout if done.returncode == 0 else ""

    def serves(self) -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection((host(self.number), 5672), timeout=1).close()
            return True
        return False

    def members(self) -> list[str]:
        """Return those who run in the cluster of this node, in short; none while it does not serve."""
        said = self.control("eval", "{rabbit_nodes:list_members(), rabbit_nodes:list_running()}.")
        lists = [sorted(set(re.findall(r"mq-server-(\d+)", found))) for found in re.findall(r"\[([^\]]*)\]", said)]
        return lists[0] if len(lists) == 2 and lists[0] == lists[1] else []


def declare(replicas: int) -> list[Pod]:
    (BASE / "replicas").write_text(str(replicas))
    return [Pod(number) for number in range(replicas)]


def settle(pods: list[Pod]) -> None:
    """Wait until all serve as one cluster."""
    wanted, end = [str(pod.number) for pod in pods], time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if all(pod.serves() for pod in pods) and all(pod.members() == wanted for pod in pods):
            begun = [pod.number for pod in pods if "Beginning a cluster" in pod.log.read_text()]
            print(f"one cluster of {','.join(wanted)}, begun by {begun}", flush=True)
            return
        time.sleep(0.5)
    for pod in pods:
        print(f"--- {pod.number}: {pod.members()}\n{pod.log.read_text()[-6000:]}", flush=True)
    sys.exit("they are not one cluster")


def joining(point: str) -> list[Pod]:
    """Return a node that serves, and one that has come to some point of joining it."""
    (zero,) = declare(1)
    zero.start()
    settle([zero])
    one = declare(2)[1]
    one.start()
    await_point(one, point)
    return [zero, one]


def await_point(pod: Pod, point: str) -> None:
    """Wait until a node has come to some point of its join."""
    end = time.monotonic() + PATIENCE
    while not re.search(POINTS[point], pod.log.read_text() if pod.log.exists() else ""):
        if time.monotonic() > end:
            sys.exit(f"{pod.number} does not join: {pod.log.read_text()[-6000:]}")
        time.sleep(0.002)


def scene_first() -> None:
    """Three pods start at once."""
    pods = declare(3)
    for pod in pods:
        pod.start()
    settle(pods)


def scene_member(point: str) -> None:
    """Node 0 is killed while node 1 joins it."""
    zero, one = joining(point)
    zero.kill(again=True)
    settle([zero, one])


def scene_joining(point: str) -> None:
    """The pod of node 1 is deleted while it joins; node 0 is no majority without it."""
    zero, one = joining(point)
    one.kill(again=False)
    one.start()
    settle([zero, one])


def scene_both(point: str) -> None:
    """Both are killed while node 1 joins."""
    zero, one = joining(point)
    zero.kill(again=True)
    one.kill(again=True)
    settle([zero, one])


def scene_power() -> None:
    """Node 0 lost its volume and was stopped while it joined again; the others went on, and then power is lost."""
    pods = declare(3)
    for pod in pods:
        pod.start()
    settle(pods)
    zero, one, two = pods
    zero.kill(again=False)
    shutil.rmtree(zero.home / "mnesia")
    (zero.home / "mnesia").mkdir()
    zero.log.unlink()
    zero.start()
    await_point(zero, "copied")
    zero.kill(again=False)
    print("mark:", zero.marker.exists(), flush=True)
    one.control("add_vhost", "later")
    for pod in (one, two):
        pod.cut(again=False)
    for pod in (one, two):
        pod.thread.join()
    for pod in pods:
        pod.start()
    settle(pods)
    print("hosts:", *sorted(one.control("list_vhosts", "name", "--silent").split()), flush=True)


def scene_disowned() -> None:
    """A node was forced out while it was down, and comes back with its volume."""
    pods = declare(3)
    for pod in pods:
        pod.start()
    settle(pods)
    pods[2].kill(again=False)
    pods[0].control("forget_cluster_node", node(2))
    pods[2].start()
    settle(pods)
    kept = [
        path.name for path in (pods[2].home / "mnesia").glob(f"{node(2)}.aside-*") if (path / "schema.DAT").exists()
    ]
    print(f"kept aside: {len(kept)}", flush=True)


def scene_flags() -> None:
    """A node has not all of the feature flags that it knows, as after an upgrade."""
    (zero,) = declare(1)
    zero.environment["RABBITMQ_FEATURE_FLAGS"] = "stream_filtering"
    zero.start()
    settle([zero])
    print("disabled before:", *disabled(zero), flush=True)
    os.environ.update({name: value for name, value in zero.environment.items() if not name.startswith("RABBITMQ")})
    enable_flags(zero.home)
    print("disabled after:", *disabled(zero), flush=True)


def disabled(pod: Pod) -> list[str]:
    listed = pod.control("list_feature_flags", "name", "state")
    return [line.split()[0] for line in listed.splitlines() if line.endswith("disabled")]


def main() -> None:
    scene, *words = sys.argv[1:]
    if scene == "run":
        return run_program(words[0])
    subprocess.run(["epmd", "-daemon"], check=True)
    begin = time.monotonic()
    globals()[f"scene_{scene}"](*words)
    print(f"{scene}{words}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return None


if __name__ == "__main__":
    main()
