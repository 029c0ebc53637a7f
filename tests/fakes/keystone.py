"""A Keystone that keeps everything in memory; `tests/fakes/running.py` starts it with the administrator's password.

It passes the contract tests of the identity adapter, as the real one does; what they do not speak of it may do
differently.
"""

import asyncio
import secrets
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from tests.fakes.hosting import host

Json = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

LIFE = timedelta(hours=1)
ROLES = ("admin", "manager", "member", "reader", "service")
# What must be unique among entries of a collection.
UNIQUE = {"projects": ("name", "domain_id"), "users": ("name", "domain_id"), "roles": ("name",)}
SINGULAR = {"services": "service", "endpoints": "endpoint", "projects": "project", "users": "user", "roles": "role"}


@dataclass
class State:
    """All that this Keystone knows."""

    entries: dict[str, dict[str, Json]] = field(default_factory=lambda: {plural: {} for plural in SINGULAR})
    passwords: dict[str, str] = field(default_factory=dict)
    grants: set[tuple[str, str, str]] = field(default_factory=set)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, plural: str, entry: Json) -> Json:
        made = {"description": "", "enabled": True, **entry, "id": secrets.token_hex(16)}
        self.entries[plural][made["id"]] = made
        return made

    def find(self, plural: str, name: str) -> Json | None:
        return next((entry for entry in self.entries[plural].values() if entry["name"] == name), None)

    def bootstrap(self, password: str) -> None:
        roles = {name: self.add("roles", {"name": name}) for name in ROLES}
        project = self.add("projects", {"name": "admin", "domain_id": "default"})
        user = self.add("users", {"name": "admin", "domain_id": "default"})
        self.passwords[user["id"]] = password
        self.grants.add((project["id"], user["id"], roles["admin"]["id"]))
        self.add("services", {"type": "identity", "name": "keystone"})

    def revoke(self, user: str) -> None:
        self.tokens = {text: token for text, token in self.tokens.items() if token[0] != user}

    def is_admin(self, user: str, project: str) -> bool:
        role = self.find("roles", "admin")
        return role is not None and (project, user, role["id"]) in self.grants

    def holds_any(self, user: str, project: str) -> bool:
        return any((held[0], held[1]) == (project, user) for held in self.grants)


def failure(code: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message, "title": "Failure"}}, status=code)


STATE = web.AppKey("state", State)
routes = web.RouteTableDef()


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let in who has a token of an administrator; count what is asked."""
    state = request.app[STATE]
    if not request.path.startswith("/v3/"):
        return await handler(request)
    state.counts[request.method] += 1
    if request.path == "/v3/auth/tokens" and request.method == "POST":
        return await handler(request)
    token = state.tokens.get(request.headers.get("X-Auth-Token", ""))
    if token is None:
        return failure(401, "The request you have made requires authentication.")
    if not state.is_admin(*token):
        return failure(403, "You are not authorized to perform the requested action.")
    return await handler(request)


@routes.get("/counts")
async def counts(request: web.Request) -> web.Response:
    return web.json_response(request.app[STATE].counts)


@routes.put("/locks/{user}")
@routes.delete("/locks/{user}")
async def lock(request: web.Request) -> web.Response:
    """Let a user in no more, or again, as after too many failed tries."""
    change = set.add if request.method == "PUT" else set.discard
    change(request.app[STATE].locked, request.match_info["user"])
    return web.Response(status=204)


@routes.delete("/attributes/{plural}/{id}/{name}")
async def forget(request: web.Request) -> web.Response:
    """Take an attribute off an entry."""
    found = request.match_info
    request.app[STATE].entries[found["plural"]][found["id"]].pop(found["name"], None)
    return web.Response(status=204)


@routes.post("/v3/auth/tokens")
async def login(request: web.Request) -> web.Response:
    state = request.app[STATE]
    auth = (await request.json())["auth"]
    given = auth["identity"]["password"]["user"]
    state.counts["login"] += 1
    user = state.find("users", given["name"])
    scope = auth["scope"]
    project = None if scope == "unscoped" else state.find("projects", scope["project"]["name"])
    good = user is not None and user["enabled"] and state.passwords.get(user["id"]) == given["password"]
    if good and user is not None and scope != "unscoped":
        good = project is not None and state.holds_any(user["id"], project["id"])
    if not good or user is None or user["name"] in state.locked:
        state.counts[f"refused {given['name']}"] += 1
        return failure(401, "The request you have made requires authentication.")
    text = secrets.token_urlsafe(32)
    state.tokens[text] = (user["id"], project["id"] if project else "")
    now = datetime.now(UTC)
    times = {"issued_at": f"{now:%FT%TZ}", "expires_at": f"{now + LIFE:%FT%TZ}"}
    return web.json_response({"token": times}, status=201, headers={"X-Subject-Token": text})


@routes.get("/v3/auth/tokens")
async def validate(request: web.Request) -> web.Response:
    known = request.headers.get("X-Subject-Token", "") in request.app[STATE].tokens
    return web.Response() if known else failure(404, "Could not find token.")


@routes.get("/v3/role_assignments")
async def assignments(request: web.Request) -> web.Response:
    wanted = request.query.get("scope.project.id", "")
    found = [
        {"role": {"id": role}, "user": {"id": user}, "scope": {"project": {"id": project}}}
        for project, user, role in sorted(request.app[STATE].grants)
        if wanted in ("", project)
    ]
    return web.json_response({"role_assignments": found})


@routes.route("*", "/v3/projects/{project}/users/{user}/roles/{role}")
async def grant(request: web.Request) -> web.Response:
    state = request.app[STATE]
    project, user, role = (request.match_info[name] for name in ("project", "user", "role"))
    known = (project in state.entries["projects"], user in state.entries["users"], role in state.entries["roles"])
    held = (project, user, role)
    if not all(known) or (request.method != "PUT" and held not in state.grants):
        return failure(404, "Could not find it.")
    if request.method == "PUT":
        state.grants.add(held)
    elif request.method == "DELETE":
        state.grants.discard(held)
    return web.Response(status=204)


@routes.get("/v3/{plural}")
async def listed(request: web.Request) -> web.Response:
    plural = request.match_info["plural"]
    if plural not in SINGULAR:
        return failure(404, "Not found.")
    entries = request.app[STATE].entries[plural].values()
    query = {key: folded(value) for key, value in request.query.items()}
    found = [entry for entry in entries if all(folded(entry.get(key)) == value for key, value in query.items())]
    return web.json_response({plural: found})


@routes.post("/v3/{plural}")
async def create(request: web.Request) -> web.Response:
    state, plural = request.app[STATE], request.match_info["plural"]
    entry = (await request.json())[SINGULAR[plural]]
    if taken(state, plural, entry):
        return failure(409, f"Conflict occurred attempting to store {SINGULAR[plural]} - Duplicate entry.")
    if plural == "endpoints" and entry["service_id"] not in state.entries["services"]:
        return failure(400, "Could not find service.")
    password = entry.pop("password", None)
    made = state.add(plural, regional(entry))
    if password is not None:
        state.passwords[made["id"]] = password
    return web.json_response({SINGULAR[plural]: made}, status=201)


@routes.patch("/v3/{plural}/{id}")
async def change(request: web.Request) -> web.Response:
    state, plural, name = request.app[STATE], request.match_info["plural"], request.match_info["id"]
    if name not in state.entries[plural]:
        return failure(404, f"Could not find {SINGULAR[plural]}: {name}.")
    changes = regional((await request.json())[SINGULAR[plural]])
    if "name" in changes and taken(state, plural, {**state.entries[plural][name], **changes}, but=name):
        return failure(409, "Duplicate entry.")
    password = changes.pop("password", None)
    state.entries[plural][name].update(changes)
    if password is not None:
        state.passwords[name] = password
        state.counts["passwords"] += 1
    if plural == "users" and (password is not None or changes.get("enabled") is False):
        state.revoke(name)
    return web.json_response({SINGULAR[plural]: state.entries[plural][name]})


@routes.delete("/v3/{plural}/{id}")
async def delete(request: web.Request) -> web.Response:
    state, plural, name = request.app[STATE], request.match_info["plural"], request.match_info["id"]
    if state.entries[plural].pop(name, None) is None:
        return failure(404, f"Could not find {SINGULAR[plural]}: {name}.")
    endpoints = state.entries["endpoints"]
    for endpoint in [key for key, entry in endpoints.items() if entry["service_id"] == name]:
        del endpoints[endpoint]
    state.grants = {held for held in state.grants if name not in held}
    state.revoke(name)
    return web.Response(status=204)


def taken(state: State, plural: str, entry: Json, *, but: str = "") -> bool:
    """Whether another entry has what must be unique."""
    names = UNIQUE.get(plural, ())
    wanted = tuple(folded(entry.get(name)) for name in names)
    others = (other for key, other in state.entries[plural].items() if key != but)
    return bool(names) and any(tuple(folded(other.get(name)) for name in names) == wanted for other in others)


def folded(value: Any) -> Any:
    """A name as MariaDB compares it: without regard to case, accents, and blanks at the end."""
    if not isinstance(value, str):
        return value
    plain = (letter for letter in unicodedata.normalize("NFD", value) if not unicodedata.combining(letter))
    return "".join(plain).casefold().rstrip()


def regional(entry: Json) -> Json:
    """An endpoint's region goes by its older name, too."""
    if "region" in entry:
        entry["region_id"] = entry["region"]
    return entry


def application(password: str) -> web.Application:
    """Return a Keystone that was bootstrapped with this password of its administrator."""
    made = web.Application(middlewares=[guard])
    made[STATE] = State()
    made[STATE].bootstrap(password)
    made.add_routes(routes)
    return made


if __name__ == "__main__":
    asyncio.run(host(application))
