"""Who becomes the owner of a Reservation that was restored, by what the server has and not the caches."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode
from stackwright.api.network import IPSet, Reservation
from stackwright.blueprint.addresses.allocation import Around
from stackwright.controllers.addresses.ip_sets import Adopt, Claims, Release, Seen, World, act, decide
from stackwright.controllers.looks import Interests
from stackwright.kube.errors import Retry
from stackwright.kube.resource import ObjectMeta, OwnerReference, Resource, owner_reference
from tests.unit.blueprint.addresses.networks import given, ip_set, net_config, reservation

RESTORED = reservation("node", "192.168.122.77", owned=False, name="restored")
OTHER = reservation("node", "192.168.122.100")
TOLD = given("node", "192.168.122.77")


class Server:
    """Has an IPSet and perhaps a node, and notes which Reservation gets which owner."""

    def __init__(self, *there: Resource) -> None:
        self.there, self.adopted = there, dict[str, str]()

    async def find(self, kind: type[Resource], name: str, _: str) -> Resource | None:
        return next((each for each in self.there if isinstance(each, kind) and each.metadata.name == name), None)

    async def patch(self, _: type[Resource], name: str, __: str, body: dict[str, Any]) -> Reservation:
        (owner,) = body["metadata"]["ownerReferences"]
        self.adopted[name] = owner["uid"]
        return RESTORED


def data_plane(uid: str) -> OpenStackDataPlane:
    return OpenStackDataPlane(metadata=ObjectMeta(name="edpm", namespace="openstack", uid=uid))


def node(uid: str, plane: str = "") -> OpenStackDataPlaneNode:
    owners = [owner_reference(data_plane(plane))] if plane else []
    metadata = {"name": "node", "namespace": "openstack", "uid": uid, "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata, "spec": {"role": "compute"}}, OpenStackDataPlaneNode)


def of_node(uid: str, found: IPSet) -> IPSet:
    owners = (msgspec.convert(owner_reference(node(uid)), OwnerReference),)
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, ownerReferences=owners))


async def adopt(*there: Resource) -> dict[str, str]:
    server = Server(*there)
    context: Any = SimpleNamespace(client=server)
    await act(Adopt(RESTORED, TOLD, reason="Adopting"), World(context, Interests(), Claims()))
    return server.adopted


@pytest.mark.parametrize(
    "there",
    [
        pytest.param([TOLD], id="a-users-ip-set"),
        pytest.param([of_node("new", TOLD), node("new")], id="of-a-node-that-is-there"),
        pytest.param(
            [of_node("new", TOLD), node("new", plane="new"), data_plane("new")], id="of-a-data-plane-that-is-there"
        ),
    ],
)
async def test_a_restored_reservation_gets_an_owner(there: list[Resource]) -> None:
    assert await adopt(*there) == {"restored": "uid-of-node"}


@pytest.mark.parametrize(
    ("there", "words"),
    [
        pytest.param([], "is gone, or another one by now", id="its-ip-set-is-gone"),
        pytest.param(
            [of_node("of-a-backup", TOLD)],
            "OpenStackDataPlaneNode node, to which IPSet node belongs, is gone",
            id="its-node-is-gone",
        ),
        pytest.param([of_node("of-a-backup", TOLD), node("new")], "or another one by now", id="it-is-another-node"),
        pytest.param(
            [of_node("new", TOLD), node("new", plane="of-a-backup"), data_plane("new")],
            "OpenStackDataPlane edpm, to which IPSet node belongs, is gone",
            id="the-owner-of-its-node-is-gone",
        ),
        pytest.param([given("node", "192.168.122.100")], "tells another address by now", id="the-cache-is-behind"),
    ],
)
async def test_a_restored_reservation_is_left_alone(there: list[Resource], words: str) -> None:
    with pytest.raises(Retry, match=words):
        await adopt(*there)


def test_what_was_restored_is_not_adopted_and_released_in_one_pass() -> None:
    seen = Seen(Around(net_config().spec, (OTHER, RESTORED)))
    release = Release(OTHER, ip_set(), reason="Releasing", condition="ReservationReady")
    # It counts, and is told; then nothing can count in its place.
    plan = decide(ip_set(), seen)
    assert (plan.steps, [wait.reason for wait in plan.waits]) == ((release,), ["Adopting"])
    assert [type(step) for step in decide(TOLD, seen).steps] == [Adopt, Release]
    # Another address was told: the one that was restored is neither adopted nor released.
    assert decide(given("node", "192.168.122.100"), seen).steps == ()
