"""What a service's resource comes to, given what is there. Pure: it reads caches, through `Seen`, and nothing else."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import Any, Generic, TypeVar

import msgspec

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject, ObjectMeta
from stackwright.api.mariadb import MariaDBAccount
from stackwright.blueprint import actions, configuration, endpoints, options, policies, refused, use, values
from stackwright.blueprint.actions import Course, Traces
from stackwright.blueprint.facts import Endpoints, Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Need, Password, Snippets
from stackwright.blueprint.needs.need import Resolved
from stackwright.blueprint.passwords import NewSecret
from stackwright.blueprint.service import Generated, Service
from stackwright.controllers import database_names, needs, ownership
from stackwright.controllers.known import Known, nothing_known
from stackwright.controllers.service import charts, losses, profiles, rings, snippets, traces, volumes
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.service.rings import Drop, Spread, Turn
from stackwright.kube import builtin, clock
from stackwright.kube.builtin import Job, Node, Plain, Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.children import Child, child
from stackwright.kube.shapes.states import state_of

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


@dataclass(frozen=True)
class Seen:
    """What a pass found: a look into the caches, the pods' owners, the nodes, and logs of actions that have ended.

    `known` lists what else the namespace has: others may claim what the service makes.
    """

    look: Look
    now: datetime
    workloads: tuple[Plain, ...] = ()
    nodes: tuple[Node, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    known: Known = nothing_known


@dataclass(frozen=True)
class Intent(Generic[F]):
    """What to do now. Without `values` there is no release yet, and nothing is pruned while there are waits."""

    facts: F | None = None
    children: tuple[Child, ...] = ()
    waits: tuple[Wait, ...] = ()
    findings: tuple[Finding, ...] = ()
    secrets: tuple[NewSecret, ...] = ()
    values: JsonObject | None = None
    course: Course = field(default_factory=Course)
    turns: tuple[Turn | Spread | Drop, ...] = ()
    # The Secrets of its own that it works with, as the status notes them.
    noted: Mapping[str, str] = field(default_factory=dict)
    # In how many seconds there is something to do that nothing wakes us for.
    wake: float | None = None


def decide(service: Service[C, F], resource: C, seen: Seen, environment: Environment) -> Intent[F]:
    """Return what brings a service closer to its spec."""
    _refuse_taken(resource, seen)
    _refuse_problems(service, resource, seen.look, environment)
    unread = _unread(service, resource)
    if service.elsewhere(resource):
        # Nothing of it is here that could be acted on.
        refused = actions.course(
            resource.spec.actions,  # type: ignore[attr-defined]  # every service has actions
            resource.status.actions,  # type: ignore[attr-defined]  # likewise
            {},
            Traces(),
            clock.seconds(seen.now),
        )
        return Intent(children=_elsewhere(service, resource, seen.look), findings=unread, course=refused)
    if sentence := profiles.problem(service, resource, seen.look):
        raise Blocked(sentence, reason=profiles.FORBIDDEN, condition=declared(resource, "DeploymentReady"))
    image = getattr(resource.spec, "containerImage", "") or _image(service, environment)  # type: ignore[attr-defined]  # every service has a spec
    sight = needs.sight(seen.look)
    resolved = [(need, need.resolve(resource, sight)) for need in service.needs_of(resource)]
    course = actions.course(
        resource.spec.actions,  # type: ignore[attr-defined]  # every service has actions
        resource.status.actions,  # type: ignore[attr-defined]  # likewise
        service.known_actions,
        traces.read(service, resource, seen.look, seen.workloads, seen.logs),
        clock.seconds(seen.now),
    )
    missing = (*_generated(service, resource, seen.look), *rings.missing(service, resource, seen.look))
    input_ready = declared(resource, "InputReady") or declared(resource, "ServiceConfigReady")
    new = losses.accounted(service, resource, missing, input_ready)
    gathered = _gather((*(found for _, found in resolved), charts.resolve(resource, seen.look)))
    common = Intent[F](
        children=gathered.children,
        waits=gathered.waits,
        findings=(*unread, *gathered.findings, *losses.findings(new, input_ready)),
        secrets=(*gathered.secrets, *new),
        course=course,
    )
    if not gathered.ready or common.secrets:
        # Whatever each need says, the configuration is not there before all of them are.
        message = "The configuration is written once all its inputs are known"
        return replace(
            common, waits=(*common.waits, Wait("Waiting", message, declared(resource, "ServiceConfigReady")))
        )
    facts = _facts(service, resource, seen, image, resolved)
    losses.refuse_other_keys(service, resource, facts, input_ready)
    facts, waits = _reached(service, resource, seen, facts)
    completed = _gather(need.complete(resource, facts, sight) for need in service.needs_of(resource))
    common = replace(
        common,
        children=(*common.children, *completed.children),
        waits=(*common.waits, *waits, *completed.waits),
        findings=(*common.findings, *completed.findings),
    )
    facts = _with_done(service, resource, facts, seen.look)
    further = paths.merge(gathered.values, completed.values)
    further |= _sudo(service, environment) | policies.values(service, resource, facts, environment.around)
    return _deployed(service, resource, seen, facts, replace(common, values=further))


def _elsewhere(service: Service[C, F], resource: C, look: Look) -> tuple[Child, ...]:
    """Return what is made for one that runs elsewhere, by those of its passwords that are known."""
    if service.resources_elsewhere is None:
        return ()
    sight = needs.sight(look)
    asked = {need: need.resolve(resource, sight) for need in service.needs_of(resource) if isinstance(need, Password)}
    passwords = {need.selector: entry.fact for need, entry in asked.items() if entry.ready}
    return tuple(child(item) for item in service.resources_elsewhere(resource, passwords))


def _sudo(service: Service[C, F], environment: Environment) -> JsonObject:
    """Return what the chart has to know of an image that starts through sudo."""
    image = environment.images.get(service.image_name)
    return {"sudo": True} if image is not None and image.sudo else {}


def _deployed(service: Service[C, F], resource: C, seen: Seen, facts: F, common: Intent[F]) -> Intent[F]:
    """Return what to do once everything that the service needs is known."""
    restart = common.course.restart or traces.restarted(seen.workloads)
    chart_values = values.values(service, resource, facts, restart=restart) | (common.values or {})
    if common.course.jobs:
        named = {"config": configuration.secret_name(resource)}
        chart_values["actions"] = {name: {**job, **named} for name, job in common.course.jobs.items()}
    due = rings.due(service, resource, facts, seen.look, common.course, seen.now)
    data = {
        name: base64.b64encode(text.encode()).decode()
        for name, text in configuration.secret_data(service, resource, facts).items()
    }
    metadata = ObjectMeta(name=configuration.secret_name(resource))
    condition = declared(resource, "ServiceConfigReady")
    config = (child(Secret(metadata=metadata, data=data), condition=condition),) if data else ()
    further = service.resources(resource, facts) if service.resources else ()
    wanted = tuple(service.children(resource, facts)) if service.children else ()
    exported = service.exports(resource, facts) if service.exports else ()
    return Intent(
        facts=facts,
        children=(
            *common.children,
            *config,
            *(
                volumes.claim(entry, resource, seen.look)
                for entry in (service.volumes(resource) if service.volumes else ())
            ),
            *(child(item) for item in further),
            *(use.secret_of(entry) for entry in exported),
            *(item for item in wanted if isinstance(item, Child)),
        ),
        waits=(*common.waits, *(item for item in wanted if isinstance(item, Wait))),
        findings=common.findings,
        values=chart_values,
        course=actions.waiting(common.course, due.waiting),
        turns=due.steps,
        noted=losses.noted(service, resource, facts, seen.look),
        wake=due.wake,
    )


def _refuse_problems(service: Service[C, F], resource: C, look: Look, environment: Environment) -> None:
    found = (
        *database_names.problems(resource, lambda account: look(MariaDBAccount, account)),
        *refused.problems(service, resource, look, environment.images.get(service.image_name)),
        *_in_secrets(service, resource, look, environment),
    )
    if found:
        message = "; ".join(f"{path}: {sentence}" for path, sentence in found)
        raise Blocked(message, reason="InvalidInput", condition=declared(resource, "InputReady"))


def _in_secrets(service: Service[C, F], resource: C, look: Look, environment: Environment) -> Iterable[tuple[str, str]]:
    """Yield what is wrong with options that the user keeps in Secrets, where it is known which there are."""
    known, spec = options.of(service), resource.spec  # type: ignore[attr-defined]  # every service has a spec
    if known is not None and options.certain(spec, environment.images.get(service.image_name)):
        for need in service.needs_of(resource):
            if isinstance(need, Snippets):
                yield from snippets.problems(need.secrets(resource), known, look)


def _refuse_taken(resource: C, seen: Seen) -> None:
    """Refuse to touch what is another resource's; both are looked at, so that we are woken when one of them goes."""
    found = ownership.taken(resource, seen.known)
    for each in found:
        if each.rival is not None:
            seen.look(type(each.rival), each.rival.metadata.name)
        if each.claim.of is not None:
            seen.look(each.claim.of, each.claim.name)
    if (error := ownership.blocked(found, declared(resource, "InputReady"))) is not None:
        raise error


def _unread(service: Service[C, F], resource: C) -> tuple[Finding, ...]:
    """Return what names the fields that were set and that nothing here reads yet."""
    said = msgspec.to_builtins(resource.spec)  # type: ignore[attr-defined]  # every service has a spec
    ignored = [path for name in service.unread for path in _said_at(said, name.split("."))]
    condition = declared(resource, "InputReady") or declared(resource, "ServiceConfigReady")
    if not ignored or not condition:
        return ()
    names = ", ".join(f"spec.{name}" for name in ignored)
    return (
        Finding(
            condition, "True", "Ready", f"All inputs are there; these fields have no effect in this release: {names}"
        ),
    )


def _said_at(said: Any, steps: list[str]) -> Iterable[str]:
    """Yield the paths at which something was said; `*` is every entry of a map."""
    first, *rest = steps
    for name in said if first == "*" else {first} & said.keys():
        if not rest:
            yield name
        else:
            yield from (f"{name}.{path}" for path in _said_at(said[name], rest))


def _image(service: Service[C, F], environment: Environment) -> str:
    image = environment.images.get(service.image_name)
    if image is None:
        message = f"The image manifest has no component {service.image_name}; add it there, or set spec.containerImage"
        raise Blocked(message, reason="ImageUnknown")
    return image.reference


def _generated(service: Service[C, F], resource: C, look: Look) -> Iterable[NewSecret]:
    for entry in service.secrets:
        if entry.wanted(resource) and look(Secret, entry.name(resource)) is None:
            yield _new(entry, resource)


def _new(entry: Generated[C], resource: C) -> NewSecret:
    return NewSecret(entry.name(resource), lambda source: entry.content(resource, source.password))


def _gather(found: Iterable[Resolved]) -> Resolved:
    entries = tuple(found)
    return Resolved(
        ready=all(entry.ready for entry in entries),
        children=tuple(item for entry in entries for item in entry.children),
        waits=tuple(item for entry in entries for item in entry.waits),
        findings=tuple(item for entry in entries for item in entry.findings),
        secrets=tuple(item for entry in entries for item in entry.secrets),
        values=reduce(paths.merge, (entry.values for entry in entries), {}),
    )


def _facts(service: Service[C, F], resource: C, seen: Seen, image: str, resolved: Iterable[tuple[Need, Resolved]]) -> F:
    """Return the facts of a service: each need fills a field, or an entry of a field that is a map."""
    found: dict[str, Any] = {}
    for need, entry in resolved:
        if need.key:
            found.setdefault(need.name, {})[need.key] = entry.fact
        elif need.name:
            found[need.name] = entry.fact
    return service.facts(
        name=resource.metadata.name,
        namespace=resource.metadata.namespace,
        image=image,
        rings=rings.named(service, resource, seen.look),
        **found,
    )


def _reached(service: Service[C, F], resource: C, seen: Seen, facts: F) -> tuple[F, tuple[Wait, ...]]:
    """Return the facts with the URLs of all APIs that are known, and waits for those that are not."""
    waits: list[Wait] = []
    for endpoint in service.endpoints_of(resource):
        services = {
            interface: seen.look(builtin.Service, f"{resource.metadata.name}-{endpoint.key(interface)}")
            for interface in endpoint.interfaces
        }
        match endpoints.urls(services, endpoint.overrides(resource), seen.nodes, endpoint.port):
            case Endpoints() as urls:
                facts = replace(facts, apis={**facts.apis, endpoint.name: urls})
                facts = replace(facts, endpoints=urls) if endpoint.listed else facts
            case Wait(reason, message) if endpoint.listed:
                waits.append(Wait(reason, message, "CreateServiceReady"))
    return facts, tuple(waits)


def _with_done(service: Service[C, F], resource: C, facts: F, look: Look) -> F:
    """Return the facts with the jobs that are done; one may have inputs only when another is."""
    for job in service.jobs_of(resource):
        wanted = values.job_values(job, resource, facts)
        present = look(Job, f"{facts.name}-{job.name}-{wanted['hash']}") if wanted is not None else None
        if present is not None and state_of(present).status == "True":
            facts = replace(facts, done=facts.done | {job.name})
    return facts


def declared(resource: CustomResource, condition: str) -> str:
    """Return the condition if the kind has it, else the whole."""
    return condition if condition in resource.declared_conditions() else ""
