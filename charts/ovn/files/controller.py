"""Run the controller of a node's switch, and keep what the node tells OVN of itself as it shall be.

Settings are read again and again from a mounted file: a change restarts nothing, and what somebody removed by hand, or
what was lost with the node's disk, comes back.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import chassis
import kubernetes
import tenure
import tunnels
from bridges import make_bridge, marked_bridges, read_external_ids, vsctl
from controller_process import Controller
from programs import Failed, run, say

DATAPATH = Path("/run/openvswitch/datapath")
PAUSE = 5
# How often is looked for nodes that are no gateways any more, in such pauses.
SELDOM = 12


def read_settings() -> dict[str, Any]:
    """Return what the user set."""
    said: dict[str, Any] = json.loads(Path(os.environ["SETTINGS"]).read_text(encoding="utf-8"))
    return said


def configure(settings: dict[str, Any], node: str, address: str, datapath: str) -> str:
    """Make the node as it shall be, where it differs; return what cannot be done."""
    fakes = chassis.fake_ids(settings.get("fakeHosts", {}).get(node, []))
    wanted = chassis.external_ids(settings, node, address, datapath) | fakes
    problems = [connect(bridge, datapath) for bridge in chassis.bridges(settings["networks"])]
    changed = chassis.changes(read_external_ids("Open_vSwitch", "."), wanted)
    if changed:
        say(f"sets {', '.join(f'{name}={value}' for name, value in sorted(changed.items()))}")
        vsctl(
            "set", "Open_vSwitch", ".", *(f"external_ids:{name}={json.dumps(value)}" for name, value in changed.items())
        )
    for bridge in chassis.surplus(marked_bridges(chassis.MARK), settings["networks"]):
        say(f"removes the bridge {bridge}")
        vsctl("--if-exists", "del-br", bridge)
    return "; ".join(filter(None, problems))


def forget_host(host: str, remote: str) -> None:
    """Remove what is left of a fake host: its chassis, what it told OVN of itself, and last its bridge."""
    run(
        "ovn-sbctl",
        "--no-leader-only",
        "--timeout=10",
        f"--db={remote}",
        "--if-exists",
        "chassis-del",
        chassis.system_id(host),
    )
    for name in chassis.left(read_external_ids("Open_vSwitch", "."), host):
        vsctl("remove", "Open_vSwitch", ".", "external_ids", name)
    vsctl("--if-exists", "del-br", chassis.fake_bridge(host))


def connect(bridge: chassis.Bridge, datapath: str) -> str:
    """Make a bridge and give it the interface of its network; return why that cannot be done."""
    if bridge.name not in vsctl("list-br").split():
        say(f"makes the bridge {bridge.name} for the network {bridge.network}")
        make_bridge(bridge.name, datapath, chassis.MARK, bridge.network)
    ports = vsctl("list-ports", bridge.name).split()
    if bridge.interface in ports:
        return ""
    if not Path("/sys/class/net", bridge.interface).exists():
        return f"there is no interface {bridge.interface} for the network {bridge.network}"
    if addresses := tunnels.addresses_of(bridge.interface):
        return (
            f"the interface {bridge.interface} of the network {bridge.network} has the address {addresses[0]}, which "
            "the node would lose; name another interface, or move the address"
        )
    vsctl("--may-exist", "add-port", bridge.name, bridge.interface)
    run("ip", "link", "set", bridge.interface, "up")
    return ""


def mtu_of(address: str) -> int:
    """Return the largest packet of the interface that has an address; 0 where there is none."""
    for link in json.loads(run("ip", "-json", "address", "show")):
        if address in {entry.get("local") for entry in link.get("addr_info", ())}:
            return int(link.get("mtu", 0))
    return 0


class Node:
    """What this node is, and what it has said of itself."""

    def __init__(self) -> None:
        self.name = os.environ["NODE_NAME"]
        self.address = os.environ["NODE_IP"]
        self.state = kubernetes.StateMap(os.environ["STATE"])
        self.ending = False
        self.controller = Controller()
        self.fakes: dict[str, Controller] = {}

    def keep(self) -> None:
        """Make the node as it shall be, and say so where the operator reads it."""
        settings = read_settings()
        datapath = DATAPATH.read_text(encoding="utf-8").strip()
        address, closed = tunnels.keep(settings.get("tunnelInterface", ""), datapath)
        address = address or self.address
        problem = "; ".join(filter(None, (closed, configure(settings, self.name, address, datapath))))
        self.controller.keep(settings["ovnLogLevel"])
        self.pretend(settings, datapath)
        said = {
            "systemId": chassis.system_id(self.name),
            "datapath": datapath,
            "encapIp": address,
            "mtu": mtu_of(address),
            "bridgeMappings": chassis.external_ids(settings, self.name, address, datapath)["ovn-bridge-mappings"],
            "problem": problem,
        }
        self.tell(said)

    def tell(self, said: dict[str, Any]) -> None:
        """Say what the node is where the operator reads it."""
        text = json.dumps(said, sort_keys=True)
        if self.state.data.get(self.name) != text:
            self.state.write({self.name: text})

    def forget(self) -> None:
        """Remove the chassis of nodes that are not selected any more: their own controller may have died with them."""
        daemon_set = kubernetes.read_workload("daemonsets", os.environ["DAEMON_SET"])
        if daemon_set is None or not chassis.is_settled(daemon_set):
            return
        for node in chassis.deselected(self.state.read(), kubernetes.nodes_of(daemon_set)):
            say(f"removes the chassis of the node {node}, which is not selected any more")
            remote = read_settings()["externalIds"]["ovn-remote"]
            run("ovn-sbctl", "--timeout=10", f"--db={remote}", "--if-exists", "chassis-del", chassis.system_id(node))
            self.state.write({node: None})

    def pretend(self, settings: dict[str, Any], datapath: str) -> None:
        """Be a chassis for each fake host of this node too, and for no other."""
        hosts = settings.get("fakeHosts", {}).get(self.name, [])
        there = marked_bridges(chassis.FAKE)
        for host in sorted(set(there.values()) - set(hosts)):
            say(f"is no chassis for {host} any more")
            self.fakes.pop(host, Controller()).end(stays=False)
            forget_host(host, settings["externalIds"]["ovn-remote"])
        for host in hosts:
            if host not in there.values():
                say(f"is a chassis for {host} too")
                make_bridge(chassis.fake_bridge(host), datapath, chassis.FAKE, host)
            self.fakes.setdefault(host, Controller(chassis.system_id(host))).keep(settings["ovnLogLevel"])

    def run(self) -> int:
        """Keep the node until the pod ends."""
        rounds = 0
        while not self.ending:
            rounds += 1
            for ended in filter(None, (one.ended for one in (self.controller, *self.fakes.values()))):
                say(ended)
                return 1
            other = tenure.find_other()
            if other and self.controller.runs:
                # Another one has the switch now. What runs here ends with the container, and cleans nothing up.
                say(tenure.describe(other))
                return 1
            try:
                if other:
                    self.tell({"problem": tenure.describe(other)})
                else:
                    self.keep()
                if rounds % SELDOM == 0 and not other:
                    self.forget()
            except (Failed, kubernetes.Unanswered, OSError, ValueError) as error:
                say(str(error))
            for _ in range(PAUSE):
                if self.ending:
                    break
                time.sleep(1)
        return self.end()

    def end(self) -> int:
        """End the controllers. Flows and chassis stay, unless the node is no gateway any more."""
        if tenure.find_other():
            return 0
        try:
            stays = kubernetes.exists("daemonsets", os.environ["DAEMON_SET"])
        except (kubernetes.Unanswered, OSError) as error:
            say(str(error))
            stays = True
        for one in (self.controller, *self.fakes.values()):
            one.end(stays=stays)
        if not stays:
            self.give_back()
            tenure.let_go()
        return 0

    def give_back(self) -> None:
        """Give the node its interface for tunnels back; the switch may have ended already, which takes its bridges."""
        try:
            tunnels.release()
        except Failed as error:
            say(str(error))


def main() -> int:
    """Run the controller of this node."""
    node = Node()

    def end(*_: object) -> None:
        node.ending = True

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    return node.run()


if __name__ == "__main__":
    sys.exit(main())
