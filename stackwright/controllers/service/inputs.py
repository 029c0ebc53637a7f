"""The second step: what the needs of a resource come to, and the facts that they yield. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import reduce
from typing import Any, TypeVar

from stackwright.api import paths
from stackwright.api.base import CustomResource
from stackwright.blueprint import endpoints, names, values
from stackwright.blueprint.children import find_ready
from stackwright.blueprint.facts import Endpoints, Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.need import Need, Resolved
from stackwright.blueprint.service import Service
from stackwright.controllers import needs
from stackwright.controllers.service import losses, rings
from stackwright.kube import builtin
from stackwright.kube.builtin import Job, Node, Secret
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.states import state_of

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


def gather(found: Iterable[Resolved]) -> Resolved:
    """Return what several needs come to together."""
    entries = tuple(found)
    return Resolved(
        ready=all(entry.ready for entry in entries),
        children=tuple(item for entry in entries for item in entry.children),
        waits=tuple(item for entry in entries for item in entry.waits),
        findings=tuple(item for entry in entries for item in entry.findings),
        secrets=tuple(item for entry in entries for item in entry.secrets),
        values=reduce(paths.merge, (entry.values for entry in entries), {}),
    )


def gather_needs(resolved: Iterable[tuple[Need, Resolved]], *further: Resolved) -> Resolved:
    """Return what the needs of a resource come to; one that stands apart stops no other."""
    tolerated = (replace(found, ready=True) if need.apart else found for need, found in resolved)
    return gather((*tolerated, *further))


def list_given(service: Service[C, F], resource: C, look: Look) -> tuple[Secret, ...]:
    """Return the Secrets of others by which the needs of a resource are met."""
    sight = needs.sight(look)
    return tuple(secret for need in service.needs_of(resource) for secret in need.used(resource, sight))


def facts_of(
    service: Service[C, F], resource: C, look: Look, image: str, resolved: Iterable[tuple[Need, Resolved]]
) -> F:
    """Return the facts of a service: each need fills a field, or an entry of a field that is a map."""
    found: dict[str, Any] = {}
    for need, entry in resolved:
        if need.apart and not entry.ready:
            continue
        if need.key:
            found.setdefault(need.name, {})[need.key] = entry.fact
        elif need.name:
            found[need.name] = entry.fact
    return service.facts(
        name=resource.metadata.name,
        namespace=resource.metadata.namespace,
        image=image,
        rings=rings.named(service, resource, look),
        renewed=losses.renewed(service, resource, look),
        **found,
    )


def with_urls(
    service: Service[C, F], resource: C, look: Look, nodes: Iterable[Node], facts: F
) -> tuple[F, tuple[Wait, ...]]:
    """Return the facts with the URLs of all APIs that are known, and waits for those that are not."""
    waits: list[Wait] = []
    there = tuple(nodes)
    for endpoint in service.endpoints_of(resource):
        services = {
            interface: look(builtin.Service, f"{resource.metadata.name}-{endpoint.key(interface)}")
            for interface in endpoint.interfaces
        }
        match endpoints.urls(services, endpoint.overrides(resource), there, endpoint.port):
            case Endpoints() as urls:
                facts = replace(facts, apis={**facts.apis, endpoint.name: urls})
                facts = replace(facts, endpoints=urls) if endpoint.listed else facts
            case Wait(reason, message) if endpoint.listed:
                waits.append(Wait(reason, message, "CreateServiceReady"))
    if service.outside is not None:
        name, port = service.outside(resource)
        facts = replace(facts, outside=endpoints.place_outside(look(builtin.Service, name), there, port))
    return facts, tuple(waits)


def with_done(service: Service[C, F], resource: C, facts: F, look: Look, now: datetime) -> F:
    """Return the facts with the jobs that are done and the children that are ready; a job may wait for either."""
    facts = _with_jobs(service, resource, facts, look, now)
    if service.children is None:
        return facts
    ready = find_ready(service.children(resource, facts), look)
    return _with_jobs(service, resource, replace(facts, done=facts.done | ready), look, now)


def _with_jobs(service: Service[C, F], resource: C, facts: F, look: Look, now: datetime) -> F:
    """Return the facts with the jobs that are done; one may have inputs only when another is."""
    for job in service.jobs_of(resource):
        wanted = values.job_values(job, resource, facts)
        present = look(Job, names.job(facts.name, job.name, wanted["hash"])) if wanted is not None else None
        if present is not None and state_of(present).status == "True":
            ended = present.status.get("completionTime")
            seconds = (now - datetime.fromisoformat(ended)).total_seconds() if ended else 0.0
            done_for = {**facts.done_for, job.name: max(seconds, 0.0)}
            facts = replace(facts, done=facts.done | {job.name}, done_for=done_for)
    return facts
