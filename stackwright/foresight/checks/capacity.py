"""Whether the nodes have room: what pods would ask for, against what is free beside what runs. Pure.

Selectors, taints and affinities are not weighed: who has room for a pod here may still not take it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackwright.controllers.service import labels
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import ImaginedCloud, pods_of, templates_of
from stackwright.foresight.checks.quantities import amount, cpus, memory
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.kube.builtin import Node, Pod
from stackwright.kube.resource import JsonObject

TOPIC = "capacity"


@dataclass(frozen=True)
class Room:
    """Processors, memory and places for pods."""

    cpu: float = 0.0
    memory: float = 0.0
    pods: int = 0

    def __add__(self, other: "Room") -> "Room":
        return Room(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)

    def __sub__(self, other: "Room") -> "Room":
        return Room(self.cpu - other.cpu, self.memory - other.memory, self.pods - other.pods)

    def fits(self, other: "Room") -> bool:
        """Return whether there is room for another."""
        slack = 1e-9
        return self.cpu + slack >= other.cpu and self.memory + slack >= other.memory and self.pods >= other.pods

    def __str__(self) -> str:
        return f"{cpus(self.cpu)}, {memory(self.memory)}"


def request(pod: JsonObject) -> Room:
    """Return what a pod asks for: all that runs at once, or what one of its first containers needs alone."""
    steady = Room(pods=1)
    first = Room()
    for container in pod.get("initContainers") or ():
        own = _requests(container)
        if container.get("restartPolicy") == "Always":
            steady += own
        first = Room(max(first.cpu, own.cpu), max(first.memory, own.memory))
    for container in pod.get("containers") or ():
        steady += _requests(container)
    return Room(max(steady.cpu, first.cpu), max(steady.memory, first.memory), 1)


def _requests(container: JsonObject) -> Room:
    resources = container.get("resources") or {}
    # What is limited and does not say what it asks for, asks for its limit.
    said = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return Room(amount(said.get("cpu", 0)), amount(said.get("memory", 0)))


def list_wanted(cloud: ImaginedCloud, nodes: int) -> list[tuple[str, Room]]:
    """Return each pod that would run, with whose it is; of Jobs, which come one after another, the largest alone."""
    found: list[tuple[str, Room]] = []
    jobs: list[tuple[str, Room]] = []
    for release in cloud.releases:
        for body, pod in pods_of(release):
            one = (f"{body['kind']} {body['metadata']['name']}", request(pod))
            match body["kind"]:
                case "Job":
                    jobs.append(one)
                case "CronJob":
                    continue
                case "DaemonSet":
                    found += [one] * nodes
                case _:
                    found += [one] * int((body.get("spec") or {}).get("replicas", 1))
    return found + sorted(jobs, key=lambda entry: (entry[1].cpu, entry[1].memory))[-1:]


def free(nodes: Iterable[Node], pods: Iterable[Pod], cloud: ImaginedCloud) -> dict[str, Room]:
    """Return what each node has left, when what the cloud replaces is gone."""
    own = {_whose(template) for release in cloud.releases for _, template in templates_of(release)}
    found = {
        node.metadata.name: _allocatable(node)
        for node in nodes
        if not node.spec.get("unschedulable") and _is_ready(node)
    }
    for pod in pods:
        node = pod.spec.get("nodeName", "")
        replaced = pod.metadata.namespace == cloud.namespace and _said(pod.metadata.labels) in own
        if node in found and not replaced and pod.status.get("phase") not in ("Succeeded", "Failed"):
            found[node] -= request(pod.spec)
    return found


def _whose(template: JsonObject) -> tuple[str, str]:
    """Return of which service, and of which of its resources, the pods of a template are."""
    return _said((template.get("metadata") or {}).get("labels") or {})


def _said(found: Mapping[str, str]) -> tuple[str, str]:
    return found.get(labels.NAME, ""), found.get(labels.INSTANCE, "")


def _allocatable(node: Node) -> Room:
    said = node.status.get("allocatable") or {}
    return Room(amount(said.get("cpu", 0)), amount(said.get("memory", 0)), math.floor(amount(said.get("pods", 110))))


def _is_ready(node: Node) -> bool:
    stated = node.status.get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in stated)


def capacity(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Yield whether all pods find a place, tried out with the largest first."""
    if not cloud.releases:
        return
    if state.nodes is None or state.pods is None:
        yield CheckResult(Level.UNKNOWN, TOPIC, "You have no right to read the nodes and all pods.")
        return
    left = free(state.nodes, state.pods, cloud)
    if not left:
        yield CheckResult(Level.PROBLEM, TOPIC, "No node is ready; see why: kubectl describe nodes.")
        return
    every = list_wanted(cloud, len(left))
    total, there = sum((room for _, room in every), Room()), sum(left.values(), Room())
    sentence = f"{total.pods} pods request {total}; {there} are free on {_nodes(len(left))}"
    for label, room in sorted(every, key=lambda entry: (entry[1].memory, entry[1].cpu), reverse=True):
        place = next((name for name, rest in left.items() if rest.fits(room)), None)
        if place is None:
            message = f"{sentence}. No place is left for a pod of {label} ({room}); add a node, or ask for less."
            yield CheckResult(Level.PROBLEM, TOPIC, message)
            return
        left[place] -= room
    yield CheckResult(Level.OK, TOPIC, f"{sentence}.")


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"
