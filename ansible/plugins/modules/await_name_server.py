#!/usr/bin/python
"""Waits on a machine until a name server answers it, by UDP or by TCP."""

import os
import socket
import struct
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: await_name_server
short_description: Wait until a name server answers this machine
description:
  - Asks a name server for the servers of the root, by UDP and then by TCP, until it answers. What it answers does not
    matter. Most questions go by UDP, and a server need not listen on TCP.
options:
  address:
    description: The address of the server.
    type: str
    required: true
  timeout:
    description: For how many seconds to ask.
    type: float
    default: 30
author:
  - Stackwright
"""

EXAMPLES = r"""
- name: See that the name server answers
  stackwright.edpm.await_name_server:
    address: 192.0.2.53
"""

RETURN = r"""
protocol:
  description: By which protocol it answered, C(udp) or C(tcp).
  returned: success
  type: str
"""

PORT = 53
# How long the beginning of each message is, which has its number.
HEADER = 12
# How long one question may take, in seconds.
PATIENCE = 2.0


def make_question(number: int) -> bytes:
    """Return the question for the servers of the root, with a number that the answer repeats."""
    return struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + b"\0" + struct.pack("!HH", 2, 1)


def is_answer(message: bytes, number: int) -> bool:
    """Return whether a message answers the question with that number."""
    return len(message) >= HEADER and struct.unpack("!HH", message[:4])[0] == number and bool(message[2] & 0x80)


def ask_by_udp(family: int, place: Any, question: bytes) -> bytes:
    """Return what a server answers in a datagram."""
    with socket.socket(family, socket.SOCK_DGRAM) as door:
        door.settimeout(PATIENCE)
        door.connect(place)
        door.send(question)
        return door.recv(65535)


def ask_by_tcp(family: int, place: Any, question: bytes) -> bytes:
    """Return the beginning of what a server answers in a stream."""
    with socket.socket(family, socket.SOCK_STREAM) as door:
        door.settimeout(PATIENCE)
        door.connect(place)
        door.sendall(struct.pack("!H", len(question)) + question)
        with door.makefile("rb") as stream:
            return stream.read(2 + HEADER)[2:]


def find_protocol(address: str, timeout: float, port: int = PORT) -> str:
    """Return the protocol by which a server answers, or nothing after that many seconds."""
    family, _, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)[0]
    end = time.monotonic() + timeout
    while True:
        number = struct.unpack("!H", os.urandom(2))[0]
        for name, ask in (("udp", ask_by_udp), ("tcp", ask_by_tcp)):
            try:
                if is_answer(ask(family, place, make_question(number)), number):
                    return name
            except OSError:
                continue  # It does not answer in this way, or not yet.
        if time.monotonic() >= end:
            return ""
        time.sleep(0.5)


def main() -> None:
    """Ask as the task says."""
    options = {"address": {"type": "str", "required": True}, "timeout": {"type": "float", "default": 30}}
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    address = module.params["address"]
    try:
        protocol = find_protocol(address, module.params["timeout"])
    except OSError as error:
        module.fail_json(msg=f"{address} is no address of a name server: {error}")
    if not protocol:
        name = socket.gethostname()
        module.fail_json(msg=f"{name} does not reach the name server {address}; its resolver stays as it is")
    module.exit_json(changed=False, protocol=protocol)


if __name__ == "__main__":
    main()
