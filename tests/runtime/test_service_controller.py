"""The service controller and the children of a shape on the fault server: what must not be done, and when."""

import asyncio
import base64
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
import structlog

from stackwright.adapters.helm import Renderer
from stackwright.api.annotations import PAUSED
from stackwright.api.rabbitmq import TransportURL, TransportURLSpec
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs import Notifications
from stackwright.controllers.needs import sight
from stackwright.controllers.service import Environment, act, controllers, ring_turns
from stackwright.controllers.service.rings import Spread, Turn
from stackwright.kube.builtin import ConfigMap, Pod, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context
from stackwright.kube.errors import Retry
from stackwright.kube.events import EventRecorder
from stackwright.kube.informers import Informers
from stackwright.kube.resource import CompositeStatus, CustomResource, JsonObject, Kind, ObjectMeta, owner_reference
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.kube.shapes.child import mark_by
from stackwright.kube.shapes.composite import Child, child, composite
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from tests.runtime.controlling import caught_up, quiet, running
from tests.runtime.fault_server import FaultServer, Slow

__all__ = ["quiet"]

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Pods:
    """Answers for the pods which keys they hold."""

    def __init__(self, *, hold: bool) -> None:
        self.hold = hold
        self.asked: list[str] = []

    async def __call__(self, _client: Client, pod: Pod, _path: str, _digests: Mapping[str, str]) -> bool:
        self.asked.append(pod.metadata.name)
        return self.hold


def environment(holds: Pods | None = None) -> Environment:
    """Return an environment in which nothing can be rendered: helm is nowhere."""
    images = {"memcached": ComponentImage("memcached:1", sudo=False)}
    return Environment(
        images, Path("charts"), holds=holds or Pods(hold=True), renderer=Renderer(Path("/nonexistent/helm"))
    )


def written(server: FaultServer) -> list[str]:
    verbs = ("create", "apply", "patch", "delete")
    return [f"{request.verb} {request.path}" for verb in verbs for request in server.seen(verb)]


def cache(paused: str, **spec: int) -> JsonObject:
    return {"metadata": {"name": "memcached", "namespace": "one", "annotations": {PAUSED: paused}}, "spec": spec}


async def test_nothing_is_written_for_a_service_that_is_paused(client: Client, server: FaultServer) -> None:
    server.put(Memcached, cache("true"))
    async with running(client, *controllers((MEMCACHED,), environment())) as runtime:
        await caught_up(runtime, server)
        assert written(server) == []
        server.put(Memcached, cache("true", replicas=2))
        await caught_up(runtime, server)
        assert written(server) == []
        # The same is worked on when nobody says that it rests.
        server.put(Memcached, cache("false", replicas=2))
        await server.requested(1, verb="apply", timeout=30.0)


def ring() -> JsonObject:
    keys = {name: base64.b64encode(f"key {name}".encode()).decode() for name in ("0", "1")}
    return {"metadata": {"name": "keys", "namespace": "one"}, "data": keys}


def pod(phase: str) -> Pod:
    return Pod(metadata=ObjectMeta(name="keystone-0", namespace="one"), status={"phase": phase})


def context(client: Client) -> Context:
    return Context(client, Informers(client), EventRecorder(client, "test"), "test", structlog.get_logger())


@pytest.mark.parametrize("step", [Turn, Spread])
@pytest.mark.parametrize(
    ("phase", "hold", "turns"),
    [
        pytest.param("Running", True, True, id="a-pod-that-holds-it"),
        pytest.param("Running", False, False, id="a-pod-that-does-not"),
        pytest.param("Pending", True, False, id="a-pod-that-only-starts"),
    ],
)
async def test_a_ring_turns_only_when_every_pod_holds_the_staged_key(
    client: Client, server: FaultServer, step: type[Any], phase: str, hold: bool, turns: bool
) -> None:
    secret = msgspec.convert(server.put(Secret, ring()), Secret)
    due = Turn(secret, "/keys", 3) if step is Turn else Spread(secret, "/keys")
    pods = Pods(hold=hold)
    turning = ring_turns.turn(due, [pod(phase)], context(client), environment(pods), NOW)
    if turns:
        await turning
        assert pods.asked == ["keystone-0"]
        assert len(server.seen("patch")) == 1
        return
    with pytest.raises(Retry, match="does not hold the staged key of keys yet"):
        await turning
    assert written(server) == []


def bus_of(resource: Memcached) -> TransportURL:
    spec = TransportURLSpec(rabbitmqClusterName="rabbitmq")
    return TransportURL(metadata=ObjectMeta(name=f"{resource.metadata.name}-bus"), spec=spec)


async def test_a_service_that_only_has_children_needs_neither_chart_nor_image(
    client: Client, server: FaultServer
) -> None:
    parent = replace(
        MEMCACHED, components=(), children=lambda resource, _: (child(bus_of(resource)),), owns=(TransportURL,)
    )
    server.put(Memcached, cache("false"))
    nowhere = Environment({}, Path("/nonexistent"), renderer=Renderer(Path("/nonexistent/helm")))
    async with running(client, *controllers((parent,), nowhere)) as runtime:
        await server.requested(1, verb="apply", timeout=30.0)
        await caught_up(runtime, server)
    made = msgspec.convert(server.object(TransportURL, "memcached-bus", "one"), TransportURL)
    found = msgspec.convert(server.object(Memcached, "memcached", "one"), Memcached)
    # That a child has not reported yet is told only when it lasts; what is wrong would be told at once.
    assert all(condition.severity != "Error" for condition in found.status.conditions)
    assert made.metadata.controller is not None
    assert server.object(Secret, "sh.helm.release.v1.memcached.v1", "one") is None


class Box(CustomResource, frozen=True, kw_only=True):
    """Stands for nothing any more."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Box", "boxes")
    conditions: ClassVar[tuple[str, ...]] = ()

    status: CompositeStatus = CompositeStatus()


@composite(of=Box, owns=(ConfigMap,))
def empty(resource: Box, facts: None) -> Iterable[Child]:
    """Return nothing that is called `old`."""
    yield child(ConfigMap(metadata=ObjectMeta(name="new"), data={"text": "ours"}))


async def test_what_was_made_anew_in_the_place_of_what_is_pruned_stays(client: Client, server: FaultServer) -> None:
    box = msgspec.convert(server.put(Box, {"metadata": {"name": "box", "namespace": "one"}}), Box)
    mark = mark_by(client.field_manager)
    metadata = {
        "name": "old",
        "namespace": "one",
        "annotations": {mark: "x"},
        "ownerReferences": [owner_reference(box)],
    }
    server.put(ConfigMap, {"metadata": metadata})
    replaced = asyncio.Event()
    server.fault(Slow(until=replaced), on="delete")
    async with running(client, empty.controller()) as runtime:
        await server.requested(1, verb="delete")
        server.remove(ConfigMap, "old", "one")
        server.put(ConfigMap, {"metadata": {"name": "old", "namespace": "one"}, "data": {"text": "somebody's"}})
        replaced.set()
        await caught_up(runtime, server)
    theirs = server.object(ConfigMap, "old", "one")
    assert theirs is not None
    assert theirs["data"] == {"text": "somebody's"}


@pytest.mark.parametrize(
    ("annotations", "stays"),
    [
        pytest.param({}, True, id="a-users"),
        # An apply of ours to what a user made leaves its mark, too.
        pytest.param({"stackwright/applied-configuration": "x"}, True, id="a-users-that-we-applied-to"),
        pytest.param({MADE_FOR: "Memcached/other"}, True, id="another-resources"),
        pytest.param({MADE_FOR: "Memcached/memcached"}, False, id="ours"),
    ],
)
async def test_a_login_to_a_broker_that_a_user_made_stays(
    client: Client, server: FaultServer, annotations: dict[str, str], stays: bool
) -> None:
    metadata = {"name": "keystone-notifications", "namespace": "one", "annotations": annotations}
    body = {"metadata": metadata, "spec": {"rabbitmqClusterName": "rabbitmq"}}
    bus = msgspec.convert(server.put(TransportURL, body), TransportURL)
    keeper = Memcached(metadata=ObjectMeta(name="memcached", namespace="one"))

    def look(kind: type[Any], name: str, **_: str) -> Any:
        return bus

    need = Notifications(url=lambda _: "keystone-notifications")
    for entry in need.retired(keeper, None, sight(look), ()):
        await act.retire(entry, keeper, context(client))
    assert (server.object(TransportURL, "keystone-notifications", "one") is not None) is stays
