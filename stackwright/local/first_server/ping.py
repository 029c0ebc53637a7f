"""Pings an address, without the program of that name, which not every machine has."""

import os
import socket
import struct
import time

_ECHO, _REPLY = 8, 0
# How long one answer may take, in seconds.
_PATIENCE = 1.0


def checksum(packet: bytes) -> int:
    """Return the checksum that ICMP asks for; pure."""
    padded = packet + b"\0" * (len(packet) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def request(identity: int, number: int) -> bytes:
    """Return the packet of a request; pure."""
    body = b"stackwright"
    bare = struct.pack("!BBHHH", _ECHO, 0, 0, identity, number) + body
    return struct.pack("!BBHHH", _ECHO, 0, checksum(bare), identity, number) + body


def is_reply(packet: bytes, identity: int, number: int) -> bool:
    """Return whether a packet, with its IP header, is the reply to a request; pure."""
    start = (packet[0] & 0x0F) * 4
    if len(packet) < start + 8:
        return False
    kind, _, _, whose, which = struct.unpack("!BBHHH", packet[start : start + 8])
    return (kind, whose, which) == (_REPLY, identity, number)


def answers(address: str, seconds: float) -> bool:
    """Return whether an address answers within that time; it is asked every second. Only root may ask."""
    identity, end, number = os.getpid() & 0xFFFF, time.monotonic() + seconds, 0
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as asking:
        while time.monotonic() < end:
            number += 1
            if _ask(asking, address, identity, number & 0xFFFF):
                return True
    return False


def _ask(asking: socket.socket, address: str, identity: int, number: int) -> bool:
    until = time.monotonic() + _PATIENCE
    try:
        asking.sendto(request(identity, number), (address, 0))
        while (left := until - time.monotonic()) > 0:
            asking.settimeout(left)
            packet, (sender, _) = asking.recvfrom(2048)
            if sender == address and is_reply(packet, identity, number):
                return True
    except OSError:
        # No answer in time, or nobody knows the way yet.
        time.sleep(max(0.0, until - time.monotonic()))
    return False
