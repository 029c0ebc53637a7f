"""The first server of a cloud: the Job that creates it, what the Job says, and the ping."""

import json
import os
from typing import Any

import msgspec
import pytest

from stackwright.kube.builtin import Pod
from stackwright.local.cluster.spare_network import SpareNetwork
from stackwright.local.first_server import creation, objects, ping
from stackwright.local.first_server.creation import FirstServer


def test_the_job_gets_the_network_outside_and_the_key() -> None:
    job = objects.job("stackwright.local/guest:1", SpareNetwork("10.192.1.0/24"), "ssh-ed25519 A", "cloud")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    given = {entry["name"]: entry["value"] for entry in container["env"]}
    assert given["SPARE_RANGE"] == "10.192.1.0/24"
    assert given["SPARE_FIRST"] == "10.192.1.32"
    assert given["PUBLIC_KEY"] == "ssh-ed25519 A"
    assert job["metadata"]["namespace"] == "cloud"


def pod(at: str, message: str) -> Pod:
    state = {"terminated": {"finishedAt": at, "message": message}} if at else {"running": {}}
    body: Any = {"metadata": {"name": "p"}, "status": {"containerStatuses": [{"state": state}]}}
    return msgspec.convert(body, Pod)


def test_the_last_try_has_the_word() -> None:
    said = json.dumps({"server": "first", "host": "compute-0", "address": "10.192.1.40", "console": "http://a"})
    pods = [pod("2026-11-17T01:00:02Z", said), pod("2026-11-17T01:00:01Z", "Traceback"), pod("", "")]
    message = creation.read_message(pods)
    assert msgspec.json.decode(message, type=FirstServer).address == "10.192.1.40"
    nothing = creation.read_message([])
    assert nothing == "nothing; its pods are gone"
    assert creation._told(nothing) is None
    assert creation._told(said) == FirstServer("first", "compute-0", "10.192.1.40", "http://a")


def test_a_request_has_the_checksum_that_makes_the_sum_nothing() -> None:
    packet = ping.request(0x1234, 7)
    assert ping.checksum(packet) == 0
    assert ping.checksum(packet[:-1] + b"x") != 0


@pytest.mark.parametrize(
    ("kind", "identity", "number", "reply"),
    [(0, 9, 7, True), (8, 9, 7, False), (0, 8, 7, False), (0, 9, 6, False)],
    ids=["ours", "a-request", "somebody-elses", "of-an-earlier-request"],
)
def test_only_the_answer_to_the_request_counts(kind: int, identity: int, number: int, reply: bool) -> None:
    packet = b"\x45" + bytes(19) + bytes((kind, 0, 0, 0, 0, identity, 0, number))
    assert ping.is_reply(packet, 9, 7) is reply
    assert not ping.is_reply(packet[:24], 9, 7)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may ping in this way")
def test_this_machine_answers_itself_and_nobody_does_not() -> None:
    assert ping.answers("127.0.0.1", 5)
    assert not ping.answers("240.0.0.1", 0.5)
