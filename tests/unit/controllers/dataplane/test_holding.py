"""What stays of a node as long as services are on its machine, however it is deleted."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.network import IPSet
from stackwright.controllers.addresses.ip_sets import Claims, World, _find_taken
from stackwright.controllers.dataplane.holding import FINALIZER, hold, release
from stackwright.controllers.looks import Interests
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import Key, Resource
from tests.unit.blueprint.addresses.networks import given, ip_set
from tests.unit.controllers.dataplane.run_parts import MIDNIGHT

KEY = Key("openstack", "one")
SERVICE = "openstack.org/nova-external-compute"


def made(kind: type[Any], name: str, *finalizers: str, deleting: bool = False, **body: Any) -> Any:
    metadata = {"name": name, "namespace": "openstack", "uid": name, "finalizers": finalizers}
    metadata |= {"deletionTimestamp": MIDNIGHT} if deleting else {}
    return msgspec.convert({"metadata": metadata, **body}, kind)


def node(*finalizers: str, deleting: bool = False) -> OpenStackDataPlaneNode:
    found: OpenStackDataPlaneNode = made(
        OpenStackDataPlaneNode, "one", *finalizers, deleting=deleting, spec={"role": "compute"}
    )
    return found


class Server:
    """Caches with some objects, and a server that has a node, and notes what is released."""

    def __init__(self, there: OpenStackDataPlaneNode | None, *objects: Resource) -> None:
        self.there, self.objects = there, objects
        self.released: list[str] = []
        self.client = self

    def store(self, kind: type[Resource]) -> Any:
        mine = [each for each in self.objects if isinstance(each, kind)]
        return SimpleNamespace(get={each.key: each for each in mine}.get, list=lambda _="": mine)

    async def find(self, *_: Any) -> OpenStackDataPlaneNode | None:
        return self.there

    async def patch(self, kind: type[Resource], name: str, _: str, patch: list[dict[str, Any]]) -> None:
        assert {"op": "remove", "path": "/metadata/finalizers/0"} in patch
        self.released.append(f"{kind.kind.name} {name}")


def test_what_a_held_node_owns_is_held_too() -> None:
    body = {"metadata": {"name": "x"}, "data": {}}
    assert hold(body, node()) == body
    assert hold(body, node("foregroundDeletion")) == body
    assert hold(body, node(SERVICE)) == {**body, "metadata": {"name": "x", "finalizers": [FINALIZER]}}


@pytest.mark.parametrize(
    ("there", "released"),
    [
        pytest.param(node(SERVICE, "foregroundDeletion", deleting=True), False, id="services-are-on-it"),
        pytest.param(node("foregroundDeletion", deleting=True), True, id="they-are-gone"),
        pytest.param(node(SERVICE), True, id="somebody-deletes-the-object-itself"),
        pytest.param(None, True, id="the-node-is-gone"),
    ],
)
async def test_what_is_deleted_goes_when_nobody_needs_it(there: OpenStackDataPlaneNode | None, released: bool) -> None:
    objects = [
        made(ConfigMap, "dataplanenode-one", FINALIZER, deleting=True),
        made(IPSet, "one", FINALIZER, deleting=True, spec={"networks": []}),
    ]
    context: Any = Server(there, *objects, made(ConfigMap, "dataplanenode-two", FINALIZER, deleting=True))
    await release(KEY, context)
    assert context.released == (["ConfigMap dataplanenode-one", "IPSet one"] if released else [])


async def test_what_nobody_deletes_stays() -> None:
    context: Any = Server(None, made(ConfigMap, "dataplanenode-one", FINALIZER))
    await release(KEY, context)
    assert context.released == []


def test_an_address_is_taken_as_long_as_an_ip_set_was_told_to_have_it() -> None:
    mine, other = ip_set(name="mine"), given("other", "192.168.122.100")
    context: Any = Server(None, mine, other)
    world = World(context, Interests(), Claims())
    # Its Reservation was deleted, and is not there again yet.
    assert _find_taken(mine, world.interests.begin(mine, context), world) == {"192.168.122.100": "other"}
