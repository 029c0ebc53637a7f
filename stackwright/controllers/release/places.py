"""Which places of others the objects of a user's own chart may not take: pods are found by their labels. Pure.

Services, policies and budgets select the pods of a release by `app.kubernetes.io/instance`. Providers let pods in by
labels of `needs.openstack.org`, and pods of services let the operators in by `app.kubernetes.io/name`.
"""

from collections.abc import Iterator, Sequence

from stackwright.api.service import MOST_REPLICAS
from stackwright.blueprint.policies import INSTANCE, NAME, NEEDS, OPERATORS
from stackwright.controllers.release.bodies import field, items, job_of, name_of, pod_of, template_of
from stackwright.kube.resource import JsonObject

# How the names of Kubernetes' own priority classes begin: such pods drive those of others off a full node.
SYSTEM_PRIORITY = "system-"

# By kind: the field with the selector, and where the labels are in it that have to match.
_SELECTORS = {
    "NetworkPolicy": ("podSelector", "matchLabels"),
    "PodDisruptionBudget": ("selector", "matchLabels"),
    "Service": ("selector", ""),
}

# What may select pods by labels of the chart's own, which pods of ours do not have. A NetworkPolicy may not: it has to
# select pods of the release.
_BY_OWN_LABELS = frozenset({"Service", "PodDisruptionBudget"})
# The labels of pods of ours: those of these domains and of all below, and those that Kubernetes itself adds.
_DOMAINS = ("kubernetes.io", "k8s.io", "openstack.org")
_BY_KUBERNETES = frozenset(
    {"pod-template-hash", "controller-revision-hash", "pod-template-generation", "controller-uid", "job-name"}
)


def problems(body: JsonObject, theirs: Sequence[JsonObject], ours: Sequence[JsonObject], release: str) -> Iterator[str]:
    """Yield a phrase for each place of others that an object takes; what the service's own chart has is allowed.

    `theirs` are all objects of the user's chart, of which the object is one.
    """
    what = f"{body.get('kind')} {name_of(body)}"
    yield from _labels(what, body, ours, release)
    yield from _selector(what, body, theirs, ours, release)
    if found := sorted(_finalizers(body) - {name for other in ours for name in _finalizers(other)}):
        yield f"{what} with the finalizer {found[0]}, which could keep it from ever being deleted; remove it"
    most = max((_count(other) for other in ours), default=0)
    if (count := _count(body)) > max(most, MOST_REPLICAS):
        yield f"{what} with {count:.0f} pods; a chart may ask for {max(most, MOST_REPLICAS):.0f} at once"
    priority = str(pod_of(body).get("priorityClassName") or "")
    if priority.startswith(SYSTEM_PRIORITY):
        yield f"{what} with pods of priority class {priority}, which would drive off others; use a class of your own"


def _labels(what: str, body: JsonObject, ours: Sequence[JsonObject], release: str) -> Iterator[str]:
    known = [pair for other in ours for labels in _labelled(other) for pair in labels.items()]
    found = {}
    for labels in _labelled(body):
        for label, value in labels.items():
            advice = f"set it to {release}" if label == INSTANCE else "remove it"
            if (label, value) not in known and _is_of_others(label, value, release):
                found[label] = f"{what} with the label {label}: {value}, by which it passes for another's; {advice}"
    yield from found.values()


def _is_of_others(label: str, value: object, release: str) -> bool:
    if label == INSTANCE:
        return value != release
    return (label, value) == (NAME, OPERATORS) or str(label).partition("/")[0].endswith(NEEDS)


def _labelled(body: JsonObject) -> Iterator[JsonObject]:
    """Yield the labels of an object, and those of the objects that are made from it."""
    yield from (field(metadata, "labels") for metadata in _made(body))


def _made(body: JsonObject) -> Iterator[JsonObject]:
    """Yield the metadata of an object, and of the Jobs, pods and volumes that are made from it."""
    yield field(body, "metadata")
    if job_of(body) is not body:
        yield field(job_of(body), "metadata")
    yield field(template_of(body), "metadata")
    yield from (field(volume, "metadata") for volume in items(field(body, "spec"), "volumeClaimTemplates"))


def _selector(
    what: str, body: JsonObject, theirs: Sequence[JsonObject], ours: Sequence[JsonObject], release: str
) -> Iterator[str]:
    kind = str(body.get("kind"))
    if kind not in _SELECTORS:
        return
    name, within = _SELECTORS[kind]
    if not field(body, "spec").get(name) and kind == "Service":
        # It leads to no pods, while the other kinds would select all of them.
        return
    selector = field(field(body, "spec"), name)
    known = [field(field(other, "spec"), name) for other in ours if other.get("kind") == kind]
    labels = field(selector, within) if within else selector
    if selector in known or labels.get(INSTANCE) == release:
        return
    if kind not in _BY_OWN_LABELS or not any(_is_of_pods(pair, theirs) for pair in labels.items()):
        where = ".".join(filter(None, (name, within)))
        yield f"{what} for pods of others; name {INSTANCE}: {release} in its {where}"


def _is_of_pods(pair: tuple[str, object], theirs: Sequence[JsonObject]) -> bool:
    """Return whether pods of a chart have a label that no pods of ours have: who selects by it selects none of ours."""
    label, value = pair
    domain = str(label).partition("/")[0] if "/" in str(label) else ""
    if label in _BY_KUBERNETES or any(domain == each or domain.endswith(f".{each}") for each in _DOMAINS):
        return False
    labelled = (field(field(template_of(body), "metadata"), "labels") for body in theirs)
    return any(label in labels and labels[label] == value for labels in labelled)


def _finalizers(body: JsonObject) -> set[str]:
    found = [metadata.get("finalizers") for metadata in _made(body)]
    return {str(name) for names in found if isinstance(names, list) for name in names}


def _count(body: JsonObject) -> float:
    """Return how many pods an object makes at once."""
    counts = (field(body, "spec").get("replicas"), field(job_of(body), "spec").get("parallelism"))
    return max((count for count in counts if isinstance(count, int | float)), default=0)
