"""The runs of a service on the nodes of one role: nodes that are due for the same inputs share a run.

Each resource says what it wants, and what it waits for. This plans for all of them, as a role does for its own
services: maxUnavailable counts, and a node that failed is tried again alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole, ServiceRecord
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.records import find_lost, has_failed, is_for_resource, is_recorded, names_of
from stackwright.blueprint.dataplane.schedule import Backoff, Candidate, Due, NewRun, limit_of, plan_runs
from stackwright.blueprint.providers import Sight
from stackwright.controllers.dataplane.gathering import Gathering
from stackwright.controllers.dataplane.nodes import is_applied
from stackwright.controllers.dataplane.run_inputs import cut_run, describe_run
from stackwright.controllers.looks import Interests
from stackwright.controllers.needs import sight
from stackwright.controllers.node_services.begun import BegunRuns
from stackwright.controllers.node_services.creation import finalizer_of
from stackwright.controllers.node_services.deployment import find_waits
from stackwright.controllers.node_services.preparation import Surroundings, Whole, prepare
from stackwright.controllers.node_services.steps import drop
from stackwright.controllers.teams import team_of_kind
from stackwright.kube import clock
from stackwright.kube.builtin import Secret
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.plan import Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import JsonObject, Key, Resource, owner_reference
from stackwright.kube.shapes import pausing


@dataclass(frozen=True)
class Seen:
    """What there is for a role: the resources of its nodes, by name, and what those that are due would run.

    `settled` is what those that are not due would run, as far as somebody has to know: whether a change that failed on
    one node has succeeded on another, or has failed there, too.
    """

    role: OpenStackDataPlaneRole
    now: datetime
    resources: Mapping[str, NodeServiceResource]
    wholes: Mapping[str, Whole]
    runs: tuple[OpenStackAnsibleEE, ...] = ()
    settled: Mapping[str, Due] = field(default_factory=dict)


@dataclass(frozen=True)
class Beginning:
    """A run that begins, with the resources that it is for: it goes when all of them are gone."""

    owners: tuple[NodeServiceResource, ...]
    objects: tuple[tuple[type[Resource], JsonObject], ...] = field(repr=False)

    @property
    def key(self) -> Key:
        """The key of the run."""
        (name,) = (body["metadata"]["name"] for kind, body in self.objects if kind is OpenStackAnsibleEE)
        return Key(self.owners[0].metadata.namespace, name)

    def bodies(self) -> Iterator[tuple[type[Resource], JsonObject]]:
        """Yield what is created, with its owners."""
        references = [owner_reference(owner, controller=not number) for number, owner in enumerate(self.owners)]
        metadata = {"namespace": self.owners[0].metadata.namespace, "ownerReferences": references}
        for kind, body in self.objects:
            yield kind, {**body, "metadata": {**body["metadata"], **metadata}}


@dataclass(frozen=True)
class Decision:
    """The runs that begin now, those that nobody speaks of any more, and in how many seconds to look again."""

    begins: tuple[Beginning, ...] = ()
    old: tuple[OpenStackAnsibleEE, ...] = ()
    again: float | None = None


def decide(
    service: NodeService, seen: Seen, candidates: Iterable[Candidate], backoff: Backoff, gather: float = 0.0
) -> Decision:
    """Return which runs begin. Pure."""
    most = limit_of(seen.role.spec.maxUnavailable, len(seen.resources))
    schedule = plan_runs(candidates, seen.runs, seen.now, most=most, backoff=backoff, gather=gather)
    prepared = {name: whole.prepared for name, whole in seen.wholes.items()}
    begins = tuple(_begin(service, part, seen) for new in schedule.runs for part in cut_run(new, prepared))
    return Decision(begins, tuple(find_old(service, seen)), schedule.again)


def candidates_of(service: NodeService, seen: Seen) -> Iterator[Candidate]:
    """Yield the nodes: those that are due with what they would run, the others because they count as serving."""
    for name, resource in seen.resources.items():
        record = resource.status.deployment or ServiceRecord(name=service.name)
        is_due = name in seen.wholes
        due = seen.wholes[name].due if is_due else seen.settled.get(name, Due(service.name, record.inputHash, ""))
        yield Candidate(name, (due,), (record,), is_due, counts=partial(is_for_resource, resource=resource))


def _begin(service: NodeService, new: NewRun, seen: Seen) -> Beginning:
    wholes = [seen.wholes[name] for name in new.nodes]
    machines = {name: seen.wholes[name].prepared for name in new.nodes}
    # What they have in common they can share; their snippets are among it.
    own = {service.override: wholes[0].override} if wholes[0].override else {}
    objects = describe_run(seen.role.metadata.name, new, wholes[0].work, machines, own)
    return Beginning(tuple(seen.resources[name] for name in new.nodes), tuple(objects))


def find_old(service: NodeService, seen: Seen) -> Iterator[OpenStackAnsibleEE]:
    """Yield the runs that have ended, and of which no resource speaks any more."""
    for run in seen.runs:
        if run.spec.service != service.name or not run.finished or run.deleting:
            continue
        mine = (seen.resources[entry.name] for entry in run.spec.nodes if entry.name in seen.resources)
        records = [each.status.deployment for each in mine if is_for_resource(run, each)]
        if records and all(each is not None and _is_past(run, each) for each in records):
            yield run


def _is_past(run: OpenStackAnsibleEE, record: ServiceRecord) -> bool:
    return record.run != run.metadata.name and is_recorded(run, (record,))


@dataclass
class Fleet:
    """Keeps the runs of one service, role by role."""

    service: NodeService
    around: Surroundings
    interests: Interests
    gathering: Gathering
    backoff: Backoff
    begun: BegunRuns = field(default_factory=BegunRuns)

    async def reconcile(self, key: Key, context: Context) -> Result | None:
        """Begin the runs that are due on the nodes of a role."""
        role = context.store(OpenStackDataPlaneRole).get(key)
        if role is None:
            self.interests.forget(key)
            self.gathering.forget(key)
            return None
        seen = await self._observe(role, context)
        candidates = self.gathering.note(key, candidates_of(self.service, seen), seen.now)
        decision = decide(self.service, seen, candidates, self.backoff, self.gathering.seconds)
        for begin in decision.begins:
            # Nothing is awaited in between: a resource that is deleted from now on finds the claim.
            if not self._are_there(begin, context):
                continue
            with self.begun.claim(begin.key, (owner.metadata.uid for owner in begin.owners)):
                for kind, body in begin.bodies():
                    await context.client.apply(kind, body)
        for run in decision.old:
            await drop(run, context.client)
        return Result(after=decision.again) if decision.again is not None else None

    def _are_there(self, begin: Beginning, context: Context) -> bool:
        """Return whether all for whom a run begins stay. Once one of them goes, its event brings the next look."""
        store = context.store(self.service.kind)
        known = ((owner, store.get(owner.key)) for owner in begin.owners)
        return all(
            now is not None and not now.deleting and now.metadata.uid == owner.metadata.uid for owner, now in known
        )

    async def _observe(self, role: OpenStackDataPlaneRole, context: Context) -> Seen:
        look = self.interests.begin(role, context)
        nodes = context.store(OpenStackDataPlaneNode).list(role.metadata.namespace)
        mine = {node.metadata.name for node in nodes if node.spec.role == role.metadata.name and not node.deleting}
        resources = {
            each.metadata.name: each
            for each in look.all(self.service.kind)
            if each.metadata.name in mine and not each.deleting
        }
        around = sight(look)
        runs = await self.begun.complete(look.all(OpenStackAnsibleEE), role.metadata.namespace, context.client)
        # A run that was deleted leaves nobody knows what, which the resource has to record first.
        names = names_of(runs)
        settled_ones = {name: each for name, each in resources.items() if find_lost(each.status.running, names) is None}
        due = ((name, self._find_due(each, around)) for name, each in settled_ones.items())
        wholes = {name: whole for name, whole in due if whole is not None}
        bounded = role.spec.maxUnavailable is not None
        settled = self._find_settled(resources, around) if bounded and _is_doubtful(resources.values(), wholes) else {}
        return Seen(role, clock.now(), resources, wholes, runs, settled)

    def _find_settled(self, resources: Mapping[str, NodeServiceResource], around: Sight) -> dict[str, Due]:
        """Return what the resources would run to which the service was applied, or on which it failed.

        One that failed counts although it waits for something: its node may be paused so that somebody can look at it.
        """
        records = {name: each.status.deployment for name, each in resources.items()}
        tried = [name for name, record in records.items() if record and (is_applied(record) or has_failed(record))]
        found = {name: prepare(self.service, resources[name], around, self.around) for name in tried}
        return {name: whole.due for name, whole in found.items() if not isinstance(whole, Wait)}

    def _find_due(self, resource: NodeServiceResource, around: Sight) -> Whole | None:
        """Return what a resource would run now; None if it is applied, or waits for something."""
        record = resource.status.deployment or ServiceRecord(name=self.service.name)
        # What runs has to be stopped, so nothing runs before the resource is held until that is done.
        held = finalizer_of(self.service) in resource.metadata.finalizers
        if is_applied(record) or not held or pausing.is_paused(PAUSED, resource):
            return None
        whole = prepare(self.service, resource, around, self.around)
        if isinstance(whole, Wait) or any(find_waits(self.service, resource, record, whole, around)):
            return None
        return whole


def _is_doubtful(resources: Iterable[NodeServiceResource], due: Mapping[str, Whole]) -> bool:
    """Return whether the service failed on a node while others wait for it."""
    records = [each.status.deployment for each in resources]
    return len(due) > 0 and any(record is not None and has_failed(record) for record in records)


def controller(
    service: NodeService,
    around: Surroundings,
    gathering: Gathering,
    backoff: Backoff,
    looks: tuple[type[Resource], ...],
    begun: BegunRuns,
) -> Controller:
    """Return the controller of the runs of a service; `looks` are the kinds that its resources look at.

    `begun` it shares with what removes the service.
    """
    interests = Interests()
    fleet = Fleet(service, around, interests, gathering, backoff, begun)
    return Controller(
        name=f"{service.name}-runs",
        kind=OpenStackDataPlaneRole,
        reconcile=fleet.reconcile,
        watches=(
            interests.watch(OpenStackDataPlaneNode),
            *interests.watches(dict.fromkeys((service.kind, OpenStackAnsibleEE, *looks))),
        ),
        makes=(OpenStackAnsibleEE, Secret),
        when=asked_differently,
        workers=2,
        team=team_of_kind(service.kind),
        reports=False,
    )
