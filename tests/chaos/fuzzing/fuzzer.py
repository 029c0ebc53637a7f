"""Creates and changes resources of every kind at random, and notes the answers that are failures of the server."""

import collections
import random
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stackwright import services
from stackwright.api.annotations import ACCEPT_LOSS, PAUSED
from stackwright.controllers import release
from stackwright.kube import paths
from stackwright.kube.client import Client
from stackwright.kube.crd import generate
from stackwright.kube.resource import CustomResource, JsonObject
from stackwright.kube.transport import Call
from tests.chaos.fuzzing.values import NAMES, WORDS, Values
from tests.functional.crds.samples import LEAST

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
# What a person may write on a resource that our operators read.
ANNOTATIONS = (PAUSED, release.RELEASE_OWNER, ACCEPT_LOSS, "helm.sh/resource-policy")
LABELS = ("dbName", "mariaDBDatabaseName", "app.kubernetes.io/instance")


def schema_of(kind: type[CustomResource]) -> JsonObject:
    """Return the schema of a kind's spec."""
    (version,) = generate.manifest(kind)["spec"]["versions"]
    found: JsonObject = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


@dataclass
class Fuzzer:
    """Writes into one namespace. `answers` counts what the server said; `failures` are its own, with what was sent."""

    client: Client
    namespace: str
    seed: int
    answers: "collections.Counter[str]" = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)  # noqa: S311  the same resources for the same seed
        self._values = Values(self._chance)
        self._schemas = {kind: schema_of(kind) for kind in services.kinds()}

    async def run(self, operations: int, seconds: float) -> int:
        """Create and change until one of the two is used up; return how many requests that were."""
        deadline = time.monotonic() + seconds
        for number in range(operations):
            if time.monotonic() > deadline:
                return number
            # Each kind in turn, so that none is left out.
            kinds = list(self._schemas)
            await self._one(kinds[number % len(kinds)])
        return operations

    async def _one(self, kind: type[CustomResource]) -> None:
        name = self._chance.choice((*NAMES[:2], kind.kind.name.lower(), "a" * 63))
        wild = self._chance.random() < 0.3
        present = await self._present(kind, name)
        if present is None:
            await self._create(kind, name, wild=wild)
        elif self._chance.random() < 0.05:
            await self._send("delete", Call("DELETE", self._path(kind, name), {}, kind=kind.kind))
        else:
            await self._update(kind, present, wild=wild)

    async def _present(self, kind: type[CustomResource], name: str) -> JsonObject | None:
        reply = await self.client.transport.request(Call("GET", self._path(kind, name), {}, kind=kind.kind))
        found: JsonObject = msgspec.json.decode(reply.body)
        return found if reply.code == 200 else None

    async def _create(self, kind: type[CustomResource], name: str, *, wild: bool) -> None:
        schema = self._schemas[kind]
        drawn = self._values.fitting(schema) if self._chance.random() < 0.7 else {}
        spec: Any = {**drawn, **LEAST.get(kind.kind.name, {})}
        if wild:
            spec = self._values.changed(spec, schema, wild=True)
        body = {
            "apiVersion": kind.kind.api_version,
            "kind": kind.kind.name,
            "metadata": {"name": name, "namespace": self.namespace, **self._noted()},
            "spec": spec,
        }
        path = paths.collection(kind.kind, self.namespace)
        await self._send("create", Call("POST", path, {}, msgspec.json.encode(body), safe=False, kind=kind.kind))

    async def _update(self, kind: type[CustomResource], present: JsonObject, *, wild: bool) -> None:
        name, spec = present["metadata"]["name"], present.get("spec") or {}
        for _ in range(self._chance.choice((1, 1, 2, 3))):
            spec = self._values.changed(spec, self._schemas[kind], wild=wild)
        path = self._path(kind, name)
        match self._chance.choice(("put", "merge", "apply", "metadata")):
            case "put":
                body = msgspec.json.encode({**present, "spec": spec})
                call = Call("PUT", path, {}, body, safe=False, kind=kind.kind)
            case "merge":
                body = msgspec.json.encode({"spec": spec})
                call = Call("PATCH", path, {}, body, MERGE_PATCH, safe=False, kind=kind.kind)
            case "apply":
                metadata = {"name": name, "namespace": self.namespace}
                whole = {
                    "apiVersion": kind.kind.api_version,
                    "kind": kind.kind.name,
                    "metadata": metadata,
                    "spec": spec,
                }
                query = {"fieldManager": "fuzzer", "force": "true"}
                call = Call("PATCH", path, query, msgspec.json.encode(whole), APPLY_PATCH, safe=False, kind=kind.kind)
            case _:
                body = msgspec.json.encode({"metadata": self._noted(often=1.0)})
                call = Call("PATCH", path, {}, body, MERGE_PATCH, safe=False, kind=kind.kind)
        await self._send("update", call)

    def _noted(self, often: float = 0.2) -> JsonObject:
        """Return annotations and labels that our operators read, at times with a sense."""
        annotations = {
            name: self._chance.choice(("true", "false", "operator", "helm", "keep", None, *WORDS[:12]))
            for name in ANNOTATIONS
            if self._chance.random() < often / 2
        }
        labels = {name: self._chance.choice(NAMES) for name in LABELS if self._chance.random() < max(often, 0.5)}
        return {"annotations": annotations, "labels": labels}

    async def _send(self, verb: str, call: Call) -> None:
        reply = await self.client.transport.request(call)
        self.answers[f"{verb} {reply.code}"] += 1
        # So says Kubernetes of an apply that does not fit the schema.
        if reply.code >= 500 and b"failed to create typed patch object" not in reply.body:
            said, sent = reply.body.decode()[:500], (call.body or b"").decode()[:2000]
            self.failures.append(f"{call.method} {call.path}: {reply.code} {said}\n{sent}")

    def _path(self, kind: type[CustomResource], name: str) -> str:
        return paths.item(kind.kind, self.namespace, name)
