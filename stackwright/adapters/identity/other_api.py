"""Reads from another API of the same cloud, with a token of Keystone's."""

from typing import Any
from urllib.parse import quote

import aiohttp

from stackwright.adapters.errors import Refused, Rejected, Unavailable
from stackwright.adapters.identity.connections import Connections
from stackwright.adapters.identity.session import Session

Json = dict[str, Any]


class OtherApi:
    """An API at a URL, as the user of a session."""

    def __init__(self, session: Session, url: str) -> None:
        self.url = url.rstrip("/")
        self._session = session
        self._connections = Connections()

    async def read(self, path: str) -> Json:
        """Return what is at a path."""
        token = await self._session.login(self._session.credentials)
        if token is None:
            raise Refused(f"Keystone at {self._session.url} does not let user {self._session.credentials.user} in")
        url = f"{self.url}{quote(path)}"
        try:
            async with (
                self._connections.open() as http,
                http.get(url, headers={"X-Auth-Token": token.text}, allow_redirects=False) as reply,
            ):
                if reply.status == 200:
                    body = await reply.json(content_type=None)
                    return body if isinstance(body, dict) else {}
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise Unavailable(f"{self.url} does not answer ({type(error).__name__})") from None
        if reply.status in (401, 403):
            raise Refused(f"{self.url} answered {reply.status} to GET {path}; the user may not read this")
        if reply.status == 404:
            raise Rejected(f"{self.url} has no {path}")
        raise Unavailable(f"{self.url} answered {reply.status} to GET {path}")
