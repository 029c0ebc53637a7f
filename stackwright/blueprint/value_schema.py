"""The JSON Schema of a chart's values, as it follows from what a service says of itself. Pure.

Every value that a person may set is described here, or in the service's `own_values`; helm refuses all others.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackwright.api.base import JsonObject
from stackwright.blueprint.charts import ANY
from stackwright.blueprint.interfaces import INTERNAL
from stackwright.blueprint.needs.need import Each, Need, Provision
from stackwright.blueprint.service import Component, Endpoint, Schedule, Service
from stackwright.blueprint.value_types import (
    CONFIG,
    DEFINITIONS,
    EVERY,
    HASH,
    JOB,
    POD,
    WORKLOAD,
    closed,
    described,
    name_of,
    refer,
)
from stackwright.blueprint.values import API


def schema(chart: str, services: Iterable[Service[Any, Any]]) -> JsonObject:
    """Return the schema of the values of a chart for the services that it deploys."""
    found = tuple(services)
    properties: JsonObject = dict(EVERY)
    if names := [service.name for service in found if service.name != chart]:
        words = "The service that the release is of, where the chart has several; without it, the chart's own."
        properties["name"] = described(words, {"enum": names})
    for service in found:
        properties |= service.own_values
    properties["components"] = _components([each for service in found for each in service.known_components])
    if any(service.endpoints for service in found):
        properties["services"] = _services(found)
    for word, values in (("keyRings", _key_rings(found)), ("jobs", _jobs(found)), ("actions", _actions(found))):
        properties |= {word: values} if values else {}
    if schedules := {each.name: _schedule(each) for service in found for each in service.schedules}:
        words = "CronJobs <release>-<schedule>; one that is absent is not rendered."
        properties["schedules"] = described(words, closed(schedules))
    if provision := _provision(found):
        properties["provision"] = described("What Jobs of the chart make elsewhere.", closed(provision))
    body = closed(properties)
    named = _are_named(found)
    definitions = dict(DEFINITIONS)
    if named or _may_be_named(found):
        definitions["service"] = _named_service(required=named)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Values of the chart {chart}",
        **body,
        "$defs": _used(body, definitions),
    }


def _components(components: Iterable[Component[Any, Any]]) -> JsonObject:
    words = "What runs; a component that is absent is not rendered."
    return described(words, _by_name({each.name: _component(each) for each in components}))


def _by_name(parts: JsonObject) -> JsonObject:
    """Return the schema of a map whose keys are names of parts, or match a form's."""
    fixed = {name: body for name, body in parts.items() if not name.endswith(ANY)}
    forms = {name: body for name, body in parts.items() if name.endswith(ANY)}
    if not forms:
        return closed(fixed)
    result: JsonObject = {"type": "object", "propertyNames": refer("label")}
    if fixed:
        result["properties"] = fixed
    if begun := {f"^{name.removesuffix(ANY)}": body for name, body in forms.items() if name != ANY}:
        result["patternProperties"] = begun
    return {**result, "additionalProperties": forms.get(ANY, False)}


def _component(component: Component[Any, Any]) -> JsonObject:
    deployed = component.workload == "Deployment"
    properties: JsonObject = {"config": CONFIG if deployed else {**CONFIG, "type": "string"}}
    if not deployed:
        properties["config"].pop("$ref")
    properties |= WORKLOAD
    if component.workload == "DaemonSet":
        del properties["replicas"]
        properties["tolerations"] = described(
            "Taints of nodes that the pods put up with.", {"type": "array", "items": {"type": "object"}}
        )
    if component.data and component.workload != "DaemonSet":
        properties |= _VOLUME if deployed else _STORAGE
    serves = any(port.name == "api" for port in component.ports)
    if deployed:
        properties["stop"] = _stop(serves=serves or bool(component.drain))
    if not serves and (deployed or not component.probes):
        properties |= _STARTED
    properties |= component.own_values
    required = ["config"] if deployed else ["storage"] if "storage" in properties else []
    body = closed(properties, required=required)
    return described(component.description, body) if component.description else body


def _stop(*, serves: bool) -> JsonObject:
    seconds = {"type": "integer", "minimum": 1}
    begun = "requests" if serves else "work that was begun"
    said = {"finish": described(f"Seconds after SIGTERM, in which {begun} may end.", seconds)}
    if serves:
        drain = described("Seconds before SIGTERM, in which the Services forget the pod.", seconds)
        said = {"drain": drain, **said}
    return described("How long a pod takes to end.", closed(said))


_STARTED = {
    "probes": described("The probes; the chart has none but what started asks for.", refer("probes")),
    "started": described(
        "A file that the program makes once it has read its configuration; the pod counts from then on.",
        {"type": "string", "pattern": "^(/[A-Za-z0-9._-]+)*$"},
    ),
}
_CLAIM = {
    "claim": described("The PersistentVolumeClaim with the data; without it there is an empty directory.", name_of()),
    "shared": described("Whether all nodes can write the volume at once (ReadWriteMany).", {"type": "boolean"}),
}
_VOLUME = {"volume": described("The volume of the component.", closed(_CLAIM, required=["claim"]))}
_STORED = {
    "class": described("The StorageClass; empty for the cluster's default.", {"type": "string"}),
    "request": described("Its size.", {"type": ["string", "integer"], "minLength": 1}),
}
_STORAGE = {
    "storage": described(
        "The volume of each node; it is fixed when the release is made, and stays when the release goes.",
        closed(_STORED, required=["request"]),
    )
}


def _services(services: Iterable[Service[Any, Any]]) -> JsonObject:
    words = "The Services of the release."
    ends: JsonObject = {}
    for service in services:
        if callable(service.endpoints) and _named_by_users(service):
            # Users name them, as they name the components.
            named = {"propertyNames": refer("label"), "additionalProperties": refer("service")}
            return {**described(words, {"type": "object"}), **named}
        for endpoint in (Endpoint(port=0),) if callable(service.endpoints) else service.endpoints:
            ends |= {endpoint.key(each): _end(endpoint.key(each), each) for each in endpoint.interfaces}
    return described(words, closed(ends))


def _end(key: str, interface: str) -> JsonObject:
    if interface == INTERNAL:
        return described("The Service for clients within the cluster.", refer("service"))
    return described(f"The Service <release>-{key}; null removes it.", refer("service"))


def _are_named(services: Iterable[Service[Any, Any]]) -> bool:
    """Return whether Services have to say before which component they stand: there are several APIs."""
    return any(
        _named_by_users(service)
        if callable(service.endpoints)
        else any(endpoint.name for endpoint in service.endpoints)
        for service in services
    )


def _may_be_named(services: Iterable[Service[Any, Any]]) -> bool:
    """Return whether Services may say before which component they stand: one of them has no component `api`."""
    exposed = (service for service in services if service.endpoints)
    return any(all(each.name != API for each in service.known_components) for service in exposed)


def _named_service(*, required: bool) -> JsonObject:
    before = described("The component that the Service stands before.", refer("label"))
    service = DEFINITIONS["service"]
    named = {**service, "properties": {"component": before, **service["properties"]}}
    return {**named, "required": ["component"]} if required else named


def _key_rings(services: Iterable[Service[Any, Any]]) -> JsonObject:
    rings = {ring.name: described(ring.description, name_of()) for service in services for ring in service.key_rings}
    words = "The Secrets with the key rings, mounted as the repositories themselves."
    return described(words, closed(rings)) if rings else {}


def _jobs(services: Iterable[Service[Any, Any]]) -> JsonObject:
    jobs: JsonObject = {}
    for job in (job for service in services for job in service.known_jobs):
        body = refer("job")
        if own := _own_of_job(job):
            required = ["config", *(["passwordSecret"] if job.password else [])]
            body = closed({**JOB, **own}, required=required)
        jobs[job.name] = described(job.description, body)
    words = "Jobs <release>-<job>-<hash>; one that is absent is not rendered."
    return described(words, _by_name(jobs)) if jobs else {}


def _own_of_job(job: Any) -> JsonObject:
    password = {"passwordSecret": described("The key of a Secret with the password.", refer("secretKey"))}
    return {**job.own_values, **(password if job.password else {})}


def _actions(services: tuple[Service[Any, Any], ...]) -> JsonObject:
    jobs = [job for service in services for job in service.known_jobs]
    names = [*(job.name for job in jobs), *(each.name for service in services for each in service.schedules)]
    if not names:
        return {}
    own = {name: value for job in jobs for name, value in _own_of_job(job).items()}
    limits = {"maxLength": 40, "minLength": 1}
    properties = {
        "job": described("The job or schedule that the action runs once more.", _one_of(names)),
        **JOB,
        "hash": described("The id of the action; it runs once for each.", {**DEFINITIONS["hash"], **limits}),
        **own,
    }
    return {
        **described("What somebody asked for, once: Jobs <release>-action-<name>-<hash>.", {"type": "object"}),
        "propertyNames": {"pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 30},
        "additionalProperties": closed(properties, required=["job", "hash"]),
    }


def _one_of(names: list[str]) -> JsonObject:
    """Return the schema of a name that is one of these, or matches a form's."""
    if not any(name.endswith(ANY) for name in names):
        return {"enum": names}
    begun = "|".join(f"{name.removesuffix(ANY)}.*" if name.endswith(ANY) else name for name in names)
    return {"type": "string", "pattern": f"^({begun})$"}


def _schedule(schedule: Schedule[Any, Any]) -> JsonObject:
    properties = {
        "schedule": described("When it runs, as cron writes it.", {"type": "string", "minLength": 1}),
        "suspend": described("Whether it rests.", {"type": "boolean"}),
        "config": CONFIG,
        "hash": HASH,
        **POD,
    }
    return described(schedule.description, closed(properties, required=["config", "schedule"]))


def _provision(services: tuple[Service[Any, Any], ...]) -> JsonObject:
    made = {entry.value: entry for service in services for of in service.need_types for entry in of.provisions}
    found = {name: entry.schema for name, entry in sorted(made.items())}
    further = {entry for service in services for need in service.needs for entry in _several(need)}
    for entry in further:
        found[entry.several] = {**described(entry.words, {"type": "object"}), **_by_name({ANY: entry.schema})}
    return found


def _several(need: Need | Each) -> Iterator[Provision]:
    """Yield what the chart may make further ones of for a need: not for one that fills the usual field of the facts."""
    of = need.of if isinstance(need, Each) else (type(need),)
    for entry in (entry for each in of for entry in each.provisions if entry.several):
        if isinstance(need, Each) or need.name != entry.value or need.key:
            yield entry


def _used(body: JsonObject, definitions: Mapping[str, JsonObject]) -> JsonObject:
    """Return the definitions that are referred to, from the body or from each other."""
    used: JsonObject = {}
    waiting = list(_references(body))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = definitions[name]
            waiting += _references(definitions[name])
    return {name: used[name] for name in definitions if name in used}


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        if isinstance(part.get("$ref"), str):
            yield str(part["$ref"]).rpartition("/")[2]
        for inner in part.values():
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _named_by_users(service: Service[Any, Any]) -> bool:
    """Return whether users choose the names of components, and so of APIs."""
    return any(form.name.endswith("*") for form in service.forms)
