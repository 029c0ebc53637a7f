"""A small resolver: asks one name server one question, by UDP or by TCP, as RFC 1035 says."""

import ipaddress
import secrets
import socket
import struct
from dataclasses import dataclass

A, PTR, AAAA = 1, 12, 28
# What a server says of a name that does not exist, and of one that it was not meant to be asked for.
NO_SUCH_NAME, REFUSED = 3, 5


@dataclass(frozen=True)
class Reply:
    """What a server says: a code, which is 0 where all is well, and the addresses or names."""

    code: int
    found: tuple[str, ...] = ()


def ask(address: str, port: int, name: str, kind: int = A, *, tcp: bool = False) -> Reply:
    """Ask a server for what a name has of a kind."""
    number = secrets.randbelow(2**16)
    question = _name(name) + struct.pack("!HH", kind, 1)
    message = struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + question
    answer = _by_tcp(address, port, message) if tcp else _by_udp(address, port, message)
    told, flags, _, count = struct.unpack("!HHHH", answer[:8])
    if told != number:
        raise ValueError("this answers another question")
    return Reply(flags & 0xF, _records(answer, 12 + len(question), count))


def reverse(address: str) -> str:
    """Return the name under which the name of an address is asked for."""
    return ipaddress.ip_address(address).reverse_pointer


def _by_udp(address: str, port: int, message: bytes) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.settimeout(5)
        door.sendto(message, (address, port))
        return door.recv(65535)


def _by_tcp(address: str, port: int, message: bytes) -> bytes:
    with socket.create_connection((address, port), timeout=5) as door, door.makefile("rwb") as stream:
        stream.write(struct.pack("!H", len(message)) + message)
        stream.flush()
        (length,) = struct.unpack("!H", stream.read(2))
        return stream.read(length)


def _name(name: str) -> bytes:
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def _records(answer: bytes, place: int, count: int) -> tuple[str, ...]:
    found = []
    for _ in range(count):
        _, place = _read_name(answer, place)
        kind, _, _, length = struct.unpack("!HHIH", answer[place : place + 10])
        place += 10
        if kind in (A, AAAA):
            found.append(str(ipaddress.ip_address(answer[place : place + length])))
        elif kind == PTR:
            found.append(_read_name(answer, place)[0])
        place += length
    return tuple(found)


def _read_name(answer: bytes, place: int) -> tuple[str, int]:
    """Return a name, and the place after it; a name may go on at an earlier place."""
    parts: list[str] = []
    while length := answer[place]:
        if length >= 0xC0:
            (there,) = struct.unpack("!H", answer[place : place + 2])
            return ".".join([*parts, _read_name(answer, there & 0x3FFF)[0]]), place + 2
        parts.append(answer[place + 1 : place + 1 + length].decode())
        place += length + 1
    return ".".join(parts), place + 1
