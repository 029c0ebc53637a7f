"""What the simulator's controllers share, and how they read: from the caches into frozen values.

One stage is one namespace. Its pods come from owners, use claims and refer to inputs; the stage finds each
of them from the other, so that a change of one wakes what depends on it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stackwright.kube.clock import REAL, Clock, seconds
from stackwright.kube.informers import Informers
from stackwright.kube.resource import Key, ObjectMeta, R, Resource
from stackwright.kube.store import Store
from stackwright.simulator import casting, inputs, kubelet, provisioner, scheduler
from stackwright.simulator.behaviour import Script, VolumeUnbound
from stackwright.simulator.inputs import Inputs, Keys
from stackwright.simulator.kubelet import Host
from stackwright.simulator.node import Node
from stackwright.simulator.objects import (
    OWNERS,
    Claim,
    ConfigMap,
    Job,
    Keyed,
    Owner,
    Pod,
    ReplicaSet,
    Secret,
    StorageClass,
)
from stackwright.simulator.timers import Timers

# How long a pod waits for its owner to appear in the cache; then it is taken for an orphan.
OWNER_PATIENCE = 2.0
_OWNER, _WANTED = "(owner)", "(volume)"


@dataclass
class House:
    """What the stages of one simulation share: the room on the nodes, which pods of all namespaces take.

    `assumed` are pods that were given a node, which the caches may not show yet.
    """

    stages: list["Stage"] = field(default_factory=list)
    assumed: dict[Key, tuple[str, Pod]] = field(default_factory=dict)

    def tenants(self, beside: Pod) -> dict[str, tuple[Pod, ...]]:
        """Return the other pods that have a node and have not ended, by the node's name."""
        self.assumed.pop(beside.key, None)
        found: dict[str, list[Pod]] = {}
        for stage in self.stages:
            for pod in stage.store(Pod).list():
                node = pod.spec.nodeName
                if node:
                    self.assumed.pop(pod.key, None)
                if node and not pod.finished:
                    found.setdefault(node, []).append(pod)
        for node, pod in self.assumed.values():
            found.setdefault(node, []).append(pod)
        return {node: tuple(pods) for node, pods in found.items()}


@dataclass
class Stage:
    """One namespace under simulation. `script` may be exchanged at any time."""

    namespace: str
    house: House
    script: Script
    clock: Clock = REAL
    timers: Timers = field(init=False)
    informers: Informers = field(init=False)

    def __post_init__(self) -> None:
        self.timers = Timers(self.clock.monotonic)
        self.house.stages.append(self)

    def open(self, informers: Informers) -> None:
        """Take the caches that the controllers fill, with the indexes that the stage needs."""
        self.informers = informers
        pods = informers.of(Pod).store
        pods.index("claim", lambda pod: pod.claims)
        pods.index("node", lambda pod: (pod.spec.nodeName,))
        pods.index("input", lambda pod: (f"{kind}/{name}" for kind, name in inputs.needed(pod)))

    def store(self, kind: type[R]) -> Store[R]:
        """Return the cache of a kind."""
        return self.informers.store(kind)

    # What depends on what: these wake pods and claims.

    def pods_of(self, owner: Resource) -> Iterator[Key]:
        """Return the pods that come from an owner, directly or not."""
        uid = owner.metadata.uid
        yield from (pod.key for pod in self.store(Pod).owned_by(uid))
        for kind in (ReplicaSet, Job):
            for child in self.store(kind).owned_by(uid):
                yield from self.pods_of(child)

    def pods_without_node(self, _: Resource) -> Iterable[Key]:
        """Return the pods that wait for a node: any of them may fit now."""
        return (pod.key for pod in self.store(Pod).by("node", ""))

    def pods_on(self, node: Node) -> Iterable[Key]:
        """Return the pods of a node."""
        return (pod.key for pod in self.store(Pod).by("node", node.metadata.name))

    def pods_using(self, claim: Claim) -> Iterable[Key]:
        """Return the pods that use a claim."""
        return (pod.key for pod in self.store(Pod).by("claim", claim.metadata.name))

    def pods_needing(self, found: Keyed) -> Iterable[Key]:
        """Return the pods that refer to a ConfigMap or Secret."""
        return (pod.key for pod in self.store(Pod).by("input", f"{found.kind.name}/{found.metadata.name}"))

    def claims_of(self, found: StorageClass) -> Iterable[Key]:
        """Return the claims of a storage class."""
        claims = self.store(Claim).list()
        return (claim.key for claim in claims if claim.spec.storageClassName == found.metadata.name)

    # Reading.

    def owners(self, pod: Pod) -> tuple[tuple[Owner, ...], bool]:
        """Return the owners that are in the cache, nearest first, and whether one is missing there."""
        found: list[Owner] = []
        metadata: ObjectMeta = pod.metadata
        while (reference := metadata.controller) is not None:
            kind = OWNERS.get((reference.apiVersion, reference.kind))
            if kind is None:
                break
            owner = self.store(kind).get(Key(self.namespace, reference.name))
            if owner is None or owner.metadata.uid != reference.uid:
                return tuple(found), True
            found.append(owner)
            metadata = owner.metadata
        return tuple(found), False

    def must_wait(self, pod: Pod) -> bool:
        """Whether to wait for the pod's owners: they choose its behaviour, and their cache may be behind."""
        _, missing = self.owners(pod)
        spent = self.timers.spent(pod, [(_OWNER, "missing" if missing else "known")])
        return missing and not pod.deleting and spent[_OWNER].elapsed < OWNER_PATIENCE

    def cast(self, pod: Pod) -> casting.Cast:
        """Return what a pod shall do."""
        return casting.cast_pod(pod, self.owners(pod)[0], self.script)

    def of_kubelet(self, pod: Pod, cast: casting.Cast) -> kubelet.Seen:
        """Read what decides about a pod that has a node."""
        owner = pod.metadata.controller
        siblings = self.store(Pod).owned_by(owner.uid) if owner is not None else []
        return kubelet.Seen(
            host=self._host(pod),
            inputs=Inputs(config_maps=self._keys(ConfigMap), secrets=self._keys(Secret)),
            now=seconds(self.clock.now()),
            behaviour=cast.behaviour,
            behaviours=cast.containers,
            spent=self.timers.spent(pod, kubelet.timed_parts(pod)),
            crashes=sum(one.status.phase == "Failed" for one in siblings if one.key != pod.key),
        )

    def of_scheduler(self, pod: Pod, cast: casting.Cast) -> scheduler.Seen:
        """Read what decides about a pod that has no node."""
        found = (self.store(Claim).get(Key(self.namespace, name)) for name in pod.claims)
        claims = {claim.metadata.name: claim for claim in found if claim is not None}
        return scheduler.Seen(
            nodes=tuple(node for node in self.store(Node).list() if node.simulated and not node.deleting),
            now=seconds(self.clock.now()),
            tenants=self.house.tenants(pod),
            behaviour=cast.behaviour,
            claims=claims,
            classes={one.metadata.name: one for one in self.store(StorageClass).list()},
            failing=frozenset(name for name, claim in claims.items() if self._fails(claim)),
        )

    def of_provisioner(self, claim: Claim, cast: casting.Cast) -> provisioner.Seen:
        """Read what decides about a claim."""
        wanted = "wanted" if provisioner.wants_volume(claim) else ""
        return provisioner.Seen(
            storage_class=self.store(StorageClass).get(Key("", claim.spec.storageClassName or "")),
            behaviour=cast.behaviour,
            elapsed=self.timers.spent(claim, [(_WANTED, wanted)])[_WANTED].elapsed,
        )

    def _host(self, pod: Pod) -> Host:
        """Return the node of a pod; one without a name if it is not simulated, or is gone."""
        node = self.store(Node).get(Key("", pod.spec.nodeName))
        if node is None or not node.simulated:
            return Host("", "")
        return Host(node.metadata.name, node.address, ready=node.ready)

    def _fails(self, claim: Claim) -> bool:
        return isinstance(casting.cast_claim(claim, self.script).behaviour.fault, VolumeUnbound)

    def _keys(self, kind: type[Keyed]) -> Keys:
        store = self.store(kind)

        def keys(name: str) -> frozenset[str] | None:
            found = store.get(Key(self.namespace, name))
            return None if found is None else found.keys

        return keys
