"""What a change takes away makes room only for pods that get something by it."""

from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.controllers.service import neighbours
from stackwright.kube.builtin import ConfigMap, Deployment, Pod, Secret
from stackwright.kube.resource import OwnerReference

GOING = (Deployment(metadata=ObjectMeta(name="neutron-rpc")),)
THERE: dict[tuple[Any, str], Any] = {
    (Secret, "certificates"): Secret(data={"ca": ""}),
    (ConfigMap, "policies"): ConfigMap(data={"a": ""}),
}


def looking(kind: type[Any], name: str, *, namespace: str = "") -> Any:
    """Read an object of the cache."""
    assert not namespace
    return THERE.get((kind, name))


def pod(deployment: str) -> Pod:
    """A pod of a Deployment."""
    owner = OwnerReference(apiVersion="apps/v1", kind="ReplicaSet", name=f"{deployment}-5c9f", uid="u", controller=True)
    labels = {"pod-template-hash": "5c9f"}
    return Pod(metadata=ObjectMeta(name=f"{deployment}-5c9f-x", labels=labels, ownerReferences=(owner,)))


def test_the_pods_of_what_is_to_go_get_no_room_when_it_goes() -> None:
    """A node was drained, and its pod finds no other one: the rest of its pods serve."""
    others = (pod("neutron"), pod("neutron-rpc-workers"), Pod(metadata=ObjectMeta(name="neutron-db-sync-x")))
    assert neighbours.list_lacking(GOING, (pod("neutron-rpc"), *others), looking) == others


@pytest.mark.parametrize(
    ("volume", "lacks"),
    [
        pytest.param({"secret": {"secretName": "certificates"}}, True, id="all-is-there"),
        pytest.param({"configMap": {"name": "policies"}}, True, id="likewise"),
        pytest.param({"persistentVolumeClaim": {"claimName": "images"}}, True, id="a-volume-that-another-may-have"),
        pytest.param({"secret": {"secretName": "certificats"}}, False, id="a-wrong-name"),
        pytest.param({"secret": {"secretName": "certificats", "optional": True}}, True, id="it-can-do-without"),
        pytest.param({"configMap": {"name": "policies", "items": [{"key": "b"}]}}, False, id="a-wrong-key"),
        pytest.param({"projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}, True, id="kubernetes"),
    ],
)
def test_a_pod_whose_secret_nobody_made_gets_no_room(volume: dict[str, Any], lacks: bool) -> None:
    """It has no volumes after a minute either, whoever goes."""
    waiting = msgspec.structs.replace(pod("neutron"), spec={"volumes": [{"name": "v", **volume}]})
    assert neighbours.list_lacking(GOING, (waiting,), looking) == ((waiting,) if lacks else ())
