"""What the controller of local volumes decides about claims and volumes."""

from typing import Any

import pytest

from stackwright.kube.builtin import PersistentVolume, PersistentVolumeClaim
from stackwright.kube.resource import ObjectMeta
from stackwright.local.cluster import volumes
from stackwright.local.cluster.configuration import PROVISIONER
from stackwright.local.cluster.volumes import PROVISIONED_BY, SELECTED_NODE, WANTED, StorageClass

CLASS = StorageClass(metadata=ObjectMeta(name="local"), reclaimPolicy="Delete")
ASKED = {WANTED: PROVISIONER, SELECTED_NODE: "node-1"}


def claim(annotations: dict[str, str], deleted: str = "", **spec: Any) -> PersistentVolumeClaim:
    metadata = ObjectMeta(name="data", namespace="shop", uid="1-2", annotations=annotations, deletionTimestamp=deleted)
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return PersistentVolumeClaim(metadata=metadata, spec=wanted | spec)


def test_a_claim_for_this_node_gets_a_folder_on_it() -> None:
    [step] = volumes.decide(claim(ASKED), CLASS, "node-1").steps
    assert isinstance(step, volumes.Provision)
    spec = step.volume["spec"]
    assert step.volume["metadata"]["name"] == "pvc-1-2"
    assert spec["local"] == {"path": "/var/lib/stackwright/volumes/pvc-1-2"}
    assert spec["capacity"] == {"storage": "1Gi"}
    assert spec["claimRef"]["namespace"] == "shop"
    assert spec["nodeAffinity"] == volumes.affinity("node-1")["nodeAffinity"]


@pytest.mark.parametrize(
    ("annotations", "spec"),
    [
        pytest.param({}, {}, id="nobody-asked-for-a-volume"),
        pytest.param({WANTED: PROVISIONER}, {}, id="no-node-is-chosen-yet"),
        pytest.param(ASKED | {SELECTED_NODE: "node-2"}, {}, id="another-node-is-chosen"),
        pytest.param(ASKED | {WANTED: "example.com/nfs"}, {}, id="it-is-somebody-elses-to-make"),
        pytest.param(ASKED, {"volumeName": "pvc-1-2"}, id="it-has-a-volume"),
        pytest.param(ASKED, {"volumeMode": "Block"}, id="a-folder-is-no-block-device"),
    ],
)
def test_other_claims_get_nothing(annotations: dict[str, str], spec: dict[str, Any]) -> None:
    assert volumes.decide(claim(annotations, **spec), CLASS, "node-1").steps == ()


def test_a_claim_that_goes_gets_nothing() -> None:
    assert volumes.decide(claim(ASKED, deleted="2030-01-01T00:00:00Z"), CLASS, "node-1").steps == ()


def volume(phase: str = "Released", policy: str = "Delete", by: str = PROVISIONER) -> PersistentVolume:
    spec = volumes.volume(claim(ASKED), CLASS, "node-1")["spec"] | {"persistentVolumeReclaimPolicy": policy}
    metadata = ObjectMeta(name="pvc-1-2", annotations={PROVISIONED_BY: by})
    return PersistentVolume(metadata=metadata, spec=spec, status={"phase": phase})


@pytest.mark.parametrize(
    ("found", "node", "removed"),
    [
        pytest.param(volume(), "node-1", True, id="a-released-volume-goes-with-its-folder"),
        pytest.param(volume(), "node-2", False, id="its-own-node-removes-it"),
        pytest.param(volume(phase="Bound"), "node-1", False, id="one-in-use-stays"),
        pytest.param(volume(policy="Retain"), "node-1", False, id="one-to-be-kept-stays"),
        pytest.param(volume(by="example.com/nfs"), "node-1", False, id="somebody-elses-stays"),
    ],
)
def test_volumes_are_removed_when_nobody_has_them(found: PersistentVolume, node: str, removed: bool) -> None:
    assert bool(volumes.reclaim(found, node).steps) is removed
