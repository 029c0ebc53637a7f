"""Drives the queue through random histories beside a model of what it promises."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stackwright.kube.queue import NORMAL_IN_A_ROW, Backoff, Priority, Queue

KEYS = st.sampled_from("abcd")
PRIORITIES = st.sampled_from(Priority)
SECONDS = st.sampled_from([0.0, 0.004, 0.5, 1.0, 30.0])


@dataclass
class Wish:
    """What the model knows of a key that shall run: not before `due`."""

    due: float


@dataclass
class Model:
    now: float = 0.0
    wishes: dict[str, Wish] = field(default_factory=dict)
    working: set[str] = field(default_factory=set)
    closed: bool = False

    def ask(self, key: str, due: float) -> None:
        if self.closed:
            return
        known = self.wishes.get(key)
        if known is None:
            self.wishes[key] = Wish(due)
        else:
            known.due = min(known.due, due)

    def takeable(self) -> set[str]:
        return {key for key, wish in self.wishes.items() if wish.due <= self.now and key not in self.working}


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.chance = 0.5
        self.queue: Queue[str] = Queue(
            clock=lambda: self.model.now, backoff=Backoff(first=0.005, limit=1000.0, chance=lambda: self.chance)
        )
        self.last_delay: dict[str, float] = {}
        self.steps = 0

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: Priority) -> None:
        self.queue.add(key, priority)
        self.model.ask(key, self.model.now)

    @rule(key=KEYS, delay=SECONDS, priority=PRIORITIES)
    def add_later(self, key: str, delay: float, priority: Priority) -> None:
        self.queue.add_after(key, delay, priority)
        self.model.ask(key, self.model.now + delay)

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.model.now += seconds

    @rule()
    def take(self) -> None:
        due = self.model.takeable()
        key = self.queue.take()
        if self.model.closed:
            assert key is None, "a queue that is shut down gives out nothing"
            return
        if key is None:
            assert not due, f"{due} are due and were not given out"
            return
        assert key not in self.model.working, "two workers on one key"
        assert key in due, "a key nobody asked for, or before its time"
        del self.model.wishes[key]
        self.model.working.add(key)

    @precondition(lambda self: self.model.working)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.working)))
        self.queue.forget(key)
        self.last_delay.pop(key, None)
        self._finish(key)

    @precondition(lambda self: self.model.working)
    @rule(data=st.data(), chance=st.floats(0, 1, exclude_max=True))
    def fail(self, data: st.DataObject, chance: float) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.working)))
        self.chance = chance
        delay = self.queue.retry(key)
        assert 0.004 <= delay <= 1000.0
        if key in self.last_delay and delay < 800.0:
            assert delay > self.last_delay[key], "the backoff grows until its limit"
        elif key not in self.last_delay:
            assert delay <= 0.005, "the backoff starts short, and starts again after a success"
        self.last_delay[key] = delay
        self.model.ask(key, self.model.now + delay)
        self._finish(key)

    def _finish(self, key: str) -> None:
        self.queue.done(key)
        self.model.working.discard(key)

    @rule()
    def drain_everything_due(self) -> None:
        """Nothing that was added is lost: serving until nothing is due serves every key once."""
        due = self.model.takeable()
        served = []
        while (key := self.queue.take()) is not None:
            served.append(key)
            self.queue.done(key)
        assert len(served) == len(set(served)), "one run answers all that was asked before it"
        assert set(served) == (set() if self.model.closed else due)
        for key in served:
            del self.model.wishes[key]

    # Late, because nothing can happen afterwards.
    @precondition(lambda self: not self.model.closed and self.steps > 30)
    @rule()
    def shut_down(self) -> None:
        self.queue.shut_down()
        self.model.closed = True
        self.model.wishes.clear()

    @invariant()
    def count_steps(self) -> None:
        self.steps += 1

    @invariant()
    def next_due_is_never_after_what_was_asked(self) -> None:
        waiting = [wish.due for wish in self.model.wishes.values() if wish.due > self.model.now]
        due = self.queue.next_due()
        if waiting:
            assert due is not None
            assert due <= min(waiting) + 1e-9
        if self.model.closed:
            assert due is None

    @invariant()
    def drained_exactly_when_nothing_is_worked_on(self) -> None:
        assert self.queue._idle.is_set() == (not self.model.working)

    @invariant()
    def failures_are_counted_per_key(self) -> None:
        for key in "abcd":
            assert (self.queue.failures(key) > 0) == (key in self.last_delay)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=150, stateful_step_count=50)


class FairnessMachine(RuleBasedStateMachine):
    """Two workers' worth of keys at both priorities: order within a priority, and bounded waiting at the low one."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: Queue[int] = Queue(clock=lambda: 0.0)
        self.normal: list[int] = []
        self.low: list[int] = []
        self.count = 0
        self.overtaken = 0

    @rule(number=st.integers(1, 10))
    def add_normal(self, number: int) -> None:
        for _ in range(number):
            self.count += 1
            self.queue.add(self.count)
            self.normal.append(self.count)

    @rule()
    def add_low(self) -> None:
        self.count += 1
        self.queue.add(self.count, Priority.LOW)
        self.low.append(self.count)

    @precondition(lambda self: self.low)
    @rule(data=st.data())
    def promote(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.low))
        self.queue.add(key, Priority.NORMAL)
        self.low.remove(key)
        self.normal.append(key)
        if not self.low:
            self.overtaken = 0

    @precondition(lambda self: self.normal)
    @rule(data=st.data())
    def a_low_add_does_not_demote(self, data: st.DataObject) -> None:
        self.queue.add(data.draw(st.sampled_from(self.normal)), Priority.LOW)

    @rule(number=st.integers(1, 8))
    def take(self, number: int) -> None:
        for _ in range(number):
            key = self.queue.take()
            if key is None:
                assert not self.normal
                assert not self.low
                return
            if self.normal and key == self.normal[0]:
                self.normal.pop(0)
                self.overtaken = self.overtaken + 1 if self.low else 0
                assert self.overtaken <= NORMAL_IN_A_ROW, "a low key is starved"
            else:
                assert key == self.low[0], "first come, first served within a priority"
                assert not self.normal or self.overtaken == NORMAL_IN_A_ROW, "a low key went first without need"
                self.low.pop(0)
                self.overtaken = 0
            self.queue.done(key)


TestFairnessMachine = FairnessMachine.TestCase
TestFairnessMachine.settings = settings(max_examples=100, stateful_step_count=40)
