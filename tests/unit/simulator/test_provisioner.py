"""What the simulated provisioner makes of claims and volumes."""

import msgspec
import pytest

from stackwright.kube.resource import JsonObject, ObjectMeta
from stackwright.simulator import provisioner
from stackwright.simulator.behaviour import Behaviour, VolumeUnbound
from stackwright.simulator.objects import Claim, ClaimStatus, PersistentVolume, StorageClass
from stackwright.simulator.provisioner import PROVISIONED_BY, PROVISIONER, Seen
from stackwright.simulator.steps import DeleteVolume, Grow, Provision, Say

QUICK = StorageClass(metadata=ObjectMeta(name="quick"), provisioner="example.org/disks", reclaimPolicy="Retain")
GROWING = msgspec.structs.replace(QUICK, allowVolumeExpansion=True)
ASKED = {"volume.kubernetes.io/storage-provisioner": "example.org/disks"}


def claim(metadata: JsonObject | None = None, **spec: str) -> Claim:
    return msgspec.convert(
        {
            "metadata": {"name": "data", "namespace": "here", "uid": "u-1", "annotations": ASKED, **(metadata or {})},
            "spec": {
                "storageClassName": "quick",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "7Gi"}},
                **spec,
            },
        },
        Claim,
    )


def test_a_claim_gets_the_volume_that_it_asks_for() -> None:
    (step,) = provisioner.decide(claim(), Seen(QUICK)).steps
    assert isinstance(step, Provision)
    assert step.volume["metadata"]["name"] == "pvc-u-1"
    spec = step.volume["spec"]
    assert spec["capacity"] == {"storage": "7Gi"}
    assert spec["accessModes"] == ["ReadWriteOnce"]
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["storageClassName"] == "quick"
    assert (spec["claimRef"]["namespace"], spec["claimRef"]["name"], spec["claimRef"]["uid"]) == ("here", "data", "u-1")
    assert [event.reason for event in step.events] == ["Provisioning", "ProvisioningSucceeded"]


@pytest.mark.parametrize(
    ("what", "storage_class"),
    [
        pytest.param(claim({"annotations": {}}), QUICK, id="nobody-asks-for-a-volume"),
        pytest.param(claim(volumeName="pv-1"), QUICK, id="it-has-a-volume"),
        pytest.param(claim({"deletionTimestamp": "2026-11-15T10:00:00Z"}), QUICK, id="it-is-going"),
        pytest.param(claim(), None, id="its-class-is-not-known"),
    ],
)
def test_a_claim_that_wants_no_volume_is_left_alone(what: Claim, storage_class: StorageClass | None) -> None:
    assert provisioner.decide(what, Seen(storage_class)).steps == ()


@pytest.mark.parametrize(
    ("there", "storage_class", "behaviour", "grows"),
    [
        pytest.param("5Gi", GROWING, Behaviour(), True, id="it-is-smaller"),
        pytest.param("7Gi", GROWING, Behaviour(), False, id="it-has-its-size"),
        pytest.param("5Gi", QUICK, Behaviour(), False, id="its-class-lets-nothing-grow"),
        pytest.param("5Gi", GROWING, Behaviour(fault=VolumeUnbound("full")), False, id="the-storage-is-faulty"),
    ],
)
def test_a_volume_grows_to_what_its_claim_asks_for(
    there: str, storage_class: StorageClass, behaviour: Behaviour, grows: bool
) -> None:
    bound = msgspec.structs.replace(claim(volumeName="pv-1"), status=ClaimStatus(capacity={"storage": there}))
    steps = provisioner.decide(bound, Seen(storage_class, behaviour)).steps
    assert steps == ((Grow(reason="Resizing", volume="pv-1", size="7Gi"),) if grows else ())


def test_a_volume_takes_its_time() -> None:
    slow = Behaviour(bind_after=3.0)
    plan = provisioner.decide(claim(), Seen(QUICK, slow, elapsed=1.0))
    assert plan.steps == ()
    assert [wait.after for wait in plan.waits] == [2.0]
    assert len(provisioner.decide(claim(), Seen(QUICK, slow, elapsed=3.0)).steps) == 1


def test_a_claim_that_shall_fail_is_told_about() -> None:
    (step,) = provisioner.decide(claim(), Seen(QUICK, Behaviour(fault=VolumeUnbound("no space")))).steps
    assert isinstance(step, Say)
    assert [(event.type, event.reason, event.note) for event in step.events] == [
        ("Warning", "ProvisioningFailed", 'failed to provision volume with StorageClass "quick": no space')
    ]


def volume(
    *, phase: str = "Released", policy: str = "Delete", by: str = PROVISIONER, going: bool = False
) -> PersistentVolume:
    body = {
        "metadata": {
            "name": "pvc-u-1",
            "annotations": {PROVISIONED_BY: by},
            "deletionTimestamp": "2026-11-15T10:00:00Z" if going else "",
        },
        "spec": {"persistentVolumeReclaimPolicy": policy},
        "status": {"phase": phase},
    }
    return msgspec.convert(body, PersistentVolume)


@pytest.mark.parametrize(
    ("what", "deleted"),
    [
        pytest.param(volume(), True, id="a-released-volume-goes"),
        pytest.param(volume(phase="Bound"), False, id="a-bound-volume-stays"),
        pytest.param(volume(policy="Retain"), False, id="a-volume-to-retain-stays"),
        pytest.param(volume(by="example.org/disks"), False, id="a-volume-of-another-provisioner-stays"),
        pytest.param(volume(going=True), False, id="a-volume-that-is-going-is-not-deleted-twice"),
    ],
)
def test_a_volume_goes_when_its_claim_is_gone(what: PersistentVolume, *, deleted: bool) -> None:
    assert [isinstance(step, DeleteVolume) for step in provisioner.reclaim(what).steps] == [True] * deleted
