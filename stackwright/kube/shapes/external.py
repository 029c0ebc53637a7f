"""The shape of a resource that stands for something outside the cluster: read what is, decide, act.

`read` asks the outside world, `decide` is pure, `act` carries out one step. After its steps a pass reads
again, so that a condition turns True only when the world was seen to be so, and the status is written once.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from stackwright import tasks
from stackwright.kube import conditions, finalizers
from stackwright.kube.conditions import Finding
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Blocked, Denied, Retry
from stackwright.kube.plan import Plan, Step
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import CustomResource, Key, Resource, Status
from stackwright.kube.shapes import pausing
from stackwright.kube.shapes.report import report

C = TypeVar("C", bound=CustomResource)
Seen = TypeVar("Seen")
World = TypeVar("World")

# How often a pass acts and reads again before it lets others have their turn.
ROUNDS = 4
# How many seconds are left, after what a pass may take to read and act, to say in the status how it went.
TELLING = 10.0


@dataclass(frozen=True)
class External(Generic[C, Seen, World]):
    """A kind of this shape, as data; `controller` makes it run.

    `remove`, where given, is what `decide` is when the resource goes: the finalizer `finalizer` holds the
    resource until its plan is empty. `every` seconds the world is read again, because it cannot be watched.
    `tell` adds what was seen to the status. Reading and acting may take `deadline` seconds in one pass. `pause` is
    the annotation that stops the work. `holds` says of which resources the finalizer is needed: one that leaves
    nothing to remove can go without us, also when no operator is there any more.
    """

    of: type[C]
    read: Callable[[C, World], Awaitable[Seen]]
    decide: Callable[[C, Seen], Plan]
    act: Callable[[Any, World], Awaitable[None]]
    remove: Callable[[C, Seen], Plan] | None = None
    finalizer: str = ""
    tell: Callable[[C, Seen], Status] | None = None
    every: float | None = None
    deadline: float = 50.0
    pause: str = ""
    holds: Callable[[C], bool] | None = None

    def controller(
        self,
        world: Callable[[Context], World],
        *,
        watches: tuple[Watch[Any], ...] = (),
        owns: tuple[type[Resource], ...] = (),
        workers: int = 4,
    ) -> Controller:
        """Return the controller that keeps the outside world as the resources of this kind say."""

        async def reconcile(key: Key, context: Context) -> Result | None:
            resource = context.store(self.of).get(key)
            return None if resource is None else await self._pass(resource, context, world(context))

        return Controller(
            name=self.of.kind.name.lower(),
            kind=self.of,
            reconcile=reconcile,
            owns=owns,
            watches=watches,
            # We write the status ourselves, so a change of it is no reason for a pass.
            when=asked_differently,
            workers=workers,
            deadline=self.deadline + TELLING,
            pause=self.pause,
        )

    async def _pass(self, resource: C, context: Context, world: World) -> Result | None:
        if resource.deleting:
            return await self._removal(resource, context, world)
        if pausing.is_paused(self.pause, resource):
            return None
        resource = await self._held(resource, context)
        outcome = await self._approach(resource, self.decide, world)
        status = self.tell(resource, outcome.seen) if self.tell and outcome.seen is not None else resource.status
        await report(resource, outcome.findings, status, context, looked=outcome.looked)
        return self._next(outcome)

    async def _held(self, resource: C, context: Context) -> C:
        """Add the finalizer, or take it away; that it is forbidden is for the user to know, anything else passes."""
        if not self.finalizer:
            return resource
        if self.holds is not None and not self.holds(resource):
            await finalizers.remove(context.client, resource, self.finalizer)
            return resource
        try:
            return await finalizers.add(context.client, resource, self.finalizer)
        except Denied as error:
            await report(resource, (conditions.finding_of(error),), resource.status, context, looked=False)
            raise

    async def _removal(self, resource: C, context: Context, world: World) -> Result | None:
        if self.finalizer not in resource.metadata.finalizers:
            return None
        outcome = await self._approach(resource, self.remove or self.decide, world)
        if outcome.plan.steps or outcome.plan.waits or outcome.failures:
            # What the conditions say was of the resource's life; nobody looks at that any more.
            await report(resource, outcome.findings, resource.status, context, looked=False)
            return self._next(outcome)
        await finalizers.remove(context.client, resource, self.finalizer)
        return None

    async def _approach(self, resource: C, decide: Callable[[C, Seen], Plan], world: World) -> "_Outcome[Seen]":
        """Act and read again until nothing is left to do, something fails, or it is others' turn."""
        seen: Seen | None = None
        plan, first = Plan(), Plan()
        try:
            async with asyncio.timeout(self.deadline) as scope:
                for turn in range(ROUNDS):
                    seen = await self.read(resource, world)
                    plan = decide(resource, seen)
                    first = plan if turn == 0 else first
                    if not plan.steps:
                        break
                    failures = await self._take(plan.steps, world)
                    if failures:
                        return _Outcome(resource, seen, plan, failures)
        except Exception as raised:  # noqa: BLE001  told in the status, then raised again by _next
            late = Retry(f"Not finished after {self.deadline:g} s; it will be tried again", reason="Timeout")
            error = late if scope.expired() else conditions.worst_of(raised)
            finding = conditions.finding_of(error)
            # An error that names no condition says nothing of any.
            told = ((finding, error),)
            return _Outcome(resource, seen, Plan(waits=plan.waits), told, looked=bool(finding.condition))
        # What has to be done again each time, whatever becomes of the rest, would go on for ever without a word.
        return _Outcome(resource, seen, plan, tuple(_in_vain(step) for step in plan.steps if step in first.steps))

    async def _take(self, steps: tuple[Step, ...], world: World) -> tuple[tuple[Finding, Exception], ...]:
        """Take all steps at once; return those that failed. A step that fails does not stop its neighbours."""
        results = await tasks.outcomes(*(self.act(step, world) for step in steps))
        failures = []
        for step, result in zip(steps, results, strict=True):
            if isinstance(result, Exception):
                error = conditions.worst_of(result)
                failures.append((conditions.finding_of(error, step.condition), error))
            elif isinstance(result, BaseException):
                raise result
        return tuple(failures)

    def _next(self, outcome: "_Outcome[Seen]") -> Result | None:
        """Say when to look again, or raise what the queue must know of."""
        delays = [wait.after for wait in outcome.plan.waits if wait.after is not None]
        if self.every is not None:
            # Never all resources at once: the jitter spreads them over a fifth of the period.
            delays.append(self.every * random.uniform(0.8, 1.0))  # noqa: S311  spreads load, guards nothing
        errors = [error for _, error in outcome.failures]
        # What is worst decides: a bug is loud, then what heals by trying again; a block waits for the user.
        for error in sorted(errors, key=conditions.mildness):
            if isinstance(error, Blocked) and delays:
                break
            raise error
        if outcome.plan.steps and not errors:
            raise Retry(f"{outcome.plan.steps[0].reason} is not finished after {ROUNDS} rounds")
        return Result(after=min(delays)) if delays else None


def _in_vain(step: Step) -> tuple[Finding, Exception]:
    """Return what is said of a step that was taken in every round and is still to do."""
    error = Retry(f"{step.reason}: was done {ROUNDS} times, and had no effect", reason="NoEffect")
    return conditions.finding_of(error, step.condition), error


@dataclass(frozen=True)
class _Outcome(Generic[Seen]):
    """What a pass came to: what was seen last, what is left of the plan, what failed, whether it got to look."""

    resource: CustomResource
    seen: Seen | None
    plan: Plan
    failures: tuple[tuple[Finding, Exception], ...]
    looked: bool = True

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the conditions are computed from."""
        return (*conditions.findings_of(self.plan, self.resource), *(finding for finding, _ in self.failures))


def external(  # noqa: PLR0913  the words of the shape; all but three may be left out
    *,
    of: type[C],
    read: Callable[[C, World], Awaitable[Seen]],
    decide: Callable[[C, Seen], Plan],
    remove: Callable[[C, Seen], Plan] | None = None,
    finalizer: str = "",
    tell: Callable[[C, Seen], Status] | None = None,
    every: float | None = None,
    deadline: float = 50.0,
    pause: str = "",
    holds: Callable[[C], bool] | None = None,
) -> Callable[[Callable[[Any, World], Awaitable[None]]], External[C, Seen, World]]:
    """Make the decorated `act` an external controller of the kind `of`."""
    if bool(remove) != bool(finalizer):
        raise ValueError(f"{of.kind}: remove and finalizer come together")

    def shape(act: Callable[[Any, World], Awaitable[None]]) -> External[C, Seen, World]:
        return External(
            of=of,
            read=read,
            decide=decide,
            act=act,
            remove=remove,
            finalizer=finalizer,
            tell=tell,
            every=every,
            deadline=deadline,
            pause=pause,
            holds=holds,
        )

    return shape
