"""Finds what a pod refers to and is not there: ConfigMaps, Secrets and their keys; pure.

A kubelet does not start a pod whose volumes it cannot fill, nor a container whose variables it cannot
resolve; a wrong name in a chart shows here as it would on a real node.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from stackwright.simulator.objects import (
    Container,
    EnvironmentBlock,
    EnvironmentVariable,
    MountedObject,
    Pod,
    Reference,
    Volume,
)

# Returns the keys of the ConfigMap or Secret of a name, None when it does not exist.
Keys = Callable[[str], frozenset[str] | None]


@dataclass(frozen=True)
class Inputs:
    """What pods of one namespace can refer to."""

    config_maps: Keys
    secrets: Keys


@dataclass(frozen=True)
class Input:
    """One ConfigMap or Secret that a pod refers to: which kind, which object, which keys."""

    kind: str
    name: str
    keys: tuple[str, ...]


def needed(pod: Pod) -> frozenset[tuple[str, str]]:
    """Return kind and name of every ConfigMap and Secret that the pod cannot do without."""
    mounted = (one for volume in pod.spec.volumes for one in _mounted(volume))
    everything = (*pod.spec.initContainers, *pod.spec.containers)
    variables = (one for container in everything for one in _variables(container))
    return frozenset((one.kind, one.name) for one in (*mounted, *variables))


def missing_volume(pod: Pod, inputs: Inputs) -> str:
    """Return why the volumes cannot be mounted, in the kubelet's words; empty when they can."""
    for volume in pod.spec.volumes:
        for one in _mounted(volume):
            reason = _missing(one, inputs, namespace=pod.metadata.namespace, of_volume=True)
            if reason:
                return f'MountVolume.SetUp failed for volume "{volume.name}" : {reason}'
    return ""


def missing_variable(pod: Pod, container: Container, inputs: Inputs) -> str:
    """Return why a container's environment cannot be made, in the kubelet's words; empty when it can."""
    reasons = (
        _missing(one, inputs, namespace=pod.metadata.namespace, of_volume=False) for one in _variables(container)
    )
    return next(filter(None, reasons), "")


def _missing(one: Input, inputs: Inputs, *, namespace: str, of_volume: bool) -> str:
    known = (inputs.config_maps if one.kind == "ConfigMap" else inputs.secrets)(one.name)
    if known is None:
        return f'{one.kind.lower()} "{one.name}" not found'
    lacking = next((key for key in one.keys if key not in known), "")
    if not lacking:
        return ""
    if not of_volume:
        return f"couldn't find key {lacking} in {one.kind} {namespace}/{one.name}"
    if one.kind == "ConfigMap":
        return f"configmap references non-existent config key: {lacking}"
    return f"references non-existent secret key: {lacking}"


def _mounted(volume: Volume) -> Iterator[Input]:
    sources = volume.projected.sources if volume.projected else ()
    mounts: Iterable[tuple[str, MountedObject | None]] = (
        ("ConfigMap", volume.configMap),
        ("Secret", volume.secret),
        *(("ConfigMap", source.configMap) for source in sources),
        *(("Secret", source.secret) for source in sources),
    )
    for kind, mount in mounts:
        if mount is not None and not mount.optional:
            yield Input(kind, mount.secretName or mount.name, tuple(item.key for item in mount.items))


def _variables(container: Container) -> Iterator[Input]:
    for block in container.envFrom:
        yield from _references(block)
    for variable in container.env:
        yield from _references(variable)


def _references(one: EnvironmentBlock | EnvironmentVariable) -> Iterator[Input]:
    pairs: tuple[tuple[str, Reference | None], ...]
    if isinstance(one, EnvironmentBlock):
        pairs = (("ConfigMap", one.configMapRef), ("Secret", one.secretRef))
    elif one.valueFrom is not None:
        pairs = (("ConfigMap", one.valueFrom.configMapKeyRef), ("Secret", one.valueFrom.secretKeyRef))
    else:
        pairs = ()
    for kind, reference in pairs:
        if reference is not None and not reference.optional:
            yield Input(kind, reference.name, (reference.key,) if reference.key else ())
