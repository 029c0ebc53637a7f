"""Which pods may talk to which: NetworkPolicies, as they follow from what services declare that they need. Pure.

A need becomes a label of the service's pods, by which the provider admits them, and an egress rule. An endpoint
becomes a way in. All other ways are closed. Rules are in NetworkPolicy's own words; the charts put them into objects.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.needs.need import Need
from stackwright.blueprint.network import ANYBODY, BY_OPERATORS, Listen
from stackwright.blueprint.service import Component, Endpoint, Job, Schedule, Service
from stackwright.kube.shapes import leaving

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)

NAME, INSTANCE, COMPONENT = "app.kubernetes.io/name", "app.kubernetes.io/instance", leaving.COMPONENT
# The name that the pods of our operators carry.
OPERATORS = "stackwright"
# How the names of the labels end by which a provider lets pods in, before the slash.
NEEDS = "needs.openstack.org"
# What the chart's values call all pods of a release.
ALL = "*"


@dataclass(frozen=True)
class Surroundings:
    """What policies have to know of the cluster.

    `operators` is the namespace of our operators; empty where one runs beside the cluster and comes from no pod: what
    it talks to is then open to all. `api_server` are the ports of the cluster's own API, before its Service and behind.
    """

    operators: str = ""
    api_server: tuple[int, ...] = (443, 6443)


def values(service: Service[C, F], resource: C, facts: F, around: Surroundings | None) -> JsonObject:
    """Return the values of a chart for labels and policies; without surroundings nothing is closed.

    The labels are there in any case, so that adding policies later restarts no pod.
    """
    found: JsonObject = {}
    if labels := pod_labels(service, resource, facts):
        found["podLabels"] = labels
    if around is not None:
        found["networkPolicies"] = rules(service, resource, facts, around)
    return found


def pod_labels(service: Service[C, F], resource: C, facts: F | None = None) -> dict[str, str]:
    """Return the labels that say what the pods of a service need; an API is open to all, and needs none."""
    labelled = (need for need in service.needs_of(resource) if need.labelled)
    named = ((need.word, need.server(resource, need.fact_of(facts))) for need in labelled)
    return {_label(word, instance): "true" for word, instance in named if instance}


def _label(word: str, instance: str) -> str:
    return f"{word}.{NEEDS}/{instance}"


def rules(service: Service[C, F], resource: C, facts: F, around: Surroundings) -> JsonObject:
    """Return the connections of a service's pods: egress of all of them, ingress by component."""
    found: JsonObject = {"egress": list(_egress(service, resource, facts, around))}
    if ingress := _ingress(service, resource, around):
        found["ingress"] = ingress
    return found


def _egress(service: Service[C, F], resource: C, facts: F, around: Surroundings) -> Iterator[JsonObject]:
    out = [rule for need in service.needs_of(resource) for rule in _to(need, resource, facts)]
    if service.network.peers:
        out.append({"to": [_pods({NAME: service.name, INSTANCE: facts.name})]})
    if service.network.dials:
        out.append({"ports": [_port(port) for port in service.network.dials]})
    if service.network.kubernetes or _has_waiting(service, resource):
        # Pods wait until Jobs are done, and ask the cluster's API for it. That API is not a pod, so no selector matches
        # it.
        out.append({"ports": [_port(port) for port in around.api_server]})
    named = service.network.resolves(resource)
    if out or named:
        # The cluster's own name server, and those that the user names.
        yield {"ports": [_port(port, protocol) for port in dict.fromkeys((53, *named)) for protocol in ("UDP", "TCP")]}
    yield from out


def _has_waiting(service: Service[C, F], resource: C) -> bool:
    """Return whether something of a service starts only after a job."""
    parts: tuple[Component[C, F] | Job[C, F] | Schedule[C, F], ...] = (
        *service.components_of(resource),
        *service.jobs_of(resource),
        *service.schedules,
    )
    return any(part.after for part in parts)


def _to(need: Need, resource: Any, facts: Any) -> Iterator[JsonObject]:
    """Yield the ways to what a need stands for."""
    fact = need.fact_of(facts)
    instance = need.server(resource, fact) if fact is not None else ""
    places = need.places(fact) if fact is not None else ()
    if not places:
        return
    inside = instance and all(host.endswith(f".{facts.namespace}.svc") for host, _ in places)
    ports = [_port(port) for port in sorted({port for _, port in places})]
    pods = _pods({NAME: need.pods(fact), INSTANCE: instance})
    if inside:
        yield {"to": [pods], "ports": ports}
        return
    # It is elsewhere, and a policy knows no names. Or it is here, and its address leads to pods at other ports.
    if instance:
        yield {"to": [pods]}
    yield {"ports": ports}


def _ingress(service: Service[C, F], resource: C, around: Surroundings) -> dict[str, list[JsonObject]]:
    """Return the ingress rules, by component."""
    found: dict[str, list[JsonObject]] = {}
    alike = _has_pods_of_one_component(service)
    for component, rule in (*_apis(service.endpoints_of(resource), resource), *_others(service, resource, around)):
        if rule not in found.setdefault(ALL if alike else component, []):
            found[ALL if alike else component].append(rule)
    return found


def _has_pods_of_one_component(service: Service[C, F]) -> bool:
    """Return whether all pods are of one component whatever the resource asks for: one policy then says everything.

    Changes of a StatefulSet are tried in pods of a Job, which nobody has to reach.
    """
    if service.known_jobs or service.schedules:
        return False
    return [component.workload for component in service.known_components] == ["Deployment"]


def _apis(endpoints: Iterable[Endpoint], resource: CustomResource) -> Iterator[tuple[str, JsonObject]]:
    for endpoint in endpoints:
        ports = [_port(endpoint.port)]
        if PUBLIC not in endpoint.interfaces:
            yield endpoint.component(INTERNAL), _inside(endpoint, resource, ports)
            continue
        # Users come from anywhere: by a node port, a load balancer, or an Ingress in another namespace.
        yield endpoint.component(PUBLIC), {"ports": ports}
        internal = endpoint.component(INTERNAL)
        if INTERNAL in endpoint.interfaces and internal != endpoint.component(PUBLIC):
            yield internal, _inside(endpoint, resource, ports)


def _inside(endpoint: Endpoint, resource: CustomResource, ports: list[JsonObject]) -> JsonObject:
    """Return the way in to an internal interface: for the namespace's pods, unless the user leads others to it."""
    return {"ports": ports} if _is_exposed(endpoint, resource) else {"from": [_pods({})], "ports": ports}


def _is_exposed(endpoint: Endpoint, resource: CustomResource) -> bool:
    """Return whether the user exposes the internal interface beyond the namespace's pods."""
    override = endpoint.overrides(resource).get(INTERNAL)
    if override is None:
        return False
    kind = override.spec.type if override.spec is not None else None
    return bool(override.endpointURL) or kind not in (None, "ClusterIP")


def _others(service: Service[C, F], resource: C, around: Surroundings) -> Iterator[tuple[str, JsonObject]]:
    network, name = service.network, resource.metadata.name
    for listen in network.listens:
        yield listen.component, _heard(listen, name, around, exposed=network.exposed(resource))
    if network.peers:
        for component in service.components_of(resource):
            own = {NAME: service.name, INSTANCE: name, COMPONENT: component.name}
            yield component.name, {"from": [_pods(own)]}


def _heard(listen: Listen, name: str, around: Surroundings, *, exposed: bool) -> JsonObject:
    """Return what may connect to a port; the operators always may, because they manage the server."""
    ports = [_port(listen.port, listen.protocol)]
    led_there = exposed and listen.by != BY_OPERATORS
    if led_there or listen.by == ANYBODY or not around.operators:
        return {"ports": ports}
    operators = {**_namespace(around.operators), **_pods({NAME: OPERATORS})}
    clients = [] if listen.by == BY_OPERATORS else [_pods({_label(listen.by, name): "true"})]
    return {"from": [*clients, operators], "ports": ports}


def _pods(labels: dict[str, str]) -> JsonObject:
    return {"podSelector": {"matchLabels": labels} if labels else {}}


def _namespace(name: str) -> JsonObject:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def _port(port: int | tuple[int, int], protocol: str = "TCP") -> JsonObject:
    if isinstance(port, tuple):
        return {"port": port[0], "endPort": port[1], "protocol": protocol}
    return {"port": port, "protocol": protocol}
