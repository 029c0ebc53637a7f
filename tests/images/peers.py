"""A database, a broker and a Keystone that know how to refuse, as far as a login goes: each listens on loopback.

What a login says decides: a user or a password with `wrong` in it is refused, a schema, virtual host or project with
`nosuch` in it does not exist, and with `crowded` the server has no room. `late` is refused twice.
"""

import json
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any


@dataclass
class Peers:
    """The ports on which they listen, and the logins that they were asked for."""

    database: int = 0
    broker: int = 0
    keystone: int = 0
    asked: list[bytes] = field(default_factory=list)

    def judge(self, said: bytes) -> str:
        """Return what is wrong with a login."""
        self.asked.append(said)
        if b"late" in said and sum(b"late" in each for each in self.asked) < 3:
            return "wrong"
        return next((word for word in ("crowded", "wrong", "nosuch") if word.encode() in said), "")


def _take(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return found


class _Database(socketserver.BaseRequestHandler):
    """MariaDB's protocol: a greeting, a login, and OK to all that is said then."""

    def packet(self, number: int, payload: bytes) -> None:
        self.request.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)

    def read(self) -> bytes:
        (size,) = struct.unpack("<I", _take(self.request, 3) + b"\0")
        _take(self.request, 1)
        return _take(self.request, size)

    def refuse(self, number: int, words: str) -> None:
        self.packet(2, b"\xff" + struct.pack("<H", number) + b"#28000" + words.encode())

    def handle(self) -> None:
        known = 0x0200 | 0x8000 | 0x0008 | 0x2000
        greeting = b"\x0a11.8.0-MariaDB\0" + struct.pack("<I", 1) + b"12345678\0" + struct.pack("<H", known)
        greeting += b"\x21\x02\0" + struct.pack("<H", 0x0008) + b"\x15" + bytes(10) + b"123456789012\0"
        self.packet(0, greeting + b"mysql_native_password\0")
        answers = {
            "crowded": (1040, "Too many connections"),
            "wrong": (1045, "Access denied for user 's3cr3t'"),
            "nosuch": (1049, "Unknown database 's3cr3t'"),
        }
        if wrong := self.server.peers.judge(self.read()):  # type: ignore[attr-defined]  # `listen` sets it
            return self.refuse(*answers[wrong])
        self.packet(2, b"\0\0\0\x02\0\0\0")
        while self.read()[0] != 1:
            self.packet(1, b"\0\0\0\x02\0\0\0")
        return None


class _Broker(socketserver.BaseRequestHandler):
    """AMQP 0-9-1 up to an open connection."""

    def send(self, method: int, payload: bytes) -> None:
        body = struct.pack(">HH", 10, method) + payload
        self.request.sendall(struct.pack(">BHI", 1, 0, len(body)) + body + b"\xce")

    def read(self) -> tuple[int, bytes]:
        _, _, size = struct.unpack(">BHI", _take(self.request, 7))
        body = _take(self.request, size)
        _take(self.request, 1)
        return struct.unpack(">H", body[2:4])[0], body[4:]

    def refuse(self, code: int, words: str) -> None:
        self.send(50, struct.pack(">HB", code, len(words)) + words.encode() + struct.pack(">HH", 10, 40))
        self.read()

    def handle(self) -> None:
        _take(self.request, 8)
        mechanisms, locales = b"PLAIN AMQPLAIN", b"en_US"
        lists = b"".join(struct.pack(">I", len(each)) + each for each in (mechanisms, locales))
        self.send(10, b"\0\x09" + struct.pack(">I", 0) + lists)
        _, login = self.read()
        if self.server.peers.judge(login):  # type: ignore[attr-defined]  # `listen` sets it
            return self.refuse(403, "ACCESS_REFUSED - Login was refused using authentication mechanism AMQPLAIN")
        self.send(30, struct.pack(">HIH", 2047, 131072, 0))
        self.read()
        _, place = self.read()
        if b"nosuch" in place:
            return self.refuse(530, "NOT_ALLOWED - vhost s3cr3t not found")
        if b"crowded" in place:
            return self.refuse(530, "NOT_ALLOWED - access to vhost refused for user: connection limit (1) is reached")
        self.send(41, b"\0")
        self.read()
        self.send(51, b"")
        return None


class _Keystone(BaseHTTPRequestHandler):
    """Keystone's versions and its tokens."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def answer(self, code: int, body: Any, **headers: str) -> None:
        text = json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        link = {"rel": "self", "href": f"http://{self.headers['Host']}/v3/"}
        version = {"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z", "links": [link]}
        self.answer(300, {"versions": {"values": [version]}})

    def do_POST(self) -> None:
        said = self.rfile.read(int(self.headers["Content-Length"]))
        wrong = self.server.peers.judge(said)  # type: ignore[attr-defined]  # `listen` sets it
        if wrong == "crowded":
            return self.answer(503, {})
        if wrong:
            return self.answer(401, {"error": {"code": 401, "message": "s3cr3t", "title": "Unauthorized"}})
        urls = [
            {"id": each, "interface": each, "region": "here", "region_id": "here", "url": "http://127.0.0.1"}
            for each in ("internal", "public")
        ]
        named = (("identity", "keystone"), ("image", "pictures"))
        catalog = [{"id": of, "type": of, "name": name, "endpoints": urls} for of, name in named]
        token: dict[str, Any] = {"methods": ["password"], "expires_at": "2099-01-01T00:00:00.000000Z"}
        token |= {"user": {"id": "1"}, "catalog": catalog}
        return self.answer(201, {"token": token}, X_Subject_Token="token")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing: who has its answer goes."""


@contextmanager
def listen() -> Iterator[Peers]:
    """Listen for the time of a block."""
    peers, servers = Peers(), {}
    for name, handler in (("database", _Database), ("broker", _Broker), ("keystone", _Keystone)):
        servers[name] = server = _Server(("127.0.0.1", 0), handler)
        server.peers = peers  # type: ignore[attr-defined]  # its handlers look for it there
        setattr(peers, name, server.server_address[1])
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield peers
    finally:
        for server in servers.values():
            server.shutdown()
            server.server_close()
