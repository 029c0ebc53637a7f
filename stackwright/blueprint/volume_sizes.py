"""Sizes of volumes: what they are, which larger one is refused, and that none shrinks. Pure."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice

from stackwright.blueprint.look import Look
from stackwright.kube.builtin import PersistentVolumeClaim, StatefulSet, StorageClass
from stackwright.kube.quantities import amount
from stackwright.kube.resource import JsonObject


def requested(claim: PersistentVolumeClaim | JsonObject) -> str:
    """Return the size that a claim, or a template of claims, asks for; "" if it says none."""
    spec = claim.spec if isinstance(claim, PersistentVolumeClaim) else claim["spec"]
    return str(((spec.get("resources") or {}).get("requests") or {}).get("storage", ""))


def size_of(claim: PersistentVolumeClaim) -> str:
    """Return the size of a claim's volume; "" while it has none."""
    return str((claim.status.get("capacity") or {}).get("storage", ""))


def number(quantity: str) -> Decimal:
    """Return a size as a number; 0 where there is none."""
    return amount(quantity) or Decimal(0)


def largest(claim: PersistentVolumeClaim) -> str:
    """Return what a claim asks for, or the size of its volume if that is more: storage may give more."""
    return max(requested(claim), size_of(claim), key=number)


def why_fixed(claim: PersistentVolumeClaim, look: Look) -> str:
    """Return why the volume of a claim cannot grow, and what to do; "" if its StorageClass lets it grow."""
    name = claim.spec.get("storageClassName") or ""
    of_class = look(StorageClass, name) if name else None
    if of_class is not None and of_class.allowVolumeExpansion:
        return ""
    if of_class is not None:
        return f"its StorageClass {name} does not allow that; set {largest(claim)}"
    if not name:
        return f"it has no StorageClass; set {largest(claim)}"
    return f"its StorageClass {name} does not exist; create it with allowVolumeExpansion, or set {largest(claim)}"


def describe_fixed(claim: PersistentVolumeClaim, asked: str, look: Look) -> str:
    """Return that the volume of a claim cannot grow to a size, why, and what to do; "" if it can, or has that size."""
    why = why_fixed(claim, look) if number(largest(claim)) < number(asked) else ""
    name = claim.metadata.name
    return why and f"PersistentVolumeClaim {name} has {largest(claim)} and cannot grow to {asked}, because {why}"


def limits(path: str, workload: str, asked: str, replicas: int, look: Look) -> Iterator[tuple[str, str]]:
    """Yield that the volumes of a StatefulSet cannot grow to the size that the field at `path` asks for.

    Volumes that were there before the StatefulSet are used as they are.
    """
    present = look(StatefulSet, workload)
    if present is None or not any(number(requested(one)) < number(asked) for one in _templates(present)):
        return
    found = (describe_fixed(claim, asked, look) for claim in _claims(workload, replicas, look))
    yield from islice(((path, sentence) for sentence in found if sentence), 1)


def advice(path: str, workload: str, asked: str, replicas: int, look: Look) -> Iterator[tuple[str, str]]:
    """Yield that volumes are larger than the field at `path` asks for: they do not shrink."""
    told = (sentence for claim in _claims(workload, replicas, look) for sentence in oversize(path, asked, claim))
    yield from islice(told, 1)


def oversize(path: str, asked: str, claim: PersistentVolumeClaim) -> Iterator[tuple[str, str]]:
    """Yield that the volume of a claim is larger than the field at `path` asks for."""
    size = size_of(claim)
    # Storage often gives a little more than was asked for.
    if number(size) > number(asked) and number(requested(claim)) > number(asked):
        name = claim.metadata.name
        yield path, f"the volume of PersistentVolumeClaim {name} has {size} and does not shrink; only new ones differ"


def _claims(workload: str, replicas: int, look: Look) -> Iterator[PersistentVolumeClaim]:
    for number in range(replicas):
        claim = look(PersistentVolumeClaim, f"data-{workload}-{number}")
        if claim is not None and not claim.deleting:
            yield claim


def _templates(workload: StatefulSet) -> list[JsonObject]:
    return workload.spec.get("volumeClaimTemplates") or []
