"""Whether some rules of roles give more than others: the rules of Kubernetes' own check against escalation. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from stackwright.kube.resource import JsonObject

ALL = "*"
# How many single rights one rule may stand for: more are not looked at, because nobody needs them.
MOST = 5000
_PARTS = ("apiGroups", "resources", "verbs", "resourceNames")


def count(rules: Iterable[JsonObject]) -> int:
    """Return how many single rights rules stand for."""
    return sum(map(_count, rules))


def _count(rule: JsonObject) -> int:
    groups, resources, verbs, names, urls = (len(_texts(rule, part)) for part in (*_PARTS, "nonResourceURLs"))
    return groups * resources * verbs * max(1, names) + urls * verbs


def beyond(rules: Iterable[JsonObject], given: Sequence[JsonObject]) -> Iterator[str]:
    """Yield in words each right that some rules give and that none of the `given` ones gives."""
    for rule in rules:
        if _count(rule) > MOST:
            yield f"more than {MOST} rights in one rule"
            continue
        yield from _beyond_urls(rule, given)
        groups, resources, verbs, names = (_texts(rule, part) for part in _PARTS)
        # Without names a rule is about all of them.
        for group, resource, verb, name in product(groups, resources, verbs, names or ("",)):
            if not any(_covers(other, group, resource, verb, name) for other in given):
                yield f"{verb} of {resource}{f'.{group}' if group else ''}{f' {name}' if name else ''}"


def _covers(rule: JsonObject, group: str, resource: str, verb: str, name: str) -> bool:
    names = _texts(rule, "resourceNames")
    return (
        _has(_texts(rule, "apiGroups"), group)
        and _has(_texts(rule, "verbs"), verb)
        and _has_resource(_texts(rule, "resources"), resource)
        and (not names or name in names)
    )


def _has(known: Sequence[str], asked: str) -> bool:
    return ALL in known or asked in known


def _has_resource(known: Sequence[str], asked: str) -> bool:
    _, slash, part = asked.partition("/")
    return _has(known, asked) or (bool(slash) and f"{ALL}/{part}" in known)


def _beyond_urls(rule: JsonObject, given: Sequence[JsonObject]) -> Iterator[str]:
    for url, verb in product(_texts(rule, "nonResourceURLs"), _texts(rule, "verbs")):
        if not any(_has(_texts(other, "verbs"), verb) and _has_url(other, url) for other in given):
            yield f"{verb} of {url}"


def _has_url(rule: JsonObject, url: str) -> bool:
    known = _texts(rule, "nonResourceURLs")
    return _has(known, url) or any(one.endswith(ALL) and url.startswith(one[:-1]) for one in known)


def _texts(rule: JsonObject, part: str) -> tuple[str, ...]:
    """Return a list of a rule; where it is none, the server refuses the rule."""
    found: Any = rule.get(part)
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()
