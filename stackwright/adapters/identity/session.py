"""Requests to one Keystone as one user: the token, its renewal, cached answers, and what errors mean."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from stackwright.adapters.errors import AdapterError, Refused, Rejected, Unavailable
from stackwright.adapters.identity.connections import Connections, Dial, as_it_is
from stackwright.adapters.identity.values import DOMAIN, Credentials, Token

Json = dict[str, Any]
Query = Mapping[str, str]

# A token is renewed when a fifth of its lifetime is left, at most this many seconds before its end.
_MARGIN = 60.0
# After a refused login the same credentials are not tried again for this many seconds, and for twice as many after each
# further one: some Keystones lock accounts.
REFUSED_SECONDS = 15.0
LONGEST_REFUSED_SECONDS = 600.0
# What Keystone says about a mistake is repeated up to this length.
_LONGEST_WORDS = 300


class Gone(AdapterError):
    """What was asked for does not exist; this error does not leave this package."""


class Taken(AdapterError):
    """The name is already taken; this error does not leave this package."""


@dataclass(frozen=True)
class Request:
    """One request; with `secret`, neither its content nor Keystone's words about it are ever repeated."""

    method: str
    path: str
    query: Query = field(default_factory=dict)
    body: Json | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: bool = False


@dataclass(frozen=True)
class Answer:
    """The answer."""

    status: int
    headers: Mapping[str, str]
    body: Json


class Session:
    """Talks to one Keystone as one user. Answers to reads are cached for a while; any write clears the cache."""

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        *,
        dial: Dial = as_it_is,
        remembered: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = URL(url).with_user(None)
        self.credentials = credentials
        self.connections = Connections(dial)
        self._base = URL(str(self.url).rstrip("/").removesuffix("/v3") + "/v3")
        self._clock = clock
        self._remembered = remembered
        self._answers: dict[tuple[str, str], tuple[float, Json]] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._writes = 0
        self._token: tuple[Token, float] | None = None
        self._login = asyncio.Lock()
        self._refused: tuple[Refused, float] | None = None
        self._pause = REFUSED_SECONDS

    @property
    def has_logged_in(self) -> bool:
        """Whether Keystone let these credentials in when they were last tried."""
        return self._token is not None

    async def read(self, path: str, query: Query | None = None) -> Json:
        """Return what is at a path, as it is now or was a short while ago."""
        key = (path, str(sorted((query or {}).items())))
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._answers.get(key)
            if known is not None and self._clock() < known[0] + self._remembered:
                return known[1]
            asked, writes = self._clock(), self._writes
            body = (await self.ask(Request("GET", path, query or {}))).body
            if writes == self._writes:
                self._answers[key] = (asked, body)
            return body

    async def write(self, method: str, path: str, body: Json | None = None, *, secret: bool = False) -> Json:
        """Change something, and forget what was read."""
        self.forget()
        try:
            return (await self.ask(Request(method, path, body=body, secret=secret))).body
        finally:
            self.forget()

    def forget(self) -> None:
        """Forget what was read, so that it is read again."""
        self._writes += 1
        self._answers.clear()

    async def ask(self, request: Request) -> Answer:
        """Send a request with our token; a token that is no longer good is renewed once."""
        token = await self._current()
        answer = await self._send(request, token)
        if answer.status == 401:
            answer = await self._send(request, await self._renewed(token))
        self._check(request, answer)
        return answer

    async def login(self, credentials: Credentials) -> Token | None:
        """Log in and return the token; None when Keystone does not let these credentials in."""
        request = Request("POST", "/auth/tokens", {"nocatalog": ""}, _authentication(credentials), secret=True)
        answer = await self._send(request)
        if answer.status == 401:
            return None
        self._check(request, answer)
        token = answer.body.get("token", {})
        return Token(answer.headers.get("X-Subject-Token", ""), _life(token))

    # The token of this session.

    async def token(self, *, stale: Token | None = None) -> Token:
        """Return a token that is good; another one than a `stale` one that was refused."""
        return await self._current() if stale is None else await self._renewed(stale)

    async def _current(self) -> Token:
        async with self._login:
            if self._token is not None and self._clock() < self._token[1]:
                return self._token[0]
            return await self._log_in()

    async def _renewed(self, stale: Token) -> Token:
        async with self._login:
            if self._token is not None and self._token[0] != stale:
                return self._token[0]
            return await self._log_in()

    async def _log_in(self) -> Token:
        if self._refused is not None and self._clock() < self._refused[1]:
            raise Refused(*self._refused[0].args)
        self._token = None
        asked = self._clock()
        token = await self.login(self.credentials)
        if token is None:
            refused = Refused(
                f"Keystone at {self.url} does not let user {self.credentials.user} in: the password is wrong, or "
                "the user, its project or its role there is missing, disabled or locked"
            )
            self._refused = (refused, self._clock() + self._pause)
            self._pause = min(2 * self._pause, LONGEST_REFUSED_SECONDS)
            raise refused
        self._refused, self._pause = None, REFUSED_SECONDS
        self._token = (token, asked + token.seconds - min(_MARGIN, token.seconds / 5))
        return token

    # One request.

    async def _send(self, request: Request, token: Token | None = None) -> Answer:
        headers = {**request.headers, **({"X-Auth-Token": token.text} if token is not None else {})}
        body = msgspec.json.encode(request.body) if request.body is not None else None
        if body is not None:
            headers["Content-Type"] = "application/json"
        url = self._base.joinpath(*request.path.strip("/").split("/")).with_query(request.query)
        try:
            async with (
                self.connections.open() as http,
                http.request(request.method, url, data=body, headers=headers, allow_redirects=False) as reply,
            ):
                return Answer(reply.status, reply.headers.copy(), _decoded(await reply.read()))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            # The error itself may show the request with its headers; what sort it is says enough.
            raise Unavailable(f"Keystone at {self.url} does not answer ({type(error).__name__})") from None

    def _check(self, request: Request, answer: Answer) -> None:
        """Raise what an answer means, if it is not success."""
        if 200 <= answer.status < 300:
            return
        what = f"{request.method} /v3{request.path}"
        words = "" if request.secret else _words(answer.body)
        sentence = f"Keystone at {self.url} answered {answer.status} to {what}{words}"
        match answer.status:
            case 401 | 403:
                raise Refused(f"{sentence}; user {self.credentials.user} may not do this")
            case 404:
                raise Gone(sentence)
            case 409:
                raise Taken(sentence)
            case 400 | 405 | 413 | 422:
                raise Rejected(sentence)
        raise Unavailable(sentence)


def _authentication(credentials: Credentials) -> Json:
    """Return the body of a login: for a project, or for none where no project is named."""
    user = {"name": credentials.user, "domain": {"id": DOMAIN}, "password": credentials.password}
    project = {"name": credentials.project, "domain": {"id": DOMAIN}}
    scope: Any = {"project": project} if credentials.project else "unscoped"
    return {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}


def _life(token: Json) -> float:
    """Return how many seconds a token is good for, by the server's own clock."""
    try:
        issued, expires = (datetime.fromisoformat(token[name]) for name in ("issued_at", "expires_at"))
    except (KeyError, TypeError, ValueError):
        return 0.0
    return (expires - issued).total_seconds()


def _decoded(body: bytes) -> Json:
    try:
        decoded = msgspec.json.decode(body) if body else {}
    except msgspec.DecodeError:
        # Not Keystone but something in front of it, with a page for people.
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _words(body: Json) -> str:
    error = body.get("error")
    message = error.get("message", "") if isinstance(error, dict) else ""
    return f": {str(message)[:_LONGEST_WORDS]}" if message else ""
