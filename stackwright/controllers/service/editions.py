"""Editions of a service's configuration: what former pods started with stays there for them. Pure.

Pods read their configuration when they start. If the Secret that they mount followed the spec at once, a good pod that
starts again while a bad value is on its way (its node is drained, its process dies) would fail like the new ones. So
pods mount `<name>-config-data` as long as it has what they start with, and another configuration begins as an edition:
an immutable Secret that is named for its content. `<name>-config-data` follows as soon as no pod reads anything else
there, and none can come that would; until then new jobs mount editions as well.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stackwright.api.base import CustomResource, JsonObject, ObjectMeta
from stackwright.blueprint import configuration
from stackwright.blueprint.configuration import Configured
from stackwright.blueprint.digests import digest
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.service import Service
from stackwright.controllers.service import failed_jobs, labels, references
from stackwright.kube.builtin import Deployment, Job, Plain, Pod, Secret
from stackwright.kube.shapes.child import Child, child
from stackwright.kube.shapes.states import is_ready, state_of

# How many editions of a part stay though no pod mounts them, the newest: for a release that is rolled back.
SPARE = 3
# The phases of pods that read nothing any more.
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Reader:
    """What pods of a component read: those that are there, or those that a workload would create.

    While a workload is `rolling`, pods of its former template may still be created. A `leaver` stays while others roll,
    if nobody asks for it any more (`kube.shapes.leaving`).
    """

    component: str
    mounted: frozenset[str]
    hash: str
    rolling: bool = False
    leaver: bool = False

    def has(self, wanted: str) -> bool:
        """Return whether it reads a configuration; a user's own chart need not say which one its pods have."""
        return self.hash in ("", wanted)


def find(service: Service[Any, Any], resource: CustomResource, there: Iterable[Secret]) -> tuple[Secret, ...]:
    """Return the editions that a resource has, also those that have no owner since its release was given to helm."""
    before = f"{configuration.secret_name(resource)}-"
    return tuple(
        secret
        for secret in there
        if secret.immutable
        and secret.metadata.name.startswith(before)
        and labels.instance_of(secret, service.name) == resource.key
        # Those of a resource that had the name before go with it.
        and not secret.deleting
        and (secret.metadata.controller is None or secret.metadata.controller.uid == resource.metadata.uid)
    )


def list_readers(workloads: Iterable[Plain], pods: Iterable[Pod]) -> tuple[Reader, ...]:
    """Return who reads the configuration.

    Workloads count for themselves: a StatefulSet has no pod for a moment when one is deleted. A pod that is on its way
    out counts until its workload has rolled: before that, one like it takes its place.
    """
    workloads = tuple(workloads)
    rolled = {_component_of(workload) for workload in workloads if state_of(workload).status == "True"}
    running = (
        pod
        for pod in pods
        if pod.status.get("phase") not in _ENDED and not (pod.deleting and _component_of(pod) in rolled)
    )
    return (
        *(_template_of(workload, rolling=_component_of(workload) not in rolled) for workload in workloads),
        *(_reader(_component_of(pod), pod.metadata.annotations, pod.spec) for pod in running),
    )


def _template_of(workload: Plain, *, rolling: bool) -> Reader:
    template = workload.spec["template"]
    read = _reader(_component_of(workload), labels.annotations_of(template), template["spec"])
    # What a user's own chart has beside our components does not say what it reads, and stays for good.
    return replace(read, rolling=rolling, leaver=isinstance(workload, Deployment) and bool(read.hash))


def _component_of(resource: Plain) -> str:
    return resource.metadata.labels.get(labels.COMPONENT, "")


def _reader(component: str, annotations: Mapping[str, str], pod: JsonObject) -> Reader:
    mounted = frozenset(references.list_secrets(pod))
    return Reader(component, mounted, annotations.get(labels.CONFIG_HASH, ""))


def list_jobs(
    secret: str, jobs: Mapping[str, Job | None], parts: Mapping[str, Configured], kept: Mapping[str, str] | None
) -> dict[str, str]:
    """Return what the jobs that are there mount of a configuration: its Secret, or an edition.

    `kept` is what the Secret has, where it stays as it is. A job is not left to fail again and again because of what it
    reads: one that fails, and has something else than is asked for now, counts as not there.
    """
    found: dict[str, str] = {}
    for name, job in jobs.items():
        if job is None:
            continue
        mounted = references.list_secrets(references.pod_of(job.spec))
        own = sorted(entry for entry in mounted if entry == secret or entry.startswith(f"{secret}-"))
        if own and (not failed_jobs.is_failing(job) or _has_wanted(own[0], secret, name, parts, kept)):
            found[name] = own[0]
    return found


def _has_wanted(
    mounted: str, secret: str, job: str, parts: Mapping[str, Configured], kept: Mapping[str, str] | None
) -> bool:
    if mounted != secret:
        return mounted == _name_for_job(secret, job, parts)
    wanted = encode(dict(parts[job].data))
    return kept is None or all(kept.get(file) == text for file, text in wanted.items())


def is_in_use(secret: str, components: Mapping[str, JsonObject], readers: Iterable[Reader]) -> bool:
    """Return whether pods read something in a Secret that is not what is asked for now, or may have to.

    A workload that is on its way from the Secret to an edition creates former pods again if these go, and one that is
    not asked for any more does so until it goes.
    """
    readers = tuple(readers)
    if any(reader.leaver and reader.component not in components and secret in reader.mounted for reader in readers):
        return True
    return any(
        (reader.rolling and secret not in reader.mounted)
        or (secret in reader.mounted and not reader.has(components[reader.component].get("hash", "")))
        for reader in readers
        if components.get(reader.component, {}).get("config") == secret
    )


def is_proven(components: Mapping[str, JsonObject], workloads: Iterable[Plain], pods: Iterable[Pod]) -> bool:
    """Return whether all that runs has a pod that is ready with what is asked for now."""
    ready = [
        _reader(_component_of(pod), pod.metadata.annotations, pod.spec)
        for pod in pods
        if not pod.deleting and is_ready(pod)
    ]
    running = {_component_of(workload) for workload in workloads if workload.spec.get("replicas", 1) > 0}
    return all(
        any(reader.component == name and reader.has(said.get("hash", "")) for reader in ready)
        for name, said in components.items()
        if name in running
    )


def place(
    secret: str,
    values: JsonObject,
    parts: Mapping[str, Configured],
    readers: Iterable[Reader],
    jobs: Mapping[str, str],
    *,
    in_use: bool,
) -> JsonObject:
    """Return the values of a chart in which parts that cannot mount a Secret mount editions.

    `in_use` says that the Secret stays as it is for the former pods. What schedules and actions run does with that.
    A job does not: it prepares what the new pods need. `jobs` are the Secrets that the jobs that are there mount.
    """
    readers = tuple(readers)
    read = [reader for reader in readers if secret in reader.mounted]
    running = {reader.component for reader in readers}
    components, tasks = dict(values["components"]), dict(values.get("jobs", {}))
    for name, said in components.items():
        # What runs with this configuration goes on: nothing is restarted for a name.
        stays = any(reader.component == name and reader.has(said.get("hash", "")) for reader in read)
        stays = stays or (name not in running and not in_use)
        if said.get("config") == secret and not stays:
            components[name] = {**said, "config": _name(secret, name, said["hash"])}
    for name, said in tasks.items():
        if said.get("config") == secret and (name in jobs or in_use):
            # One that is there is not made again for a name, either.
            tasks[name] = {**said, "config": jobs.get(name) or _name_for_job(secret, name, parts)}
    return {**values, "components": components, **({"jobs": tasks} if tasks else {})}


def _name(secret: str, part: str, named: str) -> str:
    return f"{secret}-{part}-{named}"


def _name_for_job(secret: str, job: str, parts: Mapping[str, Configured]) -> str:
    """Return the name of the edition with what a job reads now; the hash of a job is that of its inputs."""
    return _name(secret, job, digest(dict(parts[job].data)))


def list_wanted(
    service: Service[Any, Any], resource: CustomResource, values: JsonObject, parts: Mapping[str, Configured]
) -> Iterator[Child]:
    """Yield the editions that the parts of a chart's values mount, as far as they have what these read now."""
    secret = configuration.secret_name(resource)
    mounted = {
        name: said["config"]
        for name, said in values["components"].items()
        if "hash" in said and said["config"] == _name(secret, name, said["hash"])
    }
    mounted |= {
        name: said["config"]
        for name, said in values.get("jobs", {}).items()
        if said["config"].startswith(f"{secret}-") and said["config"] == _name_for_job(secret, name, parts)
    }
    for name, edition in mounted.items():
        marks = {labels.NAME: service.name, labels.INSTANCE: resource.metadata.name, labels.COMPONENT: name}
        yield _edition(edition, marks, encode(dict(parts[name].data)))


def list_spare(
    there: Iterable[Secret], wanted: Iterable[Child], readers: Iterable[Reader], parts: Container[str]
) -> Iterator[Child]:
    """Yield the former editions that stay: those that pods mount, and the newest of each part that there is."""
    mounted = {name for reader in readers for name in reader.mounted}
    now = {item.key.name for item in wanted}
    left: dict[str, int] = {}
    for secret in sorted(there, key=_age, reverse=True):
        part = secret.metadata.labels.get(labels.COMPONENT, "")
        left[part] = left.get(part, SPARE) - 1
        spare = left[part] >= 0 and part in parts
        if secret.metadata.name not in now and (spare or secret.metadata.name in mounted):
            yield _edition(secret.metadata.name, secret.metadata.labels, secret.data)


def _edition(name: str, marks: Mapping[str, str], data: dict[str, str]) -> Child:
    return child(Secret(metadata=ObjectMeta(name=name, labels=dict(marks)), data=data, immutable=True))


def _age(secret: Secret) -> tuple[str, int, str]:
    # Two changes within a second follow each other by their versions: nobody writes what is immutable.
    return secret.metadata.creationTimestamp, int(secret.metadata.resourceVersion or 0), secret.metadata.name
