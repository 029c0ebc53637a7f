"""Clients in a closed loop that ask Keystone for tokens: each request on a new connection, none is tried again."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

CLIENTS = 4


@dataclass
class Load:
    """What the clients saw."""

    answered: int = 0
    lost: list[str] = field(default_factory=list)
    slowest: float = 0.0
    last_loss: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def note(self, trouble: str, seconds: float) -> None:
        """Note how a request ended; an empty trouble is a token."""
        self.slowest = max(self.slowest, seconds)
        if trouble:
            self.lost.append(trouble)
            self.last_loss = time.monotonic()
        else:
            self.answered += 1

    def summary(self) -> str:
        """Return what is printed."""
        kinds = {trouble: self.lost.count(trouble) for trouble in sorted(set(self.lost))}
        return f"{self.answered} answered, {len(self.lost)} lost {kinds}, slowest {self.slowest:.1f} s"


@contextmanager
def load(url: str, token: str) -> Iterator[Load]:
    """Ask for tokens, by a token, for the time of the block."""
    seen = Load()
    stop = threading.Event()
    lock = threading.Lock()
    place = urlsplit(url)
    body = json.dumps({"auth": {"identity": {"methods": ["token"], "token": {"id": token}}}}).encode()

    def once() -> str:
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
        try:
            connection.request("POST", "/v3/auth/tokens", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            return "" if answer.status == 201 else f"status {answer.status}"
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            connection.close()

    def ask() -> None:
        while not stop.is_set():
            began = time.monotonic()
            trouble = once()
            with lock:
                seen.note(trouble, time.monotonic() - began)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        stop.set()
        for thread in threads:
            thread.join(70)
