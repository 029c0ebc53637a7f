"""The controller of the StorageClass `local`: a volume is a folder on the node, made and removed with its claim.

Volumes are of the kind `local` and not `hostPath`, so that the kubelet gives them to the group that a pod asks for
(fsGroup). The controller-manager says which claims want one, after the scheduler has chosen a node.
"""

import argparse
import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from stackwright.kube import config
from stackwright.kube.builtin import PersistentVolume, PersistentVolumeClaim
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.errors import AlreadyExists
from stackwright.kube.health import HealthServer
from stackwright.kube.plan import Plan, Step, Wait
from stackwright.kube.resource import JsonObject, Key, Kind, Resource
from stackwright.kube.runtime import Runtime, Settings, serve
from stackwright.local.cluster.configuration import PROVISIONER, VOLUMES
from stackwright.local.cluster.flags import VOLUMES_HEALTH
from stackwright.local.probe import LOOPBACK

WANTED = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
HOSTNAME = "kubernetes.io/hostname"


class StorageClass(Resource, frozen=True, kw_only=True):
    """A storage class, as far as this controller reads it."""

    kind: ClassVar[Kind] = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)

    reclaimPolicy: str = "Delete"


@dataclass(frozen=True, kw_only=True)
class Provision(Step):
    """Make a folder, and the volume that stands for it."""

    volume: JsonObject


@dataclass(frozen=True, kw_only=True)
class Remove(Step):
    """Remove a folder with all that is in it, and the volume that stood for it."""

    path: str


def decide(claim: PersistentVolumeClaim, storage_class: StorageClass | None, node: str) -> Plan:
    """Return what a claim needs of us: a volume on this node, or nothing."""
    annotations = claim.metadata.annotations
    if annotations.get(WANTED) != PROVISIONER or claim.spec.get("volumeName") or claim.deleting:
        return Plan()
    if storage_class is None or annotations.get(SELECTED_NODE) != node:
        return Plan()
    if claim.spec.get("volumeMode", "Filesystem") != "Filesystem":
        return Plan(waits=(Wait("ProvisioningFailed", "A local volume is a folder; it cannot be a block device."),))
    return Plan(steps=(Provision(reason="Provisioning", volume=volume(claim, storage_class, node)),))


def reclaim(found: PersistentVolume, node: str) -> Plan:
    """Return what a volume needs of us: its removal once its claim has gone, or nothing."""
    ours = found.metadata.annotations.get(PROVISIONED_BY) == PROVISIONER
    released = found.status.get("phase") == "Released" and found.spec.get("persistentVolumeReclaimPolicy") == "Delete"
    here = found.spec == found.spec | affinity(node)
    if not ours or not here or not released or found.deleting:
        return Plan()
    return Plan(steps=(Remove(reason="Released", path=found.spec["local"]["path"]),))


def volume(claim: PersistentVolumeClaim, storage_class: StorageClass, node: str) -> JsonObject:
    """Return the volume for a claim; its name follows from the claim, so that making it twice makes one."""
    name = f"pvc-{claim.metadata.uid}"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": claim.spec["resources"]["requests"]["storage"]},
            "accessModes": list(claim.spec["accessModes"]),
            "volumeMode": "Filesystem",
            "storageClassName": storage_class.metadata.name,
            "persistentVolumeReclaimPolicy": storage_class.reclaimPolicy,
            "local": {"path": f"{VOLUMES}/{name}"},
            **affinity(node),
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": claim.metadata.namespace,
                "name": claim.metadata.name,
                "uid": claim.metadata.uid,
            },
        },
    }


def affinity(node: str) -> JsonObject:
    """Return the part of a volume that says on which node it is."""
    expression = {"key": HOSTNAME, "operator": "In", "values": [node]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def controllers(node: str) -> tuple[Controller, Controller]:
    """Return the controllers of the volumes on one node."""

    async def provision(key: Key, context: Context) -> Result | None:
        claim = context.store(PersistentVolumeClaim).get(key)
        if claim is None:
            return None
        storage_class = context.store(StorageClass).get(Key("", claim.spec.get("storageClassName", "")))
        plan = decide(claim, storage_class, node)
        for wait in plan.waits:
            context.events.event(claim, "Warning", wait.reason, wait.message)
        for step in plan.steps:
            await _act(step, claim, context)
        return None

    async def release(key: Key, context: Context) -> Result | None:
        found = context.store(PersistentVolume).get(key)
        for step in reclaim(found, node).steps if found else ():
            await _act(step, found or PersistentVolume(), context)
        return None

    return (
        Controller(name=PROVISIONER, kind=PersistentVolumeClaim, reconcile=provision, reads=(StorageClass,)),
        Controller(name="local-volumes", kind=PersistentVolume, reconcile=release),
    )


async def _act(step: Step, regarding: Resource, context: Context) -> None:
    match step:
        case Provision(volume=body):
            # The kubelet gives the folder to the group of the pod; until then any user of a pod may write.
            folder = Path(body["spec"]["local"]["path"])
            await asyncio.to_thread(_make, folder)
            try:
                await context.client.create(PersistentVolume, body)
            except AlreadyExists:
                context.logger.debug("the volume is there", volume=body["metadata"]["name"])
            context.events.event(regarding, "Normal", "ProvisioningSucceeded", f"Made the folder {folder}")
        case Remove(path=path):
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
            await context.client.delete(PersistentVolume, regarding.metadata.name, uid=regarding.metadata.uid)


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)


async def _run(kubeconfig: Path, node: str) -> None:
    health = HealthServer(host=LOOPBACK, port=VOLUMES_HEALTH)
    async with Client(config.load(kubeconfig), field_manager="stackwright-volumes") as client:
        await serve(Runtime(client, controllers(node), health=health, settings=Settings(own_process=True)))


def main() -> None:
    """Read the command line, and run until ended."""
    parser = argparse.ArgumentParser(prog="python -m stackwright.local.cluster.volumes", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="who we are to the cluster")
    parser.add_argument("--node", required=True, help="the node on which we make volumes")
    arguments = parser.parse_args()
    asyncio.run(_run(arguments.kubeconfig, arguments.node))


if __name__ == "__main__":
    main()
