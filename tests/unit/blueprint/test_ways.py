"""The program that tries ways, run here against sockets of this machine; and what its answers mean."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from stackwright.blueprint.dataplane import ways
from stackwright.blueprint.dataplane.ways import Way
from tests.ports import free_port


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen()
        yield found


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that answers nobody: its queue is full, so that the kernel drops whoever comes next."""
    with socket.socket() as found, socket.socket() as first, socket.socket() as second:
        found.bind(("127.0.0.1", 0))
        found.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(found.getsockname())
        yield found.getsockname()[1]


def test_each_way_is_tried_and_the_closed_ones_are_named(listener: socket.socket, deaf: int) -> None:
    tried = (
        Way("open", "127.0.0.1", listener.getsockname()[1]),
        Way("refused", "127.0.0.1", free_port()),
        Way("dropped", "127.0.0.1", deaf),
        Way("unknown", "nowhere.invalid", 80),
    )
    (argument,) = ways.describe(tried).values()
    words = [sys.executable, "-c", ways.PROGRAM, json.dumps(argument), "0.5"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    closed = ways.read_answer(done.stdout.strip(), tried)
    assert closed is not None
    assert {way.name: why for way, why in closed.items()} == {
        "refused": "connection refused",
        "dropped": "no answer; a firewall drops it, or there is no route",
        "unknown": "the name is unknown there; see its DNS servers",
    }


def test_the_playbook_has_the_program_as_it_is() -> None:
    (play,) = yaml.safe_load(ways.PLAYBOOK)
    assert play["tasks"][0]["ansible.builtin.command"]["argv"][2] == ways.PROGRAM


@pytest.mark.parametrize(
    ("message", "means"),
    [
        pytest.param("0:113", {"a": "no route to host"}, id="an-error-of-the-system"),
        pytest.param("0:101 1:timeout", {"a": "network is unreachable", "b": "no answer; a"}, id="two"),
        pytest.param("7:timeout", {}, id="a-way-that-nobody-asked-for"),
        pytest.param("python3: not found", None, id="another-failure"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_answers_are_read(message: str, means: dict[str, str] | None) -> None:
    found = ways.read_answer(message, (Way("a", "192.0.2.1", 1), Way("b", "192.0.2.2", 2)))
    if means is None:
        assert found is None
    else:
        assert found is not None
        assert {way.name for way in found} == set(means)
        assert all(why.startswith(means[way.name]) for way, why in found.items())


def test_a_way_says_where_it_leads() -> None:
    assert str(Way("Keystone", "fd00::1", 5000)) == "Keystone at [fd00::1]:5000"
