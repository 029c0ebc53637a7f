"""Reads from another API of the same cloud, with a token of Keystone's."""

from typing import Any
from urllib.parse import quote

import aiohttp

from stackwright.adapters.errors import Refused, Rejected, Unavailable
from stackwright.adapters.identity.connections import Connections, Dial, as_it_is
from stackwright.adapters.identity.session import Session
from stackwright.adapters.identity.values import Token

Json = dict[str, Any]


class OtherApi:
    """An API at a URL, as the user of a session."""

    def __init__(self, session: Session, url: str, *, dial: Dial = as_it_is) -> None:
        self.url = url.rstrip("/")
        self._session = session
        self._connections = Connections(dial)

    async def read(self, path: str) -> Json:
        """Return what is at a path; a token that is no longer good is renewed once."""
        token = await self._session.token()
        status, body = await self._get(path, token)
        if status == 401:
            status, body = await self._get(path, await self._session.token(stale=token))
        if status == 200:
            return body
        if status in (401, 403):
            raise Refused(f"{self.url} answered {status} to GET {path}; the user may not read this")
        if status == 404:
            raise Rejected(f"{self.url} has no {path}")
        raise Unavailable(f"{self.url} answered {status} to GET {path}")

    async def _get(self, path: str, token: Token) -> tuple[int, Json]:
        try:
            async with (
                self._connections.open() as http,
                http.get(
                    f"{self.url}{quote(path)}", headers={"X-Auth-Token": token.text}, allow_redirects=False
                ) as reply,
            ):
                body = await reply.json(content_type=None) if reply.status == 200 else {}
                return reply.status, body if isinstance(body, dict) else {}
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise Unavailable(f"{self.url} does not answer ({type(error).__name__})") from None
