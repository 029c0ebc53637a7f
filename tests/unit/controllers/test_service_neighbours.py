"""What a change takes away makes room only for pods that get something by it."""

from stackwright.api.base import ObjectMeta
from stackwright.controllers.service import neighbours
from stackwright.kube.builtin import Deployment, Pod
from stackwright.kube.resource import OwnerReference

GOING = (Deployment(metadata=ObjectMeta(name="neutron-rpc")),)


def pod(deployment: str) -> Pod:
    """A pod of a Deployment."""
    owner = OwnerReference(apiVersion="apps/v1", kind="ReplicaSet", name=f"{deployment}-5c9f", uid="u", controller=True)
    labels = {"pod-template-hash": "5c9f"}
    return Pod(metadata=ObjectMeta(name=f"{deployment}-5c9f-x", labels=labels, ownerReferences=(owner,)))


def test_the_pods_of_what_is_to_go_get_no_room_when_it_goes() -> None:
    """A node was drained, and its pod finds no other one: the rest of its pods serve."""
    others = (pod("neutron"), pod("neutron-rpc-workers"), Pod(metadata=ObjectMeta(name="neutron-db-sync-x")))
    assert neighbours.list_lacking(GOING, (pod("neutron-rpc"), *others)) == others
