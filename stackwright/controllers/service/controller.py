"""The controller of every kind that has a blueprint: read, decide, act, report."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import msgspec

from stackwright.adapters.helm import Rendered
from stackwright.api.annotations import PAUSED
from stackwright.api.base import CustomResource, JsonObject, Status
from stackwright.blueprint.endpoints import address_of
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import Service
from stackwright.controllers import needs, ownership, release
from stackwright.controllers.looking import Interests, Looker
from stackwright.controllers.service import (
    act,
    addresses,
    charts,
    credentials,
    holding,
    labels,
    missing_pods,
    pods,
    preview,
    profiles,
    references,
    rendering,
    traces,
)
from stackwright.controllers.service.decide import Intent, Seen, decide, declared
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.service.rings import Drop, Spread, Turn
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
from stackwright.kube.conditions import Finding
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.informer import Change
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import Key, Resource
from stackwright.kube.shapes import pausing
from stackwright.kube.shapes.belonging import FOREIGN_SECONDS
from stackwright.kube.shapes.children import Child, Children, Outcome
from stackwright.kube.shapes.report import report

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)

# Which condition follows the objects of a kind; a Job has its own.
_CONDITIONS: Mapping[type[Resource], str] = {
    Deployment: "DeploymentReady",
    StatefulSet: "DeploymentReady",
    DaemonSet: "DeploymentReady",
    builtin.Service: "CreateServiceReady",
    builtin.CronJob: "CronJobReady",
}
# Which condition follows a Job that makes what a service needs, where the chart does that.
_PROVISIONING = {"db-create": "DBReady", "identity-create": "KeystoneServiceReady"}
_WORKLOADS: tuple[type[Plain], ...] = (Deployment, StatefulSet, DaemonSet)
_LOOKED_AT: tuple[type[Resource], ...] = (
    Secret,
    builtin.Service,
    ConfigMap,
    Job,
    StorageClass,
    StatefulSet,
    builtin.PersistentVolumeClaim,
)


@dataclass(frozen=True)
class ServiceController(Generic[C, F]):
    """Keeps the services of one blueprint."""

    service: Service[C, F]
    environment: Environment
    interests: Interests = field(default_factory=Interests, repr=False, compare=False)
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
                *(self.interests.watch(kind, asked_differently) for kind in _rivals(looked_at)),
                Watch(Secret, release.woken_by),
                Watch(Pod, self._works_for),
                self.interests.watch(Node, _moved),
            ),
            reads=needs.kinds_kept(self.service),
            when=asked_differently,
            workers=workers,
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
        if await pausing.hand_down(PAUSED, resource, self._kept(resource, look, context), context):
            return None
        try:
            return await self._pass(resource, look, context)
        except rendering.Outdated:
            # What changed it, or took it away, has asked for another pass already.
            return None
        except holding.Refused as refused:
            return await self._hold(resource, refused, look, context)
        except Exception as error:
            await _report_failure(resource, error, context)
            raise

    def _kept(self, resource: C, look: Looker, context: Context) -> Iterable[Resource]:
        """Return what is kept for a resource and is to follow it; nothing where it is refused: then it is another's."""
        paused = pausing.is_paused(PAUSED, resource)
        kept = tuple(needs.kept(self.service, resource, look))
        stale = tuple(item for item in kept if pausing.changed(PAUSED, item, paused=paused) is not None)
        return () if stale and ownership.taken(resource, ownership.caches(context)) else stale

    async def _pass(self, resource: C, look: Looker, context: Context) -> Result | None:
        if release.is_given(resource):
            await release.settle(resource, context)
            await act.disown(resource, (Secret, ConfigMap), context)
            seen = await self._see(resource, look, context)
            status, why = await preview.given(self.service, resource, seen, self.environment, context)
            finding = Finding("", "False", release.GIVEN, why, "Info")
            await report(resource, (finding,), status, context, looked=False)
            return None
        seen = await self._see(resource, look, context)
        try:
            intent = decide(self.service, resource, seen, self.environment)
            await act.make_secrets(intent.secrets, resource, context, self.environment, seen.now)
            rendered = await self._render(resource, intent, look, context)
        except (Blocked, ownership.MadeByUser) as error:
            raise holding.Refused(error, seen) from error
        bodies = rendered.objects if rendered is not None else ()
        children = (*intent.children, *self._objects(resource, bodies, intent.children, look))
        again = await self._clear_failed(resource, intent, children, context)
        waits = list(intent.waits)
        prune = intent.values is not None and not waits
        outcome = await self.family.keep(resource, children, context, prune=prune)
        # A release is recorded when it is whole: a first install is one revision, not one for each fact that came.
        if rendered is not None and intent.values is not None and not outcome.failed and not waits:
            wanted = release.Wanted(resource, rendered, intent.values)
            if wait := await release.record(wanted, context, condition=declared(resource, "DeploymentReady")):
                waits.append(wait)
        delays, stuck = await self._turn(resource, intent.turns, seen, context)
        delays.extend(again)
        findings = [
            *(conditions.of_wait(wait, resource) for wait in waits),
            *intent.findings,
            *outcome.findings(context),
            *stuck,
            *await self._refused(resource, outcome, context, delays),
        ]
        told = self.service.tell(resource, intent.facts, look) if self.service.tell else None
        findings.extend(told.findings if told else ())
        exposed = addresses.find(outcome, context)
        # Counted when the conditions are known, so that one which is ready has all its pods: they came meanwhile.
        count = sum(_ready_pods(outcome.newest(item)) for item in self._workloads(resource, context))
        status = self._status(told.status if told else resource.status, intent, outcome, count, exposed)
        for sentence in addresses.moved(resource, status, exposed, seen.nodes):
            context.events.event(resource, "Warning", "AddressChanged", sentence)
        delays.extend(addresses.give_up_in(exposed, seen.now))
        said = await report(resource, findings, status, context)
        settled = not waits and not intent.secrets and all(finding.status == "True" for finding in findings)
        if settled and intent.facts is not None:
            pods_of = self._pods(resource, context)
            # What this pass wrote, the resource of its beginning does not say.
            present = msgspec.structs.replace(resource, status=said)
            await credentials.settle(self.service, present, intent.facts, pods_of, look, context)
        delays.extend(wait.after for wait in waits if wait.after is not None)
        if intent.wake is not None:
            delays.append(intent.wake)
        if intent.course.ended:
            # Now it is told: its Job may go, and the next one may begin.
            delays.append(0.0)
        if failure := outcome.failure(waiting=bool(delays)):
            raise failure
        return Result(after=min(delays)) if delays else None

    async def _hold(self, resource: C, refused: holding.Refused, look: Looker, context: Context) -> Result | None:
        """Keep what was recorded last of a service whose resource is refused, and say why it is."""
        error, seen = refused.error, refused.seen
        held = holding.hold(self.service, resource, seen)
        if held is None:
            await _report_failure(resource, error, context)
            raise error
        context.logger.info("refused; what was recorded last is kept", reason=error.reason, message=str(error))
        lost = tuple(self._objects(resource, held.lost, (), look))
        outcome = await self.family.keep(resource, lost, context, prune=False)
        there = self._objects(resource, held.there, (), look)
        outcome = replace(outcome, desired=(*outcome.desired, *there))
        delays, stuck = await self._turn(resource, held.turns, seen, context)
        findings = (conditions.finding_of(error), *outcome.findings(context), *stuck)
        exposed = addresses.find(outcome, context)
        status: Any = resource.status
        changes = {"overridden": outcome.overridden(), "addresses": addresses.keep(status.addresses, exposed)}
        await report(resource, findings, msgspec.structs.replace(status, **changes), context, looked=False)
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
        nodes = tuple(look.all(Node)) if self.service.endpoints_of(resource) else ()
        return Seen(look, clock.now(), self._workloads(resource, context), nodes, logs, ownership.caches(context))

    async def _render(self, resource: C, intent: Intent[F], look: Looker, context: Context) -> Rendered | None:
        if intent.values is None:
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

    async def _clear_failed(
        self, resource: Any, intent: Intent[F], children: Iterable[Child], context: Context
    ) -> list[float]:
        """Let Jobs go that failed, for another try; those of actions run once, and have told how they ended."""
        actions = f"{resource.metadata.name}-action-"
        names = [child.body["metadata"]["name"] for child in children if child.of is Job]
        keys = [resource.key._replace(name=name) for name in names if not name.startswith(actions)]
        found = [job for key in keys if (job := context.store(Job).get(key)) and labels.belongs(job, resource)]
        parts = (intent.values or {}).get("components", {})
        before = resource.status.hash
        changed = any(before.get(name, part.get("hash")) != part.get("hash") for name, part in parts.items())
        return await act.clear_failed(found, context, clock.now(), changed=changed)

    async def _refused(
        self, resource: C, outcome: Outcome, context: Context, delays: list[float]
    ) -> tuple[Finding, ...]:
        """Return which workloads may not make their pods, and look again while one of them lacks some."""
        mine = self._pods(resource, context)
        found: list[Finding] = []
        for item in outcome.desired:
            workload = outcome.latest(item, context.store(item.of).get(item.key))
            beside = item.of is Job and not item.condition
            if not beside and isinstance(workload, Plain) and missing_pods.lacks_pods(workload, mine):
                delays.append(missing_pods.LOOK_AGAIN)
                trouble = conditions.find(resource.status.conditions, item.condition or conditions.READY)
                finding = await missing_pods.told(workload, mine, trouble, context.client)
                found.extend([replace(finding, condition=item.condition)] if finding is not None else ())
        return tuple(found)

    def _objects(
        self, resource: C, bodies: Sequence[JsonObject], beside_it: Iterable[Child], look: Looker
    ) -> Iterable[Child]:
        """Return the objects of a release as children, each with the condition that follows it."""
        made = frozenset(
            (str(body.get("kind")), str(body["metadata"]["name"]))
            for body in (*bodies, *(child.body for child in beside_it))
        )
        mine = [pod for pod in look.all(Pod) if labels.instance_of(pod, self.service.name) == resource.key]
        for body in bodies:
            of = release.type_of(body)
            component = labels.component_of(body)
            condition = self._condition(of, body, resource)
            # A job that no condition follows, and one that somebody asked for, are done beside the service's work.
            beside = of is Job and not condition

            def state(present: Resource, component: str = component, beside: bool = beside) -> Finding:  # noqa: FBT001  a default that binds
                said = pods.explained(present, component, mine, beside=beside)
                return said if said.status == "True" else references.missing(present, look, made) or said

            asked, otherwise = self._addressed(resource, body, look) if of is builtin.Service else (body, None)
            yield Child(of, asked, condition, state, once=of is Job, otherwise=otherwise)

    def _addressed(self, resource: Any, body: JsonObject, look: Looker) -> tuple[JsonObject, JsonObject | None]:
        """Return a Service with the address that it had before, and without it where it asks for one."""
        name = body["metadata"]["name"]
        present = look(builtin.Service, name)
        asked = addresses.ask_again(body, present, resource.status.addresses.get(name), clock.now())
        return asked, (body if asked is not body else None)

    def _condition(self, of: type[Resource], body: JsonObject, resource: C) -> str:
        if of is not Job:
            return declared(resource, _CONDITIONS.get(of, ""))
        if body["metadata"]["name"].startswith(f"{resource.metadata.name}-action-"):
            return ""
        component = labels.component_of(body)
        own = {job.name: job.condition for job in self.service.jobs_of(resource)}
        return declared(resource, own.get(component, _PROVISIONING.get(component, "")))

    def _pods(self, resource: C, context: Context) -> list[Pod]:
        found = context.store(Pod).list(resource.metadata.namespace)
        return [pod for pod in found if labels.instance_of(pod, self.service.name) == resource.key]

    async def _turn(
        self, resource: C, turns: Iterable[Turn | Spread | Drop], seen: Seen, context: Context
    ) -> tuple[list[float], list[Finding]]:
        """Turn the rings that are due; return when to try again those that have to wait, and what is wrong."""
        components = {component.name for component in self.service.components_of(resource)}
        holders = [
            pod
            for pod in self._pods(resource, context)
            if pod.metadata.labels.get(labels.COMPONENT) in components
            and pod.status.get("phase") in ("Pending", "Running")
            and pod.spec.get("nodeName")
            and not pod.deleting
        ]
        delays: list[float] = []
        stuck: list[Finding] = []
        for step in turns:
            try:
                await act.turn(step, holders, context, self.environment, seen.now)
            except Retry as error:
                # The service is as ready as before: its keys are only a little older than they might be.
                context.logger.info("a key ring waits to be rotated", why=str(error))
                delays.append(error.after or act.HOLDING_SECONDS)
            except Blocked as error:
                stuck.append(conditions.finding_of(error))
        return delays, stuck

    def _status(
        self, told: Status, intent: Intent[F], outcome: Outcome, ready_count: int, exposed: addresses.Exposed
    ) -> Status:
        status: Any = told
        changes: dict[str, Any] = {"overridden": outcome.overridden(), "actions": intent.course.statuses}
        if intent.values is not None:
            changes["chart"] = charts.said(outcome.parent)
            changes["addresses"] = addresses.keep(status.addresses, exposed)
            changes["readyCount"] = ready_count
            parts = {**intent.values["components"], **intent.values.get("jobs", {})}
            hashes = {name: part["hash"] for name, part in parts.items() if "hash" in part}
            changes["hash"] = {**hashes, **intent.noted}
        result: Status = msgspec.structs.replace(status, **changes)
        return result


async def _report_failure(resource: CustomResource, error: Exception, context: Context) -> None:
    finding = conditions.finding_of(error)
    status = preview.told(resource.status, error)
    # An error that names no condition says nothing of any.
    await report(resource, (finding,), status, context, looked=bool(finding.condition))


def _ready_pods(workload: Resource) -> int:
    """Return how many pods of a workload are ready; a DaemonSet has a word of its own for them."""
    word = "numberReady" if isinstance(workload, DaemonSet) else "readyReplicas"
    return int(workload.status.get(word, 0)) if isinstance(workload, Plain) else 0


def _rivals(looked_at: Container[type[Resource]]) -> Iterable[type[CustomResource]]:
    """Return the kinds of those that may claim what a service makes, and that it does not look at anyway."""
    return (kind for kind in ownership.claiming() if kind not in looked_at)


def _moved(change: Change[Node]) -> bool:
    """Return whether a node is reached at another address than before."""
    return change.old is None or change.new is None or address_of(change.old) != address_of(change.new)


def controllers(services: Iterable[Service[Any, Any]], environment: Environment) -> tuple[Controller, ...]:
    """Return the controllers of several services."""
    return tuple(ServiceController(service, environment).controller() for service in services)
