"""Explains what no resource of Kubernetes stands for, such as a port: reads what its service names, and asks it."""

from collections.abc import Awaitable, Callable
from typing import Any

from stackwright import services
from stackwright.blueprint.things import Thing
from stackwright.foresight.reasons import Reason
from stackwright.foresight.tree import State

Read = Callable[[str], Awaitable[dict[str, Any]]]


def find_thing(word: str) -> tuple[Thing, str] | None:
    """Return the sort of things that a word such as port/ID means, and the id; None if it means a resource."""
    noun, slash, name = word.partition("/")
    found = next((thing for thing in services.things() if thing.noun == noun.lower()), None)
    return (found, name) if found is not None and slash and name else None


async def explain(thing: Thing, name: str, read: Read) -> Reason:
    """Return how a thing is, and why."""
    answers: dict[str, Any] = {}
    for entry, path in thing.reads.items():
        body = await read(path.format(id=name, **answers))
        answers[entry] = body.get(entry, {})
    verdict = thing.explain(answers)
    state = State.READY if verdict.well else State.ERROR
    return Reason(thing.noun, name, state, message=verdict.message, to_do=verdict.to_do)
