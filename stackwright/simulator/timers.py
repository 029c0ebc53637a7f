"""Remembers since when each part of each object is in its state, and which events were sent lately.

The times in a pod's status are whole seconds, too coarse to simulate by; so time is kept here. What is
forgotten with the process does no harm: a state that is seen for the first time begins then.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from stackwright.kube.resource import Resource
from stackwright.simulator.kubelet import Spent
from stackwright.simulator.steps import Tell


@dataclass
class _Memory:
    """What is known of one object; another uid is another object."""

    uid: str
    since: dict[str, tuple[str, float]] = field(default_factory=dict)
    visits: dict[tuple[str, str], int] = field(default_factory=dict)
    told: dict[tuple[str, str, str], float] = field(default_factory=dict)


class Timers:
    """The simulator's memory, by kind, namespace and name."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._memories: dict[tuple[str, str, str], _Memory] = {}

    def spent(self, resource: Resource, parts: Iterable[tuple[str, str]]) -> dict[str, Spent]:
        """Return how long each part of the object has been in the given state."""
        memory, now = self._memory(resource), self._clock()
        spent = {}
        for part, state in parts:
            if memory.since.get(part, ("", now))[0] != state:
                memory.since[part] = (state, now)
                memory.visits[part, state] = memory.visits.get((part, state), 0) + 1
            _, since = memory.since.get(part, (state, now))
            spent[part] = Spent(now - since, memory.visits.get((part, state), 1) - 1)
        return spent

    def due(self, resource: Resource, told: Tell) -> bool:
        """Return whether to send an event now; it then counts as sent."""
        if told.every is None:
            return True
        memory, now = self._memory(resource), self._clock()
        event = (told.reason, told.note, told.container)
        last = memory.told.get(event)
        if last is not None and now - last < told.every:
            return False
        memory.told[event] = now
        return True

    def forget(self, kind: str, namespace: str, name: str) -> None:
        """Forget an object that is gone."""
        self._memories.pop((kind, namespace, name), None)

    def _memory(self, resource: Resource) -> _Memory:
        key = (resource.kind.name, *resource.key)
        memory = self._memories.get(key)
        if memory is None or memory.uid != resource.metadata.uid:
            memory = self._memories[key] = _Memory(resource.metadata.uid)
        return memory
