"""What a service's resource comes to, given what is there. Pure: it reads caches, through `Seen`, and nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, TypeVar

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject, ObjectMeta
from stackwright.blueprint import actions, configuration, ini, names, policies, use, values
from stackwright.blueprint.actions import Course, Traces
from stackwright.blueprint.children import find_ready, name_child, put_in_order
from stackwright.blueprint.digests import digest
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.generated import Generated
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Password
from stackwright.blueprint.needs.need import Noted
from stackwright.blueprint.passwords import NewSecret, Source
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import spec_of, status_of
from stackwright.blueprint.use import Used
from stackwright.controllers import needs
from stackwright.controllers.service import (
    charts,
    editions,
    inputs,
    job_nodes,
    listed_api,
    losses,
    profiles,
    refusals,
    rings,
    traces,
    volumes,
)
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.service.rings import Step
from stackwright.controllers.surroundings import Known, nothing_known
from stackwright.kube import clock
from stackwright.kube.builtin import Job, Node, Plain, Pod, Secret
from stackwright.kube.conditions import Finding, declared
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.child import Child, child

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


@dataclass(frozen=True)
class Seen:
    """What a pass found: a look into the caches, the pods' owners, the nodes, and logs of actions that have ended.

    `known` lists what else the namespace has: others may claim what the service makes. `editions` are those of its
    configuration.
    """

    look: Look
    now: datetime
    workloads: tuple[Plain, ...] = ()
    nodes: tuple[Node, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    known: Known = nothing_known
    pods: tuple[Pod, ...] = ()
    editions: tuple[Secret, ...] = ()


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
    turns: tuple[Step, ...] = ()
    # The Secrets of its own that it works with, as the status notes them.
    noted: Mapping[str, str] = field(default_factory=dict)
    # What others export and it reads, as it was read now.
    used: tuple[Used, ...] = ()
    # What to write on objects once nothing works with anything else than what was read now.
    settled: tuple[Noted, ...] = ()
    # In how many seconds there is something to do that nothing wakes us for.
    wake: float | None = None


def decide(service: Service[C, F], resource: C, seen: Seen, environment: Environment) -> Intent[F]:
    """Return what brings a service closer to its spec."""
    refusals.refuse_taken(resource, seen.look, seen.known)
    refusals.refuse_problems(service, resource, seen.look, environment)
    unread = refusals.name_unread(service, resource)
    if service.elsewhere(resource):
        # Nothing of it runs here, so no action can be carried out.
        refused = actions.course(
            spec_of(resource).actions,
            status_of(resource).actions,
            {},
            Traces(),
            clock.seconds(seen.now),
        )
        return Intent(children=_elsewhere(service, resource, seen.look), findings=unread, course=refused)
    if sentence := profiles.problem(service, resource, seen.look):
        raise Blocked(sentence, reason=profiles.FORBIDDEN, condition=declared(resource, "DeploymentReady"))
    image = service.asked_image(resource) or (_image(service, environment) if service.has_chart else "")
    sight = needs.sight(seen.look)
    resolved = [(need, need.resolve(resource, sight)) for need in service.needs_of(resource)]
    course = actions.course(
        spec_of(resource).actions,
        status_of(resource).actions,
        service.known_actions,
        traces.read(service, resource, seen.look, seen.workloads, seen.logs),
        clock.seconds(seen.now),
    )
    missing = (*_generated(service, resource, seen.look), *rings.missing(service, resource, seen.look))
    input_ready = declared(resource, "InputReady") or declared(resource, "ServiceConfigReady")
    new = losses.accounted(service, resource, missing, input_ready)
    gathered = inputs.gather_needs(resolved, charts.resolve(resource, seen.look))
    common = Intent[F](
        children=gathered.children,
        waits=gathered.waits,
        findings=(*unread, *gathered.findings, *losses.findings(new, input_ready)),
        secrets=(*gathered.secrets, *new),
        course=course,
    )
    if not gathered.ready or any(not entry.apart for entry in common.secrets):
        # Whatever each need says, the configuration is not there before all of them are.
        message = "The configuration is written once all its inputs are known"
        return replace(
            common, waits=(*common.waits, Wait("Waiting", message, declared(resource, "ServiceConfigReady")))
        )
    facts = inputs.facts_of(service, resource, seen.look, image, resolved)
    losses.refuse_other_keys(service, resource, facts, input_ready)
    facts, waits = inputs.with_urls(service, resource, seen.look, seen.nodes, facts)
    facts, announced = listed_api.with_listed(service, resource, facts, seen.look, seen.pods)
    completed = inputs.gather(need.complete(resource, facts, sight) for need in service.needs_of(resource))
    common = replace(
        common,
        children=_replaced(common.children, completed.children),
        waits=(*common.waits, *waits, *announced.waits, *completed.waits),
        findings=(*common.findings, *announced.findings, *completed.findings),
    )
    facts = inputs.with_done(service, resource, facts, seen.look, seen.now)
    further = paths.merge(gathered.values, completed.values)
    further |= _sudo(service, environment) | policies.values(service, resource, facts, environment.around)
    try:
        return _deployed(service, resource, seen, facts, replace(common, values=further))
    except ini.Unwritable as error:
        # It names the option, and not the value, which may be a password.
        message = f"A value of the spec, or of a Secret that it names, cannot be written into a file: {error}"
        raise Blocked(message, reason="InvalidInput", condition=input_ready) from error


def _elsewhere(service: Service[C, F], resource: C, look: Look) -> tuple[Child, ...]:
    """Return what is made for one that runs elsewhere, by those of its passwords that are known."""
    if service.resources_elsewhere is None:
        return ()
    sight = needs.sight(look)
    asked = {need: need.resolve(resource, sight) for need in service.needs_of(resource) if isinstance(need, Password)}
    passwords = {need.key: entry.fact for need, entry in asked.items() if entry.ready}
    return tuple(child(item) for item in service.resources_elsewhere(resource, passwords))


def _sudo(service: Service[C, F], environment: Environment) -> JsonObject:
    """Return what the chart has to know of an image that starts through sudo."""
    image = environment.images.get(service.image_name)
    return {"sudo": True} if image is not None and image.sudo else {}


def _deployed(service: Service[C, F], resource: C, seen: Seen, facts: F, common: Intent[F]) -> Intent[F]:
    """Return what to do once everything that the service needs is known."""
    wanted = tuple(service.children(resource, facts)) if service.children else ()
    others = (*(job.name for job in service.jobs_of(resource)), *map(name_child, common.children))
    done = facts.done | find_ready(common.children, seen.look)
    below, below_waits = put_in_order(wanted, others, done, seen.look)
    restart = common.course.restart or traces.restarted(seen.workloads)
    chart_values = values.values(service, resource, facts, restart=restart) | (common.values or {})
    if common.course.jobs:
        by_name = {job.name: job for job in service.jobs_of(resource)}
        chart_values["actions"] = {
            name: {**job, "config": configuration.secret_name(resource, by_name.get(job["job"]))}
            for name, job in common.course.jobs.items()
        }
    chart_values = values.select_nodes(service, resource, chart_values)
    chart_values = job_nodes.keep(resource, chart_values, seen.look, seen.pods)
    due = rings.due(service, resource, facts, seen.look, common.course, seen.now)
    chart_values, config = _configured(service, resource, seen, facts, chart_values)
    confirmed = _confirmed(service, resource, seen, chart_values["components"])
    further = service.resources(resource, facts) if service.resources else ()
    exported = tuple(service.exports(resource, facts)) if service.exports else ()
    noted = {entry.noted: digest(dict(entry.content)) for entry in exported if entry.noted}
    return Intent(
        facts=facts,
        children=(
            *_replaced(common.children, confirmed),
            *config,
            *(
                volumes.claim(entry, resource, seen.look)
                for entry in (service.volumes(resource) if service.volumes else ())
            ),
            *(child(item) for item in further),
            *(use.secret_of(entry) for entry in exported),
            *below,
        ),
        waits=(*common.waits, *below_waits),
        findings=common.findings,
        secrets=common.secrets,
        values=chart_values,
        course=actions.waiting(common.course, due.waiting),
        turns=due.steps,
        # Several needs may read the same Secret.
        used=tuple(dict.fromkeys(filter(None, map(use.read_of, inputs.list_given(service, resource, seen.look))))),
        noted={**losses.name_secrets(service, resource, facts, seen.look), **noted},
        settled=needs.list_settled(service, resource, seen.look),
        wake=due.wake,
    )


def _confirmed(
    service: Service[C, F], resource: C, seen: Seen, components: Mapping[str, JsonObject]
) -> tuple[Child, ...]:
    """Return what needs ask for when the service's APIs work with what is asked for now."""
    interfaces = ((endpoint, each) for endpoint in service.endpoints_of(resource) for each in endpoint.interfaces)
    serving = {endpoint.component(each) for endpoint, each in interfaces}
    apis = {name: said for name, said in components.items() if name in serving}
    if not editions.is_proven(apis, seen.workloads, seen.pods):
        return ()
    return needs.list_confirmed(service, resource, seen.look)


def _replaced(children: Iterable[Child], later: Iterable[Child]) -> tuple[Child, ...]:
    """Return children of which some are known better now than they were to begin with."""
    return tuple({item.object_key: item for item in (*children, *later)}.values())


def _configured(
    service: Service[C, F], resource: C, seen: Seen, facts: F, chart_values: JsonObject
) -> tuple[JsonObject, tuple[Child, ...]]:
    """Return the values with the Secrets that pods mount, and all Secrets with configuration."""
    own, parts = configuration.secret_name(resource), configuration.parts(service, resource, facts)
    texts = configuration.secrets(parts.values())
    refusals.refuse_overfull(resource, texts)
    content = {name: encode(data) for name, data in texts.items()}
    readers = editions.list_readers(seen.workloads, seen.pods)
    present = seen.look(Secret, own)
    in_use = present is not None and editions.is_in_use(own, chart_values["components"], readers)
    if present is not None and in_use:
        content[own] = present.data
    asked = chart_values.get("jobs", {})
    there = {name: seen.look(Job, names.job(facts.name, name, said["hash"])) for name, said in asked.items()}
    jobs = editions.list_jobs(own, there, parts, present.data if present is not None and in_use else None)
    placed = editions.place(own, chart_values, parts, readers, jobs, in_use=in_use)
    wanted = tuple(editions.list_wanted(service, resource, placed, parts))
    condition = declared(resource, "ServiceConfigReady")
    written = (
        child(Secret(metadata=ObjectMeta(name=name), data=data), condition=condition) for name, data in content.items()
    )
    return placed, (*written, *wanted, *editions.list_spare(seen.editions, wanted, readers, parts))


def _image(service: Service[C, F], environment: Environment) -> str:
    image = environment.images.get(service.image_name)
    if image is None:
        message = f"The image manifest has no component {service.image_name}; add it there, or set spec.containerImage"
        raise Blocked(message, reason="ImageUnknown")
    return image.reference


def _generated(service: Service[C, F], resource: C, look: Look) -> Iterable[NewSecret]:
    return (_new(entry, resource) for entry in service.secrets if entry.is_missing(resource, look))


def _new(entry: Generated[C], resource: C) -> NewSecret:
    def content(source: Source) -> Mapping[str, str]:
        return entry.content(resource, source.password)

    return NewSecret(entry.name(resource), content, owned=entry.owned, apart=bool(entry.readers))
