"""Decides what a volume provisioner would do with a claim, and with a volume whose claim is gone; pure.

The controller-manager says which claims want a new volume (it sets an annotation on them), binds volumes to
claims, and tells what is wrong with a claim whose class does not exist; the provisioner only makes volumes.
"""

from dataclasses import dataclass

from stackwright.kube.plan import Plan, Wait
from stackwright.kube.quantities import number_of
from stackwright.kube.resource import JsonObject
from stackwright.simulator.behaviour import SUCCESS, Behaviour, VolumeUnbound
from stackwright.simulator.objects import Claim, PersistentVolume, StorageClass
from stackwright.simulator.steps import DeleteVolume, Grow, Provision, Say, Tell

PROVISIONER = "simulator.stackwright.org/volumes"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_WANTED = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
# How often a failing provisioner tries and tells.
_SAY_AGAIN = 15.0


@dataclass(frozen=True)
class Seen:
    """All that decides about a claim besides itself; `elapsed` is how long it is known to want a volume."""

    storage_class: StorageClass | None
    behaviour: Behaviour = SUCCESS
    elapsed: float = 0.0


def wants_volume(claim: Claim) -> bool:
    """Whether the controller-manager asks a provisioner to make a volume for the claim."""
    asked = any(name in claim.metadata.annotations for name in _WANTED)
    return asked and not claim.spec.volumeName and not claim.deleting


def decide(claim: Claim, seen: Seen) -> Plan:
    """Return what the provisioner does with a claim now."""
    if seen.storage_class is None:
        return Plan()
    if not wants_volume(claim):
        return _grow(claim, seen.storage_class, seen.behaviour)
    if isinstance(seen.behaviour.fault, VolumeUnbound):
        class_name, reason = seen.storage_class.metadata.name, seen.behaviour.fault.message
        note = f'failed to provision volume with StorageClass "{class_name}": {reason}'
        told = Tell("Warning", "ProvisioningFailed", note, every=_SAY_AGAIN)
        return Plan(
            steps=(Say(reason="ProvisioningFailed", events=(told,)),),
            waits=(Wait("ProvisioningFailed", note, after=_SAY_AGAIN),),
        )
    left = seen.behaviour.bind_after - seen.elapsed
    if left > 0:
        return Plan(waits=(Wait("Provisioning", "the simulated time passes", after=left),))
    volume = _volume(claim, seen.storage_class)
    events = (
        Tell("Normal", "Provisioning", f'External provisioner is provisioning volume for claim "{claim.key}"'),
        Tell("Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {volume['metadata']['name']}"),
    )
    return Plan(steps=(Provision(reason="Provisioning", volume=volume, events=events),))


def _grow(claim: Claim, found: StorageClass, behaviour: Behaviour) -> Plan:
    """Return what makes a volume as large as its claim asks for by now; storage that is faulty gives no more."""
    wanted, there = (str(amounts.get("storage", "")) for amounts in (_requests(claim), claim.status.capacity))
    if not found.allowVolumeExpansion or not claim.spec.volumeName or isinstance(behaviour.fault, VolumeUnbound):
        return Plan()
    if not wanted or not there or number_of(wanted) <= number_of(there):
        return Plan()
    return Plan(steps=(Grow(reason="Resizing", volume=claim.spec.volumeName, size=wanted),))


def _requests(claim: Claim) -> JsonObject:
    found: JsonObject = claim.spec.resources.get("requests", {})
    return found


def reclaim(volume: PersistentVolume) -> Plan:
    """Return what the provisioner does with a volume of its own."""
    released = volume.status.phase == "Released" and volume.spec.persistentVolumeReclaimPolicy == "Delete"
    if made_here(volume) and released and not volume.deleting:
        return Plan(steps=(DeleteVolume(reason="Released"),))
    return Plan()


def made_here(volume: PersistentVolume) -> bool:
    """Whether a simulator made the volume."""
    return volume.metadata.annotations.get(PROVISIONED_BY) == PROVISIONER


def storage_class(name: str, *, waits: bool = False, default: bool = False, grows: bool = False) -> JsonObject:
    """Return a storage class whose volumes are simulated."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        "allowVolumeExpansion": grows,
    }


def _volume(claim: Claim, found: StorageClass) -> JsonObject:
    name = f"pvc-{claim.metadata.uid}"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        # Whoever provisions for the class, it is the simulator that must delete the volume again.
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": _requests(claim).get("storage", "1Gi")},
            "accessModes": list(claim.spec.accessModes),
            "volumeMode": claim.spec.volumeMode,
            "storageClassName": found.metadata.name,
            "persistentVolumeReclaimPolicy": found.reclaimPolicy,
            # A path of a host needs no attaching, and there is no host to look for it.
            "hostPath": {"path": f"/simulated/{name}"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": claim.metadata.namespace,
                "name": claim.metadata.name,
                "uid": claim.metadata.uid,
            },
        },
    }
