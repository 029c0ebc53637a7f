"""The shape of a controller that derives objects from a kind which another controller keeps.

A compute service watches machines, say, to run a Job when hosts appear: the machines are not its own, and their
conditions are not its to write. Say which objects follow from a resource, and the rest follows. They are owned by the
resource and go with it; they are applied under a field manager of their own, so that the kind's first controller
neither changes nor prunes them. Nothing is reported but failures that a user must end, as events.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Wait
from stackwright.kube.predicates import Predicate, asked_differently
from stackwright.kube.resource import CustomResource, Key, Resource
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.children import Children

C = TypeVar("C", bound=CustomResource)
Facts = TypeVar("Facts")

Found = Iterable[Child | Wait]


@dataclass(frozen=True)
class Derived(Generic[C, Facts]):
    """What is derived from a kind, as data; `controller` makes it run.

    `name` tells it from the kind's other controllers, and `team` says whose work it is. `children` is pure; while it
    waits for anything, nothing is pruned. `read` takes from the caches what it needs to know. `when` says which changes
    of the resource count: by default those of its spec, not those of its status.
    """

    name: str
    of: type[C]
    owns: tuple[type[Resource], ...]
    children: Callable[[C, Facts], Found]
    team: str
    read: Callable[[C, Context], Facts] | None = None
    when: Predicate | None = asked_differently
    family: Children = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", Children(self.owns))

    def controller(
        self, *, watches: tuple[Watch[Any], ...] = (), reads: tuple[type[Resource], ...] = (), workers: int = 2
    ) -> Controller:
        """Return the controller that keeps what is derived."""
        return Controller(
            name=self.name,
            kind=self.of,
            reconcile=self._reconcile,
            owns=self.owns,
            watches=watches,
            reads=reads,
            when=self.when,
            workers=workers,
            team=self.team,
            reports=False,
        )

    async def _reconcile(self, key: Key, context: Context) -> Result | None:
        resource = context.store(self.of).get(key)
        if resource is None or resource.deleting:
            # The garbage collector takes what has an owner.
            self.family.forget(key)
            return None
        try:
            facts: Facts = self.read(resource, context) if self.read else None  # type: ignore[assignment]  # without read, Facts is None
            found = tuple(self.children(resource, facts))
            return await self._keep(resource, found, context)
        except Blocked as error:
            context.events.event(resource, "Warning", error.reason, str(error))
            raise

    async def _keep(self, resource: C, found: tuple[Child | Wait, ...], context: Context) -> Result | None:
        waits = [item for item in found if isinstance(item, Wait)]
        desired = [item for item in found if isinstance(item, Child)]
        manager = f"{context.client.field_manager}-{self.name}"
        own = replace(context, client=context.client.managing(manager))
        outcome = await self.family.keep(resource, desired, own, prune=not waits)
        delays = [wait.after for wait in waits if wait.after is not None]
        if failure := outcome.failure(waiting=bool(delays)):
            raise failure
        return Result(after=min(delays)) if delays else None


def derived(
    *,
    name: str,
    of: type[C],
    owns: tuple[type[Resource], ...],
    team: str,
    read: Callable[[C, Context], Facts] | None = None,
    when: Predicate | None = asked_differently,
) -> Callable[[Callable[[C, Facts], Found]], Derived[C, Facts]]:
    """Make the decorated `children` a controller that derives objects from the kind `of`."""

    def shape(children: Callable[[C, Facts], Found]) -> Derived[C, Facts]:
        return Derived(name=name, of=of, owns=owns, children=children, team=team, read=read, when=when)

    return shape
