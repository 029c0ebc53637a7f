"""Who has the address of a node's tunnels, on a node of which the programs ip and ovs-vsctl are imitated."""

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILES = Path(__file__).parents[3] / "charts" / "ovn" / "files"
NAMES = ("tunnels", "bridges", "controller_process", "programs")
OURS = "10.0.2.2/24"


@dataclass
class Node:
    """A node with its links, and with the database of its switch."""

    links: Path
    addresses: dict[str, list[str]] = field(default_factory=dict)
    bridges: dict[str, dict[str, str]] = field(default_factory=dict)
    ports: dict[str, list[str]] = field(default_factory=dict)

    def add(self, link: str, *addresses: str) -> None:
        (self.links / link).touch()
        self.addresses[link] = list(addresses)

    def remove(self, link: str) -> None:
        (self.links / link).unlink()
        del self.addresses[link]

    def run(self, program: str, *words: str) -> str:
        """Do what a program would."""
        return self.ip(*words) if program == "ip" else self.vsctl(*words[2:])

    def ip(self, *words: str) -> str:
        match words:
            case ("-json", "address", "show", "dev", link):
                parts = [address.split("/") for address in self.addresses[link]]
                found = [{"local": one, "prefixlen": int(length), "scope": "global"} for one, length in parts]
                return json.dumps([{"addr_info": found}])
            case ("address", "flush", "dev", link, "scope", "global"):
                self.addresses[link] = []
            case ("address", "replace", address, "dev", link):
                self.addresses[link].append(address)
            case ("link", "set", _, "up"):
                pass
            case _:
                raise AssertionError(words)
        return ""

    def vsctl(self, *words: str) -> str:
        match words:
            case ("--format=json", "--columns=name,external_ids", "list", "Bridge"):
                return json.dumps({"data": [[name, ["map", list(ids.items())]] for name, ids in self.bridges.items()]})
            case ("--format=json", "--columns=external_ids", "list", "Bridge", name):
                return json.dumps({"data": [[["map", list(self.bridges[name].items())]]]})
            case ("--may-exist", "add-br", name, "--", "set", "Bridge", _, "datapath_type=netdev", mark):
                self.set(name, mark)
                if name not in self.addresses:
                    self.add(name)
            case ("set", "Bridge", name, kept):
                self.set(name, kept.replace('"', ""))
            case ("list-ports", name):
                return "\n".join(self.ports.get(name, []))
            case ("--may-exist", "add-port", name, link):
                self.ports.setdefault(name, []).append(link)
            case ("--if-exists", "del-br", name):
                del self.bridges[name]
                self.remove(name)
            case _:
                raise AssertionError(words)
        return ""

    def set(self, bridge: str, text: str) -> None:
        name, _, value = text.removeprefix("external_ids:").partition("=")
        self.bridges.setdefault(bridge, {})[name] = value


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    monkeypatch.syspath_prepend(str(FILES))
    yield {name: importlib.import_module(name) for name in NAMES}
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def node(programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Node:
    made = Node(tmp_path)
    made.add("tunnel0", OURS)
    for name in ("tunnels", "bridges"):
        monkeypatch.setattr(programs[name], "run", made.run)
    monkeypatch.setattr(programs["tunnels"], "INTERFACES", tmp_path)
    monkeypatch.setattr(programs["tunnels"], "PATIENCE", 0.0)
    return made


@pytest.fixture
def tunnels(programs: dict[str, ModuleType]) -> Any:
    return programs["tunnels"]


def test_a_switch_of_its_own_gets_the_interface_and_its_address(tunnels: Any, node: Node) -> None:
    for _ in range(2):
        assert tunnels.keep("tunnel0", "netdev") == ("10.0.2.2", "")
        assert node.addresses == {"tunnel0": [], "br-tunnel": [OURS]}
        assert node.ports == {"br-tunnel": ["tunnel0"]}


def test_the_kernel_leaves_the_address_where_it_is(tunnels: Any, node: Node) -> None:
    assert tunnels.keep("tunnel0", "system") == ("10.0.2.2", "")
    assert node.addresses == {"tunnel0": [OURS]}


def test_a_switch_that_was_restarted_gets_the_address_again(tunnels: Any, node: Node) -> None:
    tunnels.keep("tunnel0", "netdev")
    node.addresses["br-tunnel"] = []
    assert tunnels.keep("tunnel0", "netdev") == ("10.0.2.2", "")
    assert node.addresses["br-tunnel"] == [OURS]


def test_a_node_that_was_started_anew_says_which_address_it_has_now(tunnels: Any, node: Node) -> None:
    tunnels.keep("tunnel0", "netdev")
    node.addresses = {"br-tunnel": [], "tunnel0": ["10.0.2.9/24"]}
    assert tunnels.keep("tunnel0", "netdev") == ("10.0.2.9", "")
    assert node.addresses == {"tunnel0": [], "br-tunnel": ["10.0.2.9/24"]}


def test_while_the_switch_is_away_the_interface_keeps_its_address(
    tunnels: Any, node: Node, programs: dict[str, ModuleType]
) -> None:
    node.addresses["br-tunnel"] = []
    with pytest.raises(programs["programs"].Failed):
        tunnels.keep("tunnel0", "netdev")
    assert node.addresses["tunnel0"] == [OURS]


@pytest.mark.parametrize(
    ("interface", "datapath"),
    [
        pytest.param("", "netdev", id="it-is-not-wanted-any-more"),
        pytest.param("tunnel0", "system", id="the-kernel-has-a-switch-now"),
    ],
)
def test_what_is_not_needed_any_more_is_given_back(tunnels: Any, node: Node, interface: str, datapath: str) -> None:
    tunnels.keep("tunnel0", "netdev")
    tunnels.keep(interface, datapath)
    assert node.addresses == {"tunnel0": [OURS]}
    assert node.bridges == {}


def test_an_interface_that_is_missing_or_has_no_address_is_named(tunnels: Any, node: Node) -> None:
    assert tunnels.keep("eth7", "netdev") == ("", "there is no interface eth7 for tunnels")
    node.addresses["tunnel0"] = []
    assert tunnels.keep("tunnel0", "netdev") == ("", "the interface tunnel0 for tunnels has no address")
