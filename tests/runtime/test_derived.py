"""Two controllers of one kind: what one derives, the other neither prunes nor reports."""

from collections.abc import Iterable
from typing import Annotated, ClassVar

import msgspec

from stackwright.controllers import permissions
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.markers import describe
from stackwright.kube.plan import Wait
from stackwright.kube.resource import CompositeStatus, CustomResource, JsonObject, Kind, ObjectMeta, Value
from stackwright.kube.shapes.composite import Child, child, composite
from stackwright.kube.shapes.derived import derived
from tests.runtime.controlling import caught_up, quiet, running
from tests.runtime.fault_server import FaultServer

__all__ = ["quiet"]


class NodesSpec(Value, frozen=True, kw_only=True):
    """Which hosts there are."""

    hosts: Annotated[tuple[str, ...], describe("The hosts.")] = ()


class Nodes(CustomResource, frozen=True, kw_only=True):
    """Machines that somebody else keeps."""

    kind: ClassVar[Kind] = Kind("derived.example.org", "v1", "Nodes", "nodesets")
    conditions: ClassVar[tuple[str, ...]] = ("InventoryReady",)

    spec: NodesSpec = NodesSpec()
    status: CompositeStatus = CompositeStatus()


def config(name: str) -> Child:
    return child(ConfigMap(metadata=ObjectMeta(name=name), data={"text": name}), condition="InventoryReady")


@composite(of=Nodes, owns=(ConfigMap,))
def inventory(resource: Nodes, facts: None) -> Iterable[Child]:
    """Return what the kind's own controller makes."""
    yield config("inventory")


@derived(name="discovery", of=Nodes, owns=(ConfigMap,), team="nova")
def discovery(resource: Nodes, facts: None) -> Iterable[Child | Wait]:
    """Return what another service derives from it."""
    yield from (config(f"discover-{host}") for host in resource.spec.hosts)


def nodes(*hosts: str) -> JsonObject:
    return {"metadata": {"name": "edge", "namespace": "one"}, "spec": {"hosts": list(hosts)}}


def maps(server: FaultServer) -> set[str]:
    names = ("inventory", "discover-a", "discover-b")
    return {name for name in names if server.object(ConfigMap, name, "one") is not None}


async def test_each_controller_keeps_and_prunes_what_is_its_own(client: Client, server: FaultServer) -> None:
    server.put(Nodes, nodes("a", "b"))
    async with running(client, inventory.controller(), discovery.controller()) as runtime:
        # Three objects, and the status of the composite.
        await server.requested(4, verb="apply", timeout=30.0)
        await caught_up(runtime, server)
        assert maps(server) == {"inventory", "discover-a", "discover-b"}
        server.put(Nodes, nodes("b"))
        await server.requested(1, verb="delete", timeout=30.0)
    assert maps(server) == {"inventory", "discover-b"}
    made = msgspec.convert(server.object(ConfigMap, "discover-b", "one"), ConfigMap)
    assert made.metadata.controller is not None
    assert made.metadata.controller.name == "edge"
    assert "stackwright-discovery/applied-configuration" in made.metadata.annotations


async def test_nothing_is_reported_of_a_kind_that_is_not_its_own(client: Client, server: FaultServer) -> None:
    server.put(Nodes, nodes("a"))
    async with running(client, discovery.controller()) as runtime:
        await server.requested(1, verb="apply", timeout=30.0)
        await caught_up(runtime, server)
    assert [request.path for request in server.seen("apply") if request.path.endswith("/status")] == []
    assert [request.path for request in server.seen("patch")] == []


def test_its_team_may_own_in_the_kinds_name_and_not_write_its_status() -> None:
    inside, _ = permissions.rights((discovery.controller(),), ())
    assert inside["derived.example.org", "nodesets"] == permissions.READ
    assert ("derived.example.org", "nodesets/status") not in inside
    assert inside["derived.example.org", "nodesets/finalizers"] == {"update"}
    assert discovery.controller().team == "nova"
