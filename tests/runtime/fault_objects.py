"""The objects of the fault server: kept in memory, with versions, history and pages, and changed as the server would.

No schema is checked and no field managers are tracked.
"""

import copy
import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from stackwright.kube.resource import JsonObject, Key, Kind, Resource, key_of, manifest

# A collection is `group/version/plural`, whatever the namespace.
Collection = tuple[str, str, str]


@dataclass(frozen=True)
class Request:
    """One request as it came in. `verb` is list, watch, get, create, apply, patch, delete, or other."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    verb: str
    collection: Collection | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Refused(Exception):
    """A request that ends with a Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


def collection_of(kind: Kind) -> Collection:
    """Return where objects of a kind are kept."""
    return (kind.group, kind.version, kind.plural)


def selects(body: JsonObject, namespace: str, labels: str, fields: str) -> bool:
    """Whether an object is in the namespace (or none was asked for) and fits both selectors."""
    key = key_of(body)
    if namespace and key.namespace != namespace:
        return False
    have = body.get("metadata", {}).get("labels", {})
    for term in filter(None, labels.split(",")):
        if "!=" in term:
            name, value = term.split("!=")
            if have.get(name) == value:
                return False
        elif "=" in term:
            name, value = term.replace("==", "=").split("=")
            if have.get(name) != value:
                return False
        elif term not in have:
            return False
    values = {"metadata.name": key.name, "metadata.namespace": key.namespace}
    return all(values.get(term.split("=")[0]) == term.split("=")[-1] for term in filter(None, fields.split(",")))


def status_body(code: int, reason: str, message: str, details: JsonObject | None = None) -> JsonObject:
    """Return a Status of failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details or {},
        "code": code,
    }


def line(event: str, body: JsonObject) -> bytes:
    """Return one line of a watch stream."""
    return json.dumps({"type": event, "object": body}).encode() + b"\n"


def merged(target: Any, patch: Any) -> Any:
    """Return a JSON merge patch (RFC 7386) of target."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def json_patched(target: JsonObject, patch: list[JsonObject]) -> JsonObject:
    """Return a JSON patch (RFC 6902: add, replace, remove, test) of target."""
    result: Any = copy.deepcopy(target)
    for step in patch:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
        place = result
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        if isinstance(place, list):
            position = len(place) if last == "-" else int(last)
            if step["op"] == "add":
                place.insert(position, step["value"])
            elif step["op"] == "replace":
                place[position] = step["value"]
            elif step["op"] == "remove":
                place.pop(position)
            elif place[position] != step["value"]:
                raise Refused(422, "Invalid", f"test of {step['path']} failed")
        elif step["op"] == "remove":
            if last not in place:
                raise Refused(422, "Invalid", f"nothing to remove at {step['path']}")
            place.pop(last)
        elif step["op"] == "test":
            if place.get(last) != step["value"]:
                raise Refused(422, "Invalid", f"test of {step['path']} failed")
        else:
            place[last] = step["value"]
    return result  # type: ignore[no-any-return]  # a patch of an object is an object


def now() -> str:
    """Return the time as the server writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _essence(body: JsonObject) -> JsonObject:
    """Return what a generation counts: all but metadata and status."""
    return {name: value for name, value in body.items() if name not in ("metadata", "status")}


class Objects(ABC):
    """All objects of all kinds. A subclass tells whoever watches, in `_publish`."""

    def __init__(self) -> None:
        self.revision = 100
        self.compacted = 0
        self._objects: dict[Collection, dict[Key, JsonObject]] = {}
        self._history: list[tuple[int, Collection, JsonObject | None, JsonObject | None]] = []
        self._snapshots: dict[str, tuple[int, list[JsonObject]]] = {}

    def put(self, kind: type[Resource], body: Resource | JsonObject, *, silently: bool = False) -> JsonObject:
        """Create or replace an object, status included; `silently` loses the event."""
        new = copy.deepcopy(manifest(body) if isinstance(body, Resource) else body)
        new = {"apiVersion": kind.kind.api_version, "kind": kind.kind.name, **new}
        return self._store(collection_of(kind.kind), new, silently=silently)

    def remove(self, kind: type[Resource], name: str, namespace: str = "", *, silently: bool = False) -> None:
        """Delete an object at once, finalizers or not; `silently` loses the event."""
        self._delete(collection_of(kind.kind), Key(namespace, name), silently=silently)

    def object(self, kind: type[Resource], name: str, namespace: str = "") -> JsonObject | None:
        """Return an object as it is now, or None."""
        return self._objects.get(collection_of(kind.kind), {}).get(Key(namespace, name))

    def objects(self, kind: type[Resource]) -> list[JsonObject]:
        """Return all objects of a kind."""
        return list(self._objects.get(collection_of(kind.kind), {}).values())

    def compact(self) -> None:
        """Forget history: watches from, and lists continued at, a version before now get 410."""
        self.compacted = self.revision
        self._history.clear()
        self._snapshots.clear()

    @abstractmethod
    def _publish(
        self, collection: Collection, old: JsonObject | None, new: JsonObject | None, *, silently: bool
    ) -> None:
        """Tell who watches of a change."""

    def _store(self, collection: Collection, new: JsonObject, *, silently: bool = False) -> JsonObject:
        objects = self._objects.setdefault(collection, {})
        key = key_of(new)
        old = objects.get(key)
        metadata = dict(new.get("metadata", {}))
        before = old["metadata"] if old else {}
        self.revision += 1
        metadata["resourceVersion"] = str(self.revision)
        metadata["uid"] = before.get("uid") or metadata.get("uid") or str(uuid.uuid4())
        metadata["creationTimestamp"] = before.get("creationTimestamp") or now()
        changed = old is None or _essence(old) != _essence(new)
        metadata["generation"] = before.get("generation", 0) + int(changed)
        if before.get("deletionTimestamp"):
            metadata["deletionTimestamp"] = before["deletionTimestamp"]
        new = {**new, "metadata": metadata}
        objects[key] = new
        self._publish(collection, old, new, silently=silently)
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self._delete(collection, key)
        return new

    def _delete(self, collection: Collection, key: Key, *, silently: bool = False) -> None:
        old = self._objects.get(collection, {}).pop(key)
        self.revision += 1
        last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.revision)}}
        self._publish(collection, last, None, silently=silently)

    def _existing(self, request: Request) -> JsonObject:
        assert request.collection is not None
        found = self._objects.get(request.collection, {}).get(Key(request.namespace, request.name))
        if found is None:
            raise Refused(404, "NotFound", f'{request.collection[2]} "{request.name}" not found')
        return found

    def _get(self, request: Request) -> web.Response:
        return web.json_response(self._existing(request))

    def _list(self, request: Request) -> web.Response:
        assert request.collection is not None
        limit = int(request.query.get("limit", "0"))
        token = request.query.get("continue", "")
        if token:
            if token not in self._snapshots:
                raise Refused(410, "Expired", "The provided continue parameter is too old")
            revision, rest = self._snapshots.pop(token)
        else:
            revision = self.revision
            rest = [
                body
                for _, body in sorted(self._objects.get(request.collection, {}).items())
                if selects(
                    body,
                    request.namespace,
                    request.query.get("labelSelector", ""),
                    request.query.get("fieldSelector", ""),
                )
            ]
        metadata: JsonObject = {"resourceVersion": str(revision)}
        if limit and len(rest) > limit:
            metadata["continue"] = str(uuid.uuid4())
            metadata["remainingItemCount"] = len(rest) - limit
            self._snapshots[metadata["continue"]] = (revision, rest[limit:])
            rest = rest[:limit]
        return web.json_response({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": rest})

    def _create(self, request: Request) -> web.Response:
        assert request.collection is not None
        body = copy.deepcopy(request.body)
        metadata = body.setdefault("metadata", {})
        if request.namespace:
            metadata.setdefault("namespace", request.namespace)
        if not metadata.get("name"):
            metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
        if key_of(body) in self._objects.get(request.collection, {}):
            raise Refused(409, "AlreadyExists", f'{request.collection[2]} "{metadata["name"]}" already exists')
        body.pop("status", None)
        return web.json_response(self._store(request.collection, body), status=201)

    def _apply(self, request: Request) -> web.Response:
        body = request.body
        body.setdefault("metadata", {})["name"] = request.name
        if request.namespace:
            body["metadata"]["namespace"] = request.namespace
        return self._write(request, lambda old: merged(old, body), create=not request.subresource)

    def _patch(self, request: Request) -> web.Response:
        if isinstance(request.body, list):
            return self._write(request, lambda old: json_patched(old, request.body), create=False)
        return self._write(request, lambda old: merged(old, request.body), create=False)

    def _write(self, request: Request, change: Callable[[JsonObject], JsonObject], *, create: bool) -> web.Response:
        assert request.collection is not None
        old = self._objects.get(request.collection, {}).get(Key(request.namespace, request.name))
        if old is None and not create:
            self._existing(request)
        new = change(old or {})
        asked = new["metadata"].get("resourceVersion")
        if asked and asked != (old or {}).get("metadata", {}).get("resourceVersion"):
            raise Refused(409, "Conflict", "the object has been modified; please apply your changes to the latest")
        # The status lives behind its own door, as in every kind that has the status subresource.
        if request.subresource == "status":
            assert old is not None
            new = {**old, "status": new.get("status", {})}
        elif old is not None and "status" in old:
            new = {**new, "status": old["status"]}
        else:
            new.pop("status", None)
        if old is not None and new == old:
            return web.json_response(old)
        if request.query.get("dryRun"):
            return web.json_response(new)
        return web.json_response(self._store(request.collection, new), status=200 if old else 201)

    def _remove(self, request: Request) -> web.Response:
        assert request.collection is not None
        old = self._existing(request)
        conditions = (request.body or {}).get("preconditions", {})
        for name, value in conditions.items():
            if old["metadata"].get(name) != value:
                raise Refused(409, "Conflict", f"Precondition failed: {name} is {old['metadata'].get(name)}")
        if old["metadata"].get("finalizers"):
            metadata = {**old["metadata"], "deletionTimestamp": now()}
            return web.json_response(self._store(request.collection, {**old, "metadata": metadata}))
        self._delete(request.collection, key_of(old))
        return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"})
