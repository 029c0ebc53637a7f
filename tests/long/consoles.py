"""Opens a server's console as the page of noVNC does, without a browser."""

import base64
import secrets
import socket
from urllib.parse import parse_qs, urlsplit


def read_frame(url: str) -> bytes:
    """Return the content of the first frame that comes through the websocket of a console's URL."""
    parts = urlsplit(url)
    # The page takes the rest of the socket's address from its own.
    (path,) = parse_qs(parts.query)["path"]
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=30) as connection:
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        lines = (
            f"GET /{path.lstrip('/')} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Origin: {parts.scheme}://{parts.netloc}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: binary",
            f"Sec-WebSocket-Key: {key}",
            "",
            "",
        )
        connection.sendall("\r\n".join(lines).encode())
        with connection.makefile("rb") as stream:
            status = stream.readline()
            assert b" 101 " in status, status
            while stream.readline().strip():
                pass
            first, length = stream.read(2)
            # A whole frame with bytes in it, which is short.
            assert (first, length < 126) == (0x82, True)
            return stream.read(length)
