"""The controller of every kind that has a blueprint: read, decide, act, report."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from stackwright.adapters.helm import Rendered
from stackwright.api.annotations import PAUSED
from stackwright.api.base import CustomResource, Status
from stackwright.api.pods import TopologyRef
from stackwright.api.service import WorkloadStatus
from stackwright.api.topology import Topology
from stackwright.blueprint import use
from stackwright.blueprint.endpoints import address_of
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers import needs, ownership, release
from stackwright.controllers.looks import Interests, Looker
from stackwright.controllers.service import (
    act,
    addresses,
    charts,
    credentials,
    editions,
    failed_jobs,
    former_jobs,
    growth,
    holding,
    job_nodes,
    jobs_at_work,
    labels,
    missing_pods,
    neighbours,
    objects,
    pods,
    preview,
    profiles,
    rendering,
    ring_turns,
    room,
    traces,
    trials,
)
from stackwright.controllers.service.decide import Intent, Seen, decide
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.service.last_lines import LastLines
from stackwright.controllers.service.rings import Step
from stackwright.kube import builtin, clock, conditions
from stackwright.kube.builtin import (
    ConfigMap,
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    Node,
    Plain,
    Pod,
    Secret,
    StatefulSet,
    StorageClass,
)
from stackwright.kube.conditions import Finding, declared
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.informer import Change
from stackwright.kube.plan import Wait
from stackwright.kube.predicates import any_of, asked_differently
from stackwright.kube.resource import Key, Resource
from stackwright.kube.shapes import pausing, strangers
from stackwright.kube.shapes.belonging import FOREIGN_SECONDS
from stackwright.kube.shapes.child import Child, mark_by
from stackwright.kube.shapes.children import Children
from stackwright.kube.shapes.outcome import Outcome
from stackwright.kube.shapes.report import report

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)

_WORKLOADS: tuple[type[Plain], ...] = (Deployment, StatefulSet, DaemonSet)
_LOOKED_AT: tuple[type[Resource], ...] = (
    Secret,
    builtin.Service,
    ConfigMap,
    Job,
    StorageClass,
    StatefulSet,
    builtin.PersistentVolumeClaim,
    # Every component may refer to one.
    Topology,
)


@dataclass(frozen=True)
class _Sorted:
    """The children that are applied, those that are held back until they were tried, and the waits for that.

    `idle` are Jobs of before that could begin to change tables beside those that are asked for now. `volumes` is what
    to do about the volumes of StatefulSets.
    """

    applied: tuple[Child, ...]
    held: tuple[Child, ...]
    waits: tuple[Wait, ...]
    idle: tuple[Job, ...]
    volumes: growth.Growth


@dataclass(frozen=True)
class ServiceController(Generic[C, F]):
    """Keeps the services of one blueprint."""

    service: Service[C, F]
    environment: Environment
    interests: Interests = field(default_factory=Interests, repr=False, compare=False)
    lines: LastLines = field(default_factory=LastLines, repr=False, compare=False)
    family: Children = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", Children(self._owned))

    @property
    def _owned(self) -> tuple[type[Resource], ...]:
        return (*release.KINDS, *needs.kinds_owned(self.service), *self.service.owns)

    def controller(self, *, workers: int = 4) -> Controller:
        """Return the controller."""
        looked_at = tuple(dict.fromkeys((*needs.kinds_read(self.service), *_LOOKED_AT)))
        return Controller(
            name=self.service.kind.kind.name.lower(),
            kind=self.service.kind,
            reconcile=self._reconcile,
            owns=self._owned,
            watches=(
                *self.interests.watches(looked_at),
                # Its label says what pods may take of the host.
                *self.interests.watches((Namespace,) if profiles.needs_namespace(self.service) else ()),
                # Whoever is refused for the sake of another is woken when that one says something else, or goes.
                # Whoever waits for a reader of an export is woken by its mark.
                *(
                    self.interests.watch(kind, any_of(asked_differently, use.is_noted_anew))
                    for kind in _rivals(looked_at)
                ),
                Watch(Secret, release.woken_by),
                Watch(Pod, self._works_for),
                self.interests.watch(Node, _moved),
                *(self.interests.watch(need.of, need.counts) for need in needs.censuses(self.service)),
                *map(self.interests.watch_readers, needs.readers(self.service)),
            ),
            reads=needs.kinds_kept(self.service),
            when=asked_differently,
            workers=workers,
            pause=PAUSED,
        )

    def _works_for(self, pod: Pod) -> Iterable[Key]:
        key = labels.instance_of(pod, self.service.name)
        return () if key is None else (key,)

    async def _reconcile(self, key: Key, context: Context) -> Result | None:
        resource = context.store(self.service.kind).get(key)
        if resource is None or resource.deleting:
            # The garbage collector takes what has an owner; what is to stay has none.
            self.family.forget(key)
            self.interests.forget(key)
            return None
        look = self.interests.begin(resource, context)
        below = (*self._kept(resource, look, context), *pausing.owned(resource, self.service.owns, context))
        if await pausing.hand_down(PAUSED, resource, below, context):
            return None
        try:
            return await self._pass(resource, look, context)
        except rendering.Outdated:
            # What changed it, or took it away, has asked for another pass already.
            return None
        except holding.Refused as refused:
            try:
                return await self._hold(resource, refused, look, context)
            except Exception:
                # Whatever fails, the refusal is reported.
                await _report_failure(resource, refused.error, context)
                raise
        except Exception as error:
            await _report_failure(resource, error, context)
            raise

    def _kept(self, resource: C, look: Looker, context: Context) -> Iterable[Resource]:
        """Return the kept objects that have to follow a resource; none if it is refused: they are another's then."""
        paused = pausing.is_paused(PAUSED, resource)
        kept = tuple(needs.kept(self.service, resource, look))
        stale = tuple(item for item in kept if pausing.changed(PAUSED, item, paused=paused) is not None)
        return () if stale and ownership.taken(resource, ownership.caches(context)) else stale

    async def _pass(self, resource: C, look: Looker, context: Context) -> Result | None:
        if release.is_given(resource):
            await self._leave(resource, look, context)
            return None
        seen = await self._see(resource, look, context)
        try:
            intent = decide(self.service, resource, seen, self.environment)
            await act.make_secrets(intent.secrets, resource, context, self.environment, seen.now)
            rendered = await self._render(resource, intent, look, context)
        except (Blocked, ownership.MadeByUser) as error:
            raise holding.Refused(error, seen) from error
        children = await self._children(resource, intent, rendered, look, context)
        again, outdated = await self._clear_jobs(resource, intent, children, context)
        waits = [*intent.waits, *children.waits]
        # Claims for further pods come before the pods.
        volumes = await growth.take(children.volumes, resource, context)
        prune = intent.values is not None and not waits
        if await credentials.begin(resource, intent.used, look, context):
            return Result(after=0.0)
        outcome = await self._keep(resource, children, intent, look, context, prune=prune)
        if outcome.staying:
            lacking = neighbours.list_lacking(outcome.staying, self._pods(resource, context), look)
            condition = declared(resource, "DeploymentReady")
            waits.append(neighbours.wait_for(outcome.staying, lacking, condition, clock.now()))
        # A release is recorded when it is whole: a first install is one revision, not one for each fact that came.
        if rendered is not None and intent.values is not None and not outcome.failed and not waits:
            wanted = release.Wanted(resource, rendered, intent.values)
            waits.extend(await self._record(resource, wanted, context))
            recorded = {release.RECORDED: wanted.digest} if not waits else {}
            intent = replace(intent, noted={**intent.noted, **recorded})
        delays, stuck = await self._turn(resource, intent.turns, seen, context)
        delays.extend((*again, *volumes.delays))
        refused, look_again = await missing_pods.find_refused(resource, outcome, self._pods(resource, context), context)
        delays.extend((*look_again, *room.look_again(self._pods(resource, context), clock.now())))
        findings = [
            # Of what holds, the first that has something to say is heard.
            *volumes.findings,
            # Nothing else waits for a Job that is to be made anew.
            *(conditions.of_wait(wait, resource) for wait in (*waits, *outdated)),
            *intent.findings,
            *outcome.findings(context),
            *stuck,
            *refused,
        ]
        told = self.service.tell(resource, intent.facts, look) if self.service.tell else None
        findings.extend(told.findings if told else ())
        exposed = addresses.find(outcome, context)
        # Counted when the conditions are known, so that one which is ready has all its pods: they came meanwhile.
        count = sum(pods.count_ready(outcome.newest(item)) for item in self._workloads(resource, context))
        status = self._status(told.status if told else resource.status, intent, outcome, count, exposed)
        delays.extend(addresses.give_up_in(exposed, seen.now))
        settled = (
            not waits
            and all(finding.status == "True" for finding in findings)
            and intent.facts is not None
            and credentials.has_rolled(
                status.hash, self._pods(resource, context), context.store(Job).owned_by(resource.metadata.uid)
            )
        )
        status = (
            credentials.note_settled_use(self.service, resource, intent, status, look)
            if settled
            else credentials.note_use(resource, intent.used, status, look, settled=False)
        )
        said = await report(resource, findings, status, context)
        _tell_moved(resource, addresses.moved(resource, status, exposed, seen.nodes), context)
        if settled:
            # What this pass wrote, the resource of its beginning does not say.
            present = msgspec.structs.replace(resource, status=said)
            await credentials.settle(self.service, present, intent, look, context)
        delays.extend(wait.after for wait in waits if wait.after is not None)
        if intent.wake is not None:
            delays.append(intent.wake)
        if intent.course.ended:
            # Its end has been reported: its Job may go, and the next action may begin.
            delays.append(0.0)
        if failure := outcome.failure(waiting=bool(delays)):
            raise failure
        return Result(after=min(delays)) if delays else None

    async def _leave(self, resource: C, look: Looker, context: Context) -> None:
        """Leave a service to whoever uses helm by hand, and say so."""
        await release.settle(resource, context)
        await act.disown(resource, (Secret, ConfigMap), context)
        await act.forget_marks(needs.list_confirmed(self.service, resource, look), resource, context)
        seen = await self._see(resource, look, context)
        status, why = await preview.describe_given(self.service, resource, seen, self.environment, context)
        finding = Finding("", "False", release.GIVEN, why, "Info")
        await report(resource, (finding,), status, context, looked=False)

    async def _keep(
        self, resource: C, children: _Sorted, intent: Intent[F], look: Looker, context: Context, *, prune: bool
    ) -> Outcome:
        """Apply the children; what is held back is still there, with what others set on it, and is reported too."""
        forsaken = partial(self.service.forsaken, resource, intent.facts)

        def crowded(staying: Iterable[Resource]) -> bool:
            gone = {(item.kind, item.key) for item in staying}
            others = [item for item in self._workloads(resource, context) if (item.kind, item.key) not in gone]
            lacking = neighbours.list_lacking(staying, self._pods(resource, context), look)
            return room.is_crowded(lacking, others, clock.now())

        outcome = await self.family.keep(
            resource, children.applied, context, prune=prune, forsaken=forsaken, hurried=crowded
        )
        return replace(outcome, desired=(*outcome.desired, *children.held))

    async def _clear_jobs(
        self, resource: C, intent: Intent[F], children: _Sorted, context: Context
    ) -> tuple[list[float], tuple[Wait, ...]]:
        """Delete Jobs that failed or that are not needed any more.

        Return in how many seconds others are due, and which of them still work with what they were made with.
        """
        await former_jobs.clear(self.service, resource, context)
        await former_jobs.delete(children.idle, context)
        await former_jobs.delete(self._find_misplaced(resource, children, context), context)
        return await failed_jobs.clear(self.service, resource, intent.values or {}, children.applied, context)

    def _find_misplaced(self, resource: C, children: _Sorted, context: Context) -> Iterable[Job]:
        owned = context.store(Job).owned_by(resource.metadata.uid)
        mark = mark_by(context.client.field_manager)
        return job_nodes.find_misplaced(
            self.service, resource, owned, children.applied, self._pods(resource, context), mark
        )

    async def _record(self, resource: C, wanted: release.Wanted, context: Context) -> tuple[Wait, ...]:
        wait = await release.record(wanted, context, condition=declared(resource, "DeploymentReady"))
        return (wait,) if wait is not None else ()

    async def _children(
        self, resource: C, intent: Intent[F], rendered: Rendered | None, look: Looker, context: Context
    ) -> _Sorted:
        """Return all that a resource stands for, apart what has to be tried first, and the waits for that."""
        asked = rendered.objects if rendered is not None else ()
        bodies = growth.keep_templates(asked, look)
        mine = await self._speaking_pods(resource, context)
        listed = tuple(objects.children_of(self.service, resource, bodies, intent.children, mine, look))
        # A field that somebody else set is theirs and is not applied. Only the server knows whose it is.
        changes = [
            replace(change, theirs=await strangers.owned(context.client, change.present))
            for change in trials.find_changes(self.service, resource, bodies, look)
        ]
        held = trials.hold_back(self.service, resource, changes, intent.children, look)
        back = tuple(item for item in listed if item.body in held.bodies)
        # Without a release nothing is asked for yet, and nothing is pruned.
        owned = context.store(Job).owned_by(resource.metadata.uid) if rendered is not None else ()
        work = jobs_at_work.find(self.service, resource, owned, listed)
        applied = (*intent.children, *(item for item in listed if item not in (*back, *work.held)), *held.trials)
        waits = (*held.waits, *jobs_at_work.waits(self.service, resource, work, clock.now()))
        return _Sorted(applied, back, waits, work.idle, growth.plan(asked, look))

    async def _hold(self, resource: C, refused: holding.Refused, look: Looker, context: Context) -> Result | None:
        """Keep the last recorded release of a service whose resource is refused, and say why it is refused."""
        error, seen = refused.error, refused.seen
        held = holding.hold(self.service, resource, seen)
        if held is None:
            raise error
        context.logger.info("refused; what was recorded last is kept", reason=error.reason, message=str(error))
        mine = await self._speaking_pods(resource, context)
        lost = tuple(objects.children_of(self.service, resource, held.lost, (), mine, look))
        outcome = await self.family.keep(resource, lost, context, prune=False)
        there = objects.children_of(self.service, resource, held.there, (), mine, look)
        outcome = replace(outcome, desired=(*outcome.desired, *there))
        delays, stuck = await self._turn(resource, held.turns, seen, context)
        findings = (conditions.finding_of(error), *outcome.findings(context), *stuck)
        exposed = addresses.find(outcome, context)
        status = status_of(resource)
        changes = {"overridden": outcome.overridden(), "addresses": addresses.keep(status.addresses, exposed)}
        status = msgspec.structs.replace(status, **changes)
        await report(resource, findings, status, context, looked=False)
        _tell_moved(resource, addresses.moved(resource, status, exposed, seen.nodes), context)
        delays.extend(after for after in (held.wake, getattr(error, "after", None)) if after is not None)
        if failure := outcome.failure(waiting=bool(delays)):
            raise failure
        return Result(after=min(delays)) if delays else None

    def _workloads(self, resource: C, context: Context) -> tuple[Plain, ...]:
        """Return what runs for a resource. What is, or was, in helm's hands has no owner; its pods are the same."""
        return tuple(
            item
            for kind in _WORKLOADS
            for item in context.store(kind).list(resource.metadata.namespace)
            if labels.belongs(item, resource)
            or (item.metadata.controller is None and labels.instance_of(item, self.service.name) == resource.key)
        )

    async def _see(self, resource: C, look: Looker, context: Context) -> Seen:
        logs = {
            job.metadata.name: await act.log_of(job, context) for job in traces.ended_jobs(self.service, resource, look)
        }
        is_reached = self.service.outside is not None or self.service.endpoints_of(resource)
        nodes = tuple(look.all(Node)) if is_reached else ()
        there = context.store(Secret).list(resource.metadata.namespace)
        return Seen(
            look,
            clock.now(),
            self._workloads(resource, context),
            nodes,
            logs,
            ownership.caches(context),
            tuple(self._pods(resource, context)),
            editions.find(self.service, resource, there),
        )

    async def _render(self, resource: C, intent: Intent[F], look: Looker, context: Context) -> Rendered | None:
        if intent.values is None or not self.service.has_chart:
            return None
        condition = declared(resource, "DeploymentReady")
        place = rendering.Place(self.service, resource, self.environment, look, context, condition)
        rendered = await rendering.render(place, intent.values)
        secrets = context.store(Secret).list(resource.metadata.namespace)
        there = release.there(resource, rendered.objects, context)
        ownership.refuse_users(resource, there, secrets, declared(resource, "InputReady"))
        try:
            await release.settle(resource, context, rendered.objects, condition=condition)
        except Blocked as error:
            # What another release holds has no owner, and wakes nobody when it goes.
            raise Retry(str(error), reason=error.reason, condition=condition, after=FOREIGN_SECONDS) from error
        return rendered

    def _pods(self, resource: C, context: Context) -> list[Pod]:
        found = context.store(Pod).list(resource.metadata.namespace)
        return [pod for pod in found if labels.instance_of(pod, self.service.name) == resource.key]

    async def _speaking_pods(self, resource: C, context: Context) -> list[Pod]:
        """Return the pods of a resource, with the last lines of containers that ended without a word."""
        if self.lines.known:
            self.lines.forget(context.store(Pod).list())
        return await self.lines.add(self._pods(resource, context), context.client)

    async def _turn(
        self, resource: C, turns: Iterable[Step], seen: Seen, context: Context
    ) -> tuple[list[float], list[Finding]]:
        holders = ring_turns.holders_of(self.service, resource, self._pods(resource, context), seen.now)
        return await ring_turns.take(turns, holders, context, self.environment, seen.now)

    def _status(
        self, status: Status, intent: Intent[F], outcome: Outcome, ready_count: int, exposed: addresses.Exposed
    ) -> WorkloadStatus:
        assert isinstance(status, WorkloadStatus)  # noqa: S101  the status of every service extends it
        changes: dict[str, Any] = {"overridden": outcome.overridden(), "actions": intent.course.statuses}
        if intent.values is not None:
            changes["chart"] = charts.describe_source(outcome.parent)
            changes["addresses"] = addresses.keep(status.addresses, exposed)
            changes["readyCount"] = ready_count
            changes["lastAppliedTopology"] = _topology_of(intent, outcome.parent)
            parts = {**intent.values["components"], **intent.values.get("jobs", {})}
            hashes = {name: part["hash"] for name, part in parts.items() if "hash" in part}
            before = {name: value for name, value in status.hash.items() if name == release.RECORDED}
            changes["hash"] = {**before, **hashes, **intent.noted}
        return msgspec.structs.replace(status, **changes)


def _topology_of(intent: Intent[Any], resource: Resource) -> TopologyRef | None:
    """Return the Topology that pods are created with: that of the first component, where they differ."""
    name = next(iter(intent.facts.topologies if intent.facts is not None else ()), "")
    return TopologyRef(name=name, namespace=resource.metadata.namespace) if name else None


async def _report_failure(resource: CustomResource, error: Exception, context: Context) -> None:
    finding = conditions.finding_of(error)
    status = preview.note_contested(resource.status, error)
    # An error that names no condition says nothing of any.
    await report(resource, (finding,), status, context, looked=bool(finding.condition))


def _tell_moved(resource: CustomResource, sentences: Iterable[str], context: Context) -> None:
    """Tell which Services have other addresses, once the status has them too: each pass before that finds them anew."""
    if context.pace.put_off is None:
        for sentence in sentences:
            context.events.event(resource, "Warning", "AddressChanged", sentence)


def _rivals(looked_at: Container[type[Resource]]) -> Iterable[type[CustomResource]]:
    """Return the kinds of those that may claim what a service makes, and that it does not look at anyway."""
    return (kind for kind in ownership.claiming() if kind not in looked_at)


def _moved(change: Change[Node]) -> bool:
    """Return whether a node is reached at another address than before."""
    return change.old is None or change.new is None or address_of(change.old) != address_of(change.new)


def controllers(services: Iterable[Service[Any, Any]], environment: Environment) -> tuple[Controller, ...]:
    """Return the controllers of several services."""
    return tuple(ServiceController(service, environment).controller() for service in services)
