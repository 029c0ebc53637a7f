"""The Secrets and ConfigMaps that pods read, and those of them that nobody made. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from stackwright.blueprint.look import Look
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.resource import JsonObject, Resource

# Kubernetes puts it into every namespace.
OF_KUBERNETES = "kube-root-ca.crt"


@dataclass(frozen=True)
class Reference:
    """An object that a pod reads, by kind and name, and the key that it must have, if one is named."""

    kind: str
    name: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def missing(workload: Resource, look: Look, made: Iterable[tuple[str, str]]) -> Finding | None:
    """Return what keeps the pods of a workload from starting; None where all is there.

    `made` are the objects that come with the workload, by kind and name.
    """
    known = {*made, (ConfigMap.kind.name, OF_KUBERNETES)}
    for reference in referenced(pod_of(getattr(workload, "spec", {}))):
        if (reference.kind, reference.name) in known:
            continue
        sentence = _sentence(reference, look)
        if sentence:
            label = f"{workload.kind.name} {workload.metadata.name}"
            return Finding("", "False", f"{reference.kind}Missing", f"{label} reads {reference}, {sentence}", "Error")
    return None


def _sentence(reference: Reference, look: Look) -> str:
    found: Secret | ConfigMap | None
    if reference.kind == Secret.kind.name:
        found = look(Secret, reference.name)
        keys = {*found.data} if found is not None else set()
    else:
        config = found = look(ConfigMap, reference.name)
        keys = {*config.data, *config.binaryData} if config is not None else set()
    if found is None:
        return f"which does not exist; create it{f' with the key {reference.key}' if reference.key else ''}"
    return f"which has no key {reference.key}; add it" if reference.key and reference.key not in keys else ""


def pod_of(spec: JsonObject) -> JsonObject:
    """Return the spec of the pods that a workload makes; empty where it makes none."""
    spec = (spec.get("jobTemplate") or {}).get("spec") or spec
    pod: JsonObject = (spec.get("template") or {}).get("spec") or {}
    return pod


def containers_of(pod: JsonObject) -> list[JsonObject]:
    """Return all containers of a pod's spec, those that run first at the front."""
    return [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]


def referenced(pod: JsonObject) -> Iterator[Reference]:
    """Yield what a pod reads; what it can do without is left out."""
    for volume in pod.get("volumes") or ():
        yield from _of_volume(volume)
    for container in containers_of(pod):
        for variable in container.get("env") or ():
            source = variable.get("valueFrom") or {}
            yield from _named("Secret", source.get("secretKeyRef"))
            yield from _named("ConfigMap", source.get("configMapKeyRef"))
        for source in container.get("envFrom") or ():
            yield from _named("Secret", source.get("secretRef"))
            yield from _named("ConfigMap", source.get("configMapRef"))


def pull_secrets(pod: JsonObject) -> Iterator[Reference]:
    """Yield with what a pod's images are pulled; without it a pod starts all the same where its image is there."""
    for entry in pod.get("imagePullSecrets") or ():
        yield Reference("Secret", entry.get("name", ""))


def _of_volume(volume: JsonObject) -> Iterator[Reference]:
    sources = (volume.get("projected") or {}).get("sources") or ()
    yield from _named("Secret", _renamed(volume.get("secret")))
    yield from _named("ConfigMap", volume.get("configMap"))
    for source in sources:
        yield from _named("Secret", source.get("secret"))
        yield from _named("ConfigMap", source.get("configMap"))


def _renamed(volume: JsonObject | None) -> JsonObject | None:
    return {**volume, "name": volume.get("secretName", "")} if volume else None


def _named(kind: str, source: Any) -> Iterator[Reference]:
    if not source or source.get("optional") or not source.get("name"):
        return
    keys = [item.get("key", "") for item in source.get("items") or ()] or [source.get("key", "")]
    yield from (Reference(kind, source["name"], key) for key in keys)
