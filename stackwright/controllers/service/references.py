"""The Secrets and ConfigMaps that pods read, and that nobody made. Pure."""

from collections.abc import Iterable

from stackwright.blueprint.look import Look
from stackwright.blueprint.pod_references import Reference, list_required, list_volumes
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.resource import JsonObject, Resource

# Kubernetes puts it into every namespace.
OF_KUBERNETES = "kube-root-ca.crt"


def missing(workload: Resource, look: Look, made: Iterable[tuple[str, str]]) -> Finding | None:
    """Return what keeps the pods of a workload from starting; None where all is there.

    `made` are the objects that come with the workload, by kind and name.
    """
    known = {*made, (ConfigMap.kind.name, OF_KUBERNETES)}
    for reference in list_required(pod_of(getattr(workload, "spec", {}))):
        if (reference.kind, reference.name) in known:
            continue
        sentence = _sentence(reference, look)
        if sentence:
            label = f"{workload.kind.name} {workload.metadata.name}"
            return Finding("", "False", f"{reference.kind}Missing", f"{label} reads {reference}, {sentence}", "Error")
    return None


def is_short(pod: JsonObject, look: Look) -> bool:
    """Return whether a pod does not get its volumes, because nobody made what is in one of them."""
    volumes = (entry for entry in list_volumes(pod.get("volumes") or ()) if not entry.optional)
    return any(entry.name != OF_KUBERNETES and _sentence(entry, look) for entry in volumes)


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


def list_secrets(pod: JsonObject) -> set[str]:
    """Return the names of the Secrets that a pod mounts."""
    volumes = list_volumes(pod.get("volumes") or ())
    return {reference.name for reference in volumes if reference.kind == Secret.kind.name}
