"""Asks another API of the same cloud, with a token of Keystone's."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import aiohttp
import msgspec

from stackwright.adapters.errors import Refused, Rejected, Unavailable
from stackwright.adapters.identity.connections import Connections, Dial, as_it_is
from stackwright.adapters.identity.session import Request, Session
from stackwright.adapters.identity.values import Token

Json = dict[str, Any]


class OtherApi:
    """An API at a URL, as the user of a session; `version` is the microversion that it is asked for."""

    def __init__(self, session: Session, url: str, *, dial: Dial = as_it_is, version: str = "") -> None:
        self.url = url.rstrip("/")
        self._session = session
        self._connections = Connections(dial)
        self._headers = {"OpenStack-API-Version": version} if version else {}

    @property
    def has_logged_in(self) -> bool:
        """Whether Keystone let the user of the session in when that was last tried."""
        return self._session.has_logged_in

    async def read(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        """Return what is at a path: of a list all pages, unless the query has a limit."""
        asked = dict(query or {})
        whole = await self.ask(Request("GET", path, asked))
        following, known = _find_next(whole), [asked]
        while following is not None and "limit" not in (query or {}):
            name, asked = following
            if asked in known:
                raise Unavailable(f"{self.url} lists {path} without an end")
            known.append(asked)
            page = await self.ask(Request("GET", path, asked))
            if not isinstance(page.get(name), list):
                raise Unavailable(f"{self.url} does not list all of {path}")
            whole[name] += page[name]
            following = _find_next(page)
        return whole

    async def ask(self, request: Request) -> Json:
        """Return the answer to a request; a token that is no longer good is renewed once."""
        token = await self._session.token()
        status, body = await self._send(request, token)
        if status == 401:
            status, body = await self._send(request, await self._session.token(stale=token))
        what = f"{request.method} {request.path}"
        if 200 <= status < 300:
            return body
        if status in (401, 403):
            raise Refused(f"{self.url} answered {status} to {what}; the user may not do this")
        if status == 404:
            raise Rejected(f"{self.url} has no {request.path}")
        if 400 <= status < 500:
            raise Rejected(f"{self.url} answered {status} to {what}{_words(body)}")
        raise Unavailable(f"{self.url} answered {status} to {what}")

    async def _send(self, request: Request, token: Token) -> tuple[int, Json]:
        headers = {**self._headers, "X-Auth-Token": token.text}
        body = msgspec.json.encode(request.body) if request.body is not None else None
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            async with (
                self._connections.open() as http,
                http.request(
                    request.method,
                    f"{self.url}{quote(request.path)}",
                    params=request.query,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                ) as reply,
            ):
                return reply.status, _decoded(await reply.read(), strict=reply.status == 200)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise Unavailable(f"{self.url} does not answer ({type(error).__name__})") from None


def _find_next(page: Json) -> tuple[str, dict[str, str]] | None:
    """Return the name of a list that goes on, and the query for its next page; None at the end.

    Of the link only the query counts: it may name an address that is reached from elsewhere.
    """
    for name, links in page.items():
        of = name.removesuffix("_links")
        if of != name and isinstance(links, list) and isinstance(page.get(of), list):
            for link in links:
                if isinstance(link, dict) and link.get("rel") == "next":
                    return of, dict(parse_qsl(urlsplit(str(link.get("href", ""))).query))
    return None


def _decoded(text: bytes, *, strict: bool) -> Json:
    """Return the answer's body; what is not JSON is no answer where one is read."""
    try:
        body = msgspec.json.decode(text) if text else {}
    except msgspec.DecodeError:
        if strict:
            raise
        return {}
    return body if isinstance(body, dict) else {}


def _words(body: Json) -> str:
    """Return what an API says about a mistake, which stands below a word for its sort."""
    said = next((part.get("message", "") for part in body.values() if isinstance(part, dict)), "")
    return f": {str(said)[:300]}" if said else ""
