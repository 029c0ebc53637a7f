"""User directed actions: each runs once for its id, whatever crashes in between. Pure.

What was done is read from where it leaves its trace: a Job of the action's own name, the pods' annotation, the key
ring's annotation. So a pass that did something and was killed before it could tell finds that it was done.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec import structs

from stackwright.api.base import JsonObject
from stackwright.api.service import Action as Asked
from stackwright.api.service import ActionStatus
from stackwright.blueprint.digests import digest
from stackwright.blueprint.service import Action, Restart, RotateKeys, RunJob

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
DONE = frozenset({SUCCEEDED, FAILED})
# How many actions a status remembers.
REMEMBERED = 32


@dataclass(frozen=True)
class Ending:
    """How a trace of an action ended; `finished` is False while it goes on."""

    finished: bool
    succeeded: bool = False
    result: str = ""
    log: str = ""


@dataclass(frozen=True)
class Traces:
    """What is there of actions: Jobs by action and id, the last restart that all pods have, each ring's last turn."""

    jobs: Mapping[tuple[str, str], Ending] = field(default_factory=dict)
    restarted: str = ""
    turned: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Course:
    """What the actions come to: their statuses, and what the machinery has to do about them now.

    `ended` says that one was found to have ended: once that is reported, its trace may go and the next one may begin.
    """

    statuses: tuple[ActionStatus, ...] = ()
    jobs: JsonObject = field(default_factory=dict)
    restart: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    ended: bool = False


def course(
    asked: Iterable[Asked], told: Iterable[ActionStatus], known: Mapping[str, Action], traces: Traces, now: str
) -> Course:
    """Return what to do about the actions that were asked for; one of each name goes on at a time.

    One that has ended keeps its place until that is reported: after a crash, its own trace is still there.
    """
    before = {status.id: status for status in told}
    statuses: dict[str, ActionStatus] = {}
    jobs: JsonObject = {}
    restart = ""
    turns: dict[str, str] = {}
    busy: set[str] = set()
    ended = False
    for action in asked:
        status = _told(action, before.get(action.id), now)
        if status.state not in DONE and action.name not in busy:
            busy.add(action.name)
            status = _progress(action, known, traces, status, now)
            ended = ended or status.state in DONE
            match known.get(action.name):
                case RunJob(job):
                    jobs[action.name] = {"job": job, "hash": id_hash(action.id)}
                case Restart() if status.state not in DONE:
                    restart = action.id
                case RotateKeys(ring) if status.state not in DONE:
                    turns.setdefault(ring, action.id)
        statuses[action.id] = status
    earlier = [status for status in before.values() if status.id not in statuses]
    kept = (*earlier[max(0, len(earlier) + len(statuses) - REMEMBERED) :], *statuses.values())
    return Course(kept, jobs, restart, tuple(turns.items()), ended)


def _told(action: Asked, before: ActionStatus | None, now: str) -> ActionStatus:
    """Return what was reported of an action; an id that another action has used is refused."""
    if before is None:
        return ActionStatus(name=action.name, id=action.id, state=PENDING)
    if before.name == action.name:
        return before
    result = f"The id {action.id} was used for {before.name} already; choose another one"
    return ActionStatus(name=action.name, id=action.id, state=FAILED, completionTime=now, result=result)


def waiting(course: Course, why: Mapping[str, str]) -> Course:
    """Return a course whose actions say what they wait for, by their ids."""
    statuses = (structs.replace(status, result=why.get(status.id, status.result)) for status in course.statuses)
    return replace(course, statuses=tuple(statuses))


def unknown(name: str, known: Iterable[str]) -> str:
    """Return what to say of an action that the service does not have."""
    there = ", ".join(sorted(known))
    return f"There is no action {name} here; there are {there}" if there else f"There is no action {name} here"


def id_hash(identifier: str) -> str:
    """Return what stands for an action's id in the name of its Job."""
    return digest({"id": identifier})


def _progress(
    action: Asked, known: Mapping[str, Action], traces: Traces, status: ActionStatus, now: str
) -> ActionStatus:
    begun = structs.replace(status, state=RUNNING, startTime=status.startTime or now)
    match known.get(action.name):
        case None:
            ending = Ending(finished=True, result=unknown(action.name, known))
        case RunJob():
            ending = traces.jobs.get((action.name, action.id), Ending(finished=False))
        case Restart():
            rolled = traces.restarted == action.id
            ending = Ending(rolled, rolled, "All pods were restarted")
        case RotateKeys(ring):
            done = traces.turned.get(ring) == action.id
            ending = Ending(done, done, "A new key is staged, and the previously staged key is now the primary one")
    if not ending.finished:
        return begun
    state = SUCCEEDED if ending.succeeded else FAILED
    return structs.replace(begun, state=state, completionTime=now, result=ending.result, log=ending.log)
