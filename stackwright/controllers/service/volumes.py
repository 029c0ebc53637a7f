"""The volumes that a service keeps: claims without an owner, so that the data outlives the resource. Pure."""

from stackwright.api.base import CustomResource, ObjectMeta
from stackwright.blueprint.look import Look
from stackwright.blueprint.service import Volume
from stackwright.blueprint.volume_sizes import number, requested, size_of
from stackwright.kube.builtin import PersistentVolumeClaim
from stackwright.kube.conditions import Finding
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.child import Child, child
from stackwright.kube.shapes.states import state_of


def claim(volume: Volume, resource: CustomResource, look: Look) -> Child:
    """Return the claim of a volume; that it is bound is seen by the pods that wait for it."""
    name = f"{resource.metadata.name}-{volume.name}"
    size = _size(volume, look(PersistentVolumeClaim, name))
    spec = {
        "accessModes": [volume.access_mode],
        "resources": {"requests": {"storage": size}},
        **({"storageClassName": volume.storage_class} if volume.storage_class else {}),
    }
    return child(PersistentVolumeClaim(metadata=ObjectMeta(name=name), spec=spec), state=_state, kept=True)


def _size(volume: Volume, present: PersistentVolumeClaim | None) -> str:
    """Return what a claim asks for: what it asks for already, where its volume has the size that is wanted."""
    before = requested(present) if present is not None else ""
    if present is not None and before and not size_of(present):
        # It cannot be changed before it has a volume.
        return before
    # A volume does not shrink, and what asks for less than there is would be refused.
    enough = present is not None and number(size_of(present)) >= number(volume.size)
    return before if before and enough else volume.size or before or volume.usual


def _state(present: Resource) -> Finding:
    """A claim may wait for its first pod, and says so through that pod; a volume that is lost says it itself."""
    found = state_of(present)
    return found if found.severity == "Error" else Finding("", "True", "Ready", "")
