"""The values of a service's chart, computed from a resource and its facts. Pure, and without a secret."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.exposure import ServiceOverride
from stackwright.api.pods import ExtraMounts, Probe
from stackwright.blueprint import configuration, topology_values
from stackwright.blueprint.digests import digest
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import IMAGE_FIELD, Component, Endpoint, Job, Service

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)

# The component that serves an API where the chart is told of no other.
API = "api"
# The keys of the probes in a chart, by the field in the resource.
_PROBES = {"livenessProbes": "liveness", "readinessProbes": "readiness", "startupProbes": "startup"}


def values(service: Service[C, F], resource: C, facts: F, *, restart: str = "") -> JsonObject:
    """Return the values of the chart for what is known now; a job whose inputs are not known is left out.

    `restart` is the id of the last restart that was asked for.
    """
    result: JsonObject = {"image": facts.image}
    if service.name != service.chart_name:
        # Several services share the chart: their pods are told apart by this.
        result["name"] = service.name
    result["components"] = {
        component.name: _component(service, component, resource, facts, restart)
        for component in service.components_of(resource)
    }
    result["components"] |= topology_values.place(service, resource, facts, result["components"])
    if endpoints := service.endpoints_of(resource):
        result["services"] = _services(endpoints, resource)
    jobs = {
        job.name: value for job in service.jobs_of(resource) if (value := job_values(job, resource, facts)) is not None
    }
    if jobs:
        result["jobs"] = jobs
    if service.schedules:
        result["schedules"] = {
            schedule.name: {
                "config": configuration.secret_name(resource),
                "schedule": schedule.when(resource),
                "suspend": schedule.suspended(resource),
            }
            for schedule in service.schedules
        }
    if service.key_rings:
        result["keyRings"] = {ring.name: f"{facts.name}-{ring.name}" for ring in service.key_rings}
    if service.values is not None:
        result |= service.values(resource, facts)
    return result


def select_nodes(service: Service[C, F], resource: C, chosen: JsonObject) -> JsonObject:
    """Return the values of the chart with the nodes of the resource for what is no component, such as jobs.

    Where components have nodes of their own, these are the nodes of the first one. Only these may have the image, or
    reach the database. It is no input of a job, which does not run again for another node.
    """
    own = paths.find(resource, "spec.nodeSelector")
    if own is None:
        own = next((component.template(resource).nodeSelector for component in service.components_of(resource)), None)
    if not own:
        return chosen
    found: JsonObject = {
        word: _on_nodes(chosen[word], own) for word in ("jobs", "schedules", "actions") if word in chosen
    }
    if (provision := chosen.get("provision")) is not None:
        alone = {word: body for word, body in provision.items() if word != "databases"}
        several = {"databases": _on_nodes(provision["databases"], own)} if "databases" in provision else {}
        found["provision"] = {**_on_nodes(alone, own), **several}
    return {**chosen, **found}


def _on_nodes(parts: Mapping[str, JsonObject], selector: Mapping[str, str]) -> JsonObject:
    return {name: {"nodeSelector": dict(selector), **body} for name, body in parts.items()}


def job_values(job: Job[C, F], resource: C, facts: F) -> JsonObject | None:
    """Return the values of a job, including the hash of its name, or None while its inputs are not known."""
    inputs = job.inputs(resource, facts)
    if inputs is None:
        return None
    image = job.image(resource, facts) if job.image is not None else facts.image
    result = {
        "config": configuration.secret_name(resource, job),
        "hash": digest(
            {"image": image, "command": job.command(resource), "provisioning": _provisioning(resource), **inputs}
        ),
    }
    if image != facts.image:
        result["image"] = image
    return result | (job.values(resource, facts) if job.values is not None else {})


def _provisioning(resource: CustomResource) -> str:
    """Return what creates the service's needs, the operator or Jobs: jobs that wait for such Jobs are other Jobs."""
    return str(paths.find(resource, "spec.provisioning") or "")


def _component(service: Service[C, F], component: Component[C, F], resource: C, facts: F, restart: str) -> JsonObject:
    template = component.template(resource)
    # Of a DaemonSet there is one pod on each node.
    result: JsonObject = {} if component.workload == "DaemonSet" else {"replicas": template.replicas}
    if component.command is not None:
        result["config"] = configuration.secret_name(resource)
        result["hash"] = configuration.component_hash(service, component, resource, facts)
    own_image = getattr(template, IMAGE_FIELD, "")
    further = {
        "image": own_image if own_image != facts.image else "",
        "resources": msgspec.to_builtins(template.resources),
        "nodeSelector": template.nodeSelector,
        "probes": _probes(template),
        "annotations": {"openstack.org/restarted": restart} if restart else {},
        **_extra(getattr(template, "extraMounts", ()), _names(service, component)),
    }
    result |= {name: value for name, value in further.items() if value}
    return result | (component.values(resource, facts) if component.values is not None else {})


def _probes(template: Any) -> JsonObject:
    overridden = getattr(getattr(template, "override", None), "probes", None)
    if overridden is None:
        return {}
    found = {name: getattr(overridden, field) for field, name in _PROBES.items()}
    return {name: _probe(probe) for name, probe in found.items() if probe is not None}


def _probe(probe: Probe) -> JsonObject:
    """Return a probe as a pod has it, with only the fields that the user set."""
    said = {name: value for name, value in msgspec.to_builtins(probe).items() if value not in (None, "", [], ())}
    kind, request = said.pop("type", ""), {name: said.pop(name) for name in ("path", "port", "scheme") if name in said}
    command = said.pop("command", None)
    if kind == "Exec" and command:
        said["exec"] = {"command": list(command)}
    elif request:
        said["httpGet"] = request
    return said


def _services(endpoints: Iterable[Endpoint], resource: CustomResource) -> JsonObject:
    found: JsonObject = {}
    for endpoint in endpoints:
        overrides = endpoint.overrides(resource)
        for interface in endpoint.interfaces:
            component = endpoint.component(interface)
            # A chart with one API knows its component.
            served = {"component": component} if endpoint.name or component != API else {}
            found[endpoint.key(interface)] = {**served, **describe_override(overrides.get(interface))}
    return found


def describe_override(override: ServiceOverride | None) -> JsonObject:
    """Return how a Service is reached as the values of a chart say it, if the user overrides it."""
    if override is None:
        return {}
    spec = msgspec.to_builtins(override.spec) if override.spec is not None else {}
    metadata = msgspec.to_builtins(override.metadata) if override.metadata is not None else {}
    settings = {name: value for name, value in spec.items() if value not in (None, "", [], ())}
    kind = settings.pop("type", None)
    result: JsonObject = {name: value for name, value in metadata.items() if value}
    if kind:
        result["type"] = kind
    if settings:
        result["spec"] = settings
    return result


def _names(service: Service[C, F], component: Component[C, F]) -> frozenset[str]:
    """Return by which names a user may mean the pods of a component: Barbican, BarbicanAPI."""
    return frozenset({service.name, f"{service.name}{component.name.replace('-', '')}"})


def _extra(mounts: Iterable[ExtraMounts], names: frozenset[str]) -> JsonObject:
    """Return the further volumes for the pods of these names: those that name nobody, and those that name them."""
    volumes: list[Mapping[str, Any]] = []
    places: list[JsonObject] = []
    for entry in (entry for mount in mounts for entry in mount.extraVol):
        if entry.propagation and names.isdisjoint(name.lower() for name in entry.propagation):
            continue
        volumes.extend(entry.volumes)
        places.extend(msgspec.to_builtins(place) for place in entry.mounts)
    return {"extraVolumes": volumes, "extraMounts": places} if volumes else {}
