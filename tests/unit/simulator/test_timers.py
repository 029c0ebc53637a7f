"""The simulator's memory of time."""

from stackwright.simulator.kubelet import Spent
from stackwright.simulator.steps import Tell
from stackwright.simulator.timers import Timers
from tests.unit.simulator.play import pod_of


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_a_state_lasts_from_when_it_was_first_seen() -> None:
    clock = Hand()
    timers = Timers(clock)
    assert timers.spent(pod_of("web"), [("web", "running/0")]) == {"web": Spent(0.0, 0)}
    clock.time += 3.0
    assert timers.spent(pod_of("web"), [("web", "running/0")]) == {"web": Spent(3.0, 0)}
    assert timers.spent(pod_of("web"), [("web", "terminated/0")]) == {"web": Spent(0.0, 0)}
    clock.time += 1.0
    assert timers.spent(pod_of("web"), [("web", "running/0")]) == {"web": Spent(0.0, 1)}


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    clock = Hand()
    timers = Timers(clock)
    timers.spent(pod_of("web"), [("web", "running/0")])
    clock.time += 3.0
    successor = pod_of("web", metadata={"uid": "u-2"})
    assert timers.spent(successor, [("web", "running/0")]) == {"web": Spent(0.0, 0)}


def test_what_is_forgotten_begins_anew() -> None:
    clock = Hand()
    timers = Timers(clock)
    timers.spent(pod_of("web"), [("web", "running/0")])
    clock.time += 3.0
    timers.forget("Pod", "here", "web-1")
    assert timers.spent(pod_of("web"), [("web", "running/0")]) == {"web": Spent(0.0, 0)}


def test_a_lasting_cause_is_told_again_after_a_while() -> None:
    clock = Hand()
    timers = Timers(clock)
    once, lasting = Tell("Normal", "Started", "x"), Tell("Warning", "Unhealthy", "y", every=10.0)
    assert timers.due(pod_of("web"), once)
    assert timers.due(pod_of("web"), once), "an event of a change is as often as the change"
    assert timers.due(pod_of("web"), lasting)
    clock.time += 9.0
    assert not timers.due(pod_of("web"), lasting)
    clock.time += 1.0
    assert timers.due(pod_of("web"), lasting)
