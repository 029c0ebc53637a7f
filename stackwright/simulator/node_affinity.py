"""Which nodes a pod asks for: by node selector, and by node affinity that is required; pure."""

from collections.abc import Callable, Iterable, Mapping

from stackwright.kube.resource import JsonObject
from stackwright.simulator.node import Node
from stackwright.simulator.objects import Pod

_NAME = "metadata.name"


def matches(pod: Pod, node: Node) -> bool:
    """Return whether a node is one that the pod asks for."""
    labels = node.metadata.labels
    if any(labels.get(name) != value for name, value in pod.spec.nodeSelector.items()):
        return False
    terms = _terms(pod)
    return terms is None or any(_term(term, node) for term in terms)


def named(pod: Pod) -> frozenset[str] | None:
    """Return the nodes that the pod asks for by name, as a DaemonSet's do; None where others would do as well."""
    terms = _terms(pod)
    if not terms:
        return None
    every = [_named(term) for term in terms]
    known = [names for names in every if names is not None]
    return frozenset[str]().union(*known) if len(known) == len(every) else None


def _terms(pod: Pod) -> list[JsonObject] | None:
    """Return the terms of which one must hold; None where there is no such wish."""
    wishes = pod.spec.affinity.get("nodeAffinity") or {}
    required = wishes.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else list(required.get("nodeSelectorTerms") or ())


def _named(term: JsonObject) -> frozenset[str] | None:
    """Return the nodes that one term names: those that all of its fields name."""
    sets = [
        frozenset(wish.get("values") or ())
        for wish in term.get("matchFields") or ()
        if wish.get("key") == _NAME and wish.get("operator") == "In"
    ]
    return frozenset.intersection(*sets) if sets else None


def _term(term: JsonObject, node: Node) -> bool:
    by_label, by_field = term.get("matchExpressions") or (), term.get("matchFields") or ()
    # A term without any wish matches nothing.
    return bool(by_label or by_field) and (
        _all_hold(by_label, node.metadata.labels) and _all_hold(by_field, {_NAME: node.metadata.name})
    )


def _all_hold(wishes: Iterable[JsonObject], values: Mapping[str, str]) -> bool:
    return all(_holds(wish, values.get(wish.get("key", ""))) for wish in wishes)


def _holds(wish: JsonObject, value: str | None) -> bool:
    return _OPERATORS[wish["operator"]](value, tuple(wish.get("values") or ()))


def _number(value: str | None) -> int | None:
    """Return a label's value as a number; None if it is not a number."""
    return int(value) if value is not None and value.removeprefix("-").isdecimal() else None


def _greater(value: str | None, asked: tuple[str, ...]) -> bool:
    number = _number(value)
    return number is not None and number > int(asked[0])


def _less(value: str | None, asked: tuple[str, ...]) -> bool:
    number = _number(value)
    return number is not None and number < int(asked[0])


_OPERATORS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, asked: value in asked,
    "NotIn": lambda value, asked: value not in asked,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": _greater,
    "Lt": _less,
}
