"""A fake of RabbitMQ's management API, in a process of its own.

It keeps the contract of tests/contracts/rabbitmq.py, as the real broker does. Under /fake/ a test says what cannot be
said through the API: who is connected, and that the broker is down.
"""

import base64
import binascii
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from stackwright.adapters.rabbitmq import Access

ADMINISTRATOR = "admin"
PASSWORD = "administrator's secret"  # With a blank and a quote, so that nothing is put together by hand.
MISSING = {"error": "Object Not Found", "reason": "Not Found"}


@dataclass
class Broker:
    """What the broker knows."""

    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    vhosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    permissions: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    connections: dict[str, int] = field(default_factory=dict)
    down: bool = False

    def login(self, authorization: str) -> dict[str, Any] | None:
        """Return who logs in, None where name or password are wrong."""
        try:
            name, password = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":", 1)
        except ValueError:
            return None
        user = self.users.get(name)
        known = base64.b64decode(user["password_hash"]) if user else b""
        right = known == known[:4] + hashlib.sha256(known[:4] + password.encode()).digest()
        return user if user and right else None


def digest(password: str) -> str:
    return base64.b64encode(b"salt" + hashlib.sha256(b"salt" + password.encode()).digest()).decode()


def answer(code: int, body: Any = None) -> web.Response:
    return web.Response(status=code) if body is None else web.json_response(body, status=code)


def refusal(reason: Any) -> web.Response:
    return answer(400, {"error": "bad_request", "reason": reason})


class Fake:
    """The API over one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.application = web.Application(middlewares=[self.guarded])
        self.application.add_routes(
            [
                web.get("/api/whoami", self.whoami),
                web.get("/api/overview", self.overview),
                web.get("/api/nodes", self.nodes),
                web.get("/api/connections/username/{name}", self.connected),
                *(web.route(method, "/api/vhosts/{name}", self.vhost) for method in ("GET", "PUT", "DELETE")),
                *(web.route(method, "/api/users/{name}", self.user) for method in ("GET", "PUT", "DELETE")),
                *(
                    web.route(method, "/api/permissions/{vhost}/{user}", self.permission)
                    for method in ("GET", "PUT", "DELETE")
                ),
                web.put("/fake/connections/{name}/{number}", self.connect),
                web.put("/fake/down/{down}", self.fail),
            ]
        )

    @web.middleware
    async def guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path.startswith("/fake/"):
            return await handler(request)
        if self.broker.down:
            return answer(503, {"error": "Service Unavailable"})
        user = self.broker.login(request.headers.get("Authorization", ""))
        if user is None:
            return answer(401, {"error": "not_authorized", "reason": "Not_Authorized"})
        request["user"] = user
        if "administrator" not in user["tags"]:
            return answer(401, {"error": "not_authorised", "reason": "Not management user"})
        return await handler(request)

    async def whoami(self, request: web.Request) -> web.Response:
        user = request["user"]
        return answer(200, {"name": user["name"], "tags": user["tags"], "is_internal_user": True})

    async def overview(self, _: web.Request) -> web.Response:
        return answer(200, {"rabbitmq_version": "4.0.5", "queue_totals": {}, "object_totals": {"queues": 0}})

    async def nodes(self, _: web.Request) -> web.Response:
        node = {"name": "rabbit@fake", "running": True, "mem_alarm": False, "disk_free_alarm": False, "partitions": []}
        return answer(200, [node])

    async def connected(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        return answer(200, [{"user": name}] * self.broker.connections.get(name, 0))

    async def connect(self, request: web.Request) -> web.Response:
        self.broker.connections[request.match_info["name"]] = int(request.match_info["number"])
        return answer(204)

    async def fail(self, request: web.Request) -> web.Response:
        self.broker.down = request.match_info["down"] == "yes"
        return answer(204)

    async def vhost(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        there = self.broker.vhosts.get(name)
        match request.method:
            case "PUT":
                given = (await request.json()).get("default_queue_type", "quorum")
                self.broker.vhosts[name] = {"name": name, "tags": [], "default_queue_type": given}
                return answer(201 if there is None else 204)
            case "DELETE":
                for key in [key for key in self.broker.permissions if key[0] == name]:
                    del self.broker.permissions[key]
                return answer(404, MISSING) if self.broker.vhosts.pop(name, None) is None else answer(204)
        return answer(404, MISSING) if there is None else answer(200, there)

    async def user(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        there = self.broker.users.get(name)
        match request.method:
            case "PUT":
                given = await request.json()
                try:
                    base64.b64decode(given["password_hash"], validate=True)
                except binascii.Error:
                    return refusal(["not_base64", given["password_hash"]])
                tags = [tag for tag in given["tags"].split(",") if tag]
                self.broker.users[name] = {**given, "name": name, "tags": tags, "limits": {}}
                return answer(201 if there is None else 204)
            case "DELETE":
                for key in [key for key in self.broker.permissions if key[1] == name]:
                    del self.broker.permissions[key]
                return answer(404, MISSING) if self.broker.users.pop(name, None) is None else answer(204)
        return answer(404, MISSING) if there is None else answer(200, there)

    async def permission(self, request: web.Request) -> web.Response:
        key = (request.match_info["vhost"], request.match_info["user"])
        there = self.broker.permissions.get(key)
        match request.method:
            case "PUT":
                if key[0] not in self.broker.vhosts or key[1] not in self.broker.users:
                    return refusal("vhost_or_user_not_found")
                given = await request.json()
                for expression in given.values():
                    try:
                        re.compile(expression)
                    except re.error:
                        return refusal(["invalid_regexp", [42, 91], [[], 0]])
                self.broker.permissions[key] = {"user": key[1], "vhost": key[0], **given}
                return answer(201 if there is None else 204)
            case "DELETE":
                return answer(404, MISSING) if self.broker.permissions.pop(key, None) is None else answer(204)
        return answer(404, MISSING) if there is None else answer(200, there)


@contextlib.contextmanager
def running() -> Iterator[Access]:
    """Run a broker in a process of its own for the time of a block, and say where it is."""
    command = [sys.executable, "-m", "tests.fakes.rabbitmq"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())
            yield Access(f"http://127.0.0.1:{port}", ADMINISTRATOR, PASSWORD)
        finally:
            process.terminate()


async def serve() -> web.Application:
    """Serve on a free port, and print which."""
    administrator = {
        "name": ADMINISTRATOR,
        "tags": ["administrator"],
        "password_hash": digest(PASSWORD),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "limits": {},
    }
    fake = Fake(Broker({ADMINISTRATOR: administrator}, {"/": {"name": "/", "default_queue_type": "quorum"}}))

    async def announce(_: web.Application) -> None:
        os.write(1, f"{sockets[0].getsockname()[1]}\n".encode())

    fake.application.on_startup.append(announce)
    return fake.application


if __name__ == "__main__":
    import socket

    sockets = [socket.create_server(("127.0.0.1", 0))]
    web.run_app(serve(), sock=sockets[0], print=None)
