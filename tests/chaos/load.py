"""Clients in a closed loop: each request is made on a new connection, and none is tried again."""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
    names: Counter[str] = field(default_factory=Counter)
    """How many requests there were of each name."""

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


@dataclass(frozen=True)
class Answer:
    """How a request ended: an empty trouble means that the expected status came back."""

    trouble: str
    token: str = ""
    body: bytes = b""


@dataclass(frozen=True)
class Request:
    """A request, and the status that it should be answered with."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    status: int = 200
    method: str = ""
    """Empty: POST if it has a body, and GET if it has none."""

    def send(self) -> Answer:
        """Send it once on a new connection."""
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=PATIENCE)
        try:
            connection.request(
                self.method or ("POST" if self.body else "GET"), place.path, self.body, dict(self.headers)
            )
            answer = connection.getresponse()
            body = answer.read()
            trouble = "" if answer.status == self.status else f"status {answer.status}"
            return Answer(trouble, answer.getheader("X-Subject-Token", ""), body)
        except (OSError, http.client.HTTPException) as error:
            return Answer(type(error).__name__)
        finally:
            connection.close()


def log_in(url: str, identity: object, scope: object = None) -> Request:
    """Return the request for a token."""
    body = {"auth": {"identity": identity, **({"scope": scope} if scope else {})}}
    headers = {"Content-Type": "application/json"}
    return Request(f"{url}/v3/auth/tokens", headers, json.dumps(body).encode(), status=201)


Send = Callable[[str, Request], Answer]
"""Sends a request under a name for the report, and counts how it ended."""


@contextmanager
def load(url: str, token: str) -> Iterator[Load]:
    """Ask Keystone for tokens, by a token, for the time of the block."""
    request = log_in(url, {"methods": ["token"], "token": {"id": token}})
    with repeat(lambda send: send("", request)) as seen:
        yield seen


@contextmanager
def repeat(visit: Callable[[Send], object], clients: int = CLIENTS) -> Iterator[Load]:
    """Let clients make a visit over and over, for the time of the block; a visit sends one request or several."""
    seen = Load()
    stop = threading.Event()
    lock = threading.Lock()

    def run(client: int) -> None:
        def send(name: str, request: Request) -> Answer:
            began = time.monotonic()
            with lock:
                seen.pending[client] = began
            answer = request.send()
            trouble = f"{name}: {answer.trouble}" if name and answer.trouble else answer.trouble
            with lock:
                seen.note(trouble, time.monotonic() - began)
                seen.names[name] += 1
            if trouble:
                # A refusal comes at once: without a pause one would only count how often one can be refused.
                stop.wait(max(0.0, 0.1 - (time.monotonic() - began)))
            return answer

        while not stop.is_set():
            visit(send)

    threads = [threading.Thread(target=run, args=(client,), daemon=True) for client in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE + 10)
