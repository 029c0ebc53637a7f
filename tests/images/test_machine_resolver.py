"""A machine is told its name servers, by whatever keeps its resolver, and forgets them again.

The machine is the container itself: Ansible runs on it without SSH.
"""

import json
import shlex
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.images.built import Answer, Built, container, why_not_built

NAME = "ansible-runner"
OWN = "nameserver 192.0.2.9\nsearch example.org\n"
# Says that the service runs, and remembers what it was told.
SYSTEMCTL = """\
#!/bin/sh
echo "$@" >> /systemctl.log
[ "$1" != show ] || printf 'LoadState=loaded\\nActiveState=active\\n'
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Built]:
    if reason := why_not_built([NAME]):
        pytest.skip(reason)
    with container(NAME) as made:
        systemctl = made.root / "usr/local/bin/systemctl"
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)
        yield made


@pytest.fixture
def resolver(machine: Built) -> Path:
    """The file of the resolver, which is not there yet."""
    (machine.root / "systemctl.log").write_text("")
    path = machine.root / "etc/resolv.conf"
    path.unlink(missing_ok=True)
    return path


def play(machine: Built, playbook: str, **extra: Any) -> Answer:
    variables = {
        "ansible_connection": "local",
        "ansible_become": False,
        "ctlplane_dns_nameservers": ["192.0.2.1", "192.0.2.2"],
        "dns_search_domains": ["ctlplane.example.com"],
        "edpm_network_config_nameservers_validate": False,
        **extra,
    }
    inventory = machine.root / "runner" / "inventory" / "hosts.yaml"
    inventory.write_text(json.dumps({"all": {"hosts": {"here": variables}}}))
    command = ["ansible-playbook", "-i", "/runner/inventory", f"stackwright.edpm.{playbook}"]
    return machine.run(shlex.join(command), user=0, environment={"ANSIBLE_NOCOLOR": "1", "HOME": "/tmp"})


def tell(machine: Built) -> None:
    """Tell a machine its name servers, twice: the second time nothing changes."""
    first, second = (play(machine, "configure_network") for _ in range(2))
    assert (first.code, second.code) == (0, 0), first.output + second.output
    assert " changed=0 " not in first.output, first.output
    assert " changed=0 " in second.output, second.output


def forget(machine: Built, playbook: str = "cleanup") -> None:
    """Let a machine forget its name servers: by hand, or by the variables of its node."""
    told = {"cleanup": {"edpm_cleanup_services": ["name_servers"]}}
    answer = play(machine, playbook, **told.get(playbook, {"edpm_network_config_nameservers": []}))
    assert answer.code == 0, answer.output


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("playbook", ["cleanup", "configure_network"])
def test_a_file_names_them_first_and_is_as_before_once_they_are_forgotten(
    machine: Built, resolver: Path, playbook: str
) -> None:
    resolver.write_text(OWN)
    tell(machine)
    assert lines_of(resolver) == [
        "nameserver 192.0.2.1",
        "nameserver 192.0.2.2",
        "nameserver 192.0.2.9",
        "search example.org",
        "search ctlplane.example.com example.org",
    ]
    forget(machine, playbook)
    assert resolver.read_text() == OWN


def test_systemd_resolved_is_told_and_forgets_them_too(machine: Built, resolver: Path) -> None:
    resolver.symlink_to("../run/systemd/resolve/stub-resolv.conf")
    settings = machine.root / "etc/systemd/resolved.conf.d/50-edpm.conf"
    restarts = machine.root / "systemctl.log"
    tell(machine)
    assert lines_of(settings) == ["[Resolve]", "DNS=192.0.2.1 192.0.2.2", "Domains=ctlplane.example.com"]
    assert restarts.read_text().count("restart systemd-resolved.service") == 1
    forget(machine)
    assert not settings.exists()
    assert restarts.read_text().count("restart systemd-resolved.service") == 2
    assert resolver.is_symlink()


def test_a_link_that_another_program_keeps_is_named(machine: Built, resolver: Path) -> None:
    resolver.symlink_to("/run/other/resolv.conf")
    answer = play(machine, "configure_network")
    assert answer.code == 2
    assert "/etc/resolv.conf of here is a link to /run/other/resolv.conf" in answer.output.replace("\n", " ")
    # The user names the servers there, and says so.
    assert play(machine, "configure_network", edpm_network_config_nameservers=[]).code == 0
    assert resolver.is_symlink()


@contextmanager
def name_server(address: str, sort: socket.SocketKind) -> Iterator[None]:
    """Answer one question at an address, by UDP alone or by TCP alone."""
    with socket.socket(socket.AF_INET, sort) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.settimeout(60)
        door.bind((address, 53))
        if sort == socket.SOCK_STREAM:
            door.listen()
        answering = Thread(target=answer_one, args=(door, sort))
        answering.start()
        yield
        answering.join()


def answer_one(door: socket.socket, sort: socket.SocketKind) -> None:
    """Refuse the first question: that is an answer, too."""
    if sort == socket.SOCK_DGRAM:
        question, asking = door.recvfrom(512)
        door.sendto(question[:2] + b"\x81\x05" + question[4:], asking)
        return
    stream, _ = door.accept()
    with stream:
        question = stream.recv(512)[2:]
        answer = question[:2] + b"\x81\x05" + question[4:]
        stream.sendall(struct.pack("!H", len(answer)) + answer)


@pytest.mark.parametrize("sort", [socket.SOCK_DGRAM, socket.SOCK_STREAM], ids=["udp", "tcp"])
def test_a_server_that_answers_in_one_way_is_good_enough(
    machine: Built, resolver: Path, sort: socket.SocketKind
) -> None:
    # Both may run at once, and each server answers one question.
    address = {socket.SOCK_DGRAM: "127.53.0.1", socket.SOCK_STREAM: "127.53.0.3"}[sort]
    said = {"ctlplane_dns_nameservers": [address], "edpm_network_config_nameservers_validate": True}
    with name_server(address, sort):
        answer = play(machine, "configure_network", **said)
    assert answer.code == 0, answer.output
    assert f"nameserver {address}" in lines_of(resolver)


def test_a_server_that_does_not_answer_is_named(machine: Built) -> None:
    words = "address=127.53.0.2 timeout=1"
    command = ["ansible", "localhost", "-c", "local", "-m", "stackwright.edpm.await_name_server", "-a", words]
    answer = machine.run(shlex.join(command), user=0, environment={"ANSIBLE_NOCOLOR": "1", "HOME": "/tmp"})
    assert answer.code == 2
    assert "does not reach the name server 127.53.0.2; its resolver stays as it is" in answer.output
