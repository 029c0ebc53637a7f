"""RabbitMQ's management API: users, virtual hosts, permissions, and how the nodes are.

    async with Management(Access("http://rabbitmq.openstack.svc:15672", "admin", password)) as broker:
        await broker.put_vhost("/cell1", "quorum")

Passwords go over the wire only in the login; a user's is set and compared as a salted digest.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from stackwright.adapters.errors import Refused, Rejected, Unavailable

T = TypeVar("T")

SHA256 = "rabbit_password_hashing_sha256"
_DIGESTS = {SHA256: hashlib.sha256, "rabbit_password_hashing_sha512": hashlib.sha512}
# A digest begins with this many bytes of salt.
_SALT = 4
# What the broker says of names and values that it cannot take.
_REJECTIONS = {400, 405, 413, 415, 422}
_JSON = {"Content-Type": "application/json"}
# The broker answers in milliseconds; while it forms a cluster it may take seconds.
_TIMEOUT = 10.0


@dataclass(frozen=True)
class Access:
    """Where the management API is, and who asks."""

    url: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Caller:
    """Who somebody is to the broker."""

    name: str
    tags: frozenset[str]


@dataclass(frozen=True)
class User:
    """A user of the broker; whether a password is theirs can be told, what it is cannot."""

    name: str
    tags: frozenset[str] = frozenset()
    digest: str = field(default="", repr=False)
    algorithm: str = SHA256

    def has_password(self, password: str) -> bool:
        """Return whether this is the user's password."""
        digest = _DIGESTS.get(self.algorithm)
        if digest is None or not self.digest:
            return False
        known = base64.b64decode(self.digest)
        salt = known[:_SALT]
        return hmac.compare_digest(known, salt + digest(salt + password.encode()).digest())


@dataclass(frozen=True)
class Vhost:
    """A virtual host; queues that ask for no type get `default_queue_type`, which may be empty."""

    name: str
    default_queue_type: str = ""


@dataclass(frozen=True)
class Permission:
    """What a user may do in a virtual host, as regular expressions over names."""

    configure: str = ".*"
    write: str = ".*"
    read: str = ".*"


@dataclass(frozen=True)
class Node:
    """A node of the cluster as the others see it."""

    name: str
    running: bool
    alarms: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Overview:
    """The broker as a whole: its version and what is in its queues."""

    version: str
    queues: int
    messages: int


def digest_of(password: str, salt: bytes | None = None) -> str:
    """Return a password as the broker keeps it: four bytes of salt, then the digest of both."""
    salt = secrets.token_bytes(_SALT) if salt is None else salt
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


class Management:
    """A connection to one broker. Use it as an async context manager."""

    def __init__(self, access: Access, *, timeout: float = _TIMEOUT) -> None:
        self._access = access
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        authorization = aiohttp.encode_basic_auth(self._access.username, self._access.password, encoding="utf-8")
        self._session = aiohttp.ClientSession(headers={"Authorization": authorization}, timeout=self._timeout)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    # Who and what is there.

    async def whoami(self) -> Caller:
        """Return who the broker takes us for."""
        body = await self._get("whoami")
        return Caller(_text(body, "name"), _tags(body))

    async def overview(self) -> Overview:
        """Return the broker's version and what is in its queues."""
        body = await self._get("overview")
        return Overview(
            version=_text(body, "rabbitmq_version"),
            # A broker without any queue leaves the totals out.
            queues=_number(body.get("object_totals"), "queues"),
            messages=_number(body.get("queue_totals"), "messages"),
        )

    async def nodes(self) -> tuple[Node, ...]:
        """Return the nodes of the cluster, also those that do not run."""
        return tuple(_node(body) for body in await self._list("nodes"))

    async def connections(self, user: str) -> int:
        """Return how many connections a user has open."""
        return len(await self._list("connections", "username", user))

    # Virtual hosts.

    async def vhost(self, name: str) -> Vhost | None:
        """Return a virtual host, None where there is none of that name."""
        body = await self._find("vhosts", name)
        return None if body is None else Vhost(name, _queue_type(body))

    async def put_vhost(self, name: str, default_queue_type: str) -> None:
        """Make a virtual host, or set the default queue type of one that is there."""
        await self._put({"default_queue_type": default_queue_type}, "vhosts", name)

    async def delete_vhost(self, name: str) -> bool:
        """Delete a virtual host with all that is in it; return whether it was there."""
        return await self._delete("vhosts", name)

    # Users and what they may.

    async def user(self, name: str) -> User | None:
        """Return a user, None where there is none of that name."""
        body = await self._find("users", name)
        if body is None:
            return None
        return User(name, _tags(body), _text(body, "password_hash"), _text(body, "hashing_algorithm"))

    async def put_user(self, name: str, digest: str, tags: frozenset[str] = frozenset()) -> None:
        """Make a user, or set password and tags of one who is there; the password comes from `digest_of`."""
        body = {"password_hash": digest, "hashing_algorithm": SHA256, "tags": ",".join(sorted(tags))}
        await self._put(body, "users", name)

    async def delete_user(self, name: str) -> bool:
        """Delete a user, with the permissions; return whether there was one."""
        return await self._delete("users", name)

    async def permission(self, vhost: str, user: str) -> Permission | None:
        """Return what a user may do in a virtual host, None where nothing was ever granted."""
        body = await self._find("permissions", vhost, user)
        if body is None:
            return None
        return Permission(_text(body, "configure"), _text(body, "write"), _text(body, "read"))

    async def put_permission(self, vhost: str, user: str, permission: Permission) -> None:
        """Say what a user may do in a virtual host; both must be there."""
        body = {"configure": permission.configure, "write": permission.write, "read": permission.read}
        await self._put(body, "permissions", vhost, user)

    async def delete_permission(self, vhost: str, user: str) -> bool:
        """Take from a user everything that was granted in a virtual host; return whether anything was."""
        return await self._delete("permissions", vhost, user)

    # The wire.

    async def _get(self, *path: str) -> dict[str, Any]:
        body = await self._find(*path)
        if body is None:
            raise Unavailable(f"{self._access.url} has no {'/'.join(path)}; is it RabbitMQ's management API?")
        return body

    async def _find(self, *path: str) -> dict[str, Any] | None:
        code, body = await self._ask("GET", path)
        return None if code == 404 else self._shaped(body, dict[str, Any])

    async def _list(self, *path: str) -> list[dict[str, Any]]:
        code, body = await self._ask("GET", path)
        return [] if code == 404 else self._shaped(body, list[dict[str, Any]])

    async def _put(self, body: Mapping[str, str], *path: str) -> None:
        await self._ask("PUT", path, body)

    async def _delete(self, *path: str) -> bool:
        code, _ = await self._ask("DELETE", path)
        return code != 404

    async def _ask(self, method: str, path: tuple[str, ...], body: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Ask, and return the code and the answer; 404 is for the caller to judge, what is worse is raised."""
        if self._session is None:
            raise RuntimeError("use the connection as an async context manager")
        # A name is one segment of the path, whatever is in it: the default virtual host is called "/".
        words = "/".join(quote(word, safe="") for word in path)
        url = f"{self._access.url.rstrip('/')}/api/{words}"
        data = None if body is None else msgspec.json.encode(body)
        try:
            async with self._session.request(method, URL(url, encoded=True), data=data, headers=_JSON) as answer:
                content = await answer.read()
                code = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"RabbitMQ's management API at {self._access.url} {_trouble(error)}") from error
        return code, self._judged(code, content, path)

    def _judged(self, code: int, content: bytes, path: tuple[str, ...]) -> Any:
        """Return the answer as JSON; raise what the code means."""
        what = "/".join(path)
        if code in {401, 403}:
            raise Refused(
                f"RabbitMQ at {self._access.url} does not let user {self._access.username} see or change {what}; "
                "check the user's name, password and administrator tag"
            )
        if code in _REJECTIONS:
            raise Rejected(f"RabbitMQ does not accept {what}: {_reason(content)}")
        if code >= 300 and code != 404:
            raise Unavailable(f"RabbitMQ's management API at {self._access.url} answered with {code} for {what}")
        if code == 404 or not content:
            return None
        try:
            return msgspec.json.decode(content)
        except msgspec.DecodeError as error:
            raise self._stranger() from error

    def _shaped(self, body: Any, shape: type[T]) -> T:
        try:
            return msgspec.convert(body, shape)
        except msgspec.ValidationError as error:
            raise self._stranger() from error

    def _stranger(self) -> Unavailable:
        return Unavailable(f"{self._access.url} does not answer like RabbitMQ's management API")


def _node(body: Mapping[str, Any]) -> Node:
    alarms = tuple(name for name in ("mem_alarm", "disk_free_alarm") if body.get(name) is True)
    # A node that does not run is listed by its name alone.
    partitions = tuple(str(name) for name in body.get("partitions") or ())
    return Node(_text(body, "name"), body.get("running") is True, alarms, partitions)


def _text(body: Mapping[str, Any], name: str) -> str:
    return str(body.get(name, ""))


def _number(body: Any, name: str) -> int:
    value = body.get(name, 0) if isinstance(body, Mapping) else 0
    return value if isinstance(value, int) else 0


def _tags(body: Mapping[str, Any]) -> frozenset[str]:
    """Return somebody's tags; brokers before 3.9 list them in one text."""
    tags = body.get("tags", ())
    return frozenset(word for word in (tags.split(",") if isinstance(tags, str) else map(str, tags)) if word)


def _queue_type(body: Mapping[str, Any]) -> str:
    value = _text(body, "default_queue_type")
    return "" if value in {"undefined", "None"} else value


def _reason(content: bytes) -> str:
    """Return what the broker says is wrong: one word or sentence, without the values that it may repeat."""
    try:
        reason = msgspec.json.decode(content).get("reason", "")
    except (msgspec.DecodeError, AttributeError):
        return "it gives no reason"
    first = reason[0] if isinstance(reason, list) and reason else reason
    return str(first).replace("_", " ") if first and isinstance(first, str) else "it gives no reason"


def _trouble(error: Exception) -> str:
    """Say what is wrong with a connection; the texts of foreign exceptions may hold anything."""
    match error:
        case TimeoutError():
            return "did not answer in time"
        case aiohttp.ClientConnectorDNSError():
            return "cannot be found: its host name is not known"
        case aiohttp.InvalidURL():
            return "cannot be asked: that is not a URL"
        case _:
            return f"cannot be reached ({type(error).__name__})"
