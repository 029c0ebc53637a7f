"""What a controller is: a kind, a function that brings one object closer to its spec, and what wakes it.

    async def reconcile(key: Key, context: Context) -> Result | None:
        website = context.store(Website).get(key)
        if website is None:
            return None
        await context.client.apply(Deployment, deployment_of(website))

    Controller(name="website", kind=Website, reconcile=reconcile, owns=(Deployment,))

A reconcile that returns is a success. `Retry` is tried again with backoff, `Blocked` when something changes;
a failing server is tried again with backoff; anything else is a bug, logged with its traceback and tried again.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic

from structlog.typing import FilteringBoundLogger

from stackwright.kube.client import Client
from stackwright.kube.events import EventRecorder
from stackwright.kube.informers import Informers
from stackwright.kube.pace import Pace
from stackwright.kube.predicates import Predicate
from stackwright.kube.resource import Key, R, Resource, Status
from stackwright.kube.store import Store


@dataclass(frozen=True)
class Result:
    """What a reconcile that succeeded asks for: to run again in `after` seconds, if given."""

    after: float | None = None


@dataclass(frozen=True)
class Context:
    """What a reconcile works with. The client remembers what is written through it: see Workers.

    `pace` says whether the status is written now; what it puts off brings the key back. `statuses` are those that the
    run has set out to write: an answer may be lost, and the status be written all the same.
    """

    client: Client
    informers: Informers
    events: EventRecorder
    controller: str
    logger: FilteringBoundLogger
    pace: Pace = field(default_factory=Pace)
    statuses: list[Status] = field(default_factory=list)

    def store(self, kind: type[R]) -> Store[R]:
        """Return the cache of a kind that the controller owns, watches or reads."""
        return self.informers.store(kind)


Reconcile = Callable[[Key, Context], Awaitable[Result | None]]


@dataclass(frozen=True)
class Watch(Generic[R]):
    """Another kind whose changes wake objects of the controller's kind: `to` says which.

    Both states of a changed object are asked, so that what it no longer refers to is woken as well. They are woken
    `after` so many seconds: what many objects wake is looked at once for all that changed meanwhile, and not once for
    each.
    """

    kind: type[R]
    to: Callable[[R], Iterable[Key]]
    when: Predicate | None = None
    after: float = 0.0


@dataclass(frozen=True)
class Controller:
    """A controller, as data.

    `owns` are kinds whose objects wake their controlling owner, `watches` map other kinds, `reads` are only
    kept in the cache. `makes` are kinds that it also writes without being their owner. `standing` are keys that are
    looked at from the start, whether or not there is such an object. `when` says which changes of the kind itself
    count. `deadline` is in seconds. `team` is whom it belongs to, where that does not follow from its kind. One that
    only derives something from a kind of others `reports` nothing: it does not write the kind's status. `logs` says
    that it reads the logs of pods. `pause` is the annotation of the kind that stops the work on a resource.
    """

    name: str
    kind: type[Resource]
    reconcile: Reconcile
    owns: tuple[type[Resource], ...] = ()
    watches: tuple[Watch[Any], ...] = ()
    reads: tuple[type[Resource], ...] = ()
    makes: tuple[type[Resource], ...] = ()
    standing: tuple[Key, ...] = ()
    when: Predicate | None = None
    workers: int = 4
    deadline: float = 60.0
    team: str = ""
    reports: bool = True
    logs: bool = False
    pause: str = ""

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """All kinds that must be in the cache before this controller can work, its own first."""
        kinds = (self.kind, *self.owns, *(watch.kind for watch in self.watches), *self.reads)
        return tuple(dict.fromkeys(kinds))
