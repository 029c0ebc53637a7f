"""The Secrets and ConfigMaps that a pod reads, by its spec: as variables of its environment, and as volumes. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from stackwright.api.base import JsonObject


@dataclass(frozen=True)
class Reference:
    """An object that a pod reads, by kind and name, and the key that it must have, if one is named.

    One that is `optional` a pod can do without.
    """

    kind: str
    name: str
    key: str = ""
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def containers_of(pod: JsonObject) -> list[JsonObject]:
    """Return all containers of a pod's spec, those that run first at the front."""
    return [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]


def list_required(pod: JsonObject) -> Iterator[Reference]:
    """Yield what a pod reads; what it can do without is left out."""
    every = (*list_volumes(pod.get("volumes") or ()), *list_variables(containers_of(pod)))
    return (reference for reference in every if not reference.optional)


def list_variables(containers: Iterable[JsonObject]) -> Iterator[Reference]:
    """Yield what containers read as variables of their environment."""
    for container in containers:
        for variable in container.get("env") or ():
            source = variable.get("valueFrom") or {}
            yield from _name("Secret", source.get("secretKeyRef"))
            yield from _name("ConfigMap", source.get("configMapKeyRef"))
        for source in container.get("envFrom") or ():
            yield from _name("Secret", source.get("secretRef"))
            yield from _name("ConfigMap", source.get("configMapRef"))


def list_volumes(volumes: Iterable[JsonObject]) -> Iterator[Reference]:
    """Yield what is read as volumes."""
    for volume in volumes:
        secret = volume.get("secret")
        yield from _name("Secret", {**secret, "name": secret.get("secretName", "")} if secret else None)
        yield from _name("ConfigMap", volume.get("configMap"))
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _name("Secret", source.get("secret"))
            yield from _name("ConfigMap", source.get("configMap"))


def list_pull_secrets(pod: JsonObject) -> Iterator[Reference]:
    """Yield with what a pod's images are pulled; without it a pod starts all the same where its image is there."""
    for entry in pod.get("imagePullSecrets") or ():
        yield Reference("Secret", entry.get("name", ""))


def _name(kind: str, source: Any) -> Iterator[Reference]:
    if not source or not source.get("name"):
        return
    keys = [item.get("key", "") for item in source.get("items") or ()] or [source.get("key", "")]
    optional = bool(source.get("optional"))
    yield from (Reference(kind, str(source["name"]), key, optional) for key in keys)
