"""Trials of a workload's new image and configuration, before they replace pods that serve. Pure.

A Deployment starts a new pod beside the old one, and keeps the old one if the new one does not come up. A StatefulSet
cannot do this, because each volume, and each name, belongs to one pod; nor can a DaemonSet, which has one pod on each
node. While its pods serve, a new image, or new configuration that can be tried without the data, therefore runs in a
Job first. If the image cannot be pulled, or the program refuses its configuration, the workload stays as it is.

A field that somebody else set stays theirs, and is not applied. So what is tried is what pods would start with after an
apply: their image where it is theirs, ours where it is ours.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import names
from stackwright.blueprint.digests import digest
from stackwright.blueprint.service import Component, Service
from stackwright.controllers import release
from stackwright.controllers.looks import Looker
from stackwright.controllers.service import labels, pods, references
from stackwright.kube.builtin import DaemonSet, Job, Plain, Pod, Secret, StatefulSet
from stackwright.kube.conditions import Finding, declared
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.states import STUCK, state_of

# The workloads whose pods are replaced in place.
KINDS: tuple[type[Plain], ...] = (StatefulSet, DaemonSet)
# The component in the labels of trial pods; no Service and no workload selects it.
COMPONENT = "trial"
# Enough for a program that reads its configuration and makes what that names, but serves nobody.
_RESOURCES: JsonObject = {"requests": {"cpu": "10m", "memory": "128Mi"}}
# The fields of a container that a trial copies.
_KEPT = ("name", "image", "imagePullPolicy", "env", "envFrom", "securityContext", "volumeMounts")
# The fields of the pod that it copies, so that it can run on the same nodes with the same rights.
_POD = (
    "automountServiceAccountToken",
    "enableServiceLinks",
    "imagePullSecrets",
    "nodeSelector",
    "runtimeClassName",
    "securityContext",
    "serviceAccountName",
    "tolerations",
    "volumes",
)
# Pods of a DaemonSet run on cordoned nodes too, so their trial does.
_CORDONED: JsonObject = {
    "key": "node.kubernetes.io/unschedulable",
    "operator": "Exists",
    "effect": "NoSchedule",
}


@dataclass(frozen=True)
class Change:
    """A workload whose pods would start with another image or configuration than those that serve.

    `theirs` are the paths of its fields that others own, as the server writes them.
    """

    component: Component[Any, Any]
    present: Plain
    wanted: JsonObject
    theirs: Collection[str] = ()

    @property
    def is_risky(self) -> bool:
        """Whether an apply would replace pods that serve by pods with another image or configuration.

        An image is tried for every component: also that of a cache may not exist, and then its one pod would not come
        back.
        """
        serving = pods.count_ready(self.present) > 0 and self.wanted["spec"].get("replicas", 1) > 0
        return serving and _started_with(self.component, self.present.spec["template"]) != self.started_with

    @property
    def started_with(self) -> JsonObject:
        """What a trial can test of the pods that an apply would create."""
        return _started_with(self.component, applied_template(self))


@dataclass(frozen=True)
class Held:
    """The objects that must not be applied yet, the Jobs that try what they change, and the waits for these."""

    bodies: tuple[JsonObject, ...] = ()
    trials: tuple[Child, ...] = ()
    waits: tuple[Wait, ...] = ()


def find_changes(
    service: Service[Any, Any], resource: Any, bodies: Iterable[JsonObject], look: Looker
) -> tuple[Change, ...]:
    """Return the workloads of a release whose pods would start with something else, if all fields were ours."""
    components = {component.name: component for component in service.components_of(resource)}
    found: list[Change] = []
    for body in bodies:
        component = components.get(labels.component_of(body))
        kind = next((kind for kind in KINDS if release.type_of(body) is kind), None)
        present = look(kind, body["metadata"]["name"]) if kind is not None else None
        if component is not None and present is not None:
            found.append(Change(component, present, body))
    return tuple(change for change in found if change.is_risky)


def hold_back(
    service: Service[Any, Any], resource: Any, changes: Iterable[Change], beside_it: Iterable[Child], look: Looker
) -> Held:
    """Return which changes are held back because they have not been tried yet.

    `beside_it` are the other children of the resource; the Secrets with its configuration are among them.
    """
    written = {item.key.name: item.body for item in beside_it if item.of is Secret}
    bodies: list[JsonObject] = []
    trials: list[Child] = []
    waits: list[Wait] = []
    for change in changes:
        if not change.is_risky:
            continue
        trial = job_of(change, resource)
        done = look(Job, trial["metadata"]["name"])
        # The Job stays until the workload has the tried image and configuration.
        if done is None or state_of(done).status != "True":
            bodies.append(change.wanted)
            condition = declared(resource, "DeploymentReady")
            name = _name(change.present)
            message = f"{name} keeps its pods until a trial of its new image and configuration succeeds"
            waits.append(Wait("Trial", message, condition))
        if _is_written(trial, written, look):
            trials.append(_child(trial, change.present, resource, service, look))
    return Held(tuple(bodies), tuple(trials), tuple(waits))


def applied_template(change: Change) -> JsonObject:
    """Return the pod template that an apply would leave: what others own of it stays as it is."""
    wanted, present = change.wanted["spec"]["template"], change.present.spec["template"]
    spec: JsonObject = dict(wanted["spec"])
    for part in ("initContainers", "containers"):
        ours = {entry["name"]: entry for entry in spec.get(part) or ()}
        there = {entry["name"]: entry for entry in present["spec"].get(part) or ()}
        images = {name: there[name].get("image", "") for name in there if _image_path(part, name) in change.theirs}
        kept = [{**entry, "image": images.get(name, entry.get("image", ""))} for name, entry in ours.items()]
        # A container that somebody added stays too.
        kept.extend(there[name] for name in images if name not in ours)
        spec[part] = kept
    annotations = labels.annotations_of(wanted)
    if f".spec.template.metadata.annotations.{labels.CONFIG_HASH}" in change.theirs:
        annotations = {**annotations, labels.CONFIG_HASH: labels.annotations_of(present).get(labels.CONFIG_HASH, "")}
    return {**wanted, "metadata": {**(wanted.get("metadata") or {}), "annotations": annotations}, "spec": spec}


def _image_path(part: str, container: str) -> str:
    return f'.spec.template.spec.{part}[name="{container}"].image'


def _started_with(component: Component[Any, Any], template: Mapping[str, Any]) -> JsonObject:
    """Return what a trial can test of pods: their images, and the hash of their configuration if it can be tried."""
    spec = template["spec"]
    images = {
        part: {entry["name"]: entry.get("image", "") for entry in spec.get(part) or ()}
        for part in ("initContainers", "containers")
    }
    read = labels.annotations_of(template).get(labels.CONFIG_HASH, "") if component.trial else ""
    return {"images": images, "configuration": read}


def job_of(change: Change, resource: CustomResource) -> JsonObject:
    """Return the Job that tries the image and configuration of a workload's new pods."""
    component, wanted, template = change.component, change.wanted, applied_template(change)
    # Two workloads of a resource may have the same image, and not the same containers.
    named = digest({"of": change.started_with, "trial": component.trial, "component": component.name})
    spec = template["spec"]
    claims = [entry["metadata"]["name"] for entry in wanted["spec"].get("volumeClaimTemplates") or ()]
    pod = {name: spec[name] for name in _POD if name in spec}
    pod["volumes"] = [
        *map(_without_host, pod.get("volumes") or ()),
        *({"name": name, "emptyDir": {}} for name in claims),
    ]
    if isinstance(change.present, DaemonSet):
        pod["tolerations"] = [*(pod.get("tolerations") or ()), _CORDONED]
    command = component.trial or "true"
    pod["containers"] = [
        _container(entry, command if number == 0 else "true") for number, entry in enumerate(_each_image(spec))
    ]
    pod["restartPolicy"] = "Never"
    marks = {**template["metadata"]["labels"], labels.COMPONENT: COMPONENT}
    return {
        "apiVersion": Job.kind.api_version,
        "kind": Job.kind.name,
        "metadata": {
            "name": names.job(resource.metadata.name, COMPONENT, named),
            "namespace": resource.metadata.namespace,
            "labels": marks,
        },
        "spec": {"backoffLimit": 1, "template": {"metadata": {"labels": marks}, "spec": pod}},
    }


def _without_host(volume: JsonObject) -> JsonObject:
    """Return a volume that is the trial's own where the pods have a folder of the machine."""
    return {"name": volume["name"], "emptyDir": {}} if "hostPath" in volume else volume


def _each_image(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return one container for each image, beginning with the pod's first container."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in (*spec["containers"], *(spec.get("initContainers") or ())):
        found.setdefault(entry.get("image", ""), entry)
    return tuple(found.values())


def _container(entry: Mapping[str, Any], command: str) -> JsonObject:
    kept = {name: entry[name] for name in _KEPT if name in entry}
    # The last lines of its output then appear in the pod's status, and in the condition.
    return {
        **kept,
        "command": ["sh", "-c", command],
        "resources": _RESOURCES,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _is_written(trial: JsonObject, written: Mapping[str, JsonObject], look: Looker) -> bool:
    """Return whether the Secrets that are ours already have what is to be tried; a pod reads whatever they have."""
    for name in references.list_secrets(references.pod_of(trial["spec"])) & written.keys():
        present = look(Secret, name)
        if present is None or present.data != written[name]["data"]:
            return False
    return True


def _child(trial: JsonObject, present: Plain, resource: Any, service: Service[Any, Any], look: Looker) -> Child:
    mine = [
        pod
        for pod in look.all(Pod)
        if labels.instance_of(pod, service.name) == resource.key
        and pod.metadata.labels.get(labels.COMPONENT) == COMPONENT
    ]

    def state(job: Resource) -> Finding:
        said = state_of(job)
        if said.status == "True":
            return said
        own = [pod for pod in mine if labels.belongs(pod, job)]
        why = pods.trouble(own) or (said.message if said.severity == "Error" else "")
        if not why:
            return said
        message = f"{_name(present)} keeps its pods, because a trial of the change failed: {why}"
        return Finding("", "False", STUCK, message, "Warning")

    return Child(Job, trial, declared(resource, "DeploymentReady"), state, once=True)


def _name(workload: Resource) -> str:
    return f"{workload.kind.name} {workload.metadata.name}"
