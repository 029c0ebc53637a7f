"""Trials of a StatefulSet's new image and configuration, before they replace pods that serve. Pure.

A Deployment starts a new pod beside the old one, and keeps the old one if the new one does not come up. A StatefulSet
cannot do this, because each volume, and each name, belongs to one pod. While its pods serve, a new image, or new
configuration that can be tried without the data, therefore runs in a Job first. If the image cannot be pulled, or the
program refuses its configuration, the StatefulSet stays as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import configuration, names
from stackwright.blueprint.digests import digest
from stackwright.blueprint.service import Component, Service
from stackwright.controllers import release
from stackwright.controllers.looks import Looker
from stackwright.controllers.service import labels, pods
from stackwright.kube.builtin import Job, Pod, Secret, StatefulSet
from stackwright.kube.conditions import Finding, declared
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.states import STUCK, state_of

# The component in the labels of trial pods; no Service and no StatefulSet selects it.
COMPONENT = "trial"
# Enough for a program that only reads its configuration.
_RESOURCES: JsonObject = {"requests": {"cpu": "10m", "memory": "64Mi"}}
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


@dataclass(frozen=True)
class Held:
    """The objects that may be applied, the Jobs that try those that are held back, and the waits."""

    bodies: tuple[JsonObject, ...]
    trials: tuple[Child, ...] = ()
    waits: tuple[Wait, ...] = ()


def hold_back(
    service: Service[Any, Any],
    resource: Any,
    bodies: Iterable[JsonObject],
    beside_it: Iterable[Child],
    look: Looker,
) -> Held:
    """Return the objects of a release, except those whose change has not been tried yet.

    `beside_it` are the other children of the resource; the configuration is among them.
    """
    components = {component.name: component for component in service.components_of(resource)}
    written = _is_written(resource, beside_it, look)
    applied: list[JsonObject] = []
    trials: list[Child] = []
    waits: list[Wait] = []
    for body in bodies:
        component = components.get(labels.component_of(body))
        present = look(StatefulSet, body["metadata"]["name"]) if release.type_of(body) is StatefulSet else None
        if component is None or present is None or not is_risky(component, present, body):
            applied.append(body)
            continue
        trial = job_of(component, resource, body)
        done = look(Job, trial["metadata"]["name"])
        if done is not None and state_of(done).status == "True":
            # The Job stays until the StatefulSet has the tried image and configuration.
            applied.append(body)
        else:
            condition = declared(resource, "DeploymentReady")
            name = present.metadata.name
            message = f"StatefulSet {name} keeps its pods until a trial of its new image and configuration succeeds"
            waits.append(Wait("Trial", message, condition))
        if written:
            trials.append(_child(trial, present, resource, service, look))
    return Held(tuple(applied), tuple(trials), tuple(waits))


def is_risky(component: Component[Any, Any], present: StatefulSet, wanted: JsonObject) -> bool:
    """Return whether a change would replace pods that serve by pods with another image or configuration.

    A component without data that says no trial, such as a cache, is not tried, because it recovers quickly.
    """
    if not component.data and not component.trial:
        return False
    serving = present.status.get("readyReplicas", 0) > 0 and wanted["spec"].get("replicas", 1) > 0
    return serving and _started_with(component, present.spec["template"]) != _started_with(
        component, wanted["spec"]["template"]
    )


def _started_with(component: Component[Any, Any], template: Mapping[str, Any]) -> JsonObject:
    """Return what a trial can test of pods: their images, and the hash of their configuration if it can be tried."""
    spec = template["spec"]
    images = [entry.get("image", "") for entry in (*(spec.get("initContainers") or ()), *spec["containers"])]
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    read = annotations.get(labels.CONFIG_HASH, "") if component.trial else ""
    return {"images": images, "configuration": read}


def job_of(component: Component[Any, Any], resource: CustomResource, wanted: JsonObject) -> JsonObject:
    """Return the Job that tries the image and configuration of a StatefulSet's new pods."""
    template = wanted["spec"]["template"]
    named = digest({"of": _started_with(component, template), "trial": component.trial})
    spec = template["spec"]
    claims = [entry["metadata"]["name"] for entry in wanted["spec"].get("volumeClaimTemplates") or ()]
    pod = {name: spec[name] for name in _POD if name in spec}
    pod["volumes"] = [*(pod.get("volumes") or ()), *({"name": name, "emptyDir": {}} for name in claims)]
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


def _is_written(resource: CustomResource, beside_it: Iterable[Child], look: Looker) -> bool:
    """Return whether the Secret already has the configuration to be tried; a pod reads whatever it has."""
    name = configuration.secret_name(resource)
    wanted = next((item.body["data"] for item in beside_it if item.of is Secret and item.key.name == name), None)
    present = look(Secret, name)
    return wanted is None or (present is not None and present.data == wanted)


def _child(trial: JsonObject, present: StatefulSet, resource: Any, service: Service[Any, Any], look: Looker) -> Child:
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
        message = f"StatefulSet {present.metadata.name} keeps its pods, because a trial of the change failed: {why}"
        return Finding("", "False", STUCK, message, "Warning")

    return Child(Job, trial, declared(resource, "DeploymentReady"), state, once=True)
