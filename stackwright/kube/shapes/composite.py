"""The shape of a resource that stands for other resources: say which, and the rest follows.

The shape keeps the children (`children.py`) and folds their states into the parent's conditions. Pausing a
parent pauses its children as well (`pausing.py`).
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from stackwright.kube import conditions
from stackwright.kube.conditions import Finding
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.plan import Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import CompositeStatus, CustomResource, Key, Resource
from stackwright.kube.shapes import pausing
from stackwright.kube.shapes.child import Child, child
from stackwright.kube.shapes.children import Children, status_of
from stackwright.kube.shapes.report import report

__all__ = ["Child", "Composite", "child", "composite"]

C = TypeVar("C", bound=CustomResource)
Facts = TypeVar("Facts")

Found = Iterable[Child | Wait | Finding | Result]


@dataclass(frozen=True)
class Composite(Generic[C, Facts]):
    """A kind of this shape, as data; `controller` makes it run.

    `children` is pure and returns children, waits, findings about conditions that no child speaks of, and when it wants
    to be asked again; while it waits for anything, nothing is pruned, because a missing fact is no reason to delete. It
    may be asynchronous, where a program that is as good as pure must be asked. `read` takes from the caches what
    `children` needs to know. It is asynchronous where the server must be asked, because a cache may be behind.
    `pause` is the annotation that stops the work. `spares_users` says that an object which a user made under the name
    of a child is refused: as a child it would get an owner, and be deleted with it.
    """

    of: type[C]
    owns: tuple[type[Resource], ...]
    children: Callable[[C, Facts], Found | Awaitable[Found]]
    read: Callable[[C, Context], Facts | Awaitable[Facts]] | None = None
    tell: Callable[[C, Facts], CompositeStatus] | None = None
    pause: str = ""
    spares_users: bool = False
    family: Children = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", Children(self.owns, self.spares_users))

    def controller(
        self, *, watches: tuple[Watch[Any], ...] = (), reads: tuple[type[Resource], ...] = (), workers: int = 4
    ) -> Controller:
        """Return the controller that keeps the children of this kind."""
        return Controller(
            name=self.of.kind.name.lower(),
            kind=self.of,
            reconcile=self._reconcile,
            owns=self.owns,
            watches=watches,
            reads=reads,
            # We write the status ourselves, so a change of it is no reason for a pass.
            when=asked_differently,
            workers=workers,
            pause=self.pause,
        )

    async def _reconcile(self, key: Key, context: Context) -> Result | None:
        parent = context.store(self.of).get(key)
        if parent is None or parent.deleting:
            # The garbage collector takes the children: they have an owner.
            self.family.forget(key)
            return None
        if await pausing.hand_down(self.pause, parent, pausing.owned(parent, self.owns, context), context):
            return None
        try:
            looked = self.read(parent, context) if self.read else None
            facts: Facts = await looked if inspect.isawaitable(looked) else looked  # type: ignore[assignment]  # without read, Facts is None
            status = self.tell(parent, facts) if self.tell else status_of(parent)
            answer = self.children(parent, facts)
            found = tuple(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:
            finding = conditions.finding_of(error)
            # An error that names no condition says nothing of any.
            await report(parent, (finding,), parent.status, context, looked=bool(finding.condition))
            raise
        waits = [item for item in found if isinstance(item, Wait)]
        desired = [item for item in found if isinstance(item, Child)]
        outcome = await self.family.keep(parent, desired, context, prune=not waits)
        findings = (
            *(conditions.of_wait(wait, parent) for wait in waits),
            *(item for item in found if isinstance(item, Finding)),
            *outcome.findings(context),
        )
        await report(parent, findings, msgspec.structs.replace(status, overridden=outcome.overridden()), context)
        later = [item.after for item in found if isinstance(item, Wait | Result)]
        delays = [after for after in later if after is not None]
        if failure := outcome.failure(waiting=bool(delays)):
            raise failure
        return Result(after=min(delays)) if delays else None


def composite(
    *,
    of: type[C],
    owns: tuple[type[Resource], ...],
    read: Callable[[C, Context], Facts | Awaitable[Facts]] | None = None,
    tell: Callable[[C, Facts], CompositeStatus] | None = None,
    pause: str = "",
    spares_users: bool = False,
) -> Callable[[Callable[[C, Facts], Found | Awaitable[Found]]], Composite[C, Facts]]:
    """Make the decorated `children` a composite controller of the kind `of`, whose status is a CompositeStatus."""
    if not issubclass(get_type_hints(of)["status"], CompositeStatus):
        raise TypeError(f"{of.kind}: the status of a composite is a CompositeStatus, to show what others overrode")

    def shape(children: Callable[[C, Facts], Found | Awaitable[Found]]) -> Composite[C, Facts]:
        return Composite(
            of=of, owns=owns, children=children, read=read, tell=tell, pause=pause, spares_users=spares_users
        )

    return shape
