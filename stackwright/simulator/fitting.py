"""Whether a node takes a pod, by the filters of the default scheduler and in their order; pure.

Taints, selectors and required node affinity, ports of the host, and capacity count. Affinity between pods, spread over
topologies and everything that is only preferred do not. The reasons are those of v1.36, word for word.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from stackwright.kube.quantities import number_of
from stackwright.simulator import node_affinity
from stackwright.simulator.node import Node, Taint
from stackwright.simulator.objects import Container, Pod, Port, Toleration

_CORDONED = Taint(key="node.kubernetes.io/unschedulable")
_EVERYWHERE = ("", "0.0.0.0")  # noqa: S104  what a port without an address listens on


@dataclass(frozen=True)
class Misfit:
    """Why a node does not take a pod, and whether it would if fewer pods ran there."""

    reasons: tuple[str, ...]
    crowded: bool = False


def misfit(pod: Pod, node: Node, tenants: Sequence[Pod]) -> Misfit | None:
    """Return why a node on which some pods run does not take another one; None where it does."""
    if node.spec.unschedulable and not _tolerates(pod, _CORDONED):
        return Misfit(("node(s) were unschedulable",))
    if any(taint.effect != "PreferNoSchedule" and not _tolerates(pod, taint) for taint in node.spec.taints):
        return Misfit(("node(s) had untolerated taint(s)",))
    if not node_affinity.matches(pod, node):
        return Misfit(("node(s) didn't match Pod's node affinity/selector",))
    if _ports_taken(pod, tenants):
        return Misfit(("node(s) didn't have free ports for the requested pod ports",), crowded=True)
    return _capacity(pod, node, tenants)


def _tolerates(pod: Pod, taint: Taint) -> bool:
    return any(_covers(toleration, taint) for toleration in pod.spec.tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (bool(toleration.key) and toleration.value == taint.value)


def _ports_taken(pod: Pod, tenants: Iterable[Pod]) -> bool:
    wanted = list(_host_ports(pod))
    return bool(wanted) and any(
        _collide(one, other) for tenant in tenants for other in _host_ports(tenant) for one in wanted
    )


def _host_ports(pod: Pod) -> Iterator[Port]:
    """Yield the ports that a pod takes of its node. In the host's network the API server fills in the host's port."""
    sidecars = (one for one in pod.spec.initContainers if one.restartPolicy == "Always")
    for container in (*sidecars, *pod.spec.containers):
        yield from (port for port in container.ports if port.hostPort)


def _collide(one: Port, other: Port) -> bool:
    same = (one.hostPort, one.protocol) == (other.hostPort, other.protocol)
    return same and (one.hostIP == other.hostIP or one.hostIP in _EVERYWHERE or other.hostIP in _EVERYWHERE)


def _capacity(pod: Pod, node: Node, tenants: Sequence[Pod]) -> Misfit | None:
    reasons: list[str] = []
    crowded = True
    there = {name: number_of(quantity) for name, quantity in node.status.allocatable.items()}
    if len(tenants) + 1 > there.get("pods", Decimal(0)):
        reasons.append("Too many pods")
    wanted = requests(pod)
    used = [requests(tenant) for tenant in tenants] if wanted else []
    for name, amount in wanted.items():
        room = there.get(name, Decimal(0))
        if amount > room - sum(one.get(name, Decimal(0)) for one in used):
            reasons.append(f"Insufficient {name}")
            # What the whole node does not have, no other pod's end brings.
            crowded = crowded and amount <= room
    return Misfit(tuple(reasons), crowded=crowded) if reasons else None


def requests(pod: Pod) -> dict[str, Decimal]:
    """Return what a pod asks of its node: what its containers do together, or more where an init container does."""
    total = _sum(pod.spec.containers)
    beside: dict[str, Decimal] = {}
    peak: dict[str, Decimal] = {}
    for container in pod.spec.initContainers:
        own = _sum((container,))
        if container.restartPolicy == "Always":
            beside = _plus(beside, own)
            own = beside
        else:
            own = _plus(beside, own)
        peak = {name: max(peak.get(name, Decimal(0)), own.get(name, Decimal(0))) for name in {*peak, *own}}
    total = _plus(total, beside)
    asked = {name: max(total.get(name, Decimal(0)), peak.get(name, Decimal(0))) for name in {*total, *peak}}
    return {name: amount for name, amount in sorted(asked.items()) if amount}


def _sum(containers: Iterable[Container]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for container in containers:
        total = _plus(total, {name: number_of(value) for name, value in container.resources.requests.items()})
    return total


def _plus(one: dict[str, Decimal], other: dict[str, Decimal]) -> dict[str, Decimal]:
    return {name: one.get(name, Decimal(0)) + other.get(name, Decimal(0)) for name in {*one, *other}}
