"""Clients in a closed loop that ask Keystone for tokens: each request on a new connection, none is tried again."""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

CLIENTS = 4
# For how many seconds a client waits for an answer.
PATIENCE = 60.0


@dataclass
class Load:
    """What the clients saw."""

    answered: int = 0
    lost: list[str] = field(default_factory=list)
    slowest: float = 0.0
    first_loss: float = 0.0
    last_loss: float = 0.0
    pending: dict[int, float] = field(default_factory=dict)
    """Since when each client waits for an answer."""

    def note(self, trouble: str, seconds: float) -> None:
        """Note how a request ended; an empty trouble is a token."""
        self.slowest = max(self.slowest, seconds)
        if trouble:
            self.lost.append(trouble)
            self.last_loss = time.monotonic()
            self.first_loss = self.first_loss or self.last_loss - seconds
        else:
            self.answered += 1

    def is_well(self, seconds: float) -> bool:
        """Return whether no request was lost for so many seconds, and none waits for that long."""
        now = time.monotonic()
        return now - self.last_loss > seconds and all(now - began < seconds for began in list(self.pending.values()))

    def summary(self) -> str:
        """Return what is told of it."""
        kinds = ", ".join(f"{count} times {trouble}" for trouble, count in Counter(self.lost).most_common())
        lost = f"{len(self.lost)} lost ({kinds})" if self.lost else "0 lost"
        return f"{self.answered + len(self.lost)} requests, {lost}, slowest {self.slowest:.1f} s"


@contextmanager
def load(url: str, token: str) -> Iterator[Load]:
    """Ask for tokens, by a token, for the time of the block."""
    seen = Load()
    stop = threading.Event()
    lock = threading.Lock()
    place = urlsplit(url)
    body = json.dumps({"auth": {"identity": {"methods": ["token"], "token": {"id": token}}}}).encode()

    def once() -> str:
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=PATIENCE)
        try:
            connection.request("POST", "/v3/auth/tokens", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            return "" if answer.status == 201 else f"status {answer.status}"
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            connection.close()

    def ask(client: int) -> None:
        while not stop.is_set():
            began = time.monotonic()
            with lock:
                seen.pending[client] = began
            trouble = once()
            with lock:
                seen.note(trouble, time.monotonic() - began)
            if trouble:
                # A refusal comes at once: without a pause one would only count how often one can be refused.
                stop.wait(max(0.0, 0.1 - (time.monotonic() - began)))

    threads = [threading.Thread(target=ask, args=(client,), daemon=True) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE + 10)
