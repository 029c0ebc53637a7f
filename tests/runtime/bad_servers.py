"""Servers that are no Kubernetes: nobody there, silent, talking nonsense. Each is a thread on loopback."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HTML = b"<html><body>It works!</body></html>"


def _answer(line: bytes, kind: bytes, body: bytes, *further: bytes) -> bytes:
    length = str(len(body)).encode()
    head = (b"HTTP/1.1 " + line, b"Content-Type: " + kind, b"Content-Length: " + length, b"Connection: close", *further)
    return b"\r\n".join(head) + b"\r\n\r\n" + body


# What each says to whoever connects; None is nothing, for ever.
SAYS: dict[str, bytes | None] = {
    "silent": None,
    "not-http": b"220 mail.example.org ESMTP ready\r\n",
    "hanging-up": b"",
    "a-web-page": _answer(b"200 OK", b"text/html", HTML),
    "empty-json": _answer(b"200 OK", b"application/json", b"{}"),
    "a-json-list": _answer(b"200 OK", b"application/json", b'[{"kind": "Pod"}]'),
    "cut-short": _answer(b"200 OK", b"application/json", b"{}").replace(b"Length: 2", b"Length: 2000"),
    "failing": _answer(b"500 Internal Server Error", b"text/plain", b"it broke"),
    "sent-elsewhere": _answer(b"302 Found", b"text/html", HTML, b"Location: http://127.0.0.1:1/"),
    "a-login-page": _answer(b"401 Unauthorized", b"text/html", HTML),
    "not-found": _answer(b"404 Not Found", b"text/html", HTML),
}


# Where something else is wrong than what is said.
FURTHER = ("nobody", "silent-with-tls", "not-tls", "no-such-host")


class _Talker:
    """Accepts connections and says the same to each."""

    def __init__(self, says: bytes | None) -> None:
        self._says = says
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._kept: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if self._says is None:
                self._kept.append(connection)
            else:
                threading.Thread(target=self._talk, args=(connection, self._says), daemon=True).start()

    @staticmethod
    def _talk(connection: socket.socket, says: bytes) -> None:
        with connection:
            try:
                # The request is read first: else the answer can be lost with a connection that is reset.
                if says:
                    connection.settimeout(5)
                    connection.recv(65536)
                    connection.sendall(says)
            except OSError:
                return

    def close(self) -> None:
        # Whoever waits in accept is not woken by a close alone.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._kept:
            connection.close()
        self._thread.join(timeout=5)


def _refused() -> str:
    """Return an address on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host, port = free.getsockname()
    return f"{host}:{port}"


@contextmanager
def all_of_them() -> Iterator[dict[str, str]]:
    """Run every bad server for the time of a block; the block gets their URLs by what they are."""
    talkers = {name: _Talker(says) for name, says in SAYS.items()}
    urls = {name: f"http://{talker.address}" for name, talker in talkers.items()}
    urls["nobody"] = f"http://{_refused()}"
    urls["silent-with-tls"] = f"https://{talkers['silent'].address}"
    urls["not-tls"] = f"https://{talkers['a-web-page'].address}"
    urls["no-such-host"] = "https://kubernetes.invalid:6443"
    try:
        yield urls
    finally:
        for talker in talkers.values():
            talker.close()
