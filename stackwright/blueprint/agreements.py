"""Whether fields of one object fit together, where no schema can say so. Pure.

Each rule holds for every object that has certain fields: in a kind, in a template of the umbrella, in a free-form part.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec

from stackwright.blueprint.bounds import is_label_value, steps_up
from stackwright.blueprint.refusal import Problem

Said = Mapping[str, Any]

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[+-]?[0-9]+")
_PROPAGATION = ("None", "HostToContainer", "Bidirectional")
_RECURSIVE = ("Disabled", "IfPossible", "Enabled")
# What a Service has only if a load balancer serves it.
_OF_LOAD_BALANCERS = ("loadBalancerClass", "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts")


def problems(names: Collection[str], value: msgspec.Struct | Said) -> Iterator[Problem]:
    """Yield what does not fit together in an object with fields of these names, by the path below the object."""
    found = [rule for fields, rule in _RULES if fields <= set(names)]
    said = _fields_of(value) if found else {}
    for rule in found:
        yield from rule(said)


def _fields_of(value: Any) -> Said:
    if isinstance(value, msgspec.Struct):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    found: Said = value
    return found


def _toleration(said: Said) -> Iterator[Problem]:
    operator = said.get("operator") or "Equal"
    if not said.get("key") and operator != "Exists":
        yield ".operator", "must be Exists where there is no key"
    if operator == "Exists" and said.get("value"):
        yield ".value", "must be left out where the operator is Exists"
    if operator in ("Lt", "Gt") and not _NUMBER.fullmatch(said.get("value") or ""):
        yield ".value", f"must be a whole number where the operator is {operator}"
    if said.get("tolerationSeconds") is not None and said.get("effect") != "NoExecute":
        yield ".effect", "must be NoExecute where tolerationSeconds is set"


def _requirement(said: Said) -> Iterator[Problem]:
    operator, values = said.get("operator"), tuple(said.get("values") or ())
    if operator in ("In", "NotIn"):
        if not values:
            yield ".values", f"must not be empty where the operator is {operator}"
        for place, value in enumerate(values):
            if not is_label_value(value):
                yield f".values[{place}]", "cannot be the value of a label"
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield ".values", f"must be left out where the operator is {operator}"
    elif len(values) != 1 or not _NUMBER.fullmatch(values[0]):
        yield ".values", f"must be one whole number where the operator is {operator}"


def _node_term(said: Said) -> Iterator[Problem]:
    for place, entry in enumerate(said.get("matchFields") or ()):
        fields = _fields_of(entry)
        one = fields.get("operator") in ("In", "NotIn") and len(fields.get("values") or ()) == 1
        if fields.get("key") != "metadata.name" or not one:
            yield f".matchFields[{place}]", "can only say of metadata.name that it is In or NotIn one value"


def _pod_term(said: Said) -> Iterator[Problem]:
    for place, name in enumerate(said.get("namespaces") or ()):
        if not _NAMESPACE.fullmatch(name):
            yield f".namespaces[{place}]", "cannot be the name of a namespace"
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if said.get(field) and said.get("labelSelector") is None:
            yield f".{field}", "needs a labelSelector beside it"
    both = set(said.get("matchLabelKeys") or ()) & set(said.get("mismatchLabelKeys") or ())
    if both:
        yield ".mismatchLabelKeys", f"{', '.join(sorted(both))} cannot stand in matchLabelKeys too"


def _mount(said: Said) -> Iterator[Problem]:
    if not said.get("mountPath"):
        yield ".mountPath", "must not be empty"
    for field in ("subPath", "subPathExpr"):
        path = said.get(field) or ""
        if path.startswith("/") or steps_up(path):
            yield f".{field}", "must be a relative path without .."
    if said.get("subPath") and said.get("subPathExpr"):
        yield ".subPathExpr", "cannot be set beside subPath; remove one of them"
    propagation, recursive = said.get("mountPropagation"), said.get("recursiveReadOnly")
    if propagation and propagation not in _PROPAGATION:
        yield ".mountPropagation", f"must be one of {', '.join(_PROPAGATION)}"
    elif propagation == "Bidirectional":
        yield ".mountPropagation", "cannot be Bidirectional: only privileged containers may have that"
    if recursive and recursive not in _RECURSIVE:
        yield ".recursiveReadOnly", f"must be one of {', '.join(_RECURSIVE)}"
    elif recursive and recursive != "Disabled" and not (said.get("readOnly") and propagation in (None, "", "None")):
        yield ".recursiveReadOnly", "needs readOnly beside it, and no mountPropagation"


def _variable(said: Said) -> Iterator[Problem]:
    if said.get("value") and said.get("valueFrom") is not None:
        yield ".valueFrom", "cannot be set beside value; remove one of them"


def _service(said: Said) -> Iterator[Problem]:
    kind = said.get("type") or "ClusterIP"
    if said.get("externalTrafficPolicy") and kind not in ("NodePort", "LoadBalancer") and not said.get("externalIPs"):
        yield ".externalTrafficPolicy", "needs the type NodePort or LoadBalancer beside it"
    if kind != "LoadBalancer":
        yield from (
            (f".{field}", "needs the type LoadBalancer beside it") for field in _OF_LOAD_BALANCERS if said.get(field)
        )
    if kind == "ExternalName" and not said.get("externalName"):
        yield ".externalName", "must not be empty where the type is ExternalName"


def _service_ports(said: Said) -> Iterator[Problem]:
    """Yield what is wrong in a spec that also has ports of its own."""
    if said.get("healthCheckNodePort") and (said.get("type"), said.get("externalTrafficPolicy")) != (
        "LoadBalancer",
        "Local",
    ):
        yield ".healthCheckNodePort", "needs the type LoadBalancer and the externalTrafficPolicy Local beside it"
    seen: list[tuple[Any, Any]] = []
    ports = [_fields_of(entry) for entry in said.get("ports") or ()]
    at_nodes = said.get("type") in ("NodePort", "LoadBalancer")
    if said.get("nodePort") and not at_nodes:
        yield ".nodePort", "is a node port; set type to NodePort or LoadBalancer beside it, or leave it out"
    for place, port in enumerate(ports):
        name = port.get("name") or ""
        if port.get("nodePort") and not at_nodes:
            yield f".ports[{place}].nodePort", "needs the type NodePort or LoadBalancer"
        if len(ports) > 1 and not name:
            yield f".ports[{place}].name", "must not be empty where there are several ports"
        if name and name in [other.get("name") for other in ports[:place]]:
            yield f".ports[{place}].name", "is the name of another port; rename one of them"
        key = port.get("port"), port.get("protocol") or "TCP"
        if key in seen:
            yield f".ports[{place}].port", "is the number of another port; remove one of them"
        seen.append(key)


# The fields by which an object is known, and what has to hold of it.
_RULES: tuple[tuple[frozenset[str], Callable[[Said], Iterator[Problem]]], ...] = (
    (frozenset({"key", "operator", "effect", "tolerationSeconds"}), _toleration),
    (frozenset({"key", "operator", "values"}), _requirement),
    (frozenset({"matchExpressions", "matchFields"}), _node_term),
    (frozenset({"topologyKey", "matchLabelKeys", "mismatchLabelKeys"}), _pod_term),
    (frozenset({"mountPath", "subPath", "mountPropagation"}), _mount),
    (frozenset({"value", "valueFrom"}), _variable),
    (frozenset({"externalTrafficPolicy", "loadBalancerSourceRanges", "sessionAffinity"}), _service),
    (frozenset({"ports", "healthCheckNodePort"}), _service_ports),
)
