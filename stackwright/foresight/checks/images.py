"""Whether the images that would be run can be had, as far as that can be known without pulling them. Pure."""

from collections.abc import Iterable

from stackwright.blueprint.images import REFERENCE
from stackwright.blueprint.pod_references import containers_of
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import NO_IMAGE, ImaginedCloud, pods_of
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.kube.builtin import Node

TOPIC = "images"
# How many images a node tells of, unless it was told otherwise.
LISTED = 50
# Registries of these names are none: such images are brought to the nodes.
LOCAL = ("localhost/", "stackwright.local/")
# Taints that keep pods away.
_CLOSED = ("NoSchedule", "NoExecute")


def references(cloud: ImaginedCloud) -> dict[str, str]:
    """Return the images that would be run, each with the first resource that needs it."""
    found: dict[str, str] = {}
    for release in cloud.releases:
        for _, pod in pods_of(release):
            for container in containers_of(pod):
                found.setdefault(container.get("image", ""), release.label)
    return found


def images(cloud: ImaginedCloud, state: ClusterState | None) -> Iterable[CheckResult]:
    """Yield which images are there, which cannot be, and of which nobody knows."""
    wanted = references(cloud)
    nodes = (state.nodes if state else None) or ()
    present = {name for node in nodes for name in names_on(node.status)}
    complete = bool(nodes) and all(len(_entries(node.status)) < LISTED for node in nodes)
    unknown: list[str] = []
    for reference, label in sorted(wanted.items()):
        if reference == NO_IMAGE:
            yield CheckResult(Level.UNKNOWN, TOPIC, f"{label}: its image is not known here.")
        elif not REFERENCE.fullmatch(reference):
            message = f'{label}: "{reference}" is not an image reference; correct spec.containerImage.'
            yield CheckResult(Level.PROBLEM, TOPIC, message)
        elif reference in present:
            if reference.startswith(LOCAL) and (lacking := _lacking(reference, nodes)):
                message = (
                    f"{label}: {', '.join(lacking)} lack{'s' if len(lacking) == 1 else ''} {reference}, which no "
                    "registry has; pods cannot start there: stackwright image load."
                )
                yield CheckResult(Level.WARNING, TOPIC, message)
        elif reference.startswith(LOCAL) and complete:
            message = f"{label}: no node has {reference}, and no registry has it; load it: stackwright image load."
            yield CheckResult(Level.PROBLEM, TOPIC, message)
        else:
            unknown.append(reference)
    if seen := present & wanted.keys():
        yield CheckResult(Level.OK, TOPIC, f"{len(seen)} of {len(wanted)} images are on a node already.")
    if unknown:
        message = f"Whether these can be pulled; registries are not asked: {', '.join(unknown)}."
        yield CheckResult(Level.UNKNOWN, TOPIC, message)


def _lacking(reference: str, nodes: Iterable[Node]) -> list[str]:
    """Return the nodes that get pods and lack an image; one that does not tell of all that it has may have it."""
    return sorted(
        node.metadata.name
        for node in nodes
        if not node.spec.get("unschedulable")
        and not any(taint.get("effect") in _CLOSED for taint in node.spec.get("taints") or ())
        and len(_entries(node.status)) < LISTED
        and reference not in names_on(node.status)
    )


def names_on(status: dict[str, object]) -> Iterable[str]:
    """Yield all names of the images that a node has."""
    for entry in _entries(status):
        yield from entry.get("names") or ()


def _entries(status: dict[str, object]) -> list[dict[str, list[str]]]:
    found = status.get("images")
    return found if isinstance(found, list) else []
