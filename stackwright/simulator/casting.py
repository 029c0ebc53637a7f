"""Finds out what a pod, its containers or a claim shall do: from the script and from annotations; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stackwright.simulator import annotations
from stackwright.simulator.behaviour import Behaviour, ContainerLike, Script, Subject
from stackwright.simulator.objects import Claim, Owner, Pod, ReplicaSet


@dataclass(frozen=True)
class Cast:
    """What an object and its containers shall do, and sentences about annotations that cannot be followed."""

    behaviour: Behaviour
    containers: Mapping[str, Behaviour]
    problems: tuple[str, ...] = ()


def cast_pod(pod: Pod, owners: tuple[Owner, ...], script: Script) -> Cast:
    """Return what a pod shall do; `owners` are those that are known, nearest first."""
    inits, mains = pod.spec.initContainers, pod.spec.containers
    subject = Subject(
        namespace=pod.metadata.namespace,
        names=(("Pod", pod.metadata.name), *_names(pod, owners)),
        labels=pod.metadata.labels,
        containers=(*inits, *mains),
    )
    said = (owner.metadata.annotations for owner in owners if not _repeats(owner))
    asked = annotations.asked(pod.metadata.annotations, *said)
    containers = {one.name: asked.over(script.behaviour(subject, one), one.name) for one in mains}
    containers |= {one.name: _of_init(one, subject, asked, script) for one in inits}
    return Cast(asked.over(script.behaviour(subject)), containers, asked.problems)


def cast_claim(claim: Claim, script: Script) -> Cast:
    """Return what a claim shall do."""
    names = (("PersistentVolumeClaim", claim.metadata.name),)
    subject = Subject(claim.metadata.namespace, names, claim.metadata.labels)
    asked = annotations.asked(claim.metadata.annotations)
    return Cast(asked.over(script.behaviour(subject)), {}, asked.problems)


def _of_init(container: ContainerLike, subject: Subject, asked: annotations.Request, script: Script) -> Behaviour:
    """Return what an init container shall do: a fault is meant for it only where it names containers or images.

    Otherwise "the pods of this Deployment crash" would nearly always mean that their first init container does.
    """
    found = script.behaviour(subject, container)
    if not (found.match.container or found.match.image):
        found = replace(found, fault=None)
    if not asked.container:
        asked = replace(asked, asks_for_fault=False)
    return asked.over(found, container.name)


def _repeats(owner: Owner) -> bool:
    """Whether an owner only repeats what its own said: a Deployment's annotations are copied, and never taken back."""
    return isinstance(owner, ReplicaSet) and owner.metadata.controller is not None


def _names(pod: Pod, owners: tuple[Owner, ...]) -> list[tuple[str, str]]:
    """Return kind and name of all owners. An owner names its own, so one more is known than was read."""
    references = [pod.metadata.controller, *(owner.metadata.controller for owner in owners)]
    return [(reference.kind, reference.name) for reference in references if reference is not None]
