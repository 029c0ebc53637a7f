"""A container registry, as far as one pushes to it: the OCI distribution API.

    async with Registry(Place("registry.example.com"), login) as registry:
        if not await registry.has_blob("openstack/nova", digest):
            await registry.put_blob("openstack/nova", digest, size, pieces)
        await registry.put_manifest("openstack/nova", "1.0", media_type, body)

A registry that asks for a token gets one from where it says, with the login if there is one.
"""

import re
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import aiohttp
import msgspec
from yarl import URL

from stackwright.adapters.errors import Refused, Rejected, Unavailable

# A registry may think for long after the last byte of a large blob; it says nothing meanwhile.
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=300)
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Place:
    """Where a registry is. `authorities` is a file with the certificates to trust instead of the system's."""

    host: str
    plain_http: bool = False
    authorities: str = ""

    @property
    def url(self) -> str:
        """Where its API begins."""
        return f"{'http' if self.plain_http else 'https'}://{self.host}"


@dataclass(frozen=True)
class Login:
    """Who pushes."""

    username: str
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        """What goes over the wire."""
        return aiohttp.encode_basic_auth(self.username, self.password, encoding="utf-8")


class Registry:
    """A connection to one registry. Use it as an async context manager."""

    def __init__(self, place: Place, login: Login | None = None) -> None:
        self._place = place
        self._login = login
        self._authorization: dict[str, str] = {}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        trusted: ssl.SSLContext | bool = True
        if self._place.authorities:
            try:
                trusted = ssl.create_default_context(cafile=self._place.authorities)
            except OSError as error:
                raise Rejected(f"{self._place.authorities} has no certificates to trust: {error}") from error
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT, connector=aiohttp.TCPConnector(ssl=trusted))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def has_blob(self, repository: str, digest: str) -> bool:
        """Return whether a repository has a blob."""
        code, _, _ = await self._ask("HEAD", self._url(repository, "blobs", digest), repository)
        return code == 200

    async def put_blob(self, repository: str, digest: str, size: int, pieces: AsyncIterator[bytes]) -> None:
        """Upload a blob in one go."""
        begin = URL(f"{self._url(repository, 'blobs', 'uploads')}/")
        code, headers, body = await self._ask("POST", begin, repository)
        self._require(code, 202, body, repository)
        # It may be relative, and may have a query of its own that is the registry's business.
        place = begin.join(URL(headers.get("Location", ""), encoded=True)).extend_query({"digest": digest})
        said = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
        code, _, body = await self._ask("PUT", place, repository, said, pieces)
        self._require(code, 201, body, repository)

    async def put_manifest(self, repository: str, reference: str, media_type: str, body: bytes) -> None:
        """Upload a manifest under a tag or its digest; all that it names must be there."""
        url = self._url(repository, "manifests", reference)
        code, _, answer = await self._ask("PUT", url, repository, {"Content-Type": media_type}, body)
        self._require(code, 201, answer, repository)

    def _url(self, repository: str, *words: str) -> URL:
        return URL(f"{self._place.url}/v2/{repository}/{'/'.join(words)}")

    async def _ask(
        self,
        method: str,
        url: URL,
        repository: str,
        headers: Mapping[str, str] | None = None,
        data: bytes | AsyncIterator[bytes] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Ask, and return code, headers and body; one that asks who we are is told, and asked again."""
        code, answered, body = await self._send(method, url, headers, data)
        if code == 401:
            known = self._authorization
            self._authorization = await self._authorize(answered.get("WWW-Authenticate", ""), repository)
            # What was sent in pieces is gone; but whoever sends pieces has asked before, and is known.
            if self._authorization != known and not isinstance(data, AsyncIterator):
                code, answered, body = await self._send(method, url, headers, data)
        if code in {401, 403}:
            who = f"user {self._login.username}" if self._login else "a stranger"
            raise Refused(f"{self._place.host} does not let {who} push to {repository}; log in with podman login")
        if code >= 500 or code == 429:
            raise Unavailable(f"{self._place.host} answered with {code}: {_reason(body)}")
        return code, answered, body

    async def _send(
        self, method: str, url: URL, headers: Mapping[str, str] | None, data: bytes | AsyncIterator[bytes] | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            raise RuntimeError("use the connection as an async context manager")
        # A registry may have its blobs elsewhere, and nobody there is told who we are.
        own = self._authorization if url.host == URL(self._place.url).host else {}
        try:
            async with self._session.request(method, url, headers={**own, **(headers or {})}, data=data) as answer:
                return answer.status, answer.headers, await answer.read()
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            message = "is not trusted, or speaks no TLS; name its certificate, or use plain HTTP"
            raise Refused(f"{self._place.host} {message} ({error})") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"The registry {self._place.host} cannot be reached: {_trouble(error)}") from error

    async def _authorize(self, wish: str, repository: str) -> dict[str, str]:
        """Return the header by which a registry knows us that answered with that wish."""
        kind, _, rest = wish.partition(" ")
        if kind.lower() == "basic":
            return {"Authorization": self._login.header} if self._login else {}
        said = dict(_PARAMETER.findall(rest))
        if kind.lower() != "bearer" or "realm" not in said:
            return {}
        scope = said.get("scope") or f"repository:{repository}:pull,push"
        url = URL(said["realm"]).extend_query({"service": said.get("service", ""), "scope": scope})
        self._authorization = {}
        headers = {"Authorization": self._login.header} if self._login else {}
        code, _, body = await self._send("GET", url, headers, None)
        token = _decoded(body).get("token") or _decoded(body).get("access_token") if code == 200 else None
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _require(self, code: int, wanted: int, body: bytes, repository: str) -> None:
        if code != wanted:
            raise Rejected(f"{self._place.host} does not accept {repository} ({code}): {_reason(body)}")


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _reason(body: bytes) -> str:
    errors = _decoded(body).get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], dict):
        return str(errors[0].get("message") or errors[0].get("code"))
    return body[:200].decode(errors="replace").strip() or "it does not say why"


def _trouble(error: BaseException) -> str:
    return "it does not answer in time" if isinstance(error, TimeoutError) else str(error)
