"""The client: typed objects in and out of the API server.

    async with Client(config.load()) as client:
        for pod in await client.list(Pod, "default"):
            ...

Writes go by server-side apply or patch, never by sending back what was read: a typed object has lost the fields
that its type does not name.
"""

import asyncio
import builtins
import copy
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

import msgspec

from stackwright.kube import answers, decoding, paths, watch
from stackwright.kube.config import Connection
from stackwright.kube.conflicts import Conflicts, FieldConflict, conflicts_of
from stackwright.kube.decoding import Page
from stackwright.kube.errors import Gone, NotFound
from stackwright.kube.resource import JsonObject, Key, Kind, ObjectMeta, R, Resource, key_of, manifest
from stackwright.kube.transport import REQUEST_DEADLINE, Call, Reply, Sleep, Transport
from stackwright.kube.version import ServerVersion, require, version_of
from stackwright.kube.watch import WatchEvent

__all__ = ["Client", "Conflicts", "FieldConflict", "Page", "ServerVersion", "WatchEvent", "Writes"]

JsonPatch = list[JsonObject]

APPLY = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
# How often a list is started again because its continuation expired. The last time it is read in one piece.
RESTARTS = 3
# Nothing waits to read these back, and they are written often.
UNRECORDED = {("", "Event"), ("events.k8s.io", "Event"), ("coordination.k8s.io", "Lease")}


class Writes(Protocol):
    """Gets to know of our writes, so that a pass can wait for the caches."""

    def wrote(self, kind: Kind, key: Key, resource_version: str) -> None:
        """Take note that an object now has at least this version."""


class Client:
    """A connection to one cluster. Close it, or use it as an async context manager."""

    def __init__(  # noqa: PLR0913  all but one by name
        self,
        connection: Connection,
        *,
        field_manager: str = "stackwright",
        limit: int = 32,
        timeout: float = REQUEST_DEADLINE,
        patience: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.field_manager = field_manager
        self.transport = Transport(
            connection, limit=limit, timeout=timeout, patience=patience, clock=clock, sleep=sleep
        )
        self._writes: Writes | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self.transport.close()

    @property
    def connection(self) -> Connection:
        """Where this client goes, and as whom."""
        return self.transport.connection

    def recording(self, writes: Writes) -> "Client":
        """Return a light copy that shares all connections and reports every write (except Event and Lease)."""
        other = copy.copy(self)
        other._writes = writes  # noqa: SLF001  it is one of us
        return other

    def managing(self, field_manager: str) -> "Client":
        """Return a light copy that shares all connections and applies as another field manager."""
        other = copy.copy(self)
        other.field_manager = field_manager
        return other

    # Reading.

    async def get(self, kind: type[R], name: str, namespace: str = "") -> R:
        """Return one object; raise NotFound when it is not there."""
        reply = await self._call(Call("GET", paths.item(kind.kind, namespace, name), {}, kind=kind.kind))
        return decoding.one(kind, reply.body)

    async def find(self, kind: type[R], name: str, namespace: str = "") -> R | None:
        """Return one object, or None when it is not there."""
        try:
            return await self.get(kind, name, namespace)
        except NotFound:
            return None

    async def pages(
        self, kind: type[R], namespace: str = "", *, labels: str = "", fields: str = "", page: int = 500
    ) -> AsyncGenerator[Page[R]]:
        """Yield a list page by page; raise Gone when its continuation expired: the list must then be started again."""
        turn = decoding.Turn(self.transport.clock)
        query = _selection(labels, fields)
        if page:
            query["limit"] = str(page)
        while True:
            reply = await self._call(Call("GET", paths.collection(kind.kind, namespace), query, kind=kind.kind))
            found = await decoding.page(kind, reply.body, turn)
            del reply
            yield found
            if not found.token:
                return
            query["continue"] = found.token

    def watch(  # noqa: PLR0913  what the server's watch takes; all but two by name
        self,
        kind: type[R],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
        initial: bool = False,
        timeout: float = watch.TIMEOUT,
        silence: float = 0.0,
    ) -> AsyncGenerator[WatchEvent[R]]:
        """Return what happens from a version on, until the server ends the watch after `timeout` seconds.

        `initial` asks for all objects first, then a bookmark with `initial_events_end`. `silence` is for how long
        the stream may say nothing before it counts as dead; unless given, the timeout and a little more. The
        server sends a bookmark about every minute. Leave the loop early only with `contextlib.aclosing`.
        """
        query = {
            **_selection(labels, fields),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(timeout))),
        }
        if resource_version:
            query["resourceVersion"] = resource_version
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        call = Call("GET", paths.collection(kind.kind, namespace), query, kind=kind.kind)
        return watch.events(self.transport, kind, call, silence=silence or timeout + watch.SLACK)

    async def list(
        self, kind: type[R], namespace: str = "", *, labels: str = "", fields: str = "", page: int = 500
    ) -> list[R]:
        """Return all objects of a kind, of one namespace or all."""
        for restart in range(RESTARTS + 1):
            size = page if restart < RESTARTS else 0
            items: builtins.list[R] = []
            try:
                async for some in self.pages(kind, namespace, labels=labels, fields=fields, page=size):
                    items.extend(some.items)
            except Gone:
                if not size:
                    raise
            else:
                return items
        raise AssertionError("a list in one piece has no continuation")

    # Writing.

    async def create(self, kind: type[R], body: R | JsonObject, *, subresource: str = "") -> R:
        """Create an object; raise AlreadyExists when there is one of that name. It is not tried again blindly.

        With `subresource` it is created under the object that the body names, as a pod's binding is.
        """
        sent = _manifest(kind, body)
        key = key_of(sent)
        if subresource:
            path = paths.item(kind.kind, key.namespace, key.name, subresource)
        else:
            path = paths.within(kind.kind, key.namespace)
        call = Call("POST", path, {"fieldManager": self.field_manager}, _encoded(sent), safe=False, kind=kind.kind)
        return self._written(kind, await self._call(call))

    async def apply(
        self,
        kind: type[R],
        body: R | JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> R:
        """Make the fields in `body` so, by server-side apply, whoever owns them."""
        call = self._apply_call(kind, body, subresource, field_manager, dry_run=dry_run)
        return self._written(
            kind, await self._call(replace(call, query={**call.query, "force": "true"})), dry_run=dry_run
        )

    async def try_apply(
        self,
        kind: type[R],
        body: R | JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> R | Conflicts:
        """Make the fields in `body` so, unless another manager owns one of them: then return the conflicts."""
        call = self._apply_call(kind, body, subresource, field_manager, dry_run=dry_run)
        reply = await self.transport.request(call)
        if reply.code == 409 and (conflicts := conflicts_of(reply.body)) is not None:
            return conflicts
        return self._written(kind, self._checked(call, reply), dry_run=dry_run)

    async def patch(
        self, kind: type[R], name: str, namespace: str, body: JsonObject | JsonPatch, *, subresource: str = ""
    ) -> R:
        """Change an object that is there: by merge patch with an object, by JSON patch with a list."""
        call = Call(
            "PATCH",
            paths.item(kind.kind, namespace, name, subresource),
            {"fieldManager": self.field_manager},
            _encoded(body),
            JSON_PATCH if isinstance(body, builtins.list) else MERGE_PATCH,
            safe=False,
            kind=kind.kind,
        )
        return self._written(kind, await self._call(call))

    async def delete(  # noqa: PLR0913  what the API takes; all but three by name
        self,
        kind: type[Resource],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        grace: int | None = None,
    ) -> bool:
        """Ask for an object's deletion; return False when it was not there.

        Raises Conflict when it is not the object with that uid or version. `grace` is in seconds; unless given, the
        object says itself how long it takes to end.
        """
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if given := {field: value for field, value in preconditions.items() if value}:
            options["preconditions"] = given
        call = Call("DELETE", paths.item(kind.kind, namespace, name), {}, _encoded(options), kind=kind.kind)
        try:
            reply = await self._call(call)
        except NotFound:
            return False
        # An object that is gone at once has no version any more; one that waits for its finalizers has.
        if answers.status_of(reply.body) is None:
            self._report(kind.kind, decoding.name_of(reply.body))
        return True

    # The server itself.

    async def server_version(self) -> ServerVersion:
        """Return which Kubernetes the server is."""
        return version_of((await self._call(Call("GET", "/version", {}))).body)

    async def require_version(self, minimum: tuple[int, int]) -> ServerVersion:
        """Return which Kubernetes the server is; raise a ConfigError when it is older than `minimum`."""
        version = await self.server_version()
        require(version, minimum, self.connection)
        return version

    async def _call(self, call: Call) -> Reply:
        return self._checked(call, await self.transport.request(call))

    def _checked(self, call: Call, reply: Reply) -> Reply:
        if reply.code >= 300:
            raise self.transport.error(reply, call.kind)
        return reply

    def _apply_call(
        self, kind: type[R], body: R | JsonObject, subresource: str, field_manager: str, *, dry_run: bool
    ) -> Call:
        sent = _manifest(kind, body)
        key = key_of(sent)
        query = {"fieldManager": field_manager or self.field_manager}
        if dry_run:
            query["dryRun"] = "All"
        path = paths.item(kind.kind, key.namespace, key.name, subresource)
        return Call("PATCH", path, query, _encoded(sent), APPLY, kind=kind.kind)

    def _written(self, kind: type[R], reply: Reply, *, dry_run: bool = False) -> R:
        written = decoding.one(kind, reply.body)
        if not dry_run:
            self._report(kind.kind, written.metadata)
        return written

    def _report(self, kind: Kind, metadata: ObjectMeta | decoding.Name) -> None:
        if self._writes is None or (kind.group, kind.name) in UNRECORDED or not metadata.resourceVersion:
            return
        self._writes.wrote(kind, Key(metadata.namespace, metadata.name), metadata.resourceVersion)


def _selection(labels: str, fields: str) -> dict[str, str]:
    return {parameter: value for parameter, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def _manifest(kind: type[Resource], body: Resource | JsonObject) -> JsonObject:
    if isinstance(body, Resource):
        return manifest(body)
    return {"apiVersion": kind.kind.api_version, "kind": kind.kind.name, **body}


def _encoded(body: JsonObject | JsonPatch) -> bytes:
    return msgspec.json.encode(body)
