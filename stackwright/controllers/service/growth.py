"""Volumes of StatefulSets that are to be larger: their claims grow one by one, and the StatefulSet stays as it is.

Kubernetes refuses every change of a StatefulSet's templates of claims, and with it all other changes of the same write.
So the templates keep the size that the StatefulSet was created with. The claims themselves can grow while their pods
run. One that is still missing, for a pod that is to come, is created with the new size before the StatefulSet does it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.look import Look
from stackwright.blueprint.volume_sizes import describe_fixed, number, requested, size_of, why_fixed
from stackwright.controllers import release
from stackwright.kube.builtin import PersistentVolumeClaim, StatefulSet
from stackwright.kube.conditions import Finding, declared
from stackwright.kube.controller import Context
from stackwright.kube.errors import AlreadyExists, ApiError, NotFound

# Seconds until a claim is tried again of which the server refused that it grows: a quota may be raised meanwhile.
AGAIN_SECONDS = 60.0
# The conditions of a claim that tell why its volume has not grown yet.
_TELLING = ("ControllerResizeError", "NodeResizeError", "FileSystemResizePending", "Resizing")


@dataclass(frozen=True)
class Grow:
    """Let a claim ask for another size."""

    claim: PersistentVolumeClaim
    size: str


@dataclass(frozen=True)
class Create:
    """Create the claim of a pod that is to come."""

    body: JsonObject


@dataclass(frozen=True)
class Growth:
    """What to do about the volumes of a release, those on the way to their new size, and why others are not."""

    steps: tuple[Grow | Create, ...] = ()
    growing: tuple[tuple[PersistentVolumeClaim, str], ...] = ()
    fixed: tuple[str, ...] = ()


def keep_templates(bodies: Iterable[JsonObject], look: Look) -> tuple[JsonObject, ...]:
    """Return the objects of a release, each StatefulSet with the size of volumes that it was created with. Pure."""
    return tuple(_kept(body, look) for body in bodies)


def _kept(body: JsonObject, look: Look) -> JsonObject:
    templates = _templates(body)
    present = look(StatefulSet, body["metadata"]["name"]) if templates else None
    if present is None:
        return body
    there = {entry["metadata"]["name"]: requested(entry) for entry in present.spec.get("volumeClaimTemplates") or ()}
    kept = [_sized(entry, there.get(entry["metadata"]["name"]) or requested(entry)) for entry in templates]
    return {**body, "spec": {**body["spec"], "volumeClaimTemplates": kept}}


def _sized(claim: JsonObject, size: str) -> JsonObject:
    if not requested(claim):
        # The server says what is wrong with it.
        return claim
    requests = {**claim["spec"]["resources"]["requests"], "storage": size}
    return {**claim, "spec": {**claim["spec"], "resources": {**claim["spec"]["resources"], "requests": requests}}}


def plan(bodies: Iterable[JsonObject], look: Look) -> Growth:
    """Return what brings the volumes of a release to the size that its StatefulSets ask for. Pure."""
    found = [
        _of_claim(template, body, at, look) for body in bodies for template in _templates(body) for at in _at(body)
    ]
    return Growth(
        tuple(step for each in found for step in each.steps),
        tuple(entry for each in found for entry in each.growing),
        tuple(sentence for each in found for sentence in each.fixed),
    )


def _at(body: JsonObject) -> Iterable[int]:
    return range(body["spec"].get("replicas", 1))


def _of_claim(template: JsonObject, body: JsonObject, at: int, look: Look) -> Growth:
    """Return the steps for the claim of one pod, and the claim with its new size while it does not have that."""
    name, asked = f"{template['metadata']['name']}-{body['metadata']['name']}-{at}", requested(template)
    claim = look(PersistentVolumeClaim, name)
    made = _made_with(body, template, look)
    if claim is None:
        return Growth((Create(_claim(name, template, body)),) if made not in (None, number(asked)) else ())
    size = size_of(claim)
    if claim.deleting or number(size) >= number(asked):
        return Growth()
    if not size:
        # It cannot be changed before it has a volume, and then it can grow. What a backup is restored into may be
        # larger than what is asked for; only a claim that the StatefulSet created may be deleted.
        too_large = number(requested(claim)) > number(asked) and made is not None and made > number(asked)
        return Growth(growing=((claim, asked),) if too_large else ())
    if fixed := describe_fixed(claim, asked, look):
        # Volumes that were there before the StatefulSet are used as they are.
        return Growth(fixed=(fixed,) if made is not None and made < number(asked) else ())
    if why_fixed(claim, look):
        return Growth()
    # A size that the storage could not give may be lowered, as long as it is more than the volume has.
    steps = (Grow(claim, asked),) if number(requested(claim)) != number(asked) else ()
    return Growth(steps, ((claim, asked),))


def _made_with(body: JsonObject, template: JsonObject, look: Look) -> Decimal | None:
    """Return the size with which the StatefulSet, as it is there, creates claims; None if it creates none."""
    present = look(StatefulSet, body["metadata"]["name"])
    there = (present.spec.get("volumeClaimTemplates") or ()) if present is not None else ()
    name = template["metadata"]["name"]
    return next((number(requested(entry)) for entry in there if entry["metadata"]["name"] == name), None)


def _claim(name: str, template: JsonObject, body: JsonObject) -> JsonObject:
    """Return a claim as the controller of StatefulSets creates it: it has no owner, and outlives the resource."""
    labels = {**(template["metadata"].get("labels") or {}), **body["spec"]["selector"]["matchLabels"]}
    return {"metadata": {"name": name, "labels": labels}, "spec": template["spec"]}


def _templates(body: JsonObject) -> Sequence[JsonObject]:
    return (body["spec"].get("volumeClaimTemplates") or ()) if release.type_of(body) is StatefulSet else ()


@dataclass(frozen=True)
class Outcome:
    """What was found of the volumes, and in how many seconds to try again what was refused."""

    findings: tuple[Finding, ...]
    delays: tuple[float, ...]


async def take(growth: Growth, resource: CustomResource, context: Context) -> Outcome:
    """Carry out the steps; return what came of them.

    What the server refuses, such as more than a quota allows, stops nothing else.
    """
    condition = declared(resource, "DeploymentReady")
    refused: dict[str, str] = {}
    for step in growth.steps:
        try:
            await _act(step, resource, context)
        except ApiError as error:
            refused[_name(step)] = error.message
    findings = (
        *(_refused(name, why, condition) for name, why in refused.items()),
        *(Finding(condition, "True", "VolumeTooSmall", f"{why}; all else goes on", "Warning") for why in growth.fixed),
        *(tell(claim, size, condition) for claim, size in growth.growing if claim.metadata.name not in refused),
    )
    return Outcome(findings, (AGAIN_SECONDS,) if refused else ())


async def _act(step: Grow | Create, resource: CustomResource, context: Context) -> None:
    match step:
        case Grow(claim, size):
            change = {"spec": {"resources": {"requests": {"storage": size}}}}
            try:
                await context.client.patch(PersistentVolumeClaim, claim.metadata.name, claim.metadata.namespace, change)
            except NotFound:
                return
            said = f"PersistentVolumeClaim {claim.metadata.name} asks for {size}; it asked for {requested(claim)}"
            context.events.event(resource, "Normal", "VolumeGrowing", said)
        case Create(body):
            placed = {**body, "metadata": {**body["metadata"], "namespace": resource.metadata.namespace}}
            try:
                await context.client.create(PersistentVolumeClaim, placed)
            except AlreadyExists:
                return


def _name(step: Grow | Create) -> str:
    return step.claim.metadata.name if isinstance(step, Grow) else str(step.body["metadata"]["name"])


def _refused(name: str, why: str, condition: str) -> Finding:
    message = f"PersistentVolumeClaim {name} cannot get the size that is asked for: {why}; all else goes on"
    return Finding(condition, "True", "VolumeTooSmall", message, "Warning")


def tell(claim: PersistentVolumeClaim, size: str, condition: str) -> Finding:
    """Return that a volume has not grown yet, and why, where its claim says so. Pure.

    The pods work with the volumes that they have, some of which never grow. So this holds up nothing.
    """
    name = claim.metadata.name
    if not size_of(claim):
        message = (
            f"PersistentVolumeClaim {name} asks for {requested(claim)} instead of {size}, has no volume, and cannot be "
            "changed before it has one; if it gets none, delete its StatefulSet with --cascade=orphan, and then its "
            "pod and the claim itself: all of them are created again"
        )
        return Finding(condition, "True", "VolumeTooLarge", message, "Warning")
    stated = {
        entry.get("type"): entry for entry in claim.status.get("conditions") or () if entry.get("status") == "True"
    }
    kind = next((kind for kind in _TELLING if kind in stated), "")
    why = f": {said}" if kind and (said := stated[kind].get("message")) else ""
    message = f"PersistentVolumeClaim {name} grows from {size_of(claim)} to {size}{why}"
    return Finding(condition, "True", "VolumeGrowing", message, "" if kind in ("", "Resizing") else "Warning")
